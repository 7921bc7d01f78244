"""What commits say of how far a project's approvers and policy had come: a state that was put back is older than that.

Every token states it, signed by an approver, and lies on branches: whoever writes the state ref alone cannot change it.
Whoever writes a branch can put anything beside it, so nothing counts, and nothing is left out for it, before its
signature holds.
"""

import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gitnexus.base.clock import is_future, now
from gitnexus.base.errors import NexusError, NotFound, VerificationFailed
from gitnexus.base.text import one_line
from gitnexus.git.child import must
from gitnexus.git.commits import messages_with
from gitnexus.git.private import PrivateGit, private
from gitnexus.git.revisions import head_of
from gitnexus.policy import approvers as chain
from gitnexus.policy import signed
from gitnexus.policy.approvers import Approvers
from gitnexus.policy.keys import OURS
from gitnexus.policy.pins import newest
from gitnexus.policy.seen import Seen, parse_statement, why_behind
from gitnexus.policy.signed import Signed
from gitnexus.policy.tokens import glimpse, parsed, proved
from gitnexus.runs.lineage import key_of
from gitnexus.runs.message import APPROVAL, read
from gitnexus.state import STATE_REF, State

# So many of the newest commits a clone asks, and of so many branches and tags.
MOST_COMMITS = 5000
_MOST_REFS = 200
# Of each approver so many different statements, the newest: a key that signs any number uses up only its own.
_MOST_STATEMENTS = 1000
# So many signatures may fail in one look, some seconds; one that only ssh-keygen can check costs as much as fifty.
MOST_FAILED = 10_000
_SSH_COST = 50
# So much is read of the lists and signatures that the state ref had; none of them is larger than the second number.
MOST_BYTES = 64 * 2**20
_LARGEST = 4 * 2**20


@dataclass(slots=True)
class Testimony:
    """`behind` says in which way the state is older than a commit says, `foreign` names a project that it is not of.

    `signed` has the latest signatures that commits tell of; `heard` is whether one of them says anything at all.
    `unheard` says what was not looked through: then nothing can be ruled out.
    """

    behind: str = ""
    foreign: str = ""
    heard: bool = False
    signed: dict[str, str] = field(default_factory=dict)
    unheard: str = ""


class _Failures:
    """How many signatures may still fail before a look is given up."""

    def __init__(self, approvers: Approvers) -> None:
        self._approvers = approvers
        self._left = MOST_FAILED

    @property
    def are_too_many(self) -> bool:
        return self._left < 0

    def add(self, key: str) -> None:
        """Count one. A key that is unknown or revoked costs nothing: no signature of it is checked."""
        known = self._approvers.known.get(key)
        if known is not None and not known.revoked:
            self._left -= 1 if known.public.startswith(f"{OURS} ") else _SSH_COST


def hear_history(state: State) -> Testimony:
    """Return what the branches of a clone say about its state; nothing where it has no list that holds."""
    view = Signed(state.latest(), state.repo.common_dir)
    times: dict[str, str] = {}
    try:
        approvers = view.listed()
    except NexusError:
        return Testimony()
    with contextlib.suppress(NexusError):  # signatures that cannot be read are none
        times = {path: entry.at for path, entry in view.signatures().items()}
    try:
        with private(state.repo) as git:
            head: list[str] = []
            with contextlib.suppress(NotFound):  # a branch without a commit
                head = [head_of(state.repo, git)]
            # Two looks: a branch full of new commits must not hide what HEAD says.
            heard = hear_commits(git, [head, _branches(git)], approvers, times)
        return hear_state(state, approvers, times, heard)
    except NexusError as exc:
        return Testimony(unheard=f"the history cannot be read: {exc.message}")


def hear_state(state: State, approvers: Approvers, times: Mapping[str, str] | None, heard: Testimony) -> Testimony:
    """Add what the state ref's own history says: an old content may have been committed on top of a newer one.

    Without `times` only the lists of approvers are asked.
    """
    failures = _Failures(approvers)
    size = 0
    for commit, path, oid, length in _contents_of(state, (chain.FILE, *((signed.FILE,) if times is not None else ()))):
        size += length if length <= _LARGEST else 0
        if size > MOST_BYTES or failures.are_too_many:
            heard.unheard = heard.unheard or "the state ref has had too many lists and signatures to look through"
            break
        raw = state.objects.blob(oid) if length <= _LARGEST else b""
        with contextlib.suppress(NexusError):
            if path == chain.FILE:
                why = _why_shorter(raw, approvers, failures)
            else:
                why = _why_older(raw, approvers, times or {}, heard, failures)
            heard.behind = heard.behind or (why and f"in the commit {commit[:12]} of the state {why}")
    return heard


def _contents_of(state: State, paths: Sequence[str]) -> Iterator[tuple[str, str, str, int]]:
    """Yield each content that files of the state ever had, once: the commit, the path, the blob and its size."""
    # Full history: else git would follow only that parent of a merge which has the same content.
    asked = ("log", "--full-history", "--format=%H", STATE_REF, "--", *paths)
    commits = must(*asked, git_dir=state.repo.common_dir).decode("ascii").split()
    rows = [(commit, path) for commit in commits for path in paths]
    listed = "".join(f"{commit}:{path}\n" for commit, path in rows).encode()
    found = must("cat-file", "--batch-check=%(objecttype) %(objectname) %(objectsize)",
                 git_dir=state.repo.common_dir, stdin=listed)  # fmt: skip
    known: set[str] = set()
    for (commit, path), line in zip(rows, found.decode("ascii", "replace").splitlines(), strict=True):
        kind, oid, size = (*line.split(), "", "")[:3]
        if kind == "blob" and oid not in known:
            known.add(oid)
            yield commit, path, oid, int(size)


def _why_shorter(raw: bytes, approvers: Approvers, failures: _Failures) -> str:
    """Return that an earlier list goes on from this one, empty if it does not. Raises: VerificationFailed."""
    earlier, count = chain.read(raw), len(approvers.entries)
    if len(earlier) <= count or earlier[:count] != approvers.entries:
        return ""
    try:
        chain.verified(raw, approvers.project, known=count)
    except NexusError:
        failures.add(earlier[count].by)
        raise
    return f"the list of approvers had {len(earlier)} entries, and has {count}"


def _why_older(
    raw: bytes, approvers: Approvers, times: Mapping[str, str], heard: Testimony, failures: _Failures
) -> str:  # fmt: skip
    """Return which file an earlier signature is newer of, empty if none; `heard` learns of it. Raises: Invalid."""
    why, today = "", now()
    for path, entry in signed.read(raw).items():
        if entry.at <= heard.signed.get(path, "") or is_future(entry.at, today):
            continue
        try:
            signed.refuse_unproved(entry, approvers.project, path, approvers)
        except NexusError:
            failures.add(entry.key)
            continue
        heard.signed[path] = entry.at
        why = why or why_behind(approvers, times, Seen(len(approvers.entries), approvers.head, {path: entry.at}))
    return why


def hear_commits(
    git: PrivateGit, looks: Sequence[Sequence[str]], approvers: Approvers, times: Mapping[str, str],
    most: int = MOST_COMMITS,
) -> Testimony:  # fmt: skip
    """Return what the newest commits that each of `looks` reaches say about a chain and times of signatures.

    With `most` 0 all commits are asked.
    """
    hearing = _Hearing(approvers, times)
    for tips in looks:
        failures = _Failures(approvers)
        for commit, message in messages_with(git, f"{APPROVAL}: ", tips, most=most):
            said = read(message)
            for token in said.approvals if said is not None else ():
                hearing.hear(commit, token, failures)
            if failures.are_too_many:
                hearing.found.unheard = f"{commit[:12]} and others carry too many approvals that are forged"
                break
    hearing.found.foreign = "" if hearing.ours else one_line(hearing.others, 64)
    return hearing.found


class _Hearing:
    """What the tokens of commits say, each one believed only once its signature holds."""

    def __init__(self, approvers: Approvers, times: Mapping[str, str]) -> None:
        self.found = Testimony()
        self.ours, self.others = False, ""
        self._approvers, self._times = approvers, times
        self._told: set[tuple[str, ...]] = set()
        self._count: Counter[str] = Counter()
        self._forged: set[bytes] = set()

    def hear(self, commit: str, token: str, failures: _Failures) -> None:
        """Take in what one token says."""
        said = glimpse(token)
        if said is None:
            return
        if said.project != self._approvers.project:
            self.others = self.others or _project_of(token)
            return
        is_known = said.seen in self._told if said.seen else self.ours
        if is_known or self._count[said.approver] >= _MOST_STATEMENTS or failures.are_too_many:
            return
        if not self._is_proved(token, said.approver, failures):
            return
        self.ours = True
        self._told.add(said.seen)
        self._count[said.approver] += 1
        seen = parse_statement(said.seen)
        if seen is not None:
            self._weigh(commit, said.approver, seen)

    def _is_proved(self, token: str, key: str, failures: _Failures) -> bool:
        name = key_of(token)
        if name in self._forged:
            return False
        try:
            proved(token, self._approvers)
        except VerificationFailed:  # of a key that does not count, or forged: then it says nothing
            self._forged.add(name)
            failures.add(key)
            return False
        return True

    def _weigh(self, commit: str, key: str, seen: Seen) -> None:
        found, who = self.found, self._approvers.known[key].name
        today = now()
        # What was signed in the future holds nowhere, so nothing is older than that.
        seen = seen._replace(signed={path: at for path, at in seen.signed.items() if not is_future(at, today)})
        found.heard = True
        found.signed = newest([found.signed, seen.signed])
        why = why_behind(self._approvers, self._times, seen)
        found.behind = found.behind or (why and f"{commit[:12]}, approved by {one_line(who, 40)}, says that {why}")


def _project_of(token: str) -> str:
    """Return the project that a token names, empty for one that is malformed."""
    try:
        return parsed(token)[0].project
    except VerificationFailed:
        return ""


def _branches(git: PrivateGit) -> list[str]:
    """Return the commits of the newest branches and tags, here and of the remotes."""
    asked = git.must("for-each-ref", f"--count={_MOST_REFS}", "--sort=-creatordate",
                     "--format=%(objecttype) %(objectname) %(*objecttype) %(*objectname)",
                     "refs/heads", "refs/remotes", "refs/tags")  # fmt: skip
    rows = [line.split() for line in asked.decode("ascii", "replace").splitlines()]
    return [oid for row in rows for kind, oid in zip(row[::2], row[1::2], strict=False) if kind == "commit"]
