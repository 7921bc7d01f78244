"""Files that count only when an approver signed them: the policy, settings that loosen, and the words of prompts.

The signatures lie in one file on the ref. What was verified once is remembered in the user's home by the digest of all
that went into it, so that a short command need not verify again.
"""

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gitnexus.base.canonical import canonical, document, parse
from gitnexus.base.clock import is_future, now, precise
from gitnexus.base.errors import Invalid, NexusError, VerificationFailed
from gitnexus.base.files import replace
from gitnexus.base.record import Record
from gitnexus.base.text import one_line
from gitnexus.policy.encoding import encoded, raw_of
from gitnexus.policy.pins import Pin, followed, pinned, refuse_other_project, saw
from gitnexus.state import Snapshot
from gitnexus.state.format import id_of
from gitnexus.state.home import home_folder

if TYPE_CHECKING:
    from gitnexus.policy.approvers import Approvers
    from gitnexus.policy.keys import Signer

FILE = "policy/signatures.json"
POLICY = "policy.md"
SETTINGS = "settings.json"
# The words of prompts: they steer a model. Other files of that folder count never, signed or not.
PROMPTS = ("baml/router.baml", "baml/research.baml", "baml/plan.baml", "baml/exec.baml", "baml/agenda_patch.baml")
GUARDED = (POLICY, SETTINGS, *PROMPTS)
DOMAIN = b"git-nexus file v1\0"
_MOST_REMEMBERED = 500
_OID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class FileSignature(Record):
    """An approver's word for one content of one file; `blob` finds that content again."""

    digest: str
    blob: str
    key: str
    at: str
    signature: str = ""


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether a file counts, and if not, why."""

    trusted: bool
    why: str = ""


class Signed:
    """The guarded files of one snapshot, as this machine sees them."""

    def __init__(self, snapshot: Snapshot, common_dir: Path) -> None:
        self._snapshot = snapshot
        self._common_dir = common_dir
        self.project = id_of(snapshot) or ""
        self._chain = snapshot.read("approvers")
        self._raw = snapshot.read(FILE)
        self._approvers: Approvers | None = None

    def standing(self, path: str, raw: bytes) -> Standing:
        """Return whether these bytes count as the file `path`. Never raises for what a repository says."""
        try:
            entry = self.signatures().get(path)
            if entry is None:
                return Standing(False, "nobody signed it")
            if entry.digest != digest(raw):
                return Standing(False, f"it changed since it was signed {entry.at}")
            today = now()
            if is_future(entry.at, today):
                return Standing(False, _why_future(entry))
            pin = pinned(self._common_dir)
            if pin is None:
                return Standing(False, "this machine does not know the approvers yet: git nexus init")
            refuse_other_project(pin, self.project)
            if not pin.consent:
                return Standing(False, "you have not said that its approvers count here: git nexus approver trust")
            if not _remembered(self._proof(path, raw, pin)):
                refuse_unproved(entry, self.project, path, self.approvers())  # moves the pin on, if the chain did
                pin = saw(self._common_dir, pinned(self._common_dir) or pin, path, entry.at, today)
                _remember(self._proof(path, raw, pin))
        except NexusError as exc:  # also an ssh-keygen that is missing: what cannot be verified is not trusted
            return Standing(False, exc.message)
        return Standing(True)

    def _proof(self, path: str, raw: bytes, pin: Pin) -> str:
        """Return the name of all that the answer depends on; of the pin too, so that a chain cut back is verified."""
        parts = [digest(raw), digest(self._chain or b""), digest(self._raw or b"")]
        return digest(canonical([1, self.project, path, *parts, pin.plain()]))

    def approvers(self) -> "Approvers":
        """Return the approvers, verified, and as this machine knows them. Raises: VerificationFailed, Invalid."""
        if self._approvers is None:
            pin = pinned(self._common_dir)
            if pin is None:
                raise VerificationFailed("this machine does not know the approvers yet", hint="git nexus init")
            if self._chain is None:
                raise VerificationFailed(
                    "the list of approvers is gone from the state ref", hint="git nexus doctor --fix"
                )
            found = self.listed()
            followed(self._common_dir, pin, found)
            self._approvers = found
        return self._approvers

    def listed(self) -> "Approvers":
        """Return the approvers, verified from the first, whether or not this machine knows that. Raises: as above."""
        if self._chain is None:
            raise VerificationFailed("this project has no approvers", hint="git nexus init makes you the first")
        from gitnexus.policy import approvers as chain

        proof = digest(canonical([1, self.project, digest(self._chain)]))
        known = _remembered(proof)
        found = chain.verified(self._chain, self.project, proved=known)
        if not known:
            _remember(proof)
        return found

    def consented(self) -> "Approvers":
        """Return the approvers whose word counts on this machine: for what executes. Raises: as above."""
        found = self.approvers()
        pin = pinned(self._common_dir)
        if pin is None or not pin.consent:
            raise VerificationFailed(
                "you have not said that the approvers of this project count here", hint="git nexus approver trust"
            )
        return found

    def untrusted(self) -> dict[str, str]:
        """Return the guarded files that do not count, with the reason; settings only if they would loosen."""
        from gitnexus.state.settings import loosening

        found = {}
        for path in GUARDED:
            raw = self._snapshot.read(path)
            if raw is None or (path == SETTINGS and not loosening(raw)):
                continue
            standing = self.standing(path, raw)
            if not standing.trusted:
                found[path] = standing.why
        return found

    def signatures(self) -> dict[str, FileSignature]:
        """Return the signatures there are, not believed yet. Raises: Invalid."""
        return read(self._raw)

    def last_trusted(self, path: str) -> bytes | None:
        """Return the content of a file that was signed last, if git still has it."""
        entry = self.signatures().get(path)
        return _content(self._snapshot, entry) if entry is not None else None


def read(raw: bytes | None) -> dict[str, FileSignature]:
    """Return the signatures in a file, by path. Raises: Invalid."""
    if raw is None:
        return {}
    value: Any = parse(raw)
    if not isinstance(value, dict) or value.keys() != {"v", "files"} or value["v"] != 1:
        raise Invalid(f"{FILE} is not of a form that is known here")
    if not isinstance(value["files"], dict):
        raise Invalid(f"{FILE}: files should be an object")
    return {path: FileSignature.from_value(row, f"{FILE}: {path}") for path, row in value["files"].items()}


def why_unsigned(
    entry: FileSignature | None, project: str, path: str, raw: bytes, approvers: "Approvers", today: datetime
) -> str:
    """Return why a signature does not hold for these bytes, nothing if it does; no pin is asked or moved."""
    if entry is None:
        return "nobody signed it"
    if entry.digest != digest(raw):
        return f"it changed since it was signed {entry.at}"
    if is_future(entry.at, today):
        return _why_future(entry)
    try:
        refuse_unproved(entry, project, path, approvers)
    except NexusError as exc:
        return exc.message
    return ""


def refuse_unproved(entry: FileSignature, project: str, path: str, approvers: "Approvers") -> None:
    """Refuse a signature that no approver made, whatever the file has become since. Raises: VerificationFailed, …"""
    from gitnexus.policy.keys import verify  # status comes by all day, and needs it once for each content

    verify(approvers.public_of(entry.key), _message(project, path, entry), raw_of(entry.signature))


def stored(entries: Mapping[str, FileSignature]) -> bytes:
    """Return the file of signatures."""
    return document({"v": 1, "files": {path: entry.plain() for path, entry in entries.items()}})


def signed(
    raw: bytes | None, project: str, files: Mapping[str, tuple[bytes, str]], signer: "Signer", now: datetime
) -> bytes:
    """Return the file of signatures with new ones for `files`: path → content and its blob id. Raises: Failed."""
    try:
        known = read(raw)
    except Invalid:
        known = {}  # what cannot be read trusts nothing, and is not worth keeping
    for path, (data, blob) in files.items():
        entry = FileSignature(digest=digest(data), blob=blob, key=signer.key_id, at=precise(now))
        known[path] = entry.changed(signature=encoded(signer.sign(_message(project, path, entry))))
    return stored(known)


def digest(raw: bytes) -> str:
    """Return the digest by which contents are named."""
    import hashlib  # 6 ms: not for who only imports this

    return f"sha256:{hashlib.sha256(raw).hexdigest()}"


def _why_future(entry: FileSignature) -> str:
    return f"it was signed in the future, {one_line(entry.at, 40)}: look at the clocks, and sign it again"


def _message(project: str, path: str, entry: FileSignature) -> bytes:
    said = entry.changed(signature="").plain()
    return DOMAIN + canonical({**said, "project": project, "path": path})


def _content(snapshot: Snapshot, entry: FileSignature) -> bytes | None:
    from gitnexus.git import GitFailed

    if not _OID.fullmatch(entry.blob):  # it is asked of git: nothing but an id may come through
        return None
    try:
        raw = snapshot.blob(entry.blob)
    except GitFailed:
        return None
    return raw if digest(raw) == entry.digest else None


def _proofs() -> Path:
    return home_folder() / "cache" / "verified"


def _remembered(proof: str) -> bool:
    try:
        return proof in _proofs().read_text(encoding="ascii").split()
    except (OSError, UnicodeDecodeError):
        return False


def _remember(proof: str) -> None:
    # Two at once may lose a line: then it is verified once more.
    with contextlib.suppress(OSError, UnicodeDecodeError):
        file = _proofs()
        known = file.read_text(encoding="ascii").split() if file.exists() else []
        replace(file, ("\n".join([*known[-_MOST_REMEMBERED:], proof]) + "\n").encode(), 0o600)
