"""Uses the user's SSH key as approver key.

Signs and verifies with ssh-keygen, including ssh-agent and hardware keys.
"""

import base64
import binascii
import hashlib
import subprocess
import tempfile
from pathlib import Path

from gitnexus.base.errors import Failed, Invalid, VerificationFailed
from gitnexus.base.files import expand_home
from gitnexus.base.text import one_line
from gitnexus.git.child import clean_environment

NAMESPACE = "git-nexus"
KINDS = frozenset({
    "ssh-ed25519", "sk-ssh-ed25519@openssh.com", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521",
    "sk-ecdsa-sha2-nistp256@openssh.com", "ssh-rsa",
})  # fmt: skip
_BEGIN, _END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
_SMALLEST_RSA = 256
_LARGEST = 8192


class SshSigner:
    """Signs with the key in git config `nexus.signingKey`: a file, or the public key of one in ssh-agent."""

    def __init__(self, configured: str) -> None:
        """Raises: Failed, Invalid."""
        self._configured = configured
        literal = configured.removeprefix("key::")
        self._file = None if literal.split(" ")[0] in KINDS else expand_home(configured)
        self._public = normalize_ssh_key(literal if self._file is None else _public_beside(self._file))

    @property
    def public(self) -> str:
        return self._public

    @property
    def key_id(self) -> str:
        return fingerprint(ssh_key_bytes(self._public))

    def sign(self, message: bytes) -> bytes:
        """Return the SSHSIG blob over `message`. Raises: Failed."""
        with tempfile.TemporaryDirectory(prefix="nexus-sign-") as place:
            key = self._file
            if key is None:
                key = Path(place, "key.pub")
                key.write_text(self._public + "\n", encoding="ascii")
            done = _run_ssh_keygen(["-Y", "sign", "-n", NAMESPACE, "-f", str(key.absolute())], message)
        if done.returncode != 0:
            raise Failed(
                f"ssh-keygen did not sign: {_last_stderr_line(done.stderr)}",
                hint="is the key in ssh-agent? git config --global nexus.signingKey names it",
            )
        return _dearmour_signature(done.stdout.decode("ascii", "replace"))


def verify_ssh_signature(public: str, message: bytes, signature: bytes) -> None:
    """Raise an error unless `signature` is an SSHSIG of the key over `message`. Raises: VerificationFailed, Failed."""
    if len(signature) > _LARGEST or not signature.startswith(b"SSHSIG"):
        raise VerificationFailed("the signature is not an SSH signature")

    with tempfile.TemporaryDirectory(prefix="nexus-verify-") as place:
        allowed, held = Path(place, "allowed"), Path(place, "signature")
        allowed.write_text(f'{NAMESPACE} namespaces="{NAMESPACE}" {normalize_ssh_key(public)}\n', encoding="ascii")
        held.write_text(_armour_signature(signature), encoding="ascii")
        argv = ["-Y", "verify", "-f", str(allowed), "-I", NAMESPACE, "-n", NAMESPACE, "-s", str(held)]
        done = _run_ssh_keygen(argv, message)
    if done.returncode != 0:
        raise VerificationFailed("the signature is not one of that key over this content")


def normalize_ssh_key(text: str) -> str:
    """Return an SSH public key without its comment. Raises: Invalid."""
    words = text.split()
    public = " ".join(words[:2])
    ssh_key_bytes(public)
    return public


def fingerprint(blob: bytes) -> str:
    """Return the fingerprint as `ssh-keygen -l` prints it, for people to compare."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")


def ssh_key_bytes(public: str) -> bytes:
    """Return the bytes of an SSH public key of a type that may approve. Raises: Invalid."""
    kind, _, text = public.partition(" ")
    if kind not in KINDS:
        raise Invalid(f"{one_line(kind, 40)!r} is not a kind of key that can approve", hint="use ed25519, ecdsa or rsa")
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as exc:
        raise Invalid(f"{public[:40]!r} is not a public key") from exc
    fields = _split_ssh_fields(raw)
    if len(fields) < 2 or fields[0] != kind.encode() or base64.b64encode(raw).decode() != text:
        raise Invalid(f"{public[:40]!r} is not a public key")
    if kind == "ssh-rsa" and len(fields[-1].lstrip(b"\0")) < _SMALLEST_RSA:
        raise Invalid("an RSA key of less than 2048 bits approves nothing", hint="use ed25519")
    return raw


def _split_ssh_fields(raw: bytes) -> list[bytes]:
    """Return the strings of the SSH wire format, empty if a length is out of range."""
    found, at = [], 0
    while at < len(raw):
        size = int.from_bytes(raw[at : at + 4])
        if at + 4 + size > len(raw):
            return []
        found.append(raw[at + 4 : at + 4 + size])
        at += 4 + size
    return found


def _public_beside(file: Path) -> str:
    for path in (file if file.suffix == ".pub" else file.with_name(file.name + ".pub"), file):
        try:
            text = path.read_text(encoding="utf-8", errors="replace")[:_LARGEST]
        except OSError:
            continue
        if text.split(" ")[0] in KINDS:
            return text
    raise Failed(
        f"nexus.signingKey: no public key at {file}",
        hint="it should be a key file with its .pub beside it, or the public key itself",
    )


def _run_ssh_keygen(argv: list[str], message: bytes) -> "subprocess.CompletedProcess[bytes]":
    try:
        return subprocess.run(
            ["ssh-keygen", *argv], input=message, capture_output=True, check=False, env=clean_environment()
        )
    except FileNotFoundError as exc:
        raise Failed("ssh-keygen is not on PATH", hint="install OpenSSH 8.2 or newer") from exc


def _armour_signature(signature: bytes) -> str:
    text = base64.b64encode(signature).decode()
    lines = [text[at : at + 70] for at in range(0, len(text), 70)]
    return "\n".join([_BEGIN, *lines, _END, ""])


def _dearmour_signature(text: str) -> bytes:
    body = text.strip().removeprefix(_BEGIN).removesuffix(_END)
    try:
        return base64.b64decode("".join(body.split()), validate=True)
    except (binascii.Error, ValueError) as exc:
        raise Failed("ssh-keygen printed no signature") from exc


def _last_stderr_line(stderr: bytes) -> str:
    lines = stderr.decode("utf-8", "replace").strip().splitlines()
    return one_line(lines[-1], 200) if lines else "no reason given"
