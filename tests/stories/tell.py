"""Tell a story: choose acts by chance, do them alone, killed or two at once, and check after every few."""

import random
from collections.abc import Callable
from pathlib import Path

from tests.conftest import run_git
from tests.stories import acts, run_acts
from tests.stories.checks import check_all, check_clone
from tests.stories.commands import SERVER, Ended, Place, Violation
from tests.stories.world import Act, World

# How often each comes up, beside the others.
COMMANDS: dict[Callable[[World, str], Act], int] = {
    acts.look: 3, acts.add_task: 6, acts.update_task: 7, acts.close_task: 3, acts.claim_task: 2, acts.remove_label: 2,
    acts.delete_task: 2, acts.add_note: 5, acts.add_rule: 2, acts.add_policy: 2, acts.trust_policy: 2,
    acts.forget_notes: 1, acts.plan: 4, run_acts.begin_run: 4, run_acts.go_on_with_run: 10, run_acts.clean: 2,
    run_acts.sync: 9, run_acts.mend: 1,
}  # fmt: skip
BY_HAND: dict[Callable[[World, str], None], int] = {
    acts.edit_title: 3, acts.delete_by_hand: 1, acts.edit_note: 3, acts.delete_note: 1, acts.spoil_file: 2,
    run_acts.commit_by_hand: 3, run_acts.exchange_code: 3, run_acts.collect_garbage: 4, run_acts.sweep: 1,
    run_acts.add_clone: 1,
}  # fmt: skip
MOST_CLONES = 3


def tell(root: Path, name: str, steps: int, kills: bool = True) -> list[str]:
    """Tell the story of this name in an empty folder; return its lines. Raises: Violation with the lines."""
    world = World(Place(root), random.Random(name))
    try:
        begin(world)
        for step in range(steps):
            do_something(world, kills)
            if step % 6 == 5:
                check_clone(world, world.chance.choice(world.clones))
            if step % 20 == 19:
                check_all(world)
        check_all(world)
    except (AssertionError, KeyError, ValueError) as exc:
        lines = "\n".join(world.place.lines)
        raise Violation(f"the story {name!r}\n\n{lines}\n\nended with\n\n{exc}") from exc
    return world.place.lines


def begin(world: World) -> None:
    """Make a server with one commit, and the first clone."""
    root = world.place.root
    world.place.lines += [
        'export HOME="$PWD/home" NEXUS_HOME="$PWD/home/nexus"; mkdir home',
        "git config --global user.name Ada; git config --global user.email ada@example.com",
        f"git init -q --bare -b main {SERVER}; git clone -q {SERVER} clone1",
        "(cd clone1 && git checkout -q -b main; git commit -q --allow-empty -m first && git push -q origin main)",
    ]
    run_git(root, "init", "-q", "--bare", "-b", "main", SERVER)
    run_git(root, "clone", "-q", SERVER, "clone1")
    run_git(root / "clone1", "checkout", "-q", "-b", "main", check=False)
    run_git(root / "clone1", "commit", "-q", "--allow-empty", "-m", "first")
    run_git(root / "clone1", "push", "-q", "origin", "main")
    world.clones.append("clone1")
    for argv in (("init",), ("sync",)):
        ended = world.place.nexus("clone1", *argv)
        if ended.status:
            raise Violation(str(ended))
    run_acts.add_clone(world, "clone1")


def do_something(world: World, kills: bool) -> None:
    """Do one thing in one clone, or two at once."""
    clone, chance = world.chance.choice(world.clones), world.chance
    if chance.random() < sum(BY_HAND.values()) / (sum(BY_HAND.values()) + sum(COMMANDS.values())):
        by_hand = chance.choices([*BY_HAND], [*BY_HAND.values()])[0]
        if by_hand is not run_acts.add_clone or len(world.clones) < MOST_CLONES:
            by_hand(world, clone)
        return
    act = choose(world, clone)
    way = chance.random()
    if kills and way < 0.3:
        do_killed(world, act)
    elif way < 0.45:
        other = choose(world, chance.choice([clone, clone, chance.choice(world.clones)]))
        do_at_once(world, act, other)
    else:
        do_alone(world, act)


def choose(world: World, clone: str) -> Act:
    return world.chance.choices([*COMMANDS], [*COMMANDS.values()])[0](world, clone)


def do_alone(world: World, act: Act) -> Ended:
    ended = world.place.nexus(act.clone, *act.argv)
    if ended.status in act.well:
        act.acknowledge(ended)
    elif act.must:
        raise Violation(f"a command that nobody disturbs fails\n{ended}")
    return ended


def do_killed(world: World, act: Act) -> None:
    ended = world.place.kill(act.clone, act.argv, world.chance.random(), world.chance.random() < 0.7)
    if ended.status is None:
        act.suspect(ended)
    elif ended.status in act.well:
        act.acknowledge(ended)
    if act.again and world.chance.random() < 0.7:
        do_alone(world, act)


def do_at_once(world: World, act: Act, other: Act) -> None:
    ends = zip((act, other), world.place.at_once([(a.clone, a.argv) for a in (act, other)]), strict=True)
    # A task that was added before the sync beside it may have another number after it: learn of the task first.
    for one, ended in sorted(ends, key=lambda end: end[0].argv == ("sync",)):
        if ended.status in one.well:
            one.acknowledge(ended)
        else:
            one.suspect(ended)
