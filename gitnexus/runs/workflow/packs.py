"""Builds, finds, verifies and renders context packs of a project from its policy, commits, state and runs."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from gitnexus.base.canonical import canonical_json
from gitnexus.base.errors import NotFound, VerificationFailed
from gitnexus.base.text import one_line
from gitnexus.events.artifacts import ArtifactRef
from gitnexus.events.checkpoint import load_checkpoint
from gitnexus.events.fold import fold
from gitnexus.git import blob_id
from gitnexus.git.private import PrivateGit, private_git
from gitnexus.git.revisions import resolve_commit
from gitnexus.packs import ContextPack, Library, PackBudget, pack_references, rebuild_pack, render_pack
from gitnexus.packs.find import RunArtifact
from gitnexus.packs.store import PackCache, request_hash
from gitnexus.packs.tree import BaseTree
from gitnexus.policy.compiled_rules import CompiledPolicy, make_read_check
from gitnexus.policy.in_force import read_policy_in_force
from gitnexus.redaction.hide import mask
from gitnexus.redaction.stored import known_secret_values
from gitnexus.runs.open_run import OpenRun
from gitnexus.runs.store import read_run
from gitnexus.runs.story import read_events
from gitnexus.state import Snapshot, State


def build_pack(state: State, refs: Sequence[str], budget: PackBudget | None = None, base: str = "HEAD") -> ContextPack:
    """Return the pack of references at a commit, from the cache if possible. Raises: NexusError."""
    policy = read_policy_in_force(state).compiled
    cache = PackCache(state.repo.common_dir)
    wanted = budget or PackBudget()
    with _opened_library(state, policy, base, state.required()) as library:
        request = request_hash(
            library.base.commit, library.state.commit or "", refs, wanted.plain(), _read_rules_hash(policy)
        )
        # A run's artifacts grow while the state does not change: a name may mean another artifact by now.
        known = None if any(ref.startswith("artifact:") for ref in refs) else cache.asked(request)
        if known is not None:
            return known
        pack = pack_references(library, refs, wanted)
    cache.put(pack, request)
    return pack


def find_pack(state: State, word: str) -> ContextPack:
    """Return a pack that was built here. Raises: NotFound, Failed, VerificationFailed."""
    return PackCache(state.repo.common_dir).named(word)


def verify_pack(state: State, pack: ContextPack) -> None:
    """Rebuild a pack and raise an error if the result differs. Raises: VerificationFailed."""
    snapshot = Snapshot(state.objects, pack.state or None)
    with _opened_library(state, read_policy_in_force(state).compiled, pack.base, snapshot) as library:
        again = rebuild_pack(pack, library)
    if again != pack:
        raise VerificationFailed(
            f"the pack {pack.hash[:19]} is not what the repository gives: {_describe_difference(pack, again)}",
            hint="build it again; a policy that changed since then may have left something out",
        )


def pack_text(pack: ContextPack) -> str:
    """Return the text with this machine's own secrets masked, so that it may be sent."""
    return mask(render_pack(pack), known_secret_values())


@contextmanager
def opened_library_at(state: State, base: str) -> Iterator[tuple[Library, PrivateGit]]:
    """Open the readable content at a commit, with the present state. Raises: NexusError."""
    with _opened_library_and_git(state, read_policy_in_force(state).compiled, base, state.required()) as found:
        yield found


@contextmanager
def _opened_library(state: State, policy: CompiledPolicy, base: str, snapshot: Snapshot) -> Iterator[Library]:
    with _opened_library_and_git(state, policy, base, snapshot) as (library, _):
        yield library


@contextmanager
def _opened_library_and_git(
    state: State, policy: CompiledPolicy, base: str, snapshot: Snapshot
) -> Iterator[tuple[Library, PrivateGit]]:
    with private_git(state.repo) as git:
        tree = BaseTree(git, resolve_commit(state.repo, git, base), make_read_check(policy))
        yield Library(tree, snapshot, lambda run, word: _read_run_artifact(state, run, word)), git


def _read_run_artifact(state: State, run: str, word: str) -> RunArtifact:
    open_run = OpenRun(state, read_run(state.snapshot, run))
    found = _find_artifact(fold(read_events(open_run)).artifacts, word)
    if found is None:
        raise NotFound(
            f"{open_run.record.id} kept no {one_line(word, 80)}", fix=f"git nexus artifacts {open_run.record.id}"
        )
    try:
        data = open_run.artifacts.read(found.digest)
    except NotFound:
        kept = load_checkpoint(state.objects, open_run.record.id)
        if kept is None:
            raise
        data = kept.artifact(found.digest)
    return RunArtifact(open_run.record.id, found.digest, found.name, data, blob_id(data, state.repo.object_format))


def _find_artifact(artifacts: Sequence[ArtifactRef], word: str) -> ArtifactRef | None:
    """Return the artifact with a digest, or the last one with a name."""
    plain = word.removeprefix("sha256:")
    digests = [one for one in artifacts if len(plain) >= 8 and one.digest.removeprefix("sha256:").startswith(plain)]
    return next(reversed(digests or [one for one in artifacts if one.name == word]), None)


def _read_rules_hash(policy: CompiledPolicy) -> str:
    # Packs store this hash, so the hashed text must not change; the class was then called Rule.
    denied = [rule for rule in policy.rules if rule.verdict == "deny" and rule.subject == "read"]
    rules = ["Rule" + repr(rule).removeprefix("PolicyRule") for rule in denied]
    return hashlib.sha256(canonical_json(rules)).hexdigest()


def _describe_difference(pack: ContextPack, again: ContextPack) -> str:
    before, after = ({one.ref: one for one in each.pieces} for each in (pack, again))
    for ref, piece in before.items():
        if after.get(ref) != piece:
            return f"{one_line(ref, 100)} {'differs' if ref in after else 'is left out'}"
    return "what was left out differs"
