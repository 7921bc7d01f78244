"""Random hostile actions, a person who is asked about them, and what that person saw before the yes."""

import hashlib
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pygit2

from gitnexus.base.argvtext import format_pairs, format_word
from gitnexus.base.text import frame_text, make_visible, visible_bytes
from gitnexus.gateway.card import Card, build_card, with_text
from gitnexus.gateway.card_parts import hex_lines
from gitnexus.git import discover
from gitnexus.policy.gate import decide_request
from gitnexus.policy.grants import GrantContext
from gitnexus.policy.model import CommandRequest, HandoffRequest, PatchRequest, PatchRow, Request
from gitnexus.redaction.result import Reveal
from gitnexus.ui import approval_prompt
from tests.policy.scene import law

_PIECES = (
    "-----BEGIN " + "PRIVATE KEY-----", "-----END " + "PRIVATE KEY-----", "ghp_" + "a1B2c3" * 6, "MIIE" * 16, "└",
    "│ y", "import os", "\x1b[2J", "\u202eevil", "\u200b", "\t", " ", "  x", "diff --git a/x b/x", "+++ b/x", "\r",
    "\\x1b", "é",
    "password = " + "\"hunter2hunter2\"", "Approve? [y]", "rm -r everything", "漢字" * 40, "x" * 700, "y" * 2500, "",
)  # fmt: skip
_SCRIPTS = (
    ("y",),
    ("v", "y"),
    ("u", "why", "v", "y"),
    ("u", "why", "y"),
    ("v", "u", "why", "y"),
    ("s",),
    ("y", "v", "y"),
)


@dataclass(frozen=True)
class Hostile:
    """A request, and what a person has to have seen of it: whole lines, and texts anywhere."""

    request: Request
    inputs: dict[str, bytes] = field(default_factory=dict)
    message: bytes = b""
    lines: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


def hostile(chance: random.Random, place: Path) -> Hostile:
    """Return one action: a command, a handoff, or a patch whose objects are in the repository."""
    kind = chance.choice(("command", "command", "command", "handoff", "handoff", "patch"))
    made: dict[str, Callable[[random.Random, Path], Hostile]] = {
        "command": _command, "handoff": _handoff, "patch": _patch,
    }  # fmt: skip
    return made[kind](chance, place)


def refuse_unseen(action: Hostile, chance: random.Random, place: Path, patch: Any) -> bool:
    """Ask a person who answers at random; fail if they approved a byte that they had not seen. True for a yes."""
    script, screen = list(chance.choice(_SCRIPTS)), []

    def ask_line(question: str) -> str | None:
        if question.startswith("This is risky"):
            return "approve"
        return script.pop(0) if script else None

    patch.setattr(approval_prompt, "ask_line", ask_line)
    patch.setattr(approval_prompt.click, "echo", lambda text="", **_: screen.append(text))

    def card(why: str = "") -> Card:
        reveal = Reveal(why) if why else None
        made = build_card(
            discover(place),
            action.request,
            decide_request(action.request, law("")),
            "default",
            "",
            GrantContext(""),
            reveal,
            action.inputs,
        )
        return with_text(made, action.message, reveal) if action.message else made

    answer = approval_prompt.ask_about_card(card(), card, name="r1 a1")
    if answer.verdict != "approved":
        return False
    missing = unseen_in(action, "\n".join(screen))
    assert not missing, (missing[:3], "\n".join(screen)[:2000])
    return True


def _in_frame(line: str) -> str:
    return "\n".join(frame_text(line)).replace("\n┆ ", "")


def _text(chance: random.Random, most: int = 4) -> str:
    return "".join(chance.choice(_PIECES) for _ in range(chance.randint(0, most)))


def _raw(chance: random.Random) -> bytes:
    lines = [_text(chance) for _ in range(chance.choice((1, 1, 1, 2, 2, 2, 5, 5, 70)))]
    return "\n".join(lines).encode() + chance.choice((b"", b"\n", b"\xff\xfe"))


def _digest(raw: bytes) -> str:
    return f"sha256:{hashlib.sha256(raw).hexdigest()}"


def _command(chance: random.Random, place: Path) -> Hostile:
    argv = ("sh", *(_text(chance) for _ in range(chance.randint(0, 4))))
    env = {name: _text(chance) for name in ("LANG", "EVIL")[: chance.randint(0, 2)]}
    stdin = _raw(chance) if chance.random() < 0.5 else b""
    script = _raw(chance) + b"#" if chance.random() < 0.3 else b""
    if script:  # now and then it is another one by the time that somebody looks
        (place / "script.sh").write_bytes(script if chance.random() < 0.9 else b"other")
    request = CommandRequest(
        project="p" * 8, run="r1", role=chance.choice(("", "engineer")), argv=argv, program="/bin/sh",
        program_digest=_digest(b"sh"), cwd=str(place), base="b" * 40, env=env, limits={"seconds": 60},
        stdin_digest=_digest(stdin) if stdin else "", network=chance.choice(("none", "full")),
        files={"script.sh": f"{_digest(script)}, {len(script)} bytes"} if script else None,
    )  # fmt: skip
    texts = [*map(format_word, argv), *(format_pairs({name: text}) for name, text in env.items())]
    texts += [request.program, request.program_digest, request.cwd, request.base, request.network, request.sandbox,
              "seconds 60", request.stdin_digest, request.role, request.project]  # fmt: skip
    texts += [_digest(script)] if script else []
    lines = [line for raw in (stdin, script) if raw for line in visible_bytes(raw).split("\n")]
    inputs = {request.stdin_digest: stdin} if stdin and chance.random() < 0.9 else {}
    return Hostile(request, inputs, b"", tuple(lines), tuple(texts))


def _handoff(chance: random.Random, place: Path) -> Hostile:
    message = _raw(chance) or b"x"
    sender, receiver = _text(chance, 2) or "a", _text(chance, 2) or "b"
    request = HandoffRequest(
        project="p" * 8, run="r1", workflow=_digest(b"w"), sender=sender, receiver=receiver,
        message_digest=_digest(message),
    )  # fmt: skip
    texts = (make_visible(sender, keep=""), make_visible(receiver, keep=""), request.message_digest, request.workflow)
    return Hostile(request, {}, message, tuple(visible_bytes(message).split("\n")), texts)


@dataclass
class _Tree:
    """What a patch is made from, file by file: the two trees, its rows, and what has to be seen of them."""

    repo: pygit2.Repository
    before: dict[str, tuple[str, int]] = field(default_factory=dict)
    after: dict[str, tuple[str, int]] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def put(self, path: str, old: bytes | None, new: bytes | None, modes: tuple[int, int]) -> None:
        """Add one file: `None` is one that is not there."""
        for side, raw, mode in ((self.before, old, modes[0]), (self.after, new, modes[1])):
            if raw is not None:
                is_module = mode == 0o160000
                side[path] = (raw.decode() if is_module else str(self.repo.create_blob(raw)), mode)
        self.texts.append(path)
        if old is None:
            self.texts.append(f"new file mode {modes[1]:o}")
        elif new is None:
            self.texts.append(f"deleted file mode {modes[0]:o}")
        elif modes[0] != modes[1]:
            self.texts += [f"old mode {modes[0]:o}", f"new mode {modes[1]:o}"]

    def write(self, side: dict[str, tuple[str, int]]) -> pygit2.Oid:
        index = pygit2.Index()
        for path, (name, mode) in side.items():
            index.add(pygit2.IndexEntry(path, pygit2.Oid(hex=name), pygit2.enums.FileMode(mode)))
        return index.write_tree(self.repo)

    def rows(self) -> Iterator[PatchRow]:
        for path in sorted({**self.before, **self.after}):
            (old, old_mode), (new, new_mode) = (side.get(path, ("", 0)) for side in (self.before, self.after))
            if (old, old_mode) != (new, new_mode):
                is_binary = any(_is_binary(self.repo, name, mode) for name, mode in ((old, old_mode), (new, new_mode)))
                yield PatchRow(
                    path=path, old_mode=f"{old_mode:o}" if old else "", new_mode=f"{new_mode:o}" if new else "",
                    old_blob=old, new_blob=new, binary=is_binary,
                )  # fmt: skip


def _is_binary(repo: pygit2.Repository, name: str, mode: int) -> bool:
    return bool(name) and mode != 0o160000 and b"\0" in repo[name].data


def _patch(chance: random.Random, place: Path) -> Hostile:
    tree = _Tree(pygit2.Repository(str(place)))
    for number in range(chance.randint(1, 3)):
        path = f"{chance.choice(('', 'a b/', 'ü/'))}f{number}.txt"
        chance.choice(
            (_add_file, _add_file, _change_file, _delete_file, _change_mode, _add_link, _add_module, _move_file)
        )(tree, path, chance)
    if chance.random() < 0.3:
        raw = bytes(chance.randrange(256) for _ in range(chance.choice((3, 40, 2000)))) + b"\0"
        tree.put("x.bin", None, raw, (0, 0o100644))
        tree.lines += hex_lines(raw)
    repo, who = tree.repo, pygit2.Signature("A", "a@example.com")
    base_tree = tree.write({"kept.txt": (str(repo.create_blob(b"kept\n")), 0o100644), **tree.before})
    result = tree.write({"kept.txt": (str(repo.create_blob(b"kept\n")), 0o100644), **tree.after})
    base = repo.create_commit(None, who, who, "base", base_tree, [])
    request = PatchRequest(
        project="p" * 8, run="r1", base=str(base), base_tree=str(base_tree), result_tree=str(result),
        changes=tuple(tree.rows()),
    )  # fmt: skip
    texts = [*tree.texts, request.base, request.result_tree]
    return Hostile(request, {}, b"", tuple(tree.lines), tuple(texts))


def _add_file(tree: _Tree, path: str, chance: random.Random) -> None:
    raw = _raw(chance)
    tree.put(path, None, raw, (0, chance.choice((0o100644, 0o100755))))
    tree.lines += _lines_of(raw)


def _change_file(tree: _Tree, path: str, chance: random.Random) -> None:
    old, new = _raw(chance), _raw(chance) + b"#"
    tree.put(path, old, new, (0o100644, chance.choice((0o100644, 0o100644, 0o100755))))
    both = set(old.split(b"\n")) & set(new.split(b"\n"))  # may stand around the change, or too far from it
    tree.lines += [line for line in _lines_of(new) if line not in {f"+{visible_bytes(one)}" for one in both}]
    tree.lines += [line for line in _lines_of(old, "-") if line not in {f"-{visible_bytes(one)}" for one in both}]


def _delete_file(tree: _Tree, path: str, chance: random.Random) -> None:
    raw = _raw(chance) + b"#"
    tree.put(path, raw, None, (0o100644, 0))
    tree.lines += _lines_of(raw, "-")


def _change_mode(tree: _Tree, path: str, chance: random.Random) -> None:
    raw = _raw(chance)
    tree.put(path, raw, raw, chance.choice(((0o100644, 0o100755), (0o100755, 0o100644))))


def _add_link(tree: _Tree, path: str, chance: random.Random) -> None:
    target = chance.choice((b"/etc/passwd", b"../../x", b"kept.txt", b".git/config"))
    tree.put(path, None, target, (0, 0o120000))
    tree.lines += _lines_of(target)


def _add_module(tree: _Tree, path: str, chance: random.Random) -> None:
    commit = "".join(chance.choice("0123456789abcdef") for _ in range(40))
    tree.put(path, None, commit.encode(), (0, 0o160000))
    tree.lines.append(f"+Subproject commit {commit}")


def _move_file(tree: _Tree, path: str, chance: random.Random) -> None:
    raw = b"".join(f"{_text(chance)}{number}\n".encode() for number in range(chance.choice((1, 30))))
    added = _raw(chance) + b"#"
    tree.before[f"{path}.old"] = (str(tree.repo.create_blob(raw)), 0o100644)
    tree.after[path] = (str(tree.repo.create_blob(raw + added)), 0o100644)
    tree.texts += [path, f"{path}.old"]
    tree.lines += _lines_of(added)


def _lines_of(raw: bytes, sign: str = "+") -> Iterator[str]:
    yield from (f"{sign}{visible_bytes(line)}" for line in raw.removesuffix(b"\n").split(b"\n") if raw)


def proposal(chance: random.Random, number: int) -> tuple[str, dict[str, Any], Hostile]:
    """Return a call of an agent's tool, and what a person has to see of it before a yes."""
    kind = chance.choice(("command", "command", "patch"))
    raw = "\n".join(_text(chance) for _ in range(chance.choice((1, 2, 5, 70)))).replace("\r", "") + "x"
    nothing = HandoffRequest(project="p", run="r", workflow="", sender="a", receiver="b", message_digest="")
    if kind == "command":
        argv = ["true", *(_text(chance) for _ in range(chance.randint(0, 4)))]
        given = {"argv": argv, "stdin": raw} if chance.random() < 0.5 else {"argv": argv}
        lines = visible_bytes(raw.encode()).split("\n") if "stdin" in given else []
        return "propose_command", given, Hostile(nothing, lines=tuple(lines), texts=tuple(map(format_word, argv)))
    rows, path = raw.split("\n"), f"f{number}.txt"
    head = f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{len(rows)} @@\n"
    shown = tuple(f"+{visible_bytes(row.encode())}" for row in rows)
    given = {"patch": head + "".join(f"+{row}\n" for row in rows)}
    return "propose_patch", given, Hostile(nothing, lines=shown, texts=(path,))


def unseen_in(action: Hostile, screen: str) -> list[str]:
    """Return what of an action is not on a screen."""
    seen = approval_prompt.click.unstyle(screen).replace("\n┆ ", "")
    lines = set(seen.split("\n"))
    missing = [line for line in action.lines if _in_frame(line) not in lines]
    return missing + [text for text in action.texts if text not in seen]
