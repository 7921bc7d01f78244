"""What a run did, told from its log, and proved from its log, its tokens and its commits."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gitnexus.app.authorship import Stretch, claims_in
from gitnexus.app.cardparts import MOST_BYTES, hidden_in_diff, rest_of_difference
from gitnexus.app.cardwarnings import doubts_of, warnings_of
from gitnexus.app.rundesk import RunDesk
from gitnexus.app.runproposal import proposal
from gitnexus.base.clock import now
from gitnexus.base.errors import NexusError, NotFound, VerificationFailed
from gitnexus.base.text import one_line
from gitnexus.events.anchor import verify
from gitnexus.events.chain import lines, walk
from gitnexus.events.checkpoint import load
from gitnexus.events.fold import fold
from gitnexus.events.model import Event
from gitnexus.git.branches import raw_of, tip
from gitnexus.git.private import PrivateGit, private
from gitnexus.git.showing import counts, diff_text
from gitnexus.policy.approvers import Approvers
from gitnexus.policy.model import PatchRequest
from gitnexus.policy.request import digest
from gitnexus.policy.tokens import proved as token_proved
from gitnexus.redaction.hide import redact
from gitnexus.runs.message import read as trailers_of

_MOST = 16 * 1024 * 1024


class Told(NamedTuple):
    """How much was checked and found right, how much of it is only claimed, and who wrote which part."""

    events: int
    tokens: int
    commits: int
    claimed: int
    stretches: list[Stretch]


def events_of(desk: RunDesk) -> Iterator[Event]:
    """Yield the events of a run: of the local log, else of its ref. Raises: NotFound, VerificationFailed."""
    return (link.event for link in walk(raw_log(desk), desk.run.id))


def lines_of(desk: RunDesk) -> Iterator[str]:
    """Yield the same as they are written, each a line of JSON in ASCII. Raises: NotFound, VerificationFailed."""
    return lines(raw_log(desk), desk.run.id)


def marked_lines(desk: RunDesk, lines: Iterable[str], *, as_json: bool) -> Iterator[str]:
    """Yield the lines of a run whose log came from elsewhere, marked as foreign, and as claimed if nobody known signed.

    Raises: NexusError.
    """
    stretches = desk.stretches(raw_log(desk))
    foreign = desk.foreign
    if foreign and not as_json:
        yield "somebody else began this run; what nobody who is known here signed is marked as claimed"
    for event, line in zip(events_of(desk), lines, strict=True):
        claimed = claims_in(stretches, event)
        if as_json:
            marks = (',"foreign":true' if foreign else "") + (',"claimed":true' if claimed else "")
            yield f"{line[:-1]}{marks}}}"
        else:
            yield f"{line}  [claimed]" if claimed else line


def is_claimed(desk: RunDesk) -> bool:
    """True if the run's log tells what nobody who is known here signed, or cannot be looked at."""
    if not desk.came:
        return False
    try:
        return any(one.standing == "claimed" for one in desk.stretches(raw_log(desk)))
    except NexusError:
        return desk.foreign


def raw_log(desk: RunDesk) -> bytes:
    """Return the log of a run as it is written: the local one, else that of its ref. Raises: NotFound."""
    try:
        return desk.log.raw()
    except NotFound:
        found = load(desk.state.objects, desk.run.id)
        if found is None:
            raise
        return found.raw()


def proved(desk: RunDesk) -> Told:
    """Check the chain against its anchors, and each commit of the run against its token. Raises: VerificationFailed."""
    kept = load(desk.state.objects, desk.run.id)
    events = list(events_of(desk))
    if desk.log.path.exists():  # a clone has what the ref holds, and no log that could say more or less
        verify(desk.log, [kept.anchor] if kept else [])
    view = fold(events)
    if view.odd:
        raise VerificationFailed(f"the log tells what cannot be: {view.odd[0]}")
    approvers = desk.keeper().approvers
    for name, one in view.actions.items():
        if one.commit:
            _check_commit(desk, name, one.commit, one.digest, approvers)
    stretches = desk.stretches(raw_log(desk))
    claimed = sum(claims_in(stretches, event) for event in events)
    return Told(len(events), len(view.nonces), len(view.commits), claimed, stretches)


def _check_commit(desk: RunDesk, action: str, commit: str, of: str, approvers: Approvers) -> None:
    raw = raw_of(desk.repo, commit)
    found = trailers_of(raw.partition(b"\n\n")[2].decode("utf-8", "replace"))
    if found is None or action not in found.actions:
        raise VerificationFailed(f"{commit[:12]} does not carry the approval of {action}")
    claims = token_proved(found.approvals[0], approvers, now())
    tree = raw[5:].split(b"\n")[0].decode("ascii")
    if claims.request != of or claims.result != tree:
        raise VerificationFailed(f"{commit[:12]} is not what was approved as {action}")


class Difference(NamedTuple):
    """What a run changed, secrets hidden, and the digests of what waits of which this shows every byte."""

    text: bytes
    whole: tuple[str, ...]


def changes(desk: RunDesk) -> Difference:
    """Return the difference of a run: its branch, and what waits on top of it. Raises: NexusError."""
    head = tip(desk.repo, desk.branch)
    if head is None:
        raise NotFound(f"the branch {desk.run.branch} is gone")
    waits = [name for name, one in desk.view().actions.items() if one.status in ("waiting", "proposed", "unknown")]
    parts, whole = [], []
    with private(desk.repo) as git:
        trees = [raw_of(desk.repo, one)[5:].split(b"\n")[0].decode("ascii") for one in (desk.run.base, head)]
        parts.append(redact(diff_text(git, trees[0], trees[1], _MOST)[0]).text)
        for name in waits:
            request = proposal(desk, name).request
            if isinstance(request, PatchRequest):
                text, is_whole = _waiting_patch(desk, git, name, request)
                parts.append(text)
                whole += [digest(request)] if is_whole else []
    return Difference(b"".join(parts), tuple(whole))


def _waiting_patch(desk: RunDesk, git: PrivateGit, name: str, request: PatchRequest) -> tuple[bytes, bool]:
    """Return a patch that waits as text, below what to look at twice and what is not shown; True if that is all of it.

    What a card cannot show whole is not shown whole here.
    """
    raw, cut = diff_text(git, request.base_tree, request.result_tree, MOST_BYTES)
    masked = redact(raw)
    doubts = doubts_of(desk.repo, request, desk.view().actions[name].summary, raw, {})
    binary = [row.path for row in counts(git, request.base_tree, request.result_tree) if row.added is None]
    missing = [rest_of_difference(git, request)] if cut else []
    missing += [f"the bytes of {one_line(path, 200)}" for path in binary]
    missing += [f"{masked.told()}: {one_line(place, 300)}" for place in hidden_in_diff(masked.places, raw)]
    notes = [f"{name} waits for an answer", *(f"look twice: {warning}" for warning in warnings_of(doubts))]
    notes += [f"not shown here: {part}; git nexus review {desk.run.id} shows more" for part in missing]
    head = "".join(f"# {note}\n" for note in notes).encode("utf-8", "surrogateescape")
    return head + masked.text, not missing and not masked.count


def artifact(desk: RunDesk, name: str) -> bytes:
    """Return an artifact by its digest or the beginning of one. Raises: NotFound, VerificationFailed."""
    word = name.removeprefix("sha256:")
    found = [kept for kept in desk.artifacts.names() if kept.removeprefix("sha256:").startswith(word)]
    if len(found) != 1:
        raise NotFound(f"{desk.run.id} has no artifact {name[:80]!r}", fix=f"git nexus artifacts {desk.run.id}")
    return desk.artifacts.read(found[0])
