"""What commits say of how far a project's approvers and policy had come: a state that was put back is older than that.

Every token states it, signed by an approver, and lies on branches: whoever writes the state ref alone cannot change it.
"""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gitnexus.base.errors import NexusError, NotFound, VerificationFailed
from gitnexus.base.text import one_line
from gitnexus.git.child import must
from gitnexus.git.commits import messages_with
from gitnexus.git.private import PrivateGit, private
from gitnexus.git.revisions import head_of
from gitnexus.policy import approvers as chain
from gitnexus.policy import signed
from gitnexus.policy.approvers import Approvers
from gitnexus.policy.pins import newest
from gitnexus.policy.seen import Seen, parse_statement, why_behind
from gitnexus.policy.signed import Signed
from gitnexus.policy.tokens import parsed, proved
from gitnexus.runs.message import APPROVAL, read
from gitnexus.state import STATE_REF, Snapshot, State

# So many of the newest commits are looked through, and of their tokens so many read and so many statements proved.
MOST_COMMITS = 5000
_MOST_TOKENS = 200
_MOST_PROVED = 50
_MOST_REFS = 200


@dataclass(slots=True)
class Testimony:
    """`behind` says in which way the state is older than a commit says, `foreign` names a project that it is not of.

    `signed` has the latest signatures that commits tell of; `heard` is whether one of them says anything at all.
    """

    behind: str = ""
    foreign: str = ""
    heard: bool = False
    signed: dict[str, str] = field(default_factory=dict)


def hear_history(state: State) -> Testimony:
    """Return what the branches of a clone say about its state; nothing where it cannot be read."""
    view = Signed(state.latest(), state.repo.common_dir)
    try:
        approvers = view.listed()
        times = {path: entry.at for path, entry in view.signatures().items()}
        with private(state.repo) as git:
            head: list[str] = []
            with contextlib.suppress(NotFound):  # a branch without a commit
                head = [head_of(state.repo, git)]
            # Two looks: a branch full of new commits must not hide what HEAD says.
            heard = hear_commits(git, [head, _branches(git)], approvers, times)
        return hear_state(state, approvers, times, heard)
    except NexusError:
        return Testimony()


def hear_state(state: State, approvers: Approvers, times: Mapping[str, str], heard: Testimony) -> Testimony:
    """Add what the state ref's own history says: an old content may have been committed on top of a newer one."""
    # Full history: else git would follow only that parent of a merge which has the same content.
    asked = ("log", "--full-history", "--format=%H", f"--max-count={_MOST_PROVED}", STATE_REF, "--",
             chain.FILE, signed.FILE)  # fmt: skip
    for commit in must(*asked, git_dir=state.repo.common_dir).decode("ascii").split():
        snapshot = Snapshot(state.objects, commit)
        entries, why = approvers.entries, ""
        with contextlib.suppress(NexusError):
            longer = chain.verified(snapshot.read(chain.FILE) or b"", approvers.project)
            if len(longer.entries) > len(entries) and longer.entries[: len(entries)] == entries:
                why = f"the list of approvers had {len(longer.entries)} entries, and has {len(entries)}"
        with contextlib.suppress(NexusError):
            proved_times = signed.times_proved(snapshot.read(signed.FILE), approvers.project, approvers)
            heard.signed = newest([heard.signed, proved_times])
            first = Seen(len(entries), approvers.head, proved_times)
            why = why or why_behind(approvers, times, first)
        heard.behind = heard.behind or (why and f"in the commit {commit[:12]} of the state {why}")
    return heard


def hear_commits(
    git: PrivateGit, looks: Sequence[Sequence[str]], approvers: Approvers, times: Mapping[str, str],
    most: int = MOST_COMMITS,
) -> Testimony:  # fmt: skip
    """Return what the newest commits that each of `looks` reaches say about a chain and times of signatures."""
    found = Testimony()
    ours, others = False, ""
    statements: dict[tuple[str, ...], tuple[str, str]] = {}
    for commit, token in (row for tips in looks for row in _tokens(git, tips, most)):
        try:
            claims = parsed(token)[0]
        except VerificationFailed:
            continue
        if claims.project == approvers.project:
            ours = True
            if claims.seen and len(statements) < _MOST_PROVED:
                statements.setdefault(claims.seen, (commit, token))
        else:
            others = others or claims.project
    found.foreign = "" if ours else one_line(others, 64)
    for words, (commit, token) in statements.items():
        seen = parse_statement(words)
        try:
            who = approvers.known[proved(token, approvers).approver].name
        except VerificationFailed:
            continue  # of a key that does not count, or forged: then it says nothing
        if seen is not None:
            found.heard = True
            found.signed = newest([found.signed, seen.signed])
            why = why_behind(approvers, times, seen)
            found.behind = found.behind or (why and f"{commit[:12]}, approved by {one_line(who, 40)}, says that {why}")
    return found


def _tokens(git: PrivateGit, tips: Sequence[str], most: int) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for commit, message in messages_with(git, f"{APPROVAL}: ", tips, most=most):
        said = read(message)
        rows += [(commit, token) for token in said.approvals] if said is not None else []
        if len(rows) >= _MOST_TOKENS:
            break
    return rows[:_MOST_TOKENS]


def _branches(git: PrivateGit) -> list[str]:
    """Return the commits of the newest branches and tags, here and of the remotes."""
    asked = git.must("for-each-ref", f"--count={_MOST_REFS}", "--sort=-creatordate",
                     "--format=%(objecttype) %(objectname) %(*objecttype) %(*objectname)",
                     "refs/heads", "refs/remotes", "refs/tags")  # fmt: skip
    rows = [line.split() for line in asked.decode("ascii", "replace").splitlines()]
    return [oid for row in rows for kind, oid in zip(row[::2], row[1::2], strict=False) if kind == "commit"]
