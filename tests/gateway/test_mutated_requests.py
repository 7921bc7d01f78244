"""Requests that were changed after somebody approved them: they are never executed, and nothing outside is written."""

import json
import os
import random
import re
from pathlib import Path
from typing import Any

import pytest

from gitnexus.base.errors import NexusError
from gitnexus.gateway.patching import PatchAction
from gitnexus.gateway.table import call_tool
from gitnexus.policy.builtin import why_bad_variable
from gitnexus.policy.request import request_digest
from gitnexus.sandbox.environment import ALLOWED, command_environment
from tests.gateway.approved import Room, asked, room_at
from tests.gateway.scene import everything

WORDS = ["one", "two", "--", "-rf", "--flag=b", "../../x", "/etc/passwd", "$(touch pwned)", ";", "&&", "`x`", "*", "~",
         "", " ", "\x00", "\ud800", "\u202e", "\n", ".git/config", "é", "e\u0301", "a" * 300, "made", "..", ".", "x/y",
         "_x", "0", "one.two-3"]  # fmt: skip
FOLDERS = ["", ".", "sub", "sub/", "./sub", "sub/..", "..", "../main", "/", "/tmp", ".git", "nowhere", "SUB", "sub\x00"]
VARIABLES = {"LANG": ["C", "C.UTF-8", "de_DE.UTF-8"], "CI": ["1", "", "\n"], "PATH": ["."], "LD_PRELOAD": ["x.so"],
             "GIT_DIR": ["/"], "lang": ["C"], "A=B": ["1"], "DEBUG": ["0"], "HOME": ["/"],
             "PYTHONPATH": ["."]}  # fmt: skip


def words_changed(chance: random.Random, argv: list[Any]) -> list[Any]:
    at = chance.randrange(len(argv))
    word = str(argv[at])
    place = chance.randrange(len(word) + 1)
    match chance.randrange(9):
        case 0:
            return [*argv[:at], chance.choice(WORDS), *argv[at:]]
        case 1:
            return [*argv[:at], *argv[at + 1 :]]
        case 2:
            return [*argv[:at], chance.choice(WORDS), *argv[at + 1 :]]
        case 3:
            return [*argv[:at], word[:place] + chance.choice(WORDS) + word[place:], *argv[at + 1 :]]
        case 4:
            return [*argv[:at], word[:place], word[place:], *argv[at + 1 :]]
        case 5:
            return [*argv[:at], word[:place] + chr(chance.randrange(1, 256)) + word[place + 1 :], *argv[at + 1 :]]
        case 6:
            return [*argv[:at], " ".join(map(str, argv[at : at + 2])), *argv[at + 2 :]]
        case 7:
            return [*reversed(argv)]
        case _:
            return [*argv[:at], chance.choice([None, 1, ["a"], True]), *argv[at + 1 :]]


def changed(chance: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    found = dict(params)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        match chance.randrange(12):
            case 0:
                found["cwd"] = chance.choice(FOLDERS)
            case 1:
                name = chance.choice(list(VARIABLES))
                found["env"] = {**found.get("env", {}), name: chance.choice(VARIABLES[name])}
            case 2:
                found["stdin"] = chance.choice(WORDS)
            case 3:
                found["seconds"] = chance.choice((1, 59, 600, 601, 0, -1, 10**12))
            case 4:
                found["network"] = chance.choice(("loopback", "full", "none", "all"))
            case 5 if found.get("approval"):
                token, at = found["approval"], chance.randrange(len(found["approval"]))
                found["approval"] = token[:at] + chr(ord(token[at]) ^ 1) + token[at + 1 :]
            case 6 if found.get("approval"):
                found["approval"] = chance.choice(("", found["approval"][:-1], found["approval"] + "A", "nx1.e30.AA"))
            case _:
                found["argv"] = words_changed(chance, list(found["argv"]) or [""])
    return found


def outside_of(room: Room) -> dict[str, Any]:
    """Return all that lies beside the worktree, but for the ledger."""
    there = room.place.parent
    names = [name for name in os.listdir(there) if name != room.place.name]
    found = {f"{name}/{path}": held for name in names for path, held in everything(there / name).items()}
    git = {path: held for path, held in everything(there / "main" / ".git").items() if not path.startswith("nexus/")}
    return {**found, **git, "names": sorted(names)}


def attack_with_a_token(place: Path, count: int, chance: random.Random) -> tuple[int, int]:
    """Try changed calls with the token for another; return how many changes changed nothing, and were executed."""
    room = room_at(place)
    bench = room.bench
    params: dict[str, Any] = {"argv": [str(room.place / "mark"), "one", "--flag=a"], "cwd": "sub", "seconds": 60}
    approved, before = asked(room, params), outside_of(room)
    token, refused = room.token(approved), 0
    for _ in range(count):
        wanted = changed(chance, {**params, "approval": token})
        executed = len(room.executed)
        try:
            call_tool(bench, "cmd.run", wanted)
        except NexusError:
            refused += 1
            assert len(room.executed) == executed, wanted
        else:
            assert room.executed[executed:] == [approved], wanted
            token = room.token(approved)
    call_tool(bench, "cmd.run", {**params, "approval": token})
    with pytest.raises(NexusError):
        call_tool(bench, "cmd.run", {**params, "approval": token})
    assert all(one == approved for one in room.executed)
    assert outside_of(room) == before
    assert sorted(os.listdir(room.place / "sub" / "made")) == ["one"]
    return len(room.executed) - 1, refused


def attack_a_rule(place: Path, count: int, chance: random.Random) -> tuple[int, int]:
    """Try calls that a rule with a slot may or may not allow; return how many were executed and refused."""
    room = room_at(place, f"allow:\n  - run: {json.dumps([str(place.resolve() / 'work' / 'mark'), '{name}'])}")
    params: dict[str, Any] = {"argv": [str(room.place / "mark"), "one"], "seconds": 60}
    bench, before, refused = room.bench, outside_of(room), 0
    for _ in range(count):
        wanted = changed(chance, params)
        try:
            call_tool(bench, "cmd.run", wanted)
        except NexusError:
            refused += 1
    for request in room.executed:
        assert request.argv[0] == request.program == params["argv"][0]
        assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", request.argv[1]) and len(request.argv) == 2
        assert request.network == "none" and request.sandbox == "L1"
    made = {request.argv[1] for request in room.executed if request.cwd == str(room.place)}
    assert outside_of(room) == before
    assert set(os.listdir(room.place / "made")) == made
    return len(room.executed), refused


@pytest.mark.parametrize("part", range(3))
def test_a_changed_request_is_not_executed_with_the_token_of_another(tmp_path: Path, part: int) -> None:
    _, refused = attack_with_a_token(tmp_path, 30, random.Random(part))

    assert refused > 15, "most changes change something, or the test would try nothing"


@pytest.mark.parametrize("part", range(2))
def test_a_rule_with_a_slot_lets_nothing_else_run(tmp_path: Path, part: int) -> None:
    executed, refused = attack_a_rule(tmp_path, 30, random.Random(part))

    assert executed > 0
    assert refused > 0


def test_what_the_sandbox_lets_a_request_set_is_not_refused_by_the_gate() -> None:
    wanted = dict.fromkeys(ALLOWED, "1")

    assert {
        name: why_bad_variable(name, value) for name, value in command_environment(wanted, {}).items()
    } == dict.fromkeys(command_environment(wanted, {}))


PATCH = """diff --git a/a.txt b/a.txt
--- a/a.txt
+++ b/a.txt
@@ -1,3 +1,4 @@ x
 one
-two
+zwei
+drei
 three
diff --git a/src/new.py b/src/new.py
new file mode 100755
--- /dev/null
+++ b/src/new.py
@@ -0,0 +1 @@
+print(1)
"""


def bytes_that_do_not_matter(place: Path, step: int, start: int = 0) -> set[int]:
    """Return where a byte of the diff can be another one, and what would be done is still the same."""
    room, raw = room_at(place), PATCH.encode()
    with PatchAction(room.bench, raw, "").prepared() as (approved, _):
        token = room.token(approved)
    found = set()
    for at in range(start, len(raw), step):
        wanted = raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]
        try:
            with PatchAction(room.bench, wanted, "").prepared() as (request, _):
                room.spend(token, request, request_digest(request))
        except NexusError:
            continue
        assert request == approved, at
        found.add(at)
        token = room.token(approved)
    return found


def lines_that_do_not_matter(place: Path, step: int, start: int = 0) -> set[str]:
    """Return the lines of the diff that such a byte is in."""
    lines = [line for line in PATCH.splitlines() for _ in f"{line}\n"]
    return {lines[at] for at in bytes_that_do_not_matter(place, step, start)}


# A letter before a path, the bits of a mode that git does not keep, where a hunk begins: not one line of content.
CONTENT = {" one", "-two", "+zwei", "+drei", " three", "+print(1)"}


@pytest.mark.parametrize("start", range(4))
def test_a_byte_of_a_diff_that_is_another_is_refused_unless_the_result_is_the_same(tmp_path: Path, start: int) -> None:
    assert not lines_that_do_not_matter(tmp_path, 32, start * 8) & CONTENT
