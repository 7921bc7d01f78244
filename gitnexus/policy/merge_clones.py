"""What only approvers may change, where two clones meet: never to something weaker, and never without a signature.

A file of theirs comes in only if an approver of the list that results signed it, and not before ours was signed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from gitnexus.base.canonical import document, parse
from gitnexus.base.clock import is_future
from gitnexus.base.errors import Conflict, Invalid, NexusError
from gitnexus.policy import approvers as chain
from gitnexus.policy import signed
from gitnexus.policy.approvers import Approvers
from gitnexus.policy.chainmeet import followed_by, together
from gitnexus.policy.keys import Signer
from gitnexus.policy.signed import GUARDED, POLICY, SETTINGS, FileSignature
from gitnexus.policy.stricter import combined, is_weaker, read_or_none, unsigned
from gitnexus.state.format import id_of
from gitnexus.state.join import Joined, Meeting, settle_one
from gitnexus.state.merge import Unmergeable, merged_values
from gitnexus.state.settings import loosening, merged, without_loosening

PATHS = (chain.FILE, signed.FILE, *GUARDED)


@dataclass(frozen=True, slots=True)
class Court:
    """What judging needs from outside: who can sign here, when it is, and whom to tell of a list signed again."""

    signer: Callable[[], Signer | None]
    now: datetime
    resigned: Callable[[Approvers], None]
    # Theirs is the project and ours only comes into it: its approvers are the ones to be.
    adopt: bool = False


def met(meeting: Meeting, paths: Sequence[str], court: Court) -> Joined:
    """Return what our guarded files become. Raises: Conflict where only a person can bring two of them together."""
    return _Met(meeting, court).all(paths)


class _Met:
    def __init__(self, meeting: Meeting, court: Court) -> None:
        self.meeting, self.court = meeting, court
        self.project = id_of(meeting.theirs if court.adopt else meeting.mine) or ""
        self.done = Joined()
        self.approvers = self._approvers()
        sides = (meeting.base, meeting.mine, meeting.theirs)
        self.base, self.mine, self.theirs = (_signatures(side.read(signed.FILE)) for side in sides)

    def all(self, paths: Sequence[str]) -> Joined:
        """Settle each guarded file, then the signatures that belong to what is there."""
        for path in paths:
            if path in GUARDED:
                self._file(path)
        after = signed.stored(self._kept_signatures())
        before = self.meeting.mine.read(signed.FILE)
        if after != before and (self.mine or self.theirs):
            self.done.files[signed.FILE] = after
        return self.done

    def _approvers(self) -> Approvers | None:
        mine, theirs = (side.read(chain.FILE) for side in (self.meeting.mine, self.meeting.theirs))
        if self.court.adopt:
            return self._adopted(mine, theirs)
        ours = chain.verified(mine, self.project) if mine is not None else None
        if mine == theirs:
            return ours
        if theirs is None:
            if self.meeting.base.read(chain.FILE) is not None:
                self.done.held[chain.FILE] = "the list of approvers is gone there; ours stays"
            return ours
        try:
            onward = followed_by(ours, theirs, self.project)
            other = onward or chain.verified(theirs, self.project)
        except NexusError as exc:
            self.done.held[chain.FILE] = exc.message
            return ours
        if onward is None and ours is not None:
            if ours.entries[: len(other.entries)] == other.entries:
                return ours
            onward = together(ours, other, self.court.signer(), self.court.now)
            if onward.to_bytes() != theirs:
                self.done.said.append("both sides changed the approvers: yours were signed again on top of theirs")
            self.court.resigned(onward)
        if onward is not None:
            self.done.files[chain.FILE] = onward.to_bytes()
        return onward

    def _adopted(self, mine: bytes | None, theirs: bytes | None) -> Approvers | None:
        if theirs is None:
            self.done.files |= {chain.FILE: None} if mine is not None else {}
            return None
        self.done.files |= {chain.FILE: theirs} if mine != theirs else {}
        return chain.verified(theirs, self.project)

    def _why_not(self, path: str, raw: bytes, entries: dict[str, FileSignature]) -> str:
        if self.approvers is None:
            return "there are no approvers"
        return signed.why_unsigned(entries.get(path), self.project, path, raw, self.approvers, self.court.now)

    def _file(self, path: str) -> None:
        row = self.meeting.rows[path]
        base, mine, theirs = self.meeting.contents(path)
        if self.court.adopt:
            self.done.files[path] = theirs
            if mine is not None and theirs is not None:
                self.meeting.keep_beside(path, mine, self.done, "theirs is the project's")
        elif row.theirs == row.base:
            return
        elif path == SETTINGS:
            self._settings(base, mine, theirs)
        elif theirs is None:
            self._hold(path, None, "it is gone there; ours stays")
        elif mine is None:
            self.done.files[path] = theirs
        else:
            self._two(path, mine, theirs, only_theirs=row.mine == row.base)

    def _two(self, path: str, mine: bytes, theirs: bytes, *, only_theirs: bool) -> None:
        """Settle a file that both have: what is signed goes before what is not."""
        why = self._why_not(path, theirs, self.theirs)
        if not why and self._is_older(path):
            why = "it is an older version, brought out again"
        ours_counts = not self._why_not(path, mine, self.mine)
        if only_theirs and not why:
            self.done.files[path] = theirs
        elif why and ours_counts:
            self._hold(path, theirs, f"{why}; ours stays")
        elif not why and not ours_counts:
            self.done.files[path] = theirs
            self.meeting.keep_beside(path, mine, self.done, "theirs is signed, and ours is not")
        elif path == POLICY:
            self._policy(mine, theirs, both_signed=not why)
        elif why:
            settle_one(self.meeting, path, self.done)
        else:
            self.done.files[path] = theirs
            self.meeting.keep_beside(path, mine, self.done, "both sides signed another version")

    def _policy(self, mine: bytes, theirs: bytes, *, both_signed: bool) -> None:
        """Of two versions take the one that is not weaker, or one with the strict part of both, for an approver."""
        ours, others = read_or_none(mine), read_or_none(theirs)
        if others is None:
            self._hold(POLICY, theirs, "it cannot be read; ours stays")
            return
        if ours is None:
            self.done.files[POLICY] = theirs
            return
        if not both_signed:
            ours, others = unsigned(ours), unsigned(others)
        if not is_weaker(others, ours):
            self.done.files[POLICY] = theirs
            self.done.said.append("policy.md: theirs is at least as strict as yours, so it holds; where what it allows "
                                  "does not count, because you signed later: git nexus policy trust")  # fmt: skip
            return
        if not is_weaker(ours, others):
            self.done.said.append("policy.md: theirs allows more than yours, so yours stays")
            return
        try:
            both = combined(mine, theirs)
        except NexusError:
            both = b""
        found = read_or_none(both)
        if not both or found is None or any(is_weaker(unsigned(found), unsigned(one)) for one in (ours, others)):
            raise Conflict(
                "policy.md was changed on both sides, and neither version is as strict as the other",
                hint="write one that has the rules of both into .nexus/policy.md, sign it with git nexus policy trust, "
                "then sync again",
            )
        self.done.files[POLICY] = both
        self.done.said.append("policy.md: both sides changed it; it has what both deny and ask about, and allows "
                              "nothing before an approver signs it: git nexus policy trust")  # fmt: skip
        self.meeting.keep_beside(POLICY, mine, self.done, "both sides changed it")

    def _settings(self, base: bytes | None, mine: bytes | None, theirs: bytes | None) -> None:
        """Settings merge key by key; what would loosen comes along only signed, as a whole."""
        if theirs is None:
            self._hold(SETTINGS, None, "it is gone there; ours stays")
            return
        row = self.meeting.rows[SETTINGS]
        why = self._why_not(SETTINGS, theirs, self.theirs)
        if row.mine == row.base and (not loosening(theirs) or (not why and not self._is_older(SETTINGS))):
            self.done.files[SETTINGS] = theirs
            return
        try:
            was, own, other = (parse(raw) if raw is not None else {} for raw in (base, mine, theirs))
        except Invalid as exc:
            self._hold(SETTINGS, theirs, f"it is {exc.message}; ours stays")
            return
        if loosening(theirs):
            other = merged(without_loosening(other), _only(own, loosening(mine or b"{}\n")))
            if other != parse(theirs):
                self.done.held[SETTINGS] = f"what it would loosen is left out: {why or 'ours changed too'}"
        try:
            value = merged_values(was, own, other)
        except Unmergeable:
            value = merged(own, other)
        after = document(value)
        if mine is None or parse(mine) != value:
            self.done.files[SETTINGS] = after

    def _is_older(self, path: str) -> bool:
        """True if theirs was signed before what both once had: an old version, brought out again."""
        before, others = self.base.get(path), self.theirs.get(path)
        if before is None or others is None or is_future(before.at, self.court.now):
            return False
        return others.at < before.at

    def _hold(self, path: str, theirs: bytes | None, why: str) -> None:
        self.done.held[path] = why
        if theirs is not None:
            self.meeting.keep_beside(path, theirs, self.done, why)

    def _kept_signatures(self) -> dict[str, FileSignature]:
        """Return for each file the signature that holds for what it is to be, else the one that we had."""
        found = {**self.theirs, **self.mine} if not self.court.adopt else dict(self.theirs)
        for path in GUARDED:
            raw = self._content(path)
            fitting = [
                entry
                for entry in (self.mine.get(path), self.theirs.get(path))
                if entry is not None and raw is not None and not self._why_not(path, raw, {path: entry})
            ]
            if fitting:
                found[path] = max(fitting, key=lambda entry: (entry.at, entry.signature))
        return dict(sorted(found.items()))

    def _content(self, path: str) -> bytes | None:
        if path in self.done.files:
            data = self.done.files[path]
            return self.meeting.blob(data) if isinstance(data, str) else data
        return self.meeting.mine.read(path)


def _only(value: dict[str, object], keys: Sequence[str]) -> dict[str, object]:
    """Return the part of nested settings that some dotted keys name."""
    out: dict[str, object] = {}
    for key in keys:
        source: object = value
        for part in key.split("."):
            source = source.get(part) if isinstance(source, dict) else None
        target = out
        *parents, last = key.split(".")
        for part in parents:
            inner = target.setdefault(part, {})
            target = inner if isinstance(inner, dict) else {}
        if source is not None:
            target[last] = source
    return out


def _signatures(raw: bytes | None) -> dict[str, FileSignature]:
    try:
        return signed.read(raw)
    except Invalid:
        return {}
