"""`git nexus approver`: the table of its commands, strings only."""

from gitnexus.ui.commands import LazyGroup

approver = LazyGroup(
    (
        (
            "Commands",
            "add",
            "gitnexus.cli.approver.add:add_approver_key",
            "Add an approver key: a .pub file, or the public key itself.",
        ),
        (
            "Commands",
            "encrypt",
            "gitnexus.cli.approver.encrypt:encrypt_approver_key",
            "Encrypt your approver key with a passphrase, which is asked for at each signature.",
        ),
        (
            "Commands",
            "list",
            "gitnexus.cli.approver.list:list_approver_keys",
            "List the approvers, and whether this machine trusts them.",
        ),
        (
            "Commands",
            "machine",
            "gitnexus.cli.approver.machine:vouch_for_machine",
            "Show the key of this machine, or vouch for the key of another, which then signs logs for its owner.",
        ),
        (
            "Commands",
            "revoke",
            "gitnexus.cli.approver.revoke:revoke_approver_key",
            "Revoke a key, named by its id or its name.",
        ),
        (
            "Commands",
            "trust",
            "gitnexus.cli.approver.trust:trust_project_approvers",
            "Trust the approvers of this project on this machine.",
        ),
    ),
    name="approver",
    help="Who may approve: public keys on the state ref, each signed by an earlier one.",
)
