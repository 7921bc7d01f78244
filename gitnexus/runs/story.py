"""Reads, renders and verifies the history of a run from its log, approval tokens, artifacts and commits."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gitnexus.base.canonical import parse_json
from gitnexus.base.clock import utc_now
from gitnexus.base.errors import NexusError, NotFound, VerificationFailed
from gitnexus.base.text import one_line
from gitnexus.events.anchor import HeadFile, verify_log
from gitnexus.events.artifacts import FOLDER as ARTIFACTS
from gitnexus.events.artifacts import artifact_file_name
from gitnexus.events.chain import iterate_event_lines, walk_chain
from gitnexus.events.checkpoint import Checkpoint, ref_of_run
from gitnexus.events.fold import fold
from gitnexus.events.inforce import in_force
from gitnexus.events.model import Event
from gitnexus.events.view import RunView
from gitnexus.gateway.card_parts import MOST_BYTES, find_hidden_in_diff, rest_of_difference
from gitnexus.gateway.card_warnings import find_suspicions, format_warnings
from gitnexus.git.branches import read_raw_commit, tip_of_ref
from gitnexus.git.diff_text import changed_line_counts, diff_text
from gitnexus.git.private import PrivateGit, private_git
from gitnexus.policy.approvers import Approvers
from gitnexus.policy.commit_message import parse_trailers as trailers_of
from gitnexus.policy.model import PatchRequest
from gitnexus.policy.request import request_digest
from gitnexus.policy.tokens import verify_token as token_proved
from gitnexus.redaction.hide import redact
from gitnexus.runs.actions.propose import judge_proposed_action
from gitnexus.runs.log_signatures import Stretch, is_claimed_event
from gitnexus.runs.logs import kept_log
from gitnexus.runs.open_run import OpenRun, claimed_stretches
from gitnexus.runs.withheld import is_unfinished

_MOST = 16 * 1024 * 1024


class VerifiedStory(NamedTuple):
    """What was verified, how much of the log is only claimed, and which machine wrote each part.

    `withheld` counts the proposals that are not here: they were not carried out, and may hold a secret.
    """

    events: int
    tokens: int
    commits: int
    claimed: int
    stretches: list[Stretch]
    withheld: int = 0


def read_events(run: OpenRun) -> Iterator[Event]:
    """Yield the events of a run from the local log, else from its ref. Raises: NotFound, VerificationFailed."""
    return (link.event for link in walk_chain(read_raw_log(run), run.record.id))


def log_lines(run: OpenRun) -> Iterator[str]:
    """Yield the log as stored: one line of ASCII JSON per event. Raises: NotFound, VerificationFailed."""
    return iterate_event_lines(read_raw_log(run), run.record.id)


def marked_lines(run: OpenRun, lines: Iterable[str], *, as_json: bool) -> Iterator[str]:
    """Yield log lines with imported events marked as foreign, and as claimed if no known machine signed them.

    Raises: NexusError.
    """
    stretches = run.stretches(read_raw_log(run))
    foreign = run.foreign
    if foreign and not as_json:
        yield "somebody else started this run; what no machine known here signed is marked as claimed"
    for event, line in zip(read_events(run), lines, strict=True):
        claimed = is_claimed_event(stretches, event)
        if as_json:
            marks = (',"foreign":true' if foreign else "") + (',"claimed":true' if claimed else "")
            yield f"{line[:-1]}{marks}}}"
        else:
            yield f"{line}  [claimed]" if claimed else line


def has_claimed_events(run: OpenRun) -> bool:
    """True if the log contains events that no known machine signed, or cannot be checked."""
    if not run.came:
        return False
    try:
        return any(one.status == "claimed" for one in run.stretches(read_raw_log(run)))
    except NexusError:
        return run.foreign


def read_raw_log(run: OpenRun) -> bytes:
    """Return the bytes of a run's log: the local one, else that of its ref. Raises: NotFound."""
    try:
        return run.log.raw()
    except NotFound:
        found = kept_log(run.state.objects, run.record.id)
        if found is None:
            raise
        return found.raw()


def verify_run(run: OpenRun) -> VerifiedStory:
    """Verify the hash chain against its anchors, the artifacts, and each commit against its token.

    Raises: VerificationFailed.
    """
    kept = kept_log(run.state.objects, run.record.id)
    noted = HeadFile(run.head_file).read()  # read before the log: it may lag behind, but is never ahead
    events = list(read_events(run))
    if run.log.path.exists():  # another clone has only what the ref holds, and no log to compare
        found = verify_log(run.log, [anchor for anchor in (kept.anchor if kept else None, noted) if anchor is not None])
        if found.torn:
            raise VerificationFailed(
                f"the last line of the log of {run.record.id} is cut: {found.torn} bytes after event {found.events}",
                hint=f"a writer was killed, or somebody truncated it; git nexus resume {run.record.id} sets it aside",
                context={"run": run.record.id, "line": found.events + 1},
            )
    stretches = run.stretches(read_raw_log(run))
    view = fold(in_force(events, claimed_stretches(run, read_raw_log(run), len(events))))
    withheld = _check_artifacts(run, events, view)
    if view.odd:
        raise VerificationFailed(f"the log has an impossible event: {view.odd[0]}")
    approvers = run.make_gatekeeper().approvers
    for name, one in view.actions.items():
        if one.commit:
            _check_commit(run, name, one.commit, one.digest, approvers)
    claimed = sum(is_claimed_event(stretches, event) for event in events)
    return VerifiedStory(len(events), len(view.nonces), len(view.commits), claimed, stretches, withheld)


def _check_artifacts(run: OpenRun, events: Iterable[Event], view: RunView) -> int:
    """Read every artifact that the log mentions; return how many proposals are withheld. Raises: VerificationFailed."""
    names: dict[str, int] = {}
    may_be_withheld, withheld = set(), 0
    for event in events:
        told = [event.body.get("digest")] if event.kind == "artifact.written" else [event.body.get("artifact")]
        names |= {str(name): event.seq for name in (*told, *event.body.get("artifacts", ())) if name}
        if event.kind == "action.proposed" and run.came and is_unfinished(view.actions.get(event.body["action"])):
            may_be_withheld.add(event.body["artifact"])
    kept = kept_log(run.state.objects, run.record.id)
    for name, seq in names.items():
        try:
            _read_artifact(run, kept, name)
        except NotFound as exc:
            held = kept is not None and artifact_file_name(name) in kept.names(ARTIFACTS)
            if name in may_be_withheld and not held:
                withheld += 1
                continue
            raise VerificationFailed(
                f"the artifact {name} that event {seq} names is gone",
                hint=f"{ref_of_run(run.record.id)} still has it below {ARTIFACTS}/" if held else "no ref here has it",
                context={"run": run.record.id, "line": seq},
            ) from exc
    return withheld


def _read_artifact(run: OpenRun, kept: Checkpoint | None, name: str) -> bytes:
    """Return an artifact from the run's folder, else from its ref. Raises: NotFound, VerificationFailed."""
    if kept is None or (run.log.path.exists() and not run.came):
        return run.artifacts.read(name)
    try:
        return run.artifacts.read(name)
    except NotFound:
        return kept.artifact(name)


def _check_commit(run: OpenRun, action: str, commit: str, of: str, approvers: Approvers) -> None:
    raw = read_raw_commit(run.repo, commit)
    found = trailers_of(raw.partition(b"\n\n")[2].decode("utf-8", "replace"))
    if found is None or action not in found.actions:
        raise VerificationFailed(f"{commit[:12]} does not carry the approval of {action}")
    claims = token_proved(found.approvals[0], approvers, utc_now())
    tree = raw[5:].split(b"\n")[0].decode("ascii")
    if claims.request != of or claims.result != tree:
        raise VerificationFailed(f"{commit[:12]} is not what was approved as {action}")


class RunDiff(NamedTuple):
    """The diff of a run with secrets masked, and the digests of waiting requests that it shows completely."""

    text: bytes
    whole: tuple[str, ...]


def diff_of_run(run: OpenRun) -> RunDiff:
    """Return the diff of a run: its branch plus its waiting patches. Raises: NexusError."""
    head = tip_of_ref(run.repo, run.branch) or run.record.head  # branch deleted: the archive keeps its commit
    if not head:
        raise NotFound(f"the branch {run.record.branch} is gone")
    waits = [name for name, one in run.view().actions.items() if one.status in ("waiting", "proposed", "unknown")]
    parts, whole = [], []
    with private_git(run.repo) as git:
        trees = [read_raw_commit(run.repo, one)[5:].split(b"\n")[0].decode("ascii") for one in (run.record.base, head)]
        parts.append(redact(diff_text(git, trees[0], trees[1], _MOST)[0]).text)
        for name in waits:
            try:
                request = judge_proposed_action(run, name).request
            except NotFound as exc:
                parts.append(f"# {name} waits for an answer; {exc.message}\n".encode())
                continue
            if isinstance(request, PatchRequest):
                text, is_whole = _render_waiting_patch(run, git, name, request)
                parts.append(text)
                whole += [request_digest(request)] if is_whole else []
    return RunDiff(b"".join(parts), tuple(whole))


def _render_waiting_patch(run: OpenRun, git: PrivateGit, name: str, request: PatchRequest) -> tuple[bytes, bool]:
    """Return a waiting patch as text with its warnings; True if every byte is shown.

    What a card cannot show completely is not shown completely here either.
    """
    raw, cut = diff_text(git, request.base_tree, request.result_tree, MOST_BYTES)
    masked = redact(raw)
    doubts = find_suspicions(run.repo, request, run.view().actions[name].summary, raw, {})
    binary = [row.path for row in changed_line_counts(git, request.base_tree, request.result_tree) if row.added is None]
    missing = [rest_of_difference(git, request)] if cut else []
    missing += [f"the bytes of {one_line(path, 200)}" for path in binary]
    missing += [f"{masked.describe()}: {one_line(place, 300)}" for place in find_hidden_in_diff(masked.places, raw)]
    notes = [f"{name} waits for an answer", *(f"look twice: {warning}" for warning in format_warnings(doubts))]
    notes += [f"not shown here: {part}; git nexus review {run.record.id} shows more" for part in missing]
    head = "".join(f"# {note}\n" for note in notes).encode("utf-8", "surrogateescape")
    return head + masked.text, not missing and not masked.count


def output_of_action(run: OpenRun, action: str) -> str:
    """Return all that an action's command printed, as far as it was kept. Raises: NotFound, VerificationFailed."""
    kept = next((one for one in reversed(run.view().artifacts) if one.name == f"result-{action}.json"), None)
    if kept is None:
        raise NotFound(f"{action} of {run.record.id} printed nothing so far", fix=f"git nexus replay {run.record.id}")
    value = parse_json(run.artifacts.read(kept.digest))
    return str(value.get("output", "")) if isinstance(value, dict) else ""


def read_artifact(run: OpenRun, name: str) -> bytes:
    """Return an artifact by its digest or a prefix of it. Raises: NotFound, VerificationFailed."""
    word = name.removeprefix("sha256:")
    found = [kept for kept in run.artifacts.names() if kept.removeprefix("sha256:").startswith(word)]
    if len(found) != 1:
        raise NotFound(f"{run.record.id} has no artifact {name[:80]!r}", fix=f"git nexus artifacts {run.record.id}")
    return run.artifacts.read(found[0])
