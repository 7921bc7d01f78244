"""Verifies files that count only with an approver's signature: policy, loosening settings and prompts; signs them.

The signatures are in one file on the state ref. A verified file is cached in the user's home by the digest of
everything that went into the check, so that a short command need not verify again.
"""

import contextlib
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gitnexus.base.canonical import canonical_json, json_document, parse_json
from gitnexus.base.clock import format_precise_timestamp, is_future, utc_now
from gitnexus.base.errors import Invalid, NexusError, VerificationFailed
from gitnexus.base.files import replace_file
from gitnexus.base.record import Record
from gitnexus.base.text import one_line
from gitnexus.git import GitFailed
from gitnexus.policy.encoding import decode_base64, encode_base64
from gitnexus.policy.pins import Pin, advance_pin, note_signature_time, read_pin, refuse_other_project
from gitnexus.state import Snapshot
from gitnexus.state.format import project_id_of
from gitnexus.state.home import home_folder

if TYPE_CHECKING:
    from gitnexus.policy.approvers import Approvers
    from gitnexus.policy.keys import Signer

FILE = "policy/signatures.json"
POLICY = "policy.md"
SETTINGS = "settings.json"
# Prompt texts: they steer a model. Other files of that folder never count, signed or not.
PROMPTS = ("baml/router.baml", "baml/research.baml", "baml/plan.baml", "baml/exec.baml", "baml/agenda_patch.baml")
# Tools of the project's own: what agents are offered to run.
TOOLS = "tools.json"
GUARDED = (POLICY, SETTINGS, *PROMPTS, TOOLS)
DOMAIN = b"git-nexus file v1\0"
_MOST_REMEMBERED = 500
_OID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class FileSignature(Record):
    """An approver's signature of one content of a file; `blob` locates that content."""

    digest: str
    blob: str
    key: str
    at: str
    signature: str = ""


@dataclass(frozen=True, slots=True)
class FileTrust:
    """Whether a file counts, and the reason if not."""

    trusted: bool
    why: str = ""


class SignedFiles:
    """The guarded files of one snapshot, as this machine trusts them."""

    def __init__(self, snapshot: Snapshot, common_dir: Path) -> None:
        self._snapshot = snapshot
        self._common_dir = common_dir
        self.project = project_id_of(snapshot) or ""
        self._chain = snapshot.read("approvers")
        self._raw = snapshot.read(FILE)
        self._approvers: Approvers | None = None

    def trust_of(self, path: str, raw: bytes) -> FileTrust:
        """Return whether these bytes count as the file `path`. Never raises because of repository content."""
        try:
            entry = self.read_signatures().get(path)
            if entry is None:
                return FileTrust(False, "nobody signed it")
            if entry.digest != content_digest(raw):
                return FileTrust(False, f"it changed since it was signed {entry.at}")
            today = utc_now()
            if is_future(entry.at, today):
                return FileTrust(False, _why_future(entry))
            pin = read_pin(self._common_dir)
            if pin is None:
                return FileTrust(False, "this machine does not know the approvers yet: git nexus init")
            refuse_other_project(pin, self.project)
            if not pin.consent:
                return FileTrust(False, "you have not said that its approvers count here: git nexus approver trust")
            if not _is_remembered(self._proof_digest(path, raw, pin)):
                refuse_unproved(entry, self.project, path, self.approvers())  # advances the pin if the chain grew
                pin = note_signature_time(self._common_dir, read_pin(self._common_dir) or pin, path, entry.at, today)
                _remember_proof(self._proof_digest(path, raw, pin))
        except NexusError as exc:  # also if ssh-keygen is missing: what cannot be verified is not trusted
            return FileTrust(False, exc.message)
        return FileTrust(True)

    def _proof_digest(self, path: str, raw: bytes, pin: Pin) -> str:
        """Return the cache key of the check; it includes the pin, so that a shortened chain is verified again."""
        parts = [content_digest(raw), content_digest(self._chain or b""), content_digest(self._raw or b"")]
        return content_digest(canonical_json([1, self.project, path, *parts, pin.plain()]))

    def approvers(self) -> "Approvers":
        """Return the approvers, verified against this machine's pin. Raises: VerificationFailed, Invalid."""
        if self._approvers is None:
            pin = read_pin(self._common_dir)
            if pin is None:
                raise VerificationFailed("this machine does not know the approvers yet", hint="git nexus init")
            if self._chain is None:
                raise VerificationFailed(
                    "the list of approvers is gone from the state ref", hint="git nexus doctor --fix"
                )
            found = self.listed()
            advance_pin(self._common_dir, pin, found)
            self._approvers = found
        return self._approvers

    def listed(self) -> "Approvers":
        """Return the approvers, verified from the first key, without the pin. Raises: as above."""
        if self._chain is None:
            raise VerificationFailed("this project has no approvers", hint="git nexus init makes you the first")
        from gitnexus.policy import approvers as chain

        proof = content_digest(canonical_json([1, self.project, content_digest(self._chain)]))
        known = _is_remembered(proof)
        found = chain.verify_chain(self._chain, self.project, proved=known)
        if not known:
            _remember_proof(proof)
        return found

    def approvers_with_consent(self) -> "Approvers":
        """Return the approvers whom the user trusts on this machine, for execution. Raises: as above."""
        found = self.approvers()
        pin = read_pin(self._common_dir)
        if pin is None or not pin.consent:
            raise VerificationFailed(
                "you have not said that the approvers of this project count here", hint="git nexus approver trust"
            )
        return found

    def untrusted(self) -> dict[str, str]:
        """Return the guarded files that do not count, with the reason; settings only if they loosen."""
        from gitnexus.state.settings import loosening_keys_in

        found = {}
        for path in GUARDED:
            raw = self._snapshot.read(path)
            if raw is None or (path == SETTINGS and not loosening_keys_in(raw)):
                continue
            standing = self.trust_of(path, raw)
            if not standing.trusted:
                found[path] = standing.why
        return found

    def read_signatures(self) -> dict[str, FileSignature]:
        """Return the signatures, not verified yet. Raises: Invalid."""
        return parse_signatures(self._raw)

    def last_trusted(self, path: str) -> bytes | None:
        """Return the last signed content of a file, if git still has it."""
        entry = self.read_signatures().get(path)
        return _content_if_signed(self._snapshot, entry) if entry is not None else None


def parse_signatures(raw: bytes | None) -> dict[str, FileSignature]:
    """Return the signatures in a file, by path. Raises: Invalid."""
    if raw is None:
        return {}
    value: Any = parse_json(raw)
    if not isinstance(value, dict) or value.keys() != {"v", "files"} or value["v"] != 1:
        raise Invalid(f"{FILE} is not of a form that is known here")
    if not isinstance(value["files"], dict):
        raise Invalid(f"{FILE}: files should be an object")
    return {path: FileSignature.from_value(row, f"{FILE}: {path}") for path, row in value["files"].items()}


def why_unsigned(
    entry: FileSignature | None, project: str, path: str, raw: bytes, approvers: "Approvers", today: datetime
) -> str:
    """Return why a signature is not valid for these bytes, "" if it is; does not use or move the pin."""
    if entry is None:
        return "nobody signed it"
    if entry.digest != content_digest(raw):
        return f"it changed since it was signed {entry.at}"
    if is_future(entry.at, today):
        return _why_future(entry)
    try:
        refuse_unproved(entry, project, path, approvers)
    except NexusError as exc:
        return exc.message
    return ""


def refuse_unproved(entry: FileSignature, project: str, path: str, approvers: "Approvers") -> None:
    """Raise an error for a signature that no approver made, whatever the present content.

    Raises: VerificationFailed, ….
    """
    from gitnexus.policy.keys import verify_signature  # `status` runs often and needs it once per content

    verify_signature(
        approvers.public_of(entry.key), _message_to_sign(project, path, entry), decode_base64(entry.signature)
    )


def render_signatures(entries: Mapping[str, FileSignature]) -> bytes:
    """Return the content of the signatures file."""
    return json_document({"v": 1, "files": {path: entry.plain() for path, entry in entries.items()}})


def sign_files(
    raw: bytes | None, project: str, files: Mapping[str, tuple[bytes, str]], signer: "Signer", now: datetime
) -> bytes:
    """Return the signatures file with new ones for `files`: path → content and its blob id. Raises: Failed."""
    try:
        known = parse_signatures(raw)
    except Invalid:
        known = {}  # an unreadable cache trusts nothing and is dropped
    for path, (data, blob) in files.items():
        entry = FileSignature(
            digest=content_digest(data), blob=blob, key=signer.key_id, at=format_precise_timestamp(now)
        )
        known[path] = entry.changed(signature=encode_base64(signer.sign(_message_to_sign(project, path, entry))))
    return render_signatures(known)


def content_digest(raw: bytes) -> str:
    """Return the digest of a content."""
    return f"sha256:{hashlib.sha256(raw).hexdigest()}"


def _why_future(entry: FileSignature) -> str:
    return f"it was signed in the future, {one_line(entry.at, 40)}: look at the clocks, and sign it again"


def _message_to_sign(project: str, path: str, entry: FileSignature) -> bytes:
    said = entry.changed(signature="").plain()
    return DOMAIN + canonical_json({**said, "project": project, "path": path})


def _content_if_signed(snapshot: Snapshot, entry: FileSignature) -> bytes | None:
    if not _OID.fullmatch(entry.blob):  # it is passed to git: only an id is valid
        return None
    try:
        raw = snapshot.blob(entry.blob)
    except GitFailed:
        return None
    return raw if content_digest(raw) == entry.digest else None


def _proofs_file() -> Path:
    return home_folder() / "cache" / "verified"


def _is_remembered(proof: str) -> bool:
    try:
        return proof in _proofs_file().read_text(encoding="ascii").split()
    except (OSError, UnicodeDecodeError):
        return False


def _remember_proof(proof: str) -> None:
    # Concurrent writes may lose a line: then it is verified again.
    with contextlib.suppress(OSError, UnicodeDecodeError):
        file = _proofs_file()
        known = file.read_text(encoding="ascii").split() if file.exists() else []
        replace_file(file, ("\n".join([*known[-_MOST_REMEMBERED:], proof]) + "\n").encode(), 0o600)
