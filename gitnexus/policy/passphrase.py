"""The passphrase of an encrypted approver key: from a file, a program that asks, or who sits at the terminal."""

import os
import subprocess
from functools import cache
from pathlib import Path

from gitnexus.base.errors import Failed

FILE = "NEXUS_KEY_PASSPHRASE_FILE"
# Who asks where there is no terminal, as for git itself: a program that prints the answer to its one argument.
ASKPASS = ("NEXUS_ASKPASS", "GIT_ASKPASS", "SSH_ASKPASS")
_PATIENCE = 300
_LONGEST = 4096


@cache
def passphrase(prompt: str) -> bytes:
    """Return what opens the key; asked once for each process. Raises: Failed where nobody can be asked."""
    given = os.environ.get(FILE)
    if given:
        return _from_file(Path(given))
    for name in ASKPASS:
        if os.environ.get(name):
            return _from_program(os.environ[name], prompt)
    return from_terminal(prompt)


def from_terminal(prompt: str) -> bytes:
    """Ask whoever sits at the terminal, without showing what they type. Raises: Failed."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError as exc:
        raise Failed(
            "the approver key is encrypted, and there is no terminal to ask for its passphrase",
            hint=f"name a file that holds it in {FILE}, or a program that asks in {ASKPASS[0]}",
        ) from exc
    import getpass  # only here: most keys are not encrypted

    return getpass.getpass(prompt).encode()


def _from_file(path: Path) -> bytes:
    try:
        about = path.stat()
        if about.st_mode & 0o077:
            raise Failed(f"{path} can be read by others, so it is not used", fix=f"chmod 600 {path}")
        return path.read_bytes()[:_LONGEST].split(b"\n")[0].rstrip(b"\r")
    except OSError as exc:
        raise Failed(f"{path}, named in {FILE}, cannot be read: {exc.strerror}") from exc


def _from_program(program: str, prompt: str) -> bytes:
    try:
        done = subprocess.run([program, prompt], capture_output=True, timeout=_PATIENCE, check=True)
    except (OSError, subprocess.SubprocessError) as exc:
        raise Failed(f"{program} did not tell the passphrase of the approver key") from exc
    return done.stdout[:_LONGEST].split(b"\n")[0].rstrip(b"\r")
