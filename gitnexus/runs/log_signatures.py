"""Signs the parts of a run's log that this machine wrote, and verifies which machine wrote each part.

A part signed by this machine, or by one that an approver vouches for, counts as fact; everything else is a claim.
"""

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from gitnexus.base.canonical import json_document, parse_json
from gitnexus.base.clock import format_timestamp, utc_now
from gitnexus.base.errors import NexusError, VerificationFailed
from gitnexus.base.files import replace_file
from gitnexus.base.text import one_line
from gitnexus.events.authors import LogAuthors, LogPart, LogSpan, MachineCard
from gitnexus.events.log import FILE
from gitnexus.events.model import Event, sha256_digest
from gitnexus.policy.approvers import Approvers
from gitnexus.policy.encoding import decode_base64, encode_base64
from gitnexus.policy.keys import key_id, keys_folder, normalize_public_key, verify_signature
from gitnexus.policy.machine import (
    CARDS,
    MachineKey,
    check_card,
    ensure_machine_key,
    make_card,
    read_machine_key,
    sign_machine_card,
)
from gitnexus.policy.signed import SignedFiles
from gitnexus.policy.trust import signer_for_repo
from gitnexus.runs.import_log import last_imported_event
from gitnexus.runs.logs import archived_log
from gitnexus.state import State
from gitnexus.state.format import project_id_of

# here: on this disk and on no ref yet. signed: by this machine or a vouched one. before: ours, of a version that did
# not sign. claimed: by nobody who is known.
StretchStatus = Literal["here", "signed", "before", "claimed"]
_OURS = ("policy", "nexus", "gate", "user")


class Stretch(NamedTuple):
    """A part of a log and its verification status.

    `name` is the owner of the machine, `by` the approver who vouches.
    """

    since: int
    upto: int
    status: StretchStatus
    name: str = ""
    by: str = ""

    @property
    def words(self) -> str:
        """The part described in one line."""
        events = f"events {self.since + 1} to {self.upto}"
        match self.status:
            case "here":
                return f"{events}: written here, and on no ref yet"
            case "signed":
                return f"{events}: signed by the machine of {one_line(self.name, 80)}, {one_line(self.by, 80)}"
            case "before":
                return f"{events}: unsigned, from before logs were signed"
        said = f", in the name of {one_line(self.name, 80)}" if self.name else ""
        return f"{events}: claimed{said}; no machine known here signed them"


def log_signer(state: State, run: str, folder: Path) -> Callable[[LogAuthors, LogSpan], LogAuthors]:
    """Return the function that signs new parts of a run's log with this machine's key; imported events are excluded."""

    def sign(before: LogAuthors, span: LogSpan) -> LogAuthors:
        project = project_id_of(state.snapshot) or ""
        if not span.since:
            before, span = _signed_in_archive(state, run, folder, before, span)
        since, prev = last_imported_event(folder)
        if since > span.since:
            span = span._replace(since=since, prev=prev)
        if span.since >= span.upto:
            return before
        machine = ensure_machine_key()
        parts = list(before.parts)
        if parts and _is_ours(parts[-1], machine, span, project, run):
            last = parts.pop()
            span = span._replace(since=last.since, prev=last.prev)
        part = LogPart(**span._asdict(), machine=machine.id, at=format_timestamp(utc_now()))
        signature = encode_base64(machine.sign(part.message(project, run)))
        cards = [card for card in before.machines if card.id != machine.id]
        machines = (*cards, own_machine_card(state, machine))
        return before.changed(machines=machines, parts=(*parts, part.changed(signature=signature)))

    return sign


def _signed_in_archive(
    state: State, run: str, folder: Path, before: LogAuthors, span: LogSpan
) -> tuple[LogAuthors, LogSpan]:
    """Return the authors of the archived log that the local one continues, and the span after it.

    A run that was cleaned up has no ref; whoever continues it begins a new one, and its first events stay signed.
    """
    with contextlib.suppress(NexusError, OSError):
        held = archived_log(state.objects, run)
        if held is not None and held.head.seq <= span.upto and (folder / FILE).read_bytes().startswith(held.raw()):
            return held.authors(), span._replace(since=held.head.seq, prev=held.head.digest)
    return before, span


def own_machine_card(state: State, machine: MachineKey) -> MachineCard:
    """Return this machine's card, signed by the approver's key if it is available."""
    project, name = project_id_of(state.snapshot) or "", one_line(state.author.name, 100)
    approvers = _trusted_approvers(state)
    file = keys_folder() / f"machine-{project}.json"
    with contextlib.suppress(NexusError, OSError):
        known = MachineCard.from_value(_parse_card(file.read_bytes()), file.name)
        fits = (known.id, known.project, known.name) == (machine.id, project, name)
        if fits and known.by and approvers is not None and any(one.key == known.by for one in approvers.active):
            return known
    card = make_card(machine.id, machine.public, name, project, utc_now())
    with contextlib.suppress(NexusError):  # no approver, or one whose key is not at hand: then it is only claimed
        signer = signer_for_repo(state.repo)
        if approvers is not None and any(one.key == signer.key_id for one in approvers.active):
            card = sign_machine_card(card, signer)
            check_card(card, project, approvers)
            replace_file(file, json_document(card.plain()), 0o600)
    return card


def is_this_machine_vouched_for(state: State) -> bool:
    """True if other clones take what this machine signs as fact: an approver who counts here vouches for its key."""
    machine = read_machine_key()
    if machine is None:
        return False
    try:
        _PartVerifier(state, "", (), LogAuthors()).verify_card(own_machine_card(state, machine))
        return True
    except NexusError:
        return False


def stretches_of(
    state: State, run: str, raw: bytes, authors: LogAuthors, *, on_ref: int, arrived: int, unsigned: StretchStatus
) -> list[Stretch]:
    """Return the verification status of each part of a log. The caller checks the hash chain.

    `on_ref` is the last event on the run's ref and `arrived` the last imported one: later events were written here.
    `unsigned` is the status for parts without a signature.
    """
    lines = raw.split(b"\n")[:-1]
    check = _PartVerifier(state, run, lines, authors)
    found: list[Stretch] = []
    at = 0
    for part in authors.parts:
        if part.since > at:
            found.append(Stretch(at, part.since, unsigned))
        found.append(check.verify_part(part))
        at = part.upto
    if at < min(on_ref, len(lines)):
        found.append(Stretch(at, min(on_ref, len(lines)), unsigned))
        at = min(on_ref, len(lines))
    if at < len(lines):
        if arrived > at:
            found.append(Stretch(at, min(arrived, len(lines)), unsigned))
            at = min(arrived, len(lines))
        if at < len(lines):
            found.append(Stretch(at, len(lines), "here"))
    return found


def has_only_leading_claims(stretches: Sequence[Stretch]) -> bool:
    """True unless a claimed part follows a proved one, which is the mark of forged history."""
    known = False
    for one in stretches:
        if one.status == "claimed" and known:
            return False
        known = known or one.status != "claimed"
    return True


def is_claimed_event(stretches: Sequence[Stretch], event: Event) -> bool:
    """True for an event that no known machine signed, or that a machine signed in another person's name."""
    one = next((one for one in stretches if one.since < event.seq <= one.upto), None)
    if one is None or one.status == "claimed":
        return True
    by = event.body.get("by")
    return one.status == "signed" and bool(one.by) and isinstance(by, str) and by not in (one.name, "", *_OURS)


class _PartVerifier:
    """Verifies parts of one log."""

    def __init__(self, state: State, run: str, lines: Sequence[bytes], authors: LogAuthors) -> None:
        self._state, self._run, self._lines, self._authors = state, run, lines, authors
        self._project = project_id_of(state.snapshot) or ""
        self._machine = read_machine_key()
        self._trusted: Approvers | None = None
        self._asked = False

    def verify_part(self, part: LogPart) -> Stretch:
        """Return the part with its verification status."""
        card = self._authors.card(part.machine)
        name = card.name if card is not None else ""
        try:
            if not self._is_bound(part) or card is None:
                raise VerificationFailed("it is of another log")
            verify_signature(card.public, part.message(self._project, self._run), decode_base64(part.signature))
            if self._machine is not None and (card.public, card.id) == (self._machine.public, self._machine.id):
                return Stretch(part.since, part.upto, "signed", name, "this machine")
            name, by = self.verify_card(card)
            return Stretch(part.since, part.upto, "signed", name, f"for which {by} vouches")
        except NexusError:
            return Stretch(part.since, part.upto, "claimed", name)

    def _is_bound(self, part: LogPart) -> bool:
        if part.upto > len(self._lines) or sha256_digest(self._lines[part.upto - 1]) != part.head:
            return False
        return part.prev == (sha256_digest(self._lines[part.since - 1]) if part.since else "")

    def verify_card(self, card: MachineCard) -> tuple[str, str]:
        """Return the owner of the machine and the approver who vouches for it. Raises: VerificationFailed, Invalid."""
        if not self._asked:
            self._trusted, self._asked = _trusted_approvers(self._state), True
        if self._trusted is None:
            raise VerificationFailed("whose approvers count here is not known")
        if not card.by:
            raw = self._state.latest().read(machine_card_path(card.id))
            kept = MachineCard.from_value(_parse_card(raw), CARDS) if raw is not None else card
            card = kept if kept.public == card.public else card
        return card.name, check_card(card, self._project, self._trusted)


def vouch_for(state: State, public: str, name: str) -> MachineCard:
    """Sign and store a card that names a machine's owner, for all clones of the project; return it.

    Raises: NexusError.
    """
    snapshot = state.required()
    signer = signer_for_repo(state.repo)
    approvers = SignedFiles(snapshot, state.repo.common_dir).approvers_with_consent()
    approvers.public_of(signer.key_id)
    project = project_id_of(snapshot) or ""
    public = normalize_public_key(public)
    card = sign_machine_card(make_card(key_id(public), public, one_line(name, 100), project, utc_now()), signer)
    check_card(card, project, approvers)
    state.write(
        {machine_card_path(card.id): json_document(card.plain())}, why=f"policy: vouch for the machine of {card.name}"
    )
    return card


def machine_card_path(machine: str) -> str:
    """Return the path in the state of an approver's card for a machine."""
    return f"{CARDS}/{machine.replace(':', '-')}.json"


def _is_ours(part: LogPart, machine: MachineKey, span: LogSpan, project: str, run: str) -> bool:
    if part.machine != machine.id or (part.upto, part.head) != (span.since, span.prev):
        return False
    try:
        verify_signature(machine.public, part.message(project, run), decode_base64(part.signature))
    except NexusError:
        return False
    return True


def _trusted_approvers(state: State) -> Approvers | None:
    with contextlib.suppress(NexusError):
        return SignedFiles(state.latest(), state.repo.common_dir).approvers_with_consent()
    return None


def _parse_card(raw: bytes | None) -> object:
    return parse_json(raw or b"")
