"""Merges the signed files of two clones: the result is never weaker, and never changes without a signature.

Their version of a file is taken only if an approver of the resulting list signed it, not earlier than ours was signed.
"""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from gitnexus.base.canonical import json_document, parse_json
from gitnexus.base.clock import is_future
from gitnexus.base.errors import Conflict, Invalid, NexusError
from gitnexus.policy import approvers as chain
from gitnexus.policy import signed
from gitnexus.policy.approvers import Approvers
from gitnexus.policy.chainmeet import fast_forward_chain, rebase_chain
from gitnexus.policy.keys import Signer
from gitnexus.policy.signed import GUARDED, POLICY, SETTINGS, FileSignature
from gitnexus.policy.stricter import combine_policies, is_weaker, parse_policy_or_none, without_loosening_rules
from gitnexus.state.format import project_id_of
from gitnexus.state.join import MergeContext, MergedFiles, merge_plain_file
from gitnexus.state.merge import Unmergeable, merge_json_values
from gitnexus.state.settings import loosening_keys_in, merge_settings, without_loosening_keys

PATHS = (chain.FILE, signed.FILE, *GUARDED)


@dataclass(frozen=True, slots=True)
class SigningContext:
    """What the merge needs from outside: the local signer, the time, and a callback for a chain signed again."""

    signer: Callable[[], Signer | None]
    now: datetime
    resigned: Callable[[Approvers], None]
    # We join their project, so its approvers become ours.
    adopt: bool = False


def merge_signed_files(meeting: MergeContext, paths: Sequence[str], context: SigningContext) -> MergedFiles:
    """Return our merged signed files. Raises: Conflict if only a person can merge them."""
    return _GuardedMerge(meeting, context).all(paths)


class _GuardedMerge:
    def __init__(self, meeting: MergeContext, context: SigningContext) -> None:
        self.meeting, self.context = meeting, context
        self.project = project_id_of(meeting.theirs if context.adopt else meeting.mine) or ""
        self.done = MergedFiles()
        self.approvers = self._merge_approvers()
        sides = (meeting.base, meeting.mine, meeting.theirs)
        self.base, self.mine, self.theirs = (_read_signatures(side.read(signed.FILE)) for side in sides)

    def all(self, paths: Sequence[str]) -> MergedFiles:
        """Merge each signed file, then the signatures that belong to the results."""
        for path in paths:
            if path in GUARDED:
                self._merge_file(path)
        after = signed.render_signatures(self._collect_signatures())
        before = self.meeting.mine.read(signed.FILE)
        if after != before and (self.mine or self.theirs):
            self.done.files[signed.FILE] = after
        return self.done

    def _merge_approvers(self) -> Approvers | None:
        mine, theirs = (side.read(chain.FILE) for side in (self.meeting.mine, self.meeting.theirs))
        if self.context.adopt:
            return self._adopt_chain(mine, theirs)
        ours = chain.verify_chain(mine, self.project) if mine is not None else None
        if mine == theirs:
            return ours
        if theirs is None:
            if self.meeting.base.read(chain.FILE) is not None:
                self.done.held[chain.FILE] = "the list of approvers is gone there; ours stays"
            return ours
        try:
            onward = fast_forward_chain(ours, theirs, self.project)
            other = onward or chain.verify_chain(theirs, self.project)
        except NexusError as exc:
            self.done.held[chain.FILE] = exc.message
            return ours
        if onward is None and ours is not None:
            if ours.entries[: len(other.entries)] == other.entries:
                return ours
            onward = rebase_chain(ours, other, self.context.signer(), self.context.now)
            if onward.to_bytes() != theirs:
                self.done.said.append("both sides changed the approvers: yours were signed again on top of theirs")
            self.context.resigned(onward)
        if onward is not None:
            self.done.files[chain.FILE] = onward.to_bytes()
        return onward

    def _adopt_chain(self, mine: bytes | None, theirs: bytes | None) -> Approvers | None:
        if theirs is None:
            self.done.files |= {chain.FILE: None} if mine is not None else {}
            return None
        self.done.files |= {chain.FILE: theirs} if mine != theirs else {}
        return chain.verify_chain(theirs, self.project)

    def _why_unsigned(self, path: str, raw: bytes, entries: dict[str, FileSignature]) -> str:
        if self.approvers is None:
            return "there are no approvers"
        return signed.why_unsigned(entries.get(path), self.project, path, raw, self.approvers, self.context.now)

    def _merge_file(self, path: str) -> None:
        row = self.meeting.rows[path]
        base, mine, theirs = self.meeting.contents(path)
        if self.context.adopt:
            self.done.files[path] = theirs
            if mine is not None and theirs is not None:
                self.meeting.keep_beside(path, mine, self.done, "theirs is the project's")
        elif row.theirs == row.base:
            return
        elif path == SETTINGS:
            self._merge_settings(base, mine, theirs)
        elif theirs is None:
            self._hold_back(path, None, "it is gone there; ours stays")
        elif mine is None:
            self.done.files[path] = theirs
        else:
            self._merge_both(path, mine, theirs, only_theirs=row.mine == row.base)

    def _merge_both(self, path: str, mine: bytes, theirs: bytes, *, only_theirs: bool) -> None:
        """Merge a file that both clones have: a signed version wins over an unsigned one."""
        why = self._why_unsigned(path, theirs, self.theirs)
        if not why and self._is_older(path):
            why = "it is an older version, put back"
        ours_counts = not self._why_unsigned(path, mine, self.mine)
        if only_theirs and not why:
            self.done.files[path] = theirs
        elif why and ours_counts:
            self._hold_back(path, theirs, f"{why}; ours stays")
        elif not why and not ours_counts:
            self.done.files[path] = theirs
            self.meeting.keep_beside(path, mine, self.done, "theirs is signed, and ours is not")
        elif path == POLICY:
            self._merge_policy(mine, theirs, both_signed=not why)
        elif why:
            merge_plain_file(self.meeting, path, self.done)
        else:
            self.done.files[path] = theirs
            self.meeting.keep_beside(path, mine, self.done, "both sides signed another version")

    def _merge_policy(self, mine: bytes, theirs: bytes, *, both_signed: bool) -> None:
        """Take the version that is not weaker, or combine the strict parts of both, to be signed by an approver."""
        ours, others = parse_policy_or_none(mine), parse_policy_or_none(theirs)
        if others is None:
            self._hold_back(POLICY, theirs, "it cannot be read; ours stays")
            return
        if ours is None:
            self.done.files[POLICY] = theirs
            return
        if not both_signed:
            ours, others = without_loosening_rules(ours), without_loosening_rules(others)
        if not is_weaker(others, ours):
            self.done.files[POLICY] = theirs
            self.done.said.append(
                "policy.md: theirs is at least as strict as yours, so it holds; where what it allows "
                "does not count, because you signed later: git nexus policy trust"
            )
            return
        if not is_weaker(ours, others):
            self.done.said.append("policy.md: theirs allows more than yours, so yours stays")
            return
        try:
            both = combine_policies(mine, theirs)
        except NexusError:
            both = b""
        found = parse_policy_or_none(both)
        if (
            not both
            or found is None
            or any(is_weaker(without_loosening_rules(found), without_loosening_rules(one)) for one in (ours, others))
        ):
            raise Conflict(
                "policy.md was changed on both sides, and neither version is as strict as the other",
                hint="write one that has the rules of both into .nexus/policy.md, sign it with git nexus policy trust, "
                "then sync again",
            )
        self.done.files[POLICY] = both
        self.done.said.append(
            "policy.md: both sides changed it; it has what both deny and ask about, and allows "
            "nothing before an approver signs it: git nexus policy trust"
        )
        self.meeting.keep_beside(POLICY, mine, self.done, "both sides changed it")

    def _merge_settings(self, base: bytes | None, mine: bytes | None, theirs: bytes | None) -> None:
        """Merge settings key by key; keys that loosen are taken only signed, as a whole."""
        if theirs is None:
            self._hold_back(SETTINGS, None, "it is gone there; ours stays")
            return
        row = self.meeting.rows[SETTINGS]
        why = self._why_unsigned(SETTINGS, theirs, self.theirs)
        if row.mine == row.base and (not loosening_keys_in(theirs) or (not why and not self._is_older(SETTINGS))):
            self.done.files[SETTINGS] = theirs
            return
        try:
            was, own, other = (parse_json(raw) if raw is not None else {} for raw in (base, mine, theirs))
        except Invalid as exc:
            self._hold_back(SETTINGS, theirs, f"it is {exc.message}; ours stays")
            return
        if loosening_keys_in(theirs):
            other = merge_settings(without_loosening_keys(other), _select_keys(own, loosening_keys_in(mine or b"{}\n")))
            if other != parse_json(theirs):
                self.done.held[SETTINGS] = f"what it would loosen is left out: {why or 'ours changed too'}"
        try:
            value = merge_json_values(was, own, other)
        except Unmergeable:
            value = merge_settings(own, other)
        after = json_document(value)
        if mine is None or parse_json(mine) != value:
            self.done.files[SETTINGS] = after

    def _is_older(self, path: str) -> bool:
        """True if theirs was signed before the common base, that is, an old version replayed."""
        before, others = self.base.get(path), self.theirs.get(path)
        if before is None or others is None or is_future(before.at, self.context.now):
            return False
        return others.at < before.at

    def _hold_back(self, path: str, theirs: bytes | None, why: str) -> None:
        self.done.held[path] = why
        if theirs is not None:
            self.meeting.keep_beside(path, theirs, self.done, why)

    def _collect_signatures(self) -> dict[str, FileSignature]:
        """Return for each file the signature that fits its result, else the last one that an approver gave.

        An earlier one would make the result look like an old version that was put back.
        """
        found = {**self.theirs, **self.mine} if not self.context.adopt else dict(self.theirs)
        for path in GUARDED if not self.context.adopt else ():
            mine, theirs = self.mine.get(path), self.theirs.get(path)
            if mine is not None and theirs is not None and theirs.at > mine.at and self._is_proved(path, theirs):
                found[path] = theirs
        for path in GUARDED:
            raw = self._merged_content(path)
            fitting = [
                entry
                for entry in (self.mine.get(path), self.theirs.get(path))
                if entry is not None and raw is not None and not self._why_unsigned(path, raw, {path: entry})
            ]
            if fitting:
                found[path] = max(fitting, key=lambda entry: (entry.at, entry.signature))
        return dict(sorted(found.items()))

    def _is_proved(self, path: str, entry: FileSignature) -> bool:
        """True if an approver gave this signature, whatever the file holds now, and not in the future."""
        if self.approvers is None or is_future(entry.at, self.context.now):
            return False
        with contextlib.suppress(NexusError):
            signed.refuse_unproved(entry, self.project, path, self.approvers)
            return True
        return False

    def _merged_content(self, path: str) -> bytes | None:
        if path in self.done.files:
            data = self.done.files[path]
            return self.meeting.blob(data) if isinstance(data, str) else data
        return self.meeting.mine.read(path)


def _select_keys(value: dict[str, object], keys: Sequence[str]) -> dict[str, object]:
    """Return the part of nested settings that the dotted keys name."""
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


def _read_signatures(raw: bytes | None) -> dict[str, FileSignature]:
    try:
        return signed.parse_signatures(raw)
    except Invalid:
        return {}
