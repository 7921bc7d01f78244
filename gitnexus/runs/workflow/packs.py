"""Packs of an open project: its law, its commits, its state and its runs, joined."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from gitnexus.app.policy import policy_here
from gitnexus.app.rundesk import RunDesk
from gitnexus.app.runstory import events_of
from gitnexus.base.canonical import canonical
from gitnexus.base.errors import NotFound, VerificationFailed
from gitnexus.base.text import one_line
from gitnexus.events.artifacts import ArtifactRef
from gitnexus.events.checkpoint import load
from gitnexus.events.fold import fold
from gitnexus.git import blob_id
from gitnexus.git.private import PrivateGit, private
from gitnexus.git.revisions import commit_of
from gitnexus.packs import Budget, Library, Pack, built, rebuilt, rendered
from gitnexus.packs.find import Kept
from gitnexus.packs.store import Packs, request_of
from gitnexus.packs.tree import BaseTree
from gitnexus.policy.law import Law, unreadable_under
from gitnexus.redaction.hide import mask
from gitnexus.redaction.stored import known_values
from gitnexus.runs.store import read
from gitnexus.state import Snapshot, State


def pack_of(state: State, refs: Sequence[str], budget: Budget | None = None, base: str = "HEAD") -> Pack:
    """Return the pack of some references at a commit, from the cache if it was built before. Raises: NexusError."""
    law = policy_here(state).law
    cache = Packs(state.repo.common_dir)
    wanted = budget or Budget()
    with _library(state, law, base, state.required()) as library:
        request = request_of(library.base.commit, library.state.commit or "", refs, wanted.plain(), _named(law))
        # What a run keeps grows while the state stands still: a name may mean another artifact by now.
        known = None if any(ref.startswith("artifact:") for ref in refs) else cache.asked(request)
        if known is not None:
            return known
        pack = built(library, refs, wanted)
    cache.put(pack, request)
    return pack


def pack_named(state: State, word: str) -> Pack:
    """Return a pack that was built here. Raises: NotFound, Failed, VerificationFailed."""
    return Packs(state.repo.common_dir).named(word)


def checked(state: State, pack: Pack) -> None:
    """Build a pack again from the repository, and refuse one that comes out otherwise. Raises: VerificationFailed."""
    snapshot = Snapshot(state.objects, pack.state or None)
    with _library(state, policy_here(state).law, pack.base, snapshot) as library:
        again = rebuilt(pack, library)
    if again != pack:
        raise VerificationFailed(
            f"the pack {pack.hash[:19]} is not what the repository gives: {_difference(pack, again)}",
            hint="build it again; a policy that changed since then may have left something out",
        )


def text_of(pack: Pack) -> str:
    """Return the text as it may leave this machine: what the machine itself knows to be secret is hidden too."""
    return mask(rendered(pack), known_values())


@contextmanager
def library_at(state: State, base: str) -> Iterator[tuple[Library, PrivateGit]]:
    """Open what may be read at a commit of the code, with the state as it is. Raises: NexusError."""
    with _opened(state, policy_here(state).law, base, state.required()) as found:
        yield found


@contextmanager
def _library(state: State, law: Law, base: str, snapshot: Snapshot) -> Iterator[Library]:
    with _opened(state, law, base, snapshot) as (library, _):
        yield library


@contextmanager
def _opened(state: State, law: Law, base: str, snapshot: Snapshot) -> Iterator[tuple[Library, PrivateGit]]:
    with private(state.repo) as git:
        tree = BaseTree(git, commit_of(state.repo, git, base), unreadable_under(law))
        yield Library(tree, snapshot, lambda run, word: _artifact(state, run, word)), git


def _artifact(state: State, run: str, word: str) -> Kept:
    desk = RunDesk(state, read(state.snapshot, run))
    found = _meant(fold(events_of(desk)).artifacts, word)
    if found is None:
        raise NotFound(f"{desk.run.id} kept no {one_line(word, 80)}", fix=f"git nexus artifacts {desk.run.id}")
    try:
        data = desk.artifacts.read(found.digest)
    except NotFound:
        kept = load(state.objects, desk.run.id)
        if kept is None:
            raise
        data = kept.artifact(found.digest)
    return Kept(desk.run.id, found.digest, found.name, data, blob_id(data, state.repo.object_format))


def _meant(artifacts: Sequence[ArtifactRef], word: str) -> ArtifactRef | None:
    """Return the artifact of a digest, or the last of a name."""
    plain = word.removeprefix("sha256:")
    digests = [one for one in artifacts if len(plain) >= 8 and one.digest.removeprefix("sha256:").startswith(plain)]
    return next(reversed(digests or [one for one in artifacts if one.name == word]), None)


def _named(law: Law) -> str:
    rules = [repr(rule) for rule in law.rules if rule.verdict == "deny" and rule.subject == "read"]
    return hashlib.sha256(canonical(rules)).hexdigest()


def _difference(pack: Pack, again: Pack) -> str:
    before, after = ({one.ref: one for one in each.pieces} for each in (pack, again))
    for ref, piece in before.items():
        if after.get(ref) != piece:
            return f"{one_line(ref, 100)} {'differs' if ref in after else 'is left out'}"
    return "what was left out differs"
