"""What somebody may do in a clone with tasks, notes, rules, plans and hand edits, and what is acknowledged by it."""

import hashlib
import json
import shlex
from collections.abc import Callable

from tests.stories.commands import Ended
from tests.stories.world import Act, World

NOTES = ("build-times", "flaky-server", "odd-parser")


def nothing(_: Ended) -> None:
    """Nothing follows from it."""


def look(world: World, clone: str) -> Act:
    argv = world.chance.choice(
        [("task", "list"), ("status",), ("task", "next"), ("runs",), ("memory", "list"), ("log",), ("policy", "show")]
    )
    return Act(clone, argv, nothing, nothing, must=True)


def add_task(world: World, clone: str) -> Act:
    title, label = world.word("title"), world.word("label")
    argv = ["task", "add", title, "--label", label, "--json"]
    below = world.open_tasks(clone)
    waits_for = world.chance.choice(below) if below and world.chance.random() < 0.4 else None
    if waits_for:
        argv += ["--depends", waits_for]
    needed = {world.tasks(clone)[waits_for]["uid"]} if waits_for else set()

    def acknowledge(ended: Ended) -> None:
        task = json.loads(ended.out)["task"]
        if world.model.numbers.get(clone, {}).get(task["id"], set()) - {task["uid"]}:
            raise AssertionError(f"{task['id']} was given before in {clone}")
        learn(task["uid"], ended)
        world.see_numbers(clone)

    def learn(uid: str, ended: Ended) -> None:
        world.write_field(uid, "title", title, ended)
        world.model.tasks[uid].labels.add(label)
        world.model.tasks[uid].waits_for |= needed

    def suspect(ended: Ended) -> None:
        world.perhaps_titles.add(title)
        for task in world.tasks(clone).values():
            if task.get("title") == title:
                learn(task["uid"], ended)

    return Act(clone, tuple(argv), acknowledge, suspect, must=not waits_for)


def update_task(world: World, clone: str) -> Act:
    numbers = world.open_tasks(clone)
    if not numbers:
        return add_task(world, clone)
    number = world.chance.choice(numbers)
    uid = world.tasks(clone)[number]["uid"]
    name, value = world.chance.choice(
        [
            ("title", world.word("title")),
            ("description", world.word("description")),
            ("priority", world.chance.choice(["critical", "high", "medium", "low"])),
            ("status", world.chance.choice(["pending", "active", "done", "cancelled"])),
            ("label", world.word("label")),
        ]
    )
    option = f"--{name}"

    def acknowledge(ended: Ended) -> None:
        if name == "label":
            world.model.tasks[uid].labels.add(value)
        else:
            world.write_field(uid, name, value, ended)

    def suspect(ended: Ended) -> None:
        if name != "label":
            world.model.field_of(uid, name).perhaps.append(value)

    return Act(clone, ("task", "update", number, option, value), acknowledge, suspect, must=name in ("title", "label"))


def close_task(world: World, clone: str) -> Act:
    numbers = world.open_tasks(clone)
    if not numbers:
        return add_task(world, clone)
    number = world.chance.choice(numbers)
    uid = world.tasks(clone)[number]["uid"]
    verb, status = world.chance.choice([("complete", "done"), ("cancel", "cancelled")])

    def acknowledge(ended: Ended) -> None:
        world.write_field(uid, "status", status, ended)

    def suspect(_: Ended) -> None:
        world.model.field_of(uid, "status").perhaps.append(status)

    return Act(clone, ("task", verb, number), acknowledge, suspect)


def claim_task(world: World, clone: str) -> Act:
    numbers = world.open_tasks(clone)
    if not numbers:
        return add_task(world, clone)
    way = world.chance.choice([(), ("--release",), ("--renew",), ("--force",)])
    argv = ("task", "claim", world.chance.choice(numbers), "--agent", f"agent-{clone}", *way)
    return Act(clone, argv, nothing, nothing)


def remove_label(world: World, clone: str) -> Act:
    labelled = [(n, t) for n, t in world.tasks(clone).items() if t.get("labels") and t.get("uid") in world.model.tasks]
    if not labelled:
        return add_task(world, clone)
    number, task = world.chance.choice(labelled)
    label = world.chance.choice(task["labels"])
    world.model.tasks[task["uid"]].removed_labels.add(label)  # whatever comes of it: it need not be there any more
    return Act(clone, ("task", "update", number, "--remove-label", label), nothing, nothing, must=True)


def delete_task(world: World, clone: str) -> Act:
    numbers = world.open_tasks(clone)
    if not numbers:
        return add_task(world, clone)
    number = world.chance.choice(numbers)
    uid = world.tasks(clone)[number]["uid"]
    force = ("--force",) if world.chance.random() < 0.5 else ()

    def acknowledge(_: Ended) -> None:
        world.model.tasks[uid].deleted = True

    def suspect(_: Ended) -> None:
        world.model.tasks[uid].perhaps_deleted = True

    return Act(clone, ("task", "delete", number, *force), acknowledge, suspect)


def add_note(world: World, clone: str) -> Act:
    word = world.word("note")
    argv = ("memory", "add", world.chance.choice(NOTES), f"What {word} showed in this place.", "--here")
    return Act(clone, argv, _keeps(world, word, "memory/"), nothing, must=True)


def add_rule(world: World, clone: str) -> Act:
    word = world.word("rule")
    argv = ("rule", "add", f"Never call {word} twice.", "--tag", world.chance.choice(["general", "tests"]))
    return Act(clone, argv, _keeps(world, word, "rules/"), nothing, must=True)


def add_policy(world: World, clone: str) -> Act:
    word = world.word("program")
    return Act(clone, ("policy", "add", "deny", "--", word), _keeps(world, word, "policy.md"), nothing)


def trust_policy(world: World, clone: str) -> Act:
    """Sign the policy as it is; what it denies then counts in every clone."""
    raw = world.files(clone).get("policy.md", b"")
    words = {word for word, folder in world.model.words.items() if folder == "policy.md" and word.encode() in raw}

    def acknowledge(_: Ended) -> None:
        world.model.denied |= words

    argv = ("policy", "trust", "--confirm", f"sha256:{hashlib.sha256(raw).hexdigest()}")
    return Act(clone, argv, acknowledge, nothing)


def _keeps(world: World, word: str, folder: str) -> Callable[[Ended], None]:
    def acknowledge(ended: Ended) -> None:
        world.model.words[word] = folder
        world.model.state_commits.append(ended.after)

    return acknowledge


def forget_notes(world: World, clone: str) -> Act:
    before = _said_in_notes(world, clone)

    def forget(_: Ended) -> None:
        world.model.forgotten |= before - _said_in_notes(world, clone)

    return Act(clone, ("memory", "gc", "--yes", "--merge"), forget, forget)


def _said_in_notes(world: World, clone: str) -> set[str]:
    text = b"".join(raw for path, raw in world.files(clone).items() if path.startswith("memory/")).decode()
    return {word for word in world.model.words if word in text}


def plan(world: World, clone: str) -> Act:
    """Begin a plan, or add to it, or close the cycle."""
    topic = world.model.plans.get(clone)
    if topic is None:
        topic = world.word("topic")
        return Act(clone, ("plan", "start", topic), lambda _: world.model.plans.update({clone: str(topic)}),
                   lambda _: see_plan(world, clone), must=True)  # fmt: skip
    if world.chance.random() < 0.3:
        return Act(clone, ("plan", "add", world.word("question")), nothing, nothing, must=True)

    def acknowledge(_: Ended) -> None:
        world.model.topics.add(str(topic))
        world.model.plans.pop(clone, None)

    return Act(clone, ("cycle", "close"), acknowledge, lambda _: see_plan(world, clone), must=True)


def see_plan(world: World, clone: str) -> None:
    """Learn which plan is open, after a command about it was killed: an open plan was closed, or it is there still."""
    ended = world.place.nexus(clone, "tool", "plan_status", "{}")
    topic = json.loads(ended.out).get("topic")
    was = world.model.plans.pop(clone, None)
    if topic:
        world.model.plans[clone] = topic
    elif was:
        world.model.topics.add(was)


def see_folder(world: World, clone: str) -> None:
    """Have our folder put back, if somebody removed it, before something in it is edited."""
    if not (world.place.path(clone) / ".nexus").is_dir():
        world.place.nexus(clone, "status")


def edit_title(world: World, clone: str) -> None:
    """Change the title of a task with an editor, then look."""
    see_folder(world, clone)
    numbers = world.open_tasks(clone)
    if not numbers:
        return
    number, title = world.chance.choice(numbers), world.word("title")
    uid = world.tasks(clone)[number]["uid"]
    before = world.place.tip(clone)
    world.place.shell(clone, f'sed -i \'s/"title": *"[a-z0-9]*"/"title":"{title}"/\' .nexus/backlog/{number}.json')
    ended = take_in(world, clone)
    world.write_field(uid, "title", title, Ended(clone, ended.argv, 0, "", "", before, ended.after))


def delete_by_hand(world: World, clone: str) -> None:
    """Delete the file of a task, which deletes it."""
    see_folder(world, clone)
    numbers = world.open_tasks(clone)
    if not numbers:
        return
    number = world.chance.choice(numbers)
    uid = world.tasks(clone)[number]["uid"]
    world.place.shell(clone, f"rm .nexus/backlog/{number}.json")
    take_in(world, clone)
    # Moments after the folder was put back a file that vanishes is put back, too: it may be the same sweep.
    is_deleted = bool(world.tasks(clone)[number].get("tombstone"))
    world.model.tasks[uid].deleted |= is_deleted
    if not is_deleted and not (world.place.path(clone) / f".nexus/backlog/{number}.json").exists():
        raise AssertionError(f"{number} of {clone} is neither deleted nor back")


def edit_note(world: World, clone: str) -> None:
    """Add a line to a note with an editor, then look."""
    word, name = world.word("note"), world.chance.choice(NOTES)
    line = f"mkdir -p .nexus/memory && printf '\\n## {word}\\n\\nseen by hand\\n' >> .nexus/memory/{name}.md"
    world.place.shell(clone, line)
    _keeps(world, word, "memory/")(take_in(world, clone))


def delete_note(world: World, clone: str) -> None:
    """Delete the file of a note."""
    see_folder(world, clone)
    names = [path for path in world.files(clone) if path.startswith("memory/") and path.endswith(".md")]
    if not names:
        return
    path = world.chance.choice(sorted(names))
    text = world.files(clone)[path].decode()
    world.model.forgotten |= {word for word in world.model.words if word in text}
    world.place.shell(clone, f"rm {shlex.quote(f'.nexus/{path}')}")
    take_in(world, clone)


def spoil_file(world: World, clone: str) -> None:
    """Leave a task's file half written, look, and put it back."""
    see_folder(world, clone)
    numbers = world.open_tasks(clone)
    if not numbers:
        return
    path = f".nexus/backlog/{world.chance.choice(numbers)}.json"
    world.place.shell(clone, f"cp {path} ../kept && printf '{{half' > {path}")
    ended = world.place.nexus(
        clone, *world.chance.choice([("task", "list"), ("sync",), ("status",), ("doctor", "--fix")])
    )
    if ended.status not in (0, 1):
        raise AssertionError(f"a file that does not parse is in the way of everything\n{ended}")
    world.place.shell(clone, f"mv ../kept {path}")


def take_in(world: World, clone: str) -> Ended:
    """Run a command that takes in what was edited; now and then one before it is killed at that."""
    if world.chance.random() < 0.3:
        world.place.kill(clone, ("task", "list"), world.chance.random(), True)
    ended = world.place.nexus(clone, "status")
    if ended.status:
        raise AssertionError(f"what was edited is not taken in\n{ended}")
    return ended
