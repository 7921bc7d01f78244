"""Who wrote which part of a run's log: signed by this machine at each checkpoint, and checked where a log is shown.

What this machine or one that an approver vouches for has signed is a fact here; all else is a claim.
"""

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from gitnexus.app.arrive import arrived_upto
from gitnexus.app.trust import signer_of
from gitnexus.base.canonical import document, parse
from gitnexus.base.clock import now, stamp
from gitnexus.base.errors import NexusError, VerificationFailed
from gitnexus.base.files import replace
from gitnexus.base.text import one_line
from gitnexus.events.authors import LogAuthors, LogPart, MachineCard, Span
from gitnexus.events.model import Event, digest
from gitnexus.policy.approvers import Approvers
from gitnexus.policy.encoding import encoded, raw_of
from gitnexus.policy.keys import checked_public, key_id, keys_folder, verify
from gitnexus.policy.machine import CARDS, MachineKey, check_card, known_machine, make_card, own_machine, vouch
from gitnexus.policy.signed import Signed
from gitnexus.state import State
from gitnexus.state.format import id_of

# here: on this disk and on no ref yet. signed: by this machine or a vouched one. before: ours, of a version that did
# not sign. claimed: by nobody who is known.
Standing = Literal["here", "signed", "before", "claimed"]
_OURS = ("policy", "nexus", "gate", "user")


class Stretch(NamedTuple):
    """A part of a log and how it stands; `name` is whose machine wrote it, `by` who vouches for that."""

    since: int
    upto: int
    standing: Standing
    name: str = ""
    by: str = ""

    @property
    def words(self) -> str:
        """The stretch in a line."""
        events = f"events {self.since + 1} to {self.upto}"
        match self.standing:
            case "here":
                return f"{events}: written here, and on no ref yet"
            case "signed":
                return f"{events}: signed by the machine of {one_line(self.name, 80)}, {one_line(self.by, 80)}"
            case "before":
                return f"{events}: unsigned, from before logs were signed"
        said = f", in the name of {one_line(self.name, 80)}" if self.name else ""
        return f"{events}: claimed{said}; nobody who is known here signed them"


def sign_new(state: State, run: str, folder: Path) -> Callable[[LogAuthors, Span], LogAuthors]:
    """Return what signs a new stretch of a run's log with the key of this machine: only what was written here."""

    def sign(before: LogAuthors, span: Span) -> LogAuthors:
        project = id_of(state.snapshot) or ""
        since, prev = arrived_upto(folder)
        if since > span.since:
            span = span._replace(since=since, prev=prev)
        if span.since >= span.upto:
            return before
        machine = own_machine()
        parts = list(before.parts)
        if parts and _is_ours(parts[-1], machine, span, project, run):
            last = parts.pop()
            span = span._replace(since=last.since, prev=last.prev)
        part = LogPart(**span._asdict(), machine=machine.id, at=stamp(now()))
        signature = encoded(machine.sign(part.message(project, run)))
        cards = [card for card in before.machines if card.id != machine.id]
        machines = (*cards, own_card(state, machine))
        return before.changed(machines=machines, parts=(*parts, part.changed(signature=signature)))

    return sign


def own_card(state: State, machine: MachineKey) -> MachineCard:
    """Return what others are told of this machine, vouched for by the approver's key at hand, if there is one."""
    project, name = id_of(state.snapshot) or "", one_line(state.author.name, 100)
    approvers = _approvers(state)
    file = keys_folder() / f"machine-{project}.json"
    with contextlib.suppress(NexusError, OSError):
        known = MachineCard.from_value(_parsed(file.read_bytes()), file.name)
        fits = (known.id, known.project, known.name) == (machine.id, project, name)
        if fits and known.by and approvers is not None and any(one.key == known.by for one in approvers.active):
            return known
    card = make_card(machine.id, machine.public, name, project, now())
    with contextlib.suppress(NexusError):  # no approver, or one whose key is not at hand: then it is only claimed
        signer = signer_of(state.repo)
        if approvers is not None and any(one.key == signer.key_id for one in approvers.active):
            card = vouch(card, signer)
            check_card(card, project, approvers)
            replace(file, document(card.plain()), 0o600)
    return card


def stretches_of(
    state: State, run: str, raw: bytes, authors: LogAuthors, *, on_ref: int, arrived: int, unsigned: Standing
) -> list[Stretch]:
    """Return how each part of a log stands. The chain itself is checked by who reads the events.

    `on_ref` is the last event that the run's ref holds and `arrived` the last that came from elsewhere: what is after
    both was written here. `unsigned` is how stands what nobody signed.
    """
    lines = raw.split(b"\n")[:-1]
    check = _Check(state, run, lines, authors)
    found: list[Stretch] = []
    at = 0
    for part in authors.parts:
        if part.since > at:
            found.append(Stretch(at, part.since, unsigned))
        found.append(check.stretch(part))
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


def is_whole(stretches: Sequence[Stretch]) -> bool:
    """True unless something that is only claimed follows what is a fact: that is how history is forged."""
    known = False
    for one in stretches:
        if one.standing == "claimed" and known:
            return False
        known = known or one.standing != "claimed"
    return True


def claims_in(stretches: Sequence[Stretch], event: Event) -> bool:
    """True for an event that nobody known signed, or that speaks for another than whose machine wrote it."""
    one = next((one for one in stretches if one.since < event.seq <= one.upto), None)
    if one is None or one.standing == "claimed":
        return True
    by = event.body.get("by")
    return one.standing == "signed" and bool(one.by) and isinstance(by, str) and by not in (one.name, "", *_OURS)


class _Check:
    """Checks parts of one log."""

    def __init__(self, state: State, run: str, lines: Sequence[bytes], authors: LogAuthors) -> None:
        self._state, self._run, self._lines, self._authors = state, run, lines, authors
        self._project = id_of(state.snapshot) or ""
        self._machine = known_machine()
        self._trusted: Approvers | None = None
        self._asked = False

    def stretch(self, part: LogPart) -> Stretch:
        """Return how a part stands."""
        card = self._authors.card(part.machine)
        name = card.name if card is not None else ""
        try:
            if not self._is_bound(part) or card is None:
                raise VerificationFailed("it is of another log")
            verify(card.public, part.message(self._project, self._run), raw_of(part.signature))
            if self._machine is not None and (card.public, card.id) == (self._machine.public, self._machine.id):
                return Stretch(part.since, part.upto, "signed", name, "this machine")
            name, by = self._voucher(card)
            return Stretch(part.since, part.upto, "signed", name, f"for which {by} vouches")
        except NexusError:
            return Stretch(part.since, part.upto, "claimed", name)

    def _is_bound(self, part: LogPart) -> bool:
        if part.upto > len(self._lines) or digest(self._lines[part.upto - 1]) != part.head:
            return False
        return part.prev == (digest(self._lines[part.since - 1]) if part.since else "")

    def _voucher(self, card: MachineCard) -> tuple[str, str]:
        """Return whose machine it is, and who vouches for that. Raises: VerificationFailed, Invalid."""
        if not self._asked:
            self._trusted, self._asked = _approvers(self._state), True
        if self._trusted is None:
            raise VerificationFailed("whose approvers count here is not known")
        if not card.by:
            raw = self._state.latest().read(card_path(card.id))
            kept = MachineCard.from_value(_parsed(raw), CARDS) if raw is not None else card
            card = kept if kept.public == card.public else card
        return card.name, check_card(card, self._project, self._trusted)


def vouch_for(state: State, public: str, name: str) -> MachineCard:
    """Sign that a machine is whose it is said to be, for all clones of the project; return that. Raises: NexusError."""
    snapshot = state.required()
    signer = signer_of(state.repo)
    approvers = Signed(snapshot, state.repo.common_dir).consented()
    approvers.public_of(signer.key_id)
    project = id_of(snapshot) or ""
    public = checked_public(public)
    card = vouch(make_card(key_id(public), public, one_line(name, 100), project, now()), signer)
    check_card(card, project, approvers)
    state.write({card_path(card.id): document(card.plain())}, why=f"policy: vouch for the machine of {card.name}")
    return card


def card_path(machine: str) -> str:
    """Return where the state keeps an approver's word for a machine."""
    return f"{CARDS}/{machine.replace(':', '-')}.json"


def _is_ours(part: LogPart, machine: MachineKey, span: Span, project: str, run: str) -> bool:
    if part.machine != machine.id or (part.upto, part.head) != (span.since, span.prev):
        return False
    try:
        verify(machine.public, part.message(project, run), raw_of(part.signature))
    except NexusError:
        return False
    return True


def _approvers(state: State) -> Approvers | None:
    with contextlib.suppress(NexusError):
        return Signed(state.latest(), state.repo.common_dir).consented()
    return None


def _parsed(raw: bytes | None) -> object:
    return parse(raw or b"")
