"""Exchange state with another clone: fetch, judge, join, push without force, and say what went each way."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from gitnexus.app.mergers import in_words, mergers
from gitnexus.app.open import registered_at
from gitnexus.app.synclogs import Plan, pull_logs, push_orders
from gitnexus.app.trust import settle_trust, signer_for_init
from gitnexus.app.wire import USUAL_WIRE, Wire, ask, keep_wire, wire_to
from gitnexus.base.chance import fraction
from gitnexus.base.clock import now
from gitnexus.base.errors import Busy, Conflict, Failed, Invalid, VerificationFailed
from gitnexus.git import Author, Objects, Repo
from gitnexus.git.branches import tip
from gitnexus.git.child import run
from gitnexus.git.exchange import Order, Outcome, fetched, pushed
from gitnexus.git.loose import read_loose
from gitnexus.git.treediff import bases, differences, is_ancestor, weight
from gitnexus.policy.approvers import Approvers
from gitnexus.policy.pins import pin, pinned
from gitnexus.projects.register import Wanted, register
from gitnexus.state import STATE_REF, Change, Snapshot, State
from gitnexus.state.format import check, id_of
from gitnexus.state.home import make_home
from gitnexus.state.join import Joined, Mergers, join
from gitnexus.state.layout import LARGEST_FILE

_TRIES = 12


@dataclass(slots=True)
class Asked:
    """What somebody wants of a sync."""

    pull: bool = True
    push: bool = True
    dry_run: bool = False
    adopt: bool = False
    rewritten: bool = False
    # Said in so many words: then a state that is gone there is put back.
    restore: bool = False


@dataclass(slots=True)
class Synced:
    """What a sync did, or would do."""

    remote: str
    pulled: list[str] = field(default_factory=list)
    pushed: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    held: dict[str, str] = field(default_factory=dict)
    beside: list[str] = field(default_factory=list)
    commit: str = ""
    joined: bool = False
    tries: int = 1


def synced(state: State, wire: Wire, asked: Asked) -> Synced:
    """Bring this clone and a remote together. Raises: NexusError; then what was not pulled or pushed is as it was."""
    done = Synced(wire.shown)
    if wire.way == "off" or (wire.way == "pull" and not asked.pull) or (wire.way == "push" and not asked.push):
        raise Failed(f"git config remote.{wire.remote}.nexusSync says {wire.way}")
    pull, push = asked.pull and wire.way != "push", asked.push and wire.way != "pull"
    for attempt in range(1, _TRIES + 1):
        done.tries = attempt
        wire, there = ask(state.repo, wire)
        plan = Plan(wire, there)
        if pull:
            _pulled(state, plan, asked, done)
            if asked.adopt and not asked.dry_run:
                _another_project(state, done)
        elif _behind(state, plan):
            raise Failed(f"{wire.shown} has what this clone lacks", hint="git nexus sync takes it in first")
        if not push or _pushed(state, plan, asked, done):
            done.commit = state.latest().commit or ""
            if not asked.dry_run:
                keep_wire(state.repo, wire)
            return done
        time.sleep(fraction() * min(2.0, 0.05 * 2**attempt))
    raise Busy(f"others kept pushing to {wire.shown}", hint="run the command again")


def adopted(state: State, remote: str, *, join: bool = False) -> Synced | None:
    """Take over the state of a remote where there is none, or with `join` bring the one that is here into it.

    None if the remote has none, or the two are one already. Raises: NexusError.
    """
    wire, there = ask(state.repo, wire_to(state, remote))
    found = there.get(wire.there(STATE_REF))
    mine = state.latest().commit
    if found is None or "state" not in wire.kinds or (mine is not None and _known(state.repo, found, mine)):
        return None
    fetched(state.repo, wire.remote, {wire.there(STATE_REF): wire.incoming}, most=wire.most)
    theirs = tip(state.repo, wire.incoming) or ""
    if mine is not None and bases(state.repo, mine, theirs):
        return None
    done, asked = Synced(wire.shown), Asked(adopt=join)
    _judge(state, wire, theirs, None, asked)
    _join(state, wire, theirs, asked, done)
    _track(state.repo, wire, theirs)
    keep_wire(state.repo, wire)
    return done


def _behind(state: State, plan: Plan) -> bool:
    found = plan.there.get(plan.wire.there(STATE_REF)) if "state" in plan.wire.kinds else None
    mine = state.latest().commit
    return found is not None and mine is not None and found != mine and not _known(state.repo, found, mine)


def _known(repo: Repo, commit: str, mine: str) -> bool:
    return _is_commit(repo, commit) and is_ancestor(repo, commit, mine)


def _pulled(state: State, plan: Plan, asked: Asked, done: Synced) -> None:
    wire, repo = plan.wire, state.repo
    theirs = plan.there.get(wire.there(STATE_REF))
    before = tip(repo, wire.tracking(STATE_REF))
    wanted = plan.wanted(repo)
    mine = state.latest().commit
    if "state" not in wire.kinds:
        theirs = before = None
    takes_state = theirs is not None and not (mine is not None and _known(repo, theirs, mine))
    if takes_state:
        wanted = {wire.there(STATE_REF): wire.incoming, **wanted}
    fetched(repo, wire.remote, wanted, most=wire.most)
    if takes_state:
        found = tip(repo, wire.incoming) or ""
        _judge(state, wire, found, before, asked)
        _join(state, wire, found, asked, done)
        theirs = found
    if theirs is None and before is not None:
        _refuse_gone(wire, asked, done)
    if theirs is not None and not asked.dry_run:
        _track(repo, wire, theirs)
    pull_logs(state, plan, done.said, done.pulled, dry_run=asked.dry_run)


def _track(repo: Repo, wire: Wire, theirs: str) -> None:
    orders = [f"update {wire.tracking(STATE_REF)} {theirs}"] if tip(repo, wire.tracking(STATE_REF)) != theirs else []
    orders += [f"delete {wire.incoming}"] if tip(repo, wire.incoming) is not None else []
    if orders:
        run("update-ref", "--no-deref", "-m", "sync", "--stdin", git_dir=repo.common_dir,
            stdin="".join(f"{order}\n" for order in orders).encode())  # fmt: skip


def _refuse_gone(wire: Wire, asked: Asked, done: Synced) -> None:
    if asked.push and not asked.restore:
        raise Conflict(
            f"{wire.shown} had a state when this clone last looked, and has none now: somebody took it away",
            hint="nothing of yours is lost; git nexus sync --push puts it there again",
            fix=f"git nexus sync --push {wire.remote}",
        )
    done.said.append(f"{wire.shown} had a state and has none now; nothing of yours is lost")


def _judge(state: State, wire: Wire, theirs: str, before: str | None, asked: Asked) -> None:
    """Refuse what no honest clone sends. Raises: Conflict, Failed, Invalid, VerificationFailed."""
    repo, mine = state.repo, state.latest()
    size = weight(repo, [theirs], [one for one in (mine.commit, before) if one and _is_commit(repo, one)])
    if size.largest > LARGEST_FILE:
        raise Invalid(
            f"the state of {wire.shown} holds a file of {size.largest // 2**20} MiB; git nexus keeps none above "
            f"{LARGEST_FILE // 2**20} MiB, so nothing was taken",
            hint=f"git log --stat {wire.incoming} shows who put it there",
        )
    other = Snapshot(state.objects, theirs)
    check(other)
    if mine.commit is not None and not asked.adopt and id_of(other) != id_of(mine):
        related = bases(repo, mine.commit, theirs)
        raise (VerificationFailed if related else Conflict)(
            f"the state of {wire.shown} is of another project ({id_of(other)}), not of this one ({id_of(mine)})",
            hint="git nexus sync --adopt makes theirs the project and brings yours into it",
        )
    if before is not None and not asked.rewritten and not is_ancestor(repo, before, theirs):
        raise Conflict(
            f"the history of the state of {wire.shown} was rewritten: it no longer holds {before[:12]}",
            hint="nothing was taken, and nothing of yours is lost; look at it with git log "
            f"{wire.incoming}; git nexus sync --rewritten joins it with yours",
        )


def _is_commit(repo: Repo, oid: str) -> bool:
    loose = read_loose(repo.common_dir / "objects", oid)
    if loose is not None:
        return loose[0] == "commit"
    return run("cat-file", "-e", f"{oid}^{{commit}}", git_dir=repo.common_dir).returncode == 0


def _join(state: State, wire: Wire, theirs: str, asked: Asked, done: Synced) -> None:
    """Take their state in, forward or joined with ours, as one transaction."""
    resigned: list[Approvers] = []
    _deepened(state, wire, theirs)

    def decide(snapshot: Snapshot) -> Change[Joined]:
        resigned.clear()
        table = mergers(state.repo, now(), resigned.append, adopt=asked.adopt)
        return met(state.repo, state.objects, state.author, (snapshot.commit, theirs), table, wire.shown, asked.adopt)

    mine = state.latest().commit
    shared = bases(state.repo, mine, theirs) if mine is not None else []
    paths = list(differences(state.repo, shared[0] if shared else None, theirs))
    if asked.dry_run:
        found = decide(state.latest()).value
    else:
        found = state.transact(decide)
        _repin(state, resigned)
        done.joined = done.joined or state.snapshot.commit != theirs
    done.pulled += in_words(paths)
    done.said += found.said
    done.held |= found.held
    done.beside += found.beside


def met(
    repo: Repo, objects: Objects, author: Author, sides: tuple[str | None, str], table: Mergers, name: str, adopt: bool
) -> Change[Joined]:
    """Return what a state becomes that meets another: itself, a step forward, or a commit of both. Raises: Conflict."""
    mine, theirs = sides
    if mine is None:
        return Change({}, f"sync: take over the state of {name}", Joined(), onto=theirs)
    shared = bases(repo, mine, theirs)
    if shared == [theirs]:
        return Change({}, "", Joined())
    found = join(repo, objects, (shared, mine, theirs), table, author, adopt=adopt)
    if shared == [mine]:
        _, tree = objects.write_commit(parents=[mine], changes=found.files, message="x\n", author=author)
        if tree == objects.tree_of(theirs):
            return Change({}, f"sync: forward to {name}", found, onto=theirs)
    return Change(found.files, f"sync: join with {name}", found, joins=theirs)


def _deepened(state: State, wire: Wire, theirs: str) -> None:
    """Bring the history that a shallow clone lacks, where without it two states seem to have nothing in common."""
    mine = state.latest().commit
    if mine is None or not (state.repo.common_dir / "shallow").exists() or bases(state.repo, mine, theirs):
        return
    fetched(state.repo, wire.remote, {wire.there(STATE_REF): wire.incoming}, most=wire.most, whole=True)


def _another_project(state: State, done: Synced) -> None:
    """What was here is part of another project now: its approvers are known here from now on, and its id."""
    changes, notes = settle_trust(state, signer_for_init(state.repo)[0], fresh=True)
    done.said += [*changes, *notes]
    known = registered_at(state.repo)
    if known is not None:
        home = make_home()
        try:
            register(home, Wanted(known.path, None, (), id_of(state.snapshot)), now())
        finally:
            home.close()


def _repin(state: State, resigned: Sequence[Approvers]) -> None:
    """What was seen of our own list is in the new one, signed again: this machine goes on from there."""
    held = pinned(state.repo.common_dir) if resigned else None
    if held is not None:
        pin(state.repo.common_dir, resigned[-1], consent=held.consent)


def _pushed(state: State, plan: Plan, asked: Asked, done: Synced) -> bool:
    """Push what the remote lacks; False to try again, since somebody else was first. Raises: Failed."""
    repo, wire = state.repo, plan.wire
    mine = state.latest().commit or ""
    there = plan.there.get(wire.there(STATE_REF))
    orders = [Order(wire.there(STATE_REF), mine)] if there != mine and "state" in wire.kinds else []
    words = _our_news(repo, there, mine) if orders else []
    logs, told = push_orders(state, plan)
    if not asked.dry_run and (orders or logs):
        outcome = pushed(repo, wire.remote, [*orders, *logs])
        if any(one.kind == "behind" for one in outcome.values()):
            return False
        _refuse_refused(wire, outcome)
        if orders:
            _track(repo, wire, mine)
    done.pushed += [*words, *told]
    return True


def _our_news(repo: Repo, there: str | None, mine: str) -> list[str]:
    shared = bases(repo, there, mine) if there is not None and _is_commit(repo, there) else []
    return in_words(list(differences(repo, shared[0] if shared else None, mine)))


def _refuse_refused(wire: Wire, outcome: dict[str, Outcome]) -> None:
    refused = {ref: one.why for ref, one in outcome.items() if one.kind == "refused"}
    if not refused:
        return
    ref, why = next(iter(refused.items()))
    ours = ref.startswith("refs/nexus/") and not wire.wire
    hint = "this host may take nothing but branches: git nexus sync --probe finds out" if ours else None
    raise Failed(
        f"{wire.shown} refuses {ref}: {why}",
        hint=hint,
        fix=f"git config remote.{wire.remote}.nexusWireRef {USUAL_WIRE}" if ours else None,
        context={"refused": refused},
    )
