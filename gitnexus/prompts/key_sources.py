"""Reads the key of a model from where the settings say it is: a variable, a command, or the system's keyring."""

import os
import subprocess
import sys
from collections.abc import Sequence

from gitnexus.base.argvtext import escape_word
from gitnexus.base.errors import Failed

SERVICE = "git-nexus"
_SECONDS = 30
_LARGEST = 64 * 1024


def keyring_command(account: str) -> tuple[str, ...]:
    """Return the command that prints a key from the system's keyring."""
    if sys.platform == "darwin":
        return ("security", "find-generic-password", "-s", SERVICE, "-a", account, "-w")
    return ("secret-tool", "lookup", "service", SERVICE, "account", account)


def keyring_store_command(account: str) -> tuple[str, ...]:
    """Return the command with which a user stores a key in the keyring; it prompts for the key."""
    if sys.platform == "darwin":
        return ("security", "add-generic-password", "-s", SERVICE, "-a", account, "-w")
    return ("secret-tool", "store", f"--label={SERVICE}", "service", SERVICE, "account", account)


def read_key(key_env: str, key_command: Sequence[str], keyring: str) -> str:
    """Return the key, empty if no source is named. Raises: Failed if there is no key, or no usable one."""
    if key_env:
        found, where = os.environ.get(key_env, "").strip(), key_env
        if not found:
            raise Failed(f"{key_env} is not set", hint="keyEnv of the model names the variable of the key")
    elif key_command or keyring:
        argv = tuple(key_command) or keyring_command(keyring)
        found, where = _first_line_of(argv, keyring), "the keyring" if keyring else f"the command {argv[0]}"
    else:
        return ""
    if not found.isascii() or not found.isprintable():
        raise Failed(f"{where} holds no key: it has characters that no header takes")
    return found


def _first_line_of(argv: Sequence[str], keyring: str) -> str:
    # What it printed is a secret: no error may show it.
    shown = " ".join(map(escape_word, argv))
    hint = " ".join(map(escape_word, keyring_store_command(keyring))) if keyring else "run it by hand to see why"
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False)
    except OSError as exc:
        raise Failed(f"the key cannot be read: {argv[0]}: {exc.strerror}", hint=hint) from exc
    except subprocess.TimeoutExpired as exc:
        raise Failed(f"the key cannot be read: {shown} took longer than {_SECONDS} s", hint=hint) from exc
    if done.returncode != 0 or not done.stdout.strip() or len(done.stdout) > _LARGEST:
        raise Failed(
            f"the key cannot be read: {shown} ended with status {done.returncode} and printed no key", hint=hint
        )
    return done.stdout.decode("utf-8", "replace").strip().splitlines()[0].strip()
