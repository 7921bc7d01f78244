"""Reads from commits how far a project's approvers and policy had come, to detect a state that was set back.

Every token states it, signed by an approver, on branches: whoever can write only the state ref cannot change it.
Whoever can write a branch can add anything, so a statement counts only once its signature verifies.
"""

import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gitnexus.base.clock import is_future, utc_now
from gitnexus.base.errors import NexusError, NotFound, VerificationFailed
from gitnexus.base.text import one_line
from gitnexus.git.child import run_git_or_raise
from gitnexus.git.commits import messages_containing
from gitnexus.git.private import PrivateGit, private_git
from gitnexus.git.revisions import resolve_head
from gitnexus.policy import approvers as chain
from gitnexus.policy import signed
from gitnexus.policy.approvers import Approvers
from gitnexus.policy.commit_message import APPROVAL, parse_trailers
from gitnexus.policy.keys import OURS
from gitnexus.policy.lineage import approval_key
from gitnexus.policy.pins import newest_signature_times
from gitnexus.policy.seen import SeenChain, parse_statement, why_behind
from gitnexus.policy.signed import SignedFiles
from gitnexus.policy.tokens import glimpse_token, parse_token, verify_token
from gitnexus.state import STATE_REF, State

# Limits: newest commits examined, and number of branches and tags.
MOST_COMMITS = 5000
_MOST_REFS = 200
# Limit of different statements per approver, newest first: a key that signs many uses up only its own share.
_MOST_STATEMENTS = 1000
# Limit of failed signatures per search, some seconds; one that needs ssh-keygen costs as much as fifty.
MOST_FAILED = 10_000
_SSH_COST = 50
# Limits for reading the lists and signatures of the state ref: total, and size of each.
MOST_BYTES = 64 * 2**20
_LARGEST = 4 * 2**20


@dataclass(slots=True)
class Testimony:
    """`behind` says how the state is older than a commit states, `foreign` names another project.

    `signed` has the latest signature times that commits state; `heard` whether any commit states something; `unheard`
    what was not examined, so that nothing can be ruled out.
    """

    behind: str = ""
    foreign: str = ""
    heard: bool = False
    signed: dict[str, str] = field(default_factory=dict)
    unheard: str = ""


class _Failures:
    """How many more signatures may fail before the search is given up."""

    def __init__(self, approvers: Approvers) -> None:
        self._approvers = approvers
        self._left = MOST_FAILED

    @property
    def are_too_many(self) -> bool:
        return self._left < 0

    def add(self, key: str) -> None:
        """Count a failure. An unknown or revoked key costs nothing: its signature is not checked."""
        known = self._approvers.known.get(key)
        if known is not None and not known.revoked:
            self._left -= 1 if known.public.startswith(f"{OURS} ") else _SSH_COST


def hear_history(state: State) -> Testimony:
    """Return what a clone's branches state about its state; empty without a valid approver list."""
    view = SignedFiles(state.latest(), state.repo.common_dir)
    times: dict[str, str] = {}
    try:
        approvers = view.listed()
    except NexusError:
        return Testimony()
    with contextlib.suppress(NexusError):  # unreadable signatures count as none
        times = {path: entry.at for path, entry in view.read_signatures().items()}
    try:
        with private_git(state.repo) as git:
            head: list[str] = []
            with contextlib.suppress(NotFound):  # a branch without a commit
                head = [resolve_head(state.repo, git)]
            # Two searches: a branch full of new commits must not hide what HEAD states.
            heard = hear_commits(git, [head, _newest_branch_tips(git)], approvers, times)
        return hear_state(state, approvers, times, heard)
    except NexusError as exc:
        return Testimony(unheard=f"the history cannot be read: {exc.message}")


def hear_state(state: State, approvers: Approvers, times: Mapping[str, str] | None, heard: Testimony) -> Testimony:
    """Add what the state ref's own history states: old content may be committed on top of newer content.

    Without `times` only the approver lists are examined.
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
    """Yield each content that files of the state ever had: commit, path, blob and size."""
    # Full history: otherwise git follows only the parent of a merge with the same content.
    asked = ("log", "--full-history", "--format=%H", STATE_REF, "--", *paths)
    commits = run_git_or_raise(*asked, git_dir=state.repo.common_dir).decode("ascii").split()
    rows = [(commit, path) for commit in commits for path in paths]
    listed = "".join(f"{commit}:{path}\n" for commit, path in rows).encode()
    found = run_git_or_raise(
        "cat-file",
        "--batch-check=%(objecttype) %(objectname) %(objectsize)",
        git_dir=state.repo.common_dir,
        stdin=listed,
    )
    known: set[str] = set()
    for (commit, path), line in zip(rows, found.decode("ascii", "replace").splitlines(), strict=True):
        kind, oid, size = (*line.split(), "", "")[:3]
        if kind == "blob" and oid not in known:
            known.add(oid)
            yield commit, path, oid, int(size)


def _why_shorter(raw: bytes, approvers: Approvers, failures: _Failures) -> str:
    """Return that an earlier list extends this one, "" if it does not. Raises: VerificationFailed."""
    earlier, count = chain.parse_chain(raw), len(approvers.entries)
    if len(earlier) <= count or earlier[:count] != approvers.entries:
        return ""
    try:
        chain.verify_chain(raw, approvers.project, known=count)
    except NexusError:
        failures.add(earlier[count].by)
        raise
    return f"the list of approvers had {len(earlier)} entries, and has {count}"


def _why_older(
    raw: bytes, approvers: Approvers, times: Mapping[str, str], heard: Testimony, failures: _Failures
) -> str:
    """Return which file has a newer earlier signature, "" if none; adds it to `heard`. Raises: Invalid."""
    why, today = "", utc_now()
    for path, entry in signed.parse_signatures(raw).items():
        if entry.at <= heard.signed.get(path, "") or is_future(entry.at, today):
            continue
        try:
            signed.refuse_unproved(entry, approvers.project, path, approvers)
        except NexusError:
            failures.add(entry.key)
            continue
        heard.signed[path] = entry.at
        why = why or why_behind(approvers, times, SeenChain(len(approvers.entries), approvers.head, {path: entry.at}))
    return why


def hear_commits(
    git: PrivateGit,
    looks: Sequence[Sequence[str]],
    approvers: Approvers,
    times: Mapping[str, str],
    most: int = MOST_COMMITS,
) -> Testimony:
    """Return what the newest commits reached by `looks` state about a chain and signature times.

    With `most` 0 all commits are examined.
    """
    hearing = _Hearing(approvers, times)
    for tips in looks:
        failures = _Failures(approvers)
        for commit, message in messages_containing(git, f"{APPROVAL}: ", tips, most=most):
            said = parse_trailers(message)
            for token in said.approvals if said is not None else ():
                hearing.hear(commit, token, failures)
            if failures.are_too_many:
                hearing.found.unheard = f"{commit[:12]} and others carry too many approvals that are forged"
                break
    hearing.found.foreign = "" if hearing.ours else one_line(hearing.others, 64)
    return hearing.found


class _Hearing:
    """Collects the statements of tokens, each only once its signature verifies."""

    def __init__(self, approvers: Approvers, times: Mapping[str, str]) -> None:
        self.found = Testimony()
        self.ours, self.others = False, ""
        self._approvers, self._times = approvers, times
        self._told: set[tuple[str, ...]] = set()
        self._count: Counter[str] = Counter()
        self._forged: set[bytes] = set()

    def hear(self, commit: str, token: str, failures: _Failures) -> None:
        """Add the statement of one token."""
        said = glimpse_token(token)
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
            self._weigh_statement(commit, said.approver, seen)

    def _is_proved(self, token: str, key: str, failures: _Failures) -> bool:
        name = approval_key(token)
        if name in self._forged:
            return False
        try:
            verify_token(token, self._approvers)
        except VerificationFailed:  # key does not count, or forged: ignored
            self._forged.add(name)
            failures.add(key)
            return False
        return True

    def _weigh_statement(self, commit: str, key: str, seen: SeenChain) -> None:
        found, who = self.found, self._approvers.known[key].name
        today = utc_now()
        # A signature from the future is invalid, so nothing is older than it.
        seen = seen._replace(signed={path: at for path, at in seen.signed.items() if not is_future(at, today)})
        found.heard = True
        found.signed = newest_signature_times([found.signed, seen.signed])
        why = why_behind(self._approvers, self._times, seen)
        found.behind = found.behind or (why and f"{commit[:12]}, approved by {one_line(who, 40)}, says that {why}")


def _project_of(token: str) -> str:
    """Return the project that a token names, "" for a malformed one."""
    try:
        return parse_token(token)[0].project
    except VerificationFailed:
        return ""


def _newest_branch_tips(git: PrivateGit) -> list[str]:
    """Return the tips of the newest branches and tags, local and remote."""
    asked = git.must(
        "for-each-ref",
        f"--count={_MOST_REFS}",
        "--sort=-creatordate",
        "--format=%(objecttype) %(objectname) %(*objecttype) %(*objectname)",
        "refs/heads",
        "refs/remotes",
        "refs/tags",
    )
    rows = [line.split() for line in asked.decode("ascii", "replace").splitlines()]
    return [oid for row in rows for kind, oid in zip(row[::2], row[1::2], strict=False) if kind == "commit"]
