"""`git nexus approver`: whose signature counts in this project."""

from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.text import one_line
from gitnexus.ui.commands import NexusGroup, invocation
from gitnexus.ui.output import answer, columns, note, start_folder, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus
    from gitnexus.app.approver import Listed
    from gitnexus.policy.approvers import Approver


@click.group("approver", cls=NexusGroup)
def approver() -> None:
    """Who may approve: public keys on the state ref, each signed in by one before it."""


@approver.command("list")
@with_nexus
def list_command(nexus: "Nexus") -> None:
    """List the approvers, and whether what they sign counts here."""
    from gitnexus.app.approver import listed

    found = listed(nexus.state)
    answer(_payload(found), _table(found), nexus.described)


@approver.command("add")
@click.argument("key")
@click.option("--name", metavar="NAME", help="Whose key it is. Default: the comment in it.")
@click.option("--confirm", metavar="ID", help="The id of the key, where nobody can be asked.")
@with_nexus
def add_command(nexus: "Nexus", key: str, name: str | None, confirm: str | None) -> None:
    """Sign a key in: a .pub file, or the public key itself.

    From then on it approves here, and can sign others in.
    """
    from gitnexus.app.approver import add, candidate
    from gitnexus.ui.trust import confirmed

    new = candidate(start_folder(invocation(click.get_current_context())), key, name)
    note(f"{new.name}: {new.key}")
    confirmed("Let this key approve here?", [new.key], [confirm] if confirm else [])
    made = add(nexus.state, new)
    answer({"approver": _row(made)}, f"{one_line(made.name)} approves here now: {made.key}", nexus.described)


@approver.command("revoke")
@click.argument("key")
@click.option("--reason", metavar="TEXT", default="", help="Why, for those who read the list later.")
@with_nexus
def revoke_command(nexus: "Nexus", key: str, reason: str) -> None:
    """Take a key out, named by its id or its name.

    All that it signed is worth nothing from then on: approvals that are open, and files until another key signs them.
    """
    from gitnexus.app.approver import revoke
    from gitnexus.app.trust import untrusted

    gone = revoke(nexus.state, key, reason)
    waits = untrusted(nexus.state)
    next_step = f"\nNext: git nexus policy trust ({', '.join(waits)} must be signed anew)" if waits else ""
    answer(
        {"approver": _row(gone), "untrusted": sorted(waits)},
        f"{one_line(gone.name)} approves nothing here any more: {gone.key}{next_step}",
        nexus.described,
    )


@approver.command("machine")
@click.argument("key", required=False)
@click.option("--name", metavar="NAME", default="", help="Whose machine it is.")
@click.option("--confirm", metavar="ID", help="The id of the machine's key, where nobody can be asked.")
@with_nexus
def machine_command(nexus: "Nexus", key: str | None, name: str, confirm: str | None) -> None:
    """Show the key of this machine, or vouch for that of another: what it signs in logs is then its owner's.

    A machine of an approver needs nobody's word. One without an approver's key, such as a worker's, is vouched for by
    the KEY that this command prints there. It approves nothing.
    """
    from gitnexus.app.authorship import vouch_for
    from gitnexus.policy.keys import checked_public, key_id
    from gitnexus.policy.machine import own_machine
    from gitnexus.ui.trust import confirmed

    if key is None:
        own = own_machine()
        answer({"machine": {"id": own.id, "public": own.public}}, f"{own.public}\n{own.id}", nexus.described)
        return
    if not name:
        raise click.UsageError("Say whose machine it is: --name NAME.")
    confirmed(f"Vouch that this is a machine of {one_line(name, 80)}?", [key_id(checked_public(key))],
              [confirm] if confirm else [])  # fmt: skip
    made = vouch_for(nexus.state, key, name)
    answer(
        {"machine": made.plain()}, f"What {made.id} signs is known to be of {one_line(made.name, 80)}.", nexus.described
    )


@approver.command("trust")
@click.option("--confirm", metavar="ID", help="The id of the first approver, where nobody can be asked.")
@with_nexus
def trust_command(nexus: "Nexus", confirm: str | None) -> None:
    """Let what the approvers of this project sign count on this machine.

    For a clone of somebody else's project, or after the list changed in a way that this machine refused. Compare the
    ids with those that the people tell you.
    """
    from gitnexus.app.approver import find_doubt, listed, trust
    from gitnexus.ui.trust import confirmed

    before = listed(nexus.state)
    if before.consent:
        answer(_payload(before), "What they sign counts here already.", nexus.described)
        return
    click.echo(_table(before), err=True)
    doubt = find_doubt(nexus.state)
    if doubt:
        note(f"look twice: {doubt}")
    root = before.approvers.root.key
    confirmed("Shall what these keys sign count on this machine?", [root], [confirm] if confirm else [])
    answer(_payload(trust(nexus.state, root)), "What they sign counts on this machine now.", nexus.described)


@approver.command("encrypt")
@click.option("--remove", is_flag=True, help="Keep it without a passphrase again.")
def encrypt_command(remove: bool) -> None:
    """Put your approver key under a passphrase, which is asked for whenever something is signed.

    The key stays the same. Where there is no terminal, NEXUS_KEY_PASSPHRASE_FILE names a file that holds the
    passphrase, or NEXUS_ASKPASS, GIT_ASKPASS or SSH_ASKPASS a program that asks for it.
    """
    from gitnexus.policy.keys import encrypt_own, keys_folder
    from gitnexus.ui.trust import new_passphrase

    encrypt_own(b"" if remove else new_passphrase())
    words = "without a passphrase now" if remove else "under a passphrase now; it is asked for at each signature"
    answer({"encrypted": not remove}, f"The key in {keys_folder()} is {words}.")


def _payload(found: "Listed") -> dict[str, Any]:
    from gitnexus.policy.seen import format_root

    return {
        "approvers": [_row(one) for one in found.approvers.known.values()],
        "root": found.approvers.root.key,
        "pin": format_root(found.approvers),
        "own": found.own or None,
        "counts": found.consent,
        **({"trouble": found.trouble} if found.trouble else {}),
    }


def _row(one: "Approver") -> dict[str, Any]:
    shown = {"key": one.key, "name": one.name, "public": one.public, "addedAt": one.added, "addedBy": one.by}
    return {**shown, "revokedAt": one.revoked or None}


def _table(found: "Listed") -> str:
    from gitnexus.policy.seen import format_root

    rows = []
    for one in found.approvers.known.values():
        marks = ["first"] * (one.key == found.approvers.root.key) + ["yours"] * (one.key == found.own)
        marks += [f"revoked {one.revoked}"] if one.revoked else []
        rows.append([one.key, one_line(one.name, 40), f"since {one.added[:10]}", ", ".join(marks)])
    tail = "" if found.consent else "\nWhat they sign does not count on this machine"
    if tail:
        tail += f": {one_line(found.trouble)}" if found.trouble else "; git nexus approver trust changes that"
    return f"{columns(rows, indent='')}\nfor git nexus verify --root: {format_root(found.approvers)}{tail}"
