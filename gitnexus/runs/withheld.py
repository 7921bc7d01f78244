"""Decides which proposals a run's checkpoints withhold: those that hold a secret and were not carried out.

The trees of withheld patches are kept by refs below `refs/nexus/local/<run>/`, which `sync` does not push, until the
run is cleaned.
"""

import contextlib
from collections.abc import Iterable, Mapping, Sequence

from gitnexus.base.errors import NotFound
from gitnexus.events.artifacts import Artifacts
from gitnexus.events.checkpoint import Proposals
from gitnexus.events.model import Event
from gitnexus.events.view import ActionView
from gitnexus.git import Author, Repo
from gitnexus.git.branches import list_refs
from gitnexus.git.commits import write_own_commit
from gitnexus.git.locks import change_refs, delete_refs
from gitnexus.git.private import private_git
from gitnexus.git.remotes import add_hidden_refs
from gitnexus.git.tree_diff import read_blobs
from gitnexus.policy.model import AgendaRequest, DocumentRequest, PatchRequest
from gitnexus.policy.request import parse_request
from gitnexus.redaction.hide import redact
from gitnexus.redaction.scan import KNOWN_VALUE
from gitnexus.redaction.stored import known_secret_values, redact_value

LOCAL = "refs/nexus/local/"
_KINDS = (PatchRequest.kind, DocumentRequest.kind, AgendaRequest.kind)
_SUBMODULE = "160000"
_MOST_PLACES = 10_000


class ProposalSorter:
    """Sorts the proposals of one run into what a checkpoint stores and what stays on this machine."""

    def __init__(self, repo: Repo, run: str, artifacts: Artifacts) -> None:
        self._repo, self._run, self._artifacts = repo, run, artifacts
        # Whether a request holds a secret, by its digest (cache).
        self._known: dict[str, bool] = {}

    def sort(self, events: Sequence[Event], actions: Mapping[str, ActionView]) -> Proposals:
        """Return a commit per waiting patch without secrets, and the artifacts to withhold. Raises: NexusError.

        No other ref keeps the trees of waiting patches. Those with secrets get a local ref.
        """
        commits, withheld = [], set()
        proposed = {event.body["action"]: event for event in reversed(events) if event.kind == "action.proposed"}
        unfinished = {name: action for name, action in actions.items() if name in proposed and is_unfinished(action)}
        kept = list_refs(self._repo, f"{LOCAL}{self._run}") if unfinished else {}
        for name, action in unfinished.items():
            digest = proposed[name].body["artifact"]
            ref = f"{LOCAL}{self._run}/{name}"
            is_open = action.status != "denied"
            try:
                request = parse_request(self._artifacts.read(digest))
            except NotFound:
                continue  # it was withheld where it was proposed
            if not isinstance(request, PatchRequest | DocumentRequest):
                continue
            hidden = ref in kept or self._holds_secret(request, action.digest, is_open)
            if hidden:
                withheld.add(digest)
                withheld |= {request.new_digest} if isinstance(request, DocumentRequest) else set()
            if isinstance(request, PatchRequest) and is_open and ref not in kept:
                text = f"proposed: {self._run} {name}\n"
                who = Author("git nexus", "git-nexus@localhost", 0)
                commit = write_own_commit(self._repo, request.result_tree, [request.base], text, who)
                if hidden:
                    add_hidden_refs(self._repo, LOCAL.rstrip("/"))
                    change_refs("update-ref", "--no-deref", ref, commit, git_dir=self._repo.common_dir)
                else:
                    commits.append(commit)
        return Proposals(commits, frozenset(withheld))

    def _holds_secret(self, request: PatchRequest | DocumentRequest, digest: str, is_open: bool) -> bool:
        """True if a proposal adds a secret; of a denied patch only the names count, because its tree is not stored."""
        plain = request.plain()
        if redact_value(plain) != plain:
            return True
        if isinstance(request, PatchRequest) and not is_open:
            return False
        if digest not in self._known:
            self._known[digest] = adds_secret(*self._contents(request))
        return self._known[digest]

    def _contents(self, request: PatchRequest | DocumentRequest) -> tuple[list[bytes], list[bytes]]:
        """Return the contents that a proposal writes, and those that it replaces."""
        if isinstance(request, DocumentRequest):
            return self._read_artifacts(request.new_digest), self._read_artifacts(request.old_digest)
        rows = request.changes
        new = [row.new_blob for row in rows if row.new_mode not in ("", _SUBMODULE)]
        old = [row.old_blob for row in rows if row.old_mode not in ("", _SUBMODULE)]
        with private_git(self._repo) as git:
            return list(read_blobs(git, new)), list(read_blobs(git, old))

    def _read_artifacts(self, digest: str) -> list[bytes]:
        with contextlib.suppress(NotFound):
            return [self._artifacts.read(digest)] if digest else []
        return []


def is_unfinished(action: ActionView | None) -> bool:
    """True for a patch or a document change that was not carried out, so that it may be withheld."""
    return action is not None and action.kind in _KINDS and action.status != "executed" and not action.commit


def adds_secret(new: Iterable[bytes], old: Iterable[bytes]) -> bool:
    """True if the new contents hold a secret that the old ones do not, or a value that this machine knows."""
    before = b"\0".join(old)
    for data in new:
        shown = redact(data, known_secret_values())
        if not shown.count:
            continue
        if any(hidden.rule == KNOWN_VALUE for hidden in shown.hidden):
            return True
        places = redact(data).places
        if not 0 < len(places) < _MOST_PLACES:
            return True
        if any(data[place.start : place.start + place.size] not in before for place in places):
            return True
    return False


def delete_local_refs(repo: Repo, run: str) -> None:
    """Delete the refs that keep the withheld trees of a run. Raises: GitFailed."""
    delete_refs(repo.common_dir, list_refs(repo, f"{LOCAL}{run}"))
