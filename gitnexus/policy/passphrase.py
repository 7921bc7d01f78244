"""Gets the passphrase of an encrypted approver key from a file, an askpass program or the terminal."""

import getpass
import os
import subprocess
from functools import cache
from pathlib import Path

from gitnexus.base.errors import Failed

FILE = "NEXUS_KEY_PASSPHRASE_FILE"
# The askpass program for use without a terminal, as git has one: it prints the answer to its argument.
ASKPASS = ("NEXUS_ASKPASS", "GIT_ASKPASS", "SSH_ASKPASS")
_PATIENCE = 300
_LONGEST = 4096


@cache
def read_passphrase(prompt: str) -> bytes:
    """Return the passphrase; asks once per process. Raises: Failed if nobody can be asked."""
    given = os.environ.get(FILE)
    if given:
        return _passphrase_from_file(Path(given))
    for name in ASKPASS:
        if os.environ.get(name):
            return _passphrase_from_program(os.environ[name], prompt)
    return ask_passphrase(prompt)


def ask_passphrase(prompt: str) -> bytes:
    """Ask at the terminal without echo. Raises: Failed."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError as exc:
        raise Failed(
            "the approver key is encrypted, and there is no terminal to ask for its passphrase",
            hint=f"name a file that holds it in {FILE}, or a program that asks in {ASKPASS[0]}",
        ) from exc

    return getpass.getpass(prompt).encode()


def _passphrase_from_file(path: Path) -> bytes:
    try:
        about = path.stat()
        if about.st_mode & 0o077:
            raise Failed(f"{path} can be read by others, so it is not used", fix=f"chmod 600 {path}")
        return path.read_bytes()[:_LONGEST].split(b"\n")[0].rstrip(b"\r")
    except OSError as exc:
        raise Failed(f"{path}, named in {FILE}, cannot be read: {exc.strerror}") from exc


def _passphrase_from_program(program: str, prompt: str) -> bytes:
    try:
        done = subprocess.run([program, prompt], capture_output=True, timeout=_PATIENCE, check=True)
    except (OSError, subprocess.SubprocessError) as exc:
        raise Failed(f"{program} did not return the passphrase of the approver key") from exc
    return done.stdout[:_LONGEST].split(b"\n")[0].rstrip(b"\r")
