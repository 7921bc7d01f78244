"""What must be true in every story: of one clone at any time, and of all of them when they have met."""

import json
from typing import Any

from tests.conftest import run_git
from tests.stories.commands import SERVER, STATE, Violation
from tests.stories.model import Run, Task
from tests.stories.world import World, holds


def require(condition: bool, words: str) -> None:
    """Raise a Violation with these words unless the condition holds."""
    if not condition:
        raise Violation(words)


def check_clone(world: World, clone: str) -> None:
    """Check what must be true in one clone before it has met the others."""
    check_health(world, clone)
    world.see_numbers(clone)
    main = run_git(world.place.path(clone), "rev-list", "main").split()
    lost = world.model.commits.get(clone, set()) - set(main)
    require(not lost, f"{clone}: commits of the user are no longer on main: {sorted(lost)}")
    for run in world.model.runs.values():
        if clone in run.landed_in:
            require(
                holds(world.place.path(clone), "main", run.file, run.text), f"{clone}: what {run.id} landed is gone"
            )
    topic = world.model.plans.get(clone)
    if topic:
        ended = world.place.nexus(clone, "tool", "plan_status", "{}")
        require(topic in ended.out, f"{clone}: the open plan {topic} is gone\n{ended}")


def check_health(world: World, clone: str) -> None:
    """Check that git and the doctor find nothing, or that the doctor mends what it finds."""
    said = run_git(world.place.path(clone), "fsck", "--no-dangling", "--no-progress", check=False)
    require(not said.strip(), f"{clone}: git fsck: {said}")
    ended = world.place.nexus(clone, "doctor", "--json")
    if problems(ended.out):
        ended = world.place.nexus(clone, "doctor", "--fix", "--json")
        ended = world.place.nexus(clone, "doctor", "--json")
        require(not problems(ended.out), f"{clone}: doctor --fix does not mend\n{problems(ended.out)}")


def problems(out: str) -> list[Any]:
    return [row for row in json.loads(out)["findings"] if row["state"] == "problem"]


# What one clone makes of a decision of another is news for the others, once.
MOST_ROUNDS = 5


def meet(world: World) -> None:
    """Let all clones sync until nobody has anything new for another; that comes to an end."""
    before: list[str] = []
    for _ in range(MOST_ROUNDS):
        for clone in world.clones:
            ended = world.place.nexus(clone, "sync")
            require(ended.status == 0, f"sync fails where nobody disturbs it\n{ended}")
        now = [world.place.tip(clone) for clone in world.clones]
        if before and (now == before or len(set(now)) == 1):
            return
        before = now


def check_all(world: World) -> None:
    """Check what must be true in all clones when they have met: they are alike, and nothing acknowledged is missing."""
    meet(world)
    trees = {
        clone: run_git(world.place.path(clone), "rev-parse", f"{STATE}^{{tree}}").strip() for clone in world.clones
    }
    require(len(set(trees.values())) == 1, f"the clones have met and are not alike: {describe_states(world)}")
    run_git(world.place.path(SERVER), "fsck", "--no-dangling", "--no-progress")
    first = world.clones[0]
    is_before, tip = world.is_before(first), world.place.tip(first)
    lost = [commit for commit in set(world.model.state_commits) if not is_before(commit, tip)]
    require(not lost, f"acknowledged commits are not in the state's history: {lost}")
    check_tasks(world, first)
    check_words(world, first)
    check_runs(world)
    for clone in world.clones:
        check_clone(world, clone)


def describe_states(world: World) -> str:
    """Return the last writes to the state of each clone, and what differs between the first two."""
    tips = {clone: world.place.tip(clone) for clone in world.clones}
    first, second, *_ = world.clones
    run_git(world.place.path(first), "fetch", "-q", str(world.place.path(second)), STATE, check=False)
    writes = [
        f"{clone}:\n" + run_git(world.place.path(clone), "log", "-8", "--graph", "--format=%h %an %s", tip)
        for clone, tip in tips.items()
    ]
    return "\n".join([*writes, run_git(world.place.path(first), "diff", tips[first], tips[second], check=False)])


def check_tasks(world: World, clone: str) -> None:
    """Check every task and every field."""
    shown = world.tasks(clone)
    by_uid = {task["uid"]: task for task in shown.values()}
    require(len(by_uid) == len(shown), f"two tasks have one uid: {sorted(task['uid'] for task in shown.values())}")
    require(all(number == task["id"] for number, task in shown.items()), "a task lies under another's number")
    strange = [
        t for uid, t in by_uid.items() if uid not in world.model.tasks and t["title"] not in world.perhaps_titles
    ]
    require(not strange, f"tasks that nobody added: {strange}")
    uid_of = {number: task["uid"] for number, task in shown.items()}
    for uid, task in world.model.tasks.items():
        require(uid in by_uid, f"the task {uid} is gone: {task}")
        check_task(world, clone, task, by_uid[uid], uid_of)


def check_task(world: World, clone: str, task: Task, shown: dict[str, Any], uid_of: dict[str, str]) -> None:
    if task.deleted:
        require(bool(shown.get("tombstone")), f"a deleted task is back: {shown}")
        return
    if task.perhaps_deleted and shown.get("tombstone"):
        return
    require(not shown.get("tombstone"), f"a task was deleted that nobody deleted: {shown}")
    is_before = world.is_before(clone)
    for name, register in task.fields.items():
        values = register.values(is_before)
        if name == "title" or register.writes:
            require(shown.get(name) in values, f"{name} of {shown['id']} is {shown.get(name)}, not of {values}")
    labels = set(shown.get("labels", ()))
    lost = task.labels - task.removed_labels - labels
    require(not lost, f"{shown['id']} has lost the labels {sorted(lost)}")
    gone = {uid for uid, other in world.model.tasks.items() if other.deleted or other.perhaps_deleted}
    waits_for = {uid_of.get(number, number) for number in shown.get("depends", ())}
    require(
        task.waits_for - gone <= waits_for <= task.waits_for, f"{shown['id']} waits for others than it did: {shown}"
    )


def check_words(world: World, clone: str) -> None:
    """Check notes, rules, the policy and closed cycles."""
    files = world.files(clone)
    for word, folder in world.model.words.items():
        if word not in world.model.forgotten:
            texts = [raw for path, raw in files.items() if path.startswith((folder, "conflicts/"))]
            require(any(word.encode() in raw for raw in texts), f"{word} is nowhere in {folder}")
    if world.model.denied:
        word = world.chance.choice(sorted(world.model.denied))
        ended = world.place.nexus(clone, "policy", "explain", "--json", "--", word)
        require('"deny"' in ended.out, f"{word} is denied by an acknowledged rule, and not by the gate\n{ended}")
    closed = [cycle["plan"]["topic"] for cycle in json.loads(files.get("history.json", b'{"cycles":[]}'))["cycles"]]
    for topic in world.model.topics:
        require(closed.count(topic) == 1, f"the closed cycle {topic} is in the history {closed.count(topic)} times")


def check_runs(world: World) -> None:
    """Check that every run is known everywhere, in one state, and that approved work is somewhere."""
    lists = {clone: world.runs(clone) for clone in world.clones}
    for run in world.model.runs.values():
        rows = {clone: shown[run.id] for clone, shown in lists.items() if run.id in shown}
        require(len(rows) == len(lists), f"{run.id} is known in {sorted(rows)} alone")
        statuses = {clone: row["status"] for clone, row in rows.items()}
        # That the process of a run is dead is known in the clone that began it alone: elsewhere it runs.
        known = {"running" if status == "stopped" else status for status in statuses.values()}
        if len(known) > 1:
            # Each clone that decided before they met has a log of its own decision, and shows the run by that.
            deciders = {clone for clone, _ in run.decided | run.tried}
            require(len(deciders) > 1, f"{run.id} is not the same everywhere: {statuses}; {sorted(run.decided)}")
        if is_contradicted(run):
            for clone in sorted({clone for clone, _ in run.decided}):
                told = world.place.nexus(clone, "replay", run.id, "--json").out
                require('"decision.contradicted"' in told, f"{clone} has no word of a contradiction about {run.id}")
        if run.approved and {word for _, word in run.decided | run.tried} == {"approve"}:
            require(is_kept(world, run), f"what {run.id} made was approved, and is on no branch")
        if run.landed_in:
            require("landed" in statuses.values(), f"{run.id} has landed, and is {statuses}")


def is_contradicted(run: Run) -> bool:
    """Return whether one clone said yes and another one no, before they met."""
    yes, no = ({clone for clone, word in run.decided if (word == "approve") is wanted} for wanted in (True, False))
    return any(here != there for here in yes for there in no)


def is_kept(world: World, run: Run) -> bool:
    """Return whether some branch of some clone has what a run made."""
    for clone in world.clones:
        path = world.place.path(clone)
        for ref in ("main", f"refs/heads/nexus/{run.id}", f"refs/nexus/rescue/{run.id}"):
            if holds(path, ref, run.file, run.text):
                return True
    return False
