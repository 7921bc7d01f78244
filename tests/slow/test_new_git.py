"""With a git that knows config hooks, reftable and SHA-256; and what an older git says of the last two."""

import json
import os
from pathlib import Path
from typing import Literal

import pytest

from gitnexus.state import State
from tests.slow.calls import call, must

pytestmark = pytest.mark.slow

_FORMATS = {
    "reftable": ["--ref-format=reftable"],
    "sha256": ["--object-format=sha256"],
    "both": ["--ref-format=reftable", "--object-format=sha256"],
}
_COUNT = """\
import sys
from pathlib import Path
from gitnexus.state import Change, State

def one_more(tip):
    before = int(tip.read("memory/count.md") or 0)
    return Change({"memory/count.md": b"%d\\n" % (before + 1)}, "count", None)

state = State.open(Path.cwd(), sys.argv[1])
for _ in range(10):
    state.transact(one_more)
"""


@pytest.fixture
def young(with_new_git: Path, repository: Path) -> Path:
    """A project that the new git made."""
    must(["git", "nexus", "init"], repository)
    return repository


def make(place: Path, *options: str) -> Path:
    must(["git", "init", "-q", *options, place], place.parent)
    (place / "readme.txt").write_text("hello\n")
    must(["git", "add", "."], place)
    must(["git", "commit", "-qm", "first"], place)
    return place


def test_the_plain_commands_work(young: Path) -> None:
    status = json.loads(must(["git", "nexus", "status", "--json"], young))
    log = must(["git", "nexus", "log"], young)
    doctor = json.loads(must(["git", "nexus", "doctor", "--json"], young))

    assert status["hooks"] == {
        "installed": ["pre-commit", "pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-checkout"],
        "missing": [],
    }
    assert "init: begin" in log
    assert doctor["healthy"] is True
    assert [found["message"] for found in doctor["findings"] if found["state"] not in ("ok", "warning")] == []


def test_the_hooks_stand_in_the_config_and_in_no_file(young: Path) -> None:
    config = must(["git", "config", "--local", "--get-regexp", r"^hook\."], young)

    assert sorted({line.split(" ")[0].split(".")[1] for line in config.splitlines()}) == [
        "nexus-commit-msg",
        "nexus-post-checkout",
        "nexus-pre-commit",
        "nexus-pre-merge-commit",
        "nexus-prepare-commit-msg",
    ]
    assert [name for name in os.listdir(young / ".git" / "hooks") if not name.endswith(".sample")] == []


def test_pre_commit_refuses_state_from_the_top_a_subfolder_and_a_worktree(young: Path) -> None:
    must(["git", "worktree", "add", "-q", "../other"], young)
    (young / "sub").mkdir()
    (young / "sub" / "new.txt").write_text("new\n")
    must(["git", "add", "sub"], young)
    must(["git", "commit", "-qm", "nothing to refuse"], young / "sub")
    tried = []
    for top, place in [(young, young), (young, young / "sub"), (young.parent / "other", young.parent / "other")]:
        must(["git", "add", "-f", ".nexus"], top)
        tried.append(call(["git", "commit", "-m", "state"], place))

    assert [done.returncode for done in tried] == [1, 1, 1]
    assert all("is state: it lives on refs/nexus/state" in done.stdout for done in tried)


def test_post_checkout_fills_a_new_worktree(young: Path) -> None:
    off = ["-c", "hook.nexus-post-checkout.enabled=false"]
    must(["git", *off, "worktree", "add", "-q", "../without"], young)
    must(["git", "worktree", "add", "-q", "../with"], young)

    assert not (young.parent / "without" / ".nexus").exists()
    assert sorted(os.listdir(young.parent / "with" / ".nexus")) == sorted(os.listdir(young / ".nexus"))


def test_an_amended_commit_keeps_our_trailers(young: Path) -> None:
    agent = {**os.environ, "GIT_AUTHOR_NAME": "Agent", "GIT_AUTHOR_DATE": "@1700000000 +0000"}
    must(["git", "commit", "-q", "--allow-empty", "-m", "work\n\nNexus-Run: r1"], young, agent)
    must(["git", "commit", "-q", "--amend", "--allow-empty", "-m", "better words"], young)
    by_message = must(["git", "log", "-1", "--format=%B"], young).strip()
    dropping = {**os.environ, "GIT_EDITOR": "echo only this >"}
    must(["git", "commit", "-q", "--amend", "--allow-empty"], young, dropping)
    by_editor = must(["git", "log", "-1", "--format=%B"], young).strip()

    assert by_message == "better words\n\nNexus-Run: r1"
    assert by_editor == "only this\n\nNexus-Run: r1"


def test_a_repository_that_was_moved_keeps_its_hooks(young: Path) -> None:
    moved = young.rename(young.with_name("moved"))
    clean = call(["git", "commit", "--allow-empty", "-m", "clean"], moved)
    must(["git", "add", "-f", ".nexus"], moved)
    state = call(["git", "commit", "-m", "state"], moved)

    assert clean.returncode == 0, clean.stdout
    assert state.returncode == 1
    assert "is state: it lives on refs/nexus/state" in state.stdout


def test_hooks_of_an_older_git_become_config_hooks(with_old_git: None, new_git: Path, project: Path) -> None:
    newer = {**os.environ, "PATH": f"{new_git}:{os.environ['PATH']}"}
    must(["git", "nexus", "hooks", "install"], project, newer)
    must(["git", "add", "-f", ".nexus"], project)
    tried = call(["git", "commit", "-m", "state"], project, newer)

    assert [name for name in os.listdir(project / ".git" / "hooks") if not name.endswith(".sample")] == []
    assert tried.returncode == 1
    said = tried.stdout.splitlines()
    assert any("is state: it lives on refs/nexus/state" in line for line in said)
    assert len(said) == len(set(said)), tried.stdout


@pytest.mark.parametrize("options", _FORMATS.values(), ids=_FORMATS.keys())
def test_every_format_keeps_state(with_new_git: Path, tmp_path: Path, options: list[str]) -> None:
    place = make(tmp_path / "mein Büro", *options)
    must(["git", "nexus", "init", "--name", "youngster"], place)
    lives: tuple[Literal["short"], Literal["long"]] = ("short", "long")
    for life in lives:
        state = State.open(place, life)
        state.write({f"memory/{life}.md": f"{life}\n".encode()}, why=f"test: {life}")
        state.close()
    status = json.loads(must(["git", "nexus", "status", "--json"], place))
    log = must(["git", "nexus", "log"], place)
    doctor = call(["git", "nexus", "doctor"], place)
    must(["git", "worktree", "add", "-q", "../other"], place)
    must(["git", "add", "-f", ".nexus"], place)

    assert status["files"]["memory"] == 2
    assert "test: short" in log
    assert "test: long" in log
    assert doctor.returncode == 0, doctor.stdout
    assert (place / ".nexus" / "memory" / "long.md").read_text() == "long\n"
    assert (tmp_path / "other" / ".nexus" / "memory" / "short.md").read_text() == "short\n"
    assert must(["git", "show", "refs/nexus/state:memory/short.md"], place) == "short\n"
    assert call(["git", "commit", "-m", "state"], place).returncode == 1
    must(["git", "fsck", "--strict"], place)
    assert len(must(["git", "reflog", "show", "refs/nexus/state"], place).splitlines()) >= 3
    must(["git", "nexus", "uninstall"], place)


def test_a_lost_update_is_noticed_in_a_reftable(with_new_git: Path, tmp_path: Path) -> None:
    place = make(tmp_path / "tables", "--ref-format=reftable")
    must(["git", "nexus", "init"], place)
    (tmp_path / "count.py").write_text(_COUNT)
    must(["sh", "-ec", "for i in 1 2 3 4; do python ../count.py long & done; wait"], place)
    must(["python", "../count.py", "short"], place)

    assert must(["git", "show", "refs/nexus/state:memory/count.md"], place) == "50\n"


def test_a_git_that_cannot_read_the_format_says_so_in_one_sentence(
    with_old_git: None, new_git: Path, tmp_path: Path
) -> None:
    newer = {**os.environ, "PATH": f"{new_git}:{os.environ['PATH']}"}
    must(["git", "init", "-q", "--ref-format=reftable", tmp_path / "tables"], tmp_path, newer)

    said = {
        command: call(["git-nexus", command], tmp_path / "tables") for command in ("init", "status", "log", "doctor")
    }

    for done in said.values():
        assert done.returncode not in (0, 99)
        assert done.stdout == (
            "error: this repository uses a format that the installed git cannot read\n"
            "hint: a newer git can: reftable needs 2.45\n"
        )
