"""What somebody may do with runs, with git itself and with the server."""

import json

from tests.conftest import run_git
from tests.stories.acts import nothing
from tests.stories.commands import SERVER, Ended
from tests.stories.model import Run
from tests.stories.world import Act, World

WAITS = 21  # for an approval


def begin_run(world: World, clone: str) -> Act:
    word = world.word("made")
    file = f"{word}.txt"
    argv = ("run", "--json", "--", "sh", "-c", f"echo {word} > {file}")

    def acknowledge(ended: Ended) -> None:
        run = json.loads(ended.out)["run"]["id"]
        if run in world.model.runs:
            raise AssertionError(f"{run} was given before")
        world.model.runs[run] = Run(run, file, word)
        world.place.name_run(run)

    def suspect(_: Ended) -> None:
        for run, row in world.runs(clone).items():
            if file in row["title"] and run not in world.model.runs:
                world.model.runs[run] = Run(run, file, word)
                world.place.name_run(run)

    return Act(clone, argv, acknowledge, suspect, must=True, well=(0, WAITS))


def go_on_with_run(world: World, clone: str) -> Act:
    """Do what a person may do with a run that is not landed yet."""
    rows = {run: row for run, row in world.runs(clone).items() if run in world.model.runs}
    ready = [run for run, row in rows.items() if row["status"] not in ("landed", "cancelled", "denied")]
    if not ready:
        return begin_run(world, clone)
    run = world.model.runs[world.chance.choice(ready)]
    if rows[run.id]["status"] == "completed":
        return world.chance.choice([land, land, clean_by_name])(world, clone, run)
    return world.chance.choices([approve, deny, cancel, resume], [6, 1, 1, 2])[0](world, clone, run)


def approve(world: World, clone: str, run: Run) -> Act:
    def acknowledge(ended: Ended) -> None:
        run.decided.add((clone, "approve"))
        run.approved = run.approved or json.loads(ended.out)["run"]["status"] == "completed"

    def suspect(_: Ended) -> None:
        run.tried.add((clone, "approve"))

    return Act(clone, ("approve", run.id, "--unseen", "--json"), acknowledge, suspect, again=True, well=(0, WAITS))


def deny(world: World, clone: str, run: Run) -> Act:
    return Act(
        clone, ("deny", run.id), lambda _: run.decided.add((clone, "deny")), lambda _: run.tried.add((clone, "deny"))
    )


def cancel(world: World, clone: str, run: Run) -> Act:
    return Act(
        clone,
        ("cancel", run.id),
        lambda _: run.decided.add((clone, "cancel")),
        lambda _: run.tried.add((clone, "cancel")),
    )


def resume(world: World, clone: str, run: Run) -> Act:
    return Act(clone, ("resume", run.id), nothing, nothing, again=True)


def land(world: World, clone: str, run: Run) -> Act:
    way = world.chance.choice(["--merge", "--rebase", "--squash"])

    def acknowledge(_: Ended) -> None:
        run.landed_in.add(clone)

    return Act(clone, ("land", run.id, way), acknowledge, nothing, again=True)


def clean_by_name(world: World, clone: str, run: Run) -> Act:
    return Act(clone, ("clean", run.id), nothing, nothing)


def clean(world: World, clone: str) -> Act:
    return Act(clone, ("clean",), nothing, nothing, must=True, again=True)


def sync(world: World, clone: str) -> Act:
    return Act(clone, ("sync",), lambda _: world.see_numbers(clone), nothing, must=True, again=True)


def mend(world: World, clone: str) -> Act:
    return Act(clone, ("doctor", "--fix"), nothing, nothing, again=True)


def commit_by_hand(world: World, clone: str) -> None:
    word = world.word("hand")
    world.place.shell(clone, f"echo {word} > {word}.txt && git add {word}.txt && git commit -qm {word}")
    commit = run_git(world.place.path(clone), "rev-parse", "HEAD").strip()
    world.model.commits.setdefault(clone, set()).add(commit)


def exchange_code(world: World, clone: str) -> None:
    world.place.shell(clone, "git pull -q --no-rebase --no-edit origin main && git push -q origin main")


def collect_garbage(world: World, clone: str) -> None:
    where = world.chance.choice([clone, SERVER])
    line = world.chance.choice(
        [
            "git gc -q --prune=now",
            "git reflog expire --expire=now --all && git gc -q --prune=now",
            "git pack-refs --all --prune",
            "git repack -adq && git prune-packed -q",
            "git worktree prune",
        ]
    )
    world.place.shell(where, line)


def sweep(world: World, clone: str) -> None:
    """Remove all that git does not track: our folder with the open plan in it."""
    world.place.shell(clone, "git clean -fdxq")
    world.model.plans.pop(clone, None)


def add_clone(world: World, clone: str) -> None:
    """Make a clone and init it, now and then killed first."""
    name = f"clone{len(world.clones) + 1}"
    world.place.lines.append(f"git clone -q {SERVER} {name}")
    run_git(world.place.root, "clone", "-q", SERVER, name)
    if world.chance.random() < 0.5:
        world.place.kill(name, ("init",), world.chance.random(), True)
    ended = world.place.nexus(name, "init")
    if ended.status:
        raise AssertionError(f"a second clone cannot be made\n{ended}")
    world.clones.append(name)
    world.see_numbers(name)
