"""`git nexus policy trust`: sign the policy, settings, prompts and permissions between projects as they are now."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line
from gitnexus.policy.trust import files_to_sign, sign_guarded_files
from gitnexus.projects import signed_permissions
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, print_note, with_nexus
from gitnexus.ui.trust import require_confirmation, show_unsigned_change

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("trust", cls=NexusCommand)
@click.option(
    "--confirm",
    metavar="DIGEST",
    multiple=True,
    help="Sign exactly this content without being asked; once for each file.",
)
@with_nexus
def trust_guarded_files(nexus: "Nexus", confirm: tuple[str, ...]) -> None:
    """Sign the policy, settings, prompts and permissions between projects as they are now.

    Shows what changed since they were last signed, and asks. Without a terminal, --confirm names the file to sign:
    sha256: and the output of sha256sum for it. This needs the private key of an approver.
    """
    ours, at_home = files_to_sign(nexus.state), signed_permissions.permissions_to_sign()
    files = [*ours, *at_home]
    if not files:
        print_answer({"signed": []}, "Everything that needs a signature is signed.", nexus.described)
        return
    for file in files:
        show_unsigned_change(file)
        print_note(f"{file.path}: {file.why}")
    require_confirmation("Sign this?", [file.digest for file in files], confirm)
    keys = {sign_guarded_files(nexus.state, ours)} if ours else set()
    keys |= {signed_permissions.sign_home_permissions(file) for file in at_home}
    key = ", ".join(sorted(keys))
    rows = [{"path": file.path, "digest": file.digest} for file in files]
    names = ", ".join(file.path for file in files)
    print_answer({"signed": rows, "key": key}, f"Signed {names} with {one_line(key)}.", nexus.described)
