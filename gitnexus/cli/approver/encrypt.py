"""`git nexus approver encrypt`: encrypt your approver key with a passphrase, which is asked for at each signature."""

import click

from gitnexus.policy.keys import encrypt_own_key, keys_folder
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer
from gitnexus.ui.trust import ask_new_passphrase


@click.command("encrypt", cls=NexusCommand)
@click.option("--remove", is_flag=True, help="Remove the passphrase.")
def encrypt_approver_key(remove: bool) -> None:
    """Encrypt your approver key with a passphrase, which is asked for at each signature.

    The key stays the same. Without a terminal, NEXUS_KEY_PASSPHRASE_FILE names a file with the passphrase, or
    NEXUS_ASKPASS, GIT_ASKPASS or SSH_ASKPASS a program that asks for it.
    """
    encrypt_own_key(b"" if remove else ask_new_passphrase())
    words = (
        "without a passphrase now"
        if remove
        else "encrypted with a passphrase now, which is asked for at each signature"
    )
    print_answer({"encrypted": not remove}, f"The key in {keys_folder()} is {words}.")
