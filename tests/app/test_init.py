"""`git nexus init` wherever a person might try it."""

import json
import os
import re
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from gitnexus.projects.open_project import lost_tip
from gitnexus.state import State
from gitnexus.state.home import open_home
from tests.conftest import Nexus, run_git
from tests.terminal import at_work
from tests.terminal import shown as terminal


def registry() -> dict[str, dict[str, object]]:
    home = open_home()
    found = json.loads(home.read("registry.json") or b"{}") if home else {}
    return found.get("projects", {})


def refs(place: Path) -> list[str]:
    return run_git(place, "for-each-ref", "--format=%(refname)").split()


def test_it_says_what_it_changed_and_how_to_undo_it(nexus: Nexus, sealed: Path) -> None:
    said = nexus.ok("init", "--name", "büro".replace("ü", "ue"), "--alias", "b")

    assert re.sub(r"nx:[\w-]{43}", "nx:KEY", said) == (
        f"{nexus.place} is a project:\n"
        f"  created your approver key in {sealed}/nexus/keys; keep a copy where only you can read it\n"
        "  created refs/nexus/state, which stores plans, tasks, memory and history\n"
        "  wrote a first policy.md that allows nothing by itself, and signed it\n"
        "  recorded your key nx:KEY as the first approver here\n"
        "  added .nexus/ to info/exclude: git ignores it, and no tracked file changes\n"
        "  checked out that ref into .nexus/\n"
        "  installed git hooks: pre-commit, pre-merge-commit, prepare-commit-msg, commit-msg, post-checkout\n"
        "  registered as buero, also b\n"
        "\n"
        "Next: git nexus status\n"
        "Undo: git nexus uninstall\n"
    )
    assert run_git(nexus.place, "status", "--porcelain") == ""


def test_twice_is_harmless(nexus: Nexus) -> None:
    nexus.ok("init", "--name", "p")
    before = run_git(nexus.place, "rev-parse", "refs/nexus/state")

    assert nexus.ok("init") == f"{nexus.place} was a project already; nothing changed.\n"
    assert run_git(nexus.place, "rev-parse", "refs/nexus/state") == before
    assert nexus.ok("doctor")


def test_a_repository_without_a_commit(tmp_path: Path) -> None:
    run_git(tmp_path, "init", "-q")

    Nexus(tmp_path).ok("init")

    assert refs(tmp_path) == ["refs/nexus/state"]
    assert run_git(tmp_path, "status", "--porcelain") == ""


def test_a_bare_repository_keeps_state_and_nothing_else(tmp_path: Path) -> None:
    run_git(tmp_path, "init", "-q", "--bare", "b.git")
    nexus = Nexus(tmp_path / "b.git")

    shown = nexus.ok("init")

    assert "a bare repository: it stores state, and has no .nexus/ and no hooks" in shown
    assert "bare" in nexus.ok("status")
    nexus.ok("doctor")
    assert nexus("hooks", "install").returncode == 1
    assert not (tmp_path / "b.git" / ".nexus").exists()


def test_a_folder_that_is_no_repository_is_refused_and_untouched(tmp_path: Path) -> None:
    done = Nexus(tmp_path)("init")

    assert done.returncode == 4
    assert done.stderr == (
        f"error: not in a git repository: {tmp_path}\nhint: change into one, or make one with: git init\n"
    )
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith("home")] == []


def test_a_sub_folder_makes_the_whole_repository_a_project(nexus: Nexus) -> None:
    (nexus.place / "sub").mkdir()

    nexus.ok("init", place=nexus.place / "sub")

    assert (nexus.place / ".nexus" / "format.json").exists()


def test_a_linked_worktree_makes_the_whole_repository_a_project(nexus: Nexus, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    run_git(nexus.place, "worktree", "add", "-q", "-b", "w", str(linked))

    nexus.ok("init", "--name", "p", place=linked)

    assert (linked / ".nexus" / "format.json").exists()
    assert nexus.ok("status").startswith(f"project  p at {nexus.place}\n")
    assert (nexus.place / ".nexus" / "format.json").exists()
    assert run_git(linked, "status", "--porcelain") == ""
    assert [row["path"] for row in registry().values()] == [str(nexus.place)]


def test_a_submodule_is_a_project_of_its_own(nexus: Nexus, tmp_path: Path) -> None:
    run_git(tmp_path, "clone", "-q", str(nexus.place), "library")
    run_git(nexus.place, "submodule", "--quiet", "add", str(tmp_path / "library"), "lib")

    nexus.ok("init", place=nexus.place / "lib")

    assert "refs/nexus/state" in refs(nexus.place / "lib")
    assert "refs/nexus/state" not in refs(nexus.place)


def test_a_folder_of_another_tool_is_taken_in_and_what_is_not_ours_stays(nexus: Nexus) -> None:
    folder = nexus.place / ".nexus"
    for name, text in {
        ".gitignore": "cache/\n",
        "history.json": '{"cycles": []}\n',
        "memory/pattern-x.md": "X\n",
        "state/plan.json": "{}",
        "their.db": "binary",
        "rules/broken.json": '{"half',
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)

    shown = nexus.ok("init")

    state = State.open(nexus.place)
    assert state.read("history.json") == b'{"cycles": []}\n'
    assert state.read("memory/pattern-x.md") == b"X\n"
    assert state.read(".gitignore") == b"cache/\nstate/\n"
    assert state.read("their.db") is None
    assert "committed the files that were already in .nexus/" in shown
    assert "left alone in .nexus/, not written by git nexus: their.db" in shown
    assert ".nexus/rules/broken.json is left as it is: not valid JSON" in shown
    assert (folder / "rules" / "broken.json").read_text() == '{"half'
    assert (folder / "their.db").read_text() == "binary"
    assert (folder / "state" / "plan.json").read_text() == "{}"


def test_a_folder_that_is_tracked_on_the_branch_is_refused_with_a_way_out(nexus: Nexus) -> None:
    (nexus.place / ".nexus").mkdir()
    (nexus.place / ".nexus" / "history.json").write_text("{}")
    run_git(nexus.place, "add", "-f", ".nexus")
    run_git(nexus.place, "commit", "-qm", "tracked")

    refused = nexus("init")

    assert refused.returncode == 23
    assert ".nexus/ is tracked on this branch (1 files)" in refused.stderr
    assert refs(nexus.place) == ["refs/heads/main"]

    run_git(nexus.place, "rm", "-rq", "--cached", ".nexus")
    run_git(nexus.place, "commit", "-qm", "untracked")
    nexus.ok("init")
    assert State.open(nexus.place).read("history.json") == b"{}"


@pytest.mark.parametrize("kind", ["link", "file"])
def test_something_else_of_that_name_is_refused_and_untouched(nexus: Nexus, tmp_path: Path, kind: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    if kind == "link":
        (nexus.place / ".nexus").symlink_to(tmp_path / "elsewhere")
    else:
        (nexus.place / ".nexus").write_text("mine")

    assert nexus("init").returncode == 23
    assert refs(nexus.place) == ["refs/heads/main"]
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_clone_adopts_the_state_of_its_remote(nexus: Nexus, tmp_path: Path) -> None:
    nexus.ok("init")
    State.open(nexus.place).write({"memory/a.md": b"shared\n"}, why="memory: add a")
    run_git(tmp_path, "clone", "-q", str(nexus.place), "clone")
    clone = Nexus(tmp_path / "clone")
    assert clone("status").returncode == 4

    answer = json.loads(clone.ok("init", "--json"))

    assert answer["adoptedFrom"] == "origin"
    assert (tmp_path / "clone" / ".nexus" / "memory" / "a.md").read_bytes() == b"shared\n"
    same = [run_git(place, "rev-parse", "refs/nexus/state") for place in (nexus.place, tmp_path / "clone")]
    assert same[0] == same[1]


def test_a_remote_that_cannot_be_asked_is_said_and_work_goes_on(nexus: Nexus) -> None:
    run_git(nexus.place, "remote", "add", "origin", str(nexus.place / "nowhere"))

    assert "origin cannot be asked" in nexus.ok("init")


def test_no_hooks_and_local_are_heeded(nexus: Nexus, sealed: Path) -> None:
    nexus.ok("init", "--no-hooks", "--local")

    assert not (sealed / "nexus").exists()
    assert not list((nexus.place / ".git" / "hooks").glob("pre-commit"))


def test_a_temporary_folder_is_not_registered_by_itself(nexus: Nexus) -> None:
    assert "a temporary folder: not registered" in nexus.ok("init")
    assert registry() == {}


def test_names_and_aliases_are_one_namespace(nexus: Nexus, tmp_path: Path) -> None:
    nexus.ok("init", "--name", "one", "--alias", "first")
    other = tmp_path / "other"
    run_git(tmp_path, "init", "-q", "other")

    refused = Nexus(other)("init", "--name", "two", "--alias", "one")

    assert refused.returncode == 6
    assert f"the name one belongs to the project at {nexus.place}" in refused.stderr
    assert refs(other) == []
    assert [row["name"] for row in registry().values()] == ["one"]


@pytest.mark.parametrize("name", ["", "a b", "ä", "x" * 65, "a:b", "../x"])
def test_a_name_that_could_not_be_referred_to_is_refused_before_anything_changes(nexus: Nexus, name: str) -> None:
    assert nexus("init", f"--name={name}").returncode == 6
    assert refs(nexus.place) == ["refs/heads/main"]


def test_a_new_name_keeps_the_old_one_as_an_alias(nexus: Nexus) -> None:
    nexus.ok("init", "--name", "old")
    nexus.ok("init", "--name", "new")

    assert [(row["name"], row["aliases"]) for row in registry().values()] == [("new", ["old"])]


def test_a_moved_project_is_known_again(nexus: Nexus, tmp_path: Path) -> None:
    nexus.ok("init", "--name", "p")
    moved = tmp_path / "moved"
    nexus.place.rename(moved)

    Nexus(moved).ok("init", "--name", "p", "--alias", "also")

    assert [(row["name"], row["path"]) for row in registry().values()] == [("p", str(moved))]


def test_a_registry_that_does_not_parse_is_refused_and_untouched(nexus: Nexus) -> None:
    nexus.ok("init", "--name", "p")
    home = open_home()
    assert home is not None
    home.write({"registry.json": b"{broken"}, why="by hand")

    refused = nexus("init", "--name", "q")

    assert refused.returncode == 6
    assert "registry.json of the home repository is not valid JSON" in refused.stderr
    assert home.latest().read("registry.json") == b"{broken"
    nexus.ok("status")


@pytest.mark.slow
def test_ten_projects_registered_at_once_are_all_there(tmp_path: Path) -> None:
    places = [tmp_path / f"p{n}" for n in range(10)]
    for place in places:
        run_git(tmp_path, "init", "-q", place.name)
    done: list[subprocess.CompletedProcess[str]] = []
    threads = [
        threading.Thread(target=lambda place=place: done.append(Nexus(place)("init", "--name", place.name)))  # type: ignore[misc]
        for place in places
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [result.returncode for result in done] == [0] * 10
    assert sorted(str(row["name"]) for row in registry().values()) == sorted(place.name for place in places)


def test_two_inits_at_once_make_one_project(nexus: Nexus) -> None:
    started = [
        subprocess.Popen(["git", "nexus", "init"], cwd=nexus.place, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for _ in range(4)
    ]

    assert [(process.communicate()[1], process.returncode) for process in started] == [(b"", 0)] * 4
    assert run_git(nexus.place, "rev-list", "--count", "refs/nexus/state") == "1\n"


def test_a_ref_that_another_process_made_meanwhile_is_not_taken_for_lost(nexus: Nexus) -> None:
    early = State.open(nexus.place)
    nexus.ok("init")

    assert not early.exists
    assert lost_tip(early) is None


def test_a_sha256_repository_works(tmp_path: Path) -> None:
    run_git(tmp_path, "init", "-q", "--object-format=sha256")
    nexus = Nexus(tmp_path)

    nexus.ok("init")
    (tmp_path / ".nexus" / "memory").mkdir()
    (tmp_path / ".nexus" / "memory" / "a.md").write_text("x\n")

    assert "1 memory" in nexus.ok("status")
    assert run_git(tmp_path, "fsck", "--strict") == ""


def test_a_repository_that_cannot_be_written_is_said_in_a_sentence(nexus: Nexus) -> None:
    if os.geteuid() == 0:
        # Root writes everywhere; a file in the way of the folder stands for the missing right.
        (nexus.place / ".git" / "nexus").write_text("in the way")
        done = nexus("init")
    else:
        (nexus.place / ".git").chmod(0o555)
        done = nexus("init")
        (nexus.place / ".git").chmod(0o755)

    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


def test_a_folder_whose_name_is_not_utf_8_works_but_is_not_registered(tmp_path: Path) -> None:
    place = Path(os.fsdecode(bytes(tmp_path) + b"/b\xffd"))
    place.mkdir()
    run_git(place, "init", "-q")

    refused = Nexus(place)("init", "--name", "odd")
    assert (refused.returncode, refs(place)) == (6, [])
    assert "its path is not UTF-8" in Nexus(place).ok("init")
    assert "b\\xffd" in Nexus(place).ok("status")
    assert json.loads(Nexus(place).ok("status", "--json"))["success"]


def test_the_name_of_a_folder_cannot_draw_on_the_terminal(tmp_path: Path) -> None:
    place = tmp_path / "x\x1b[2Jy"
    place.mkdir()
    run_git(place, "init", "-q")

    for argv in (["init"], ["status"], ["hooks", "status"], ["doctor"], ["uninstall"]):
        shown = terminal(place, "git", "nexus", *argv)
        assert "x\x1b[2Jy" not in shown


def test_a_home_that_cannot_be_used_is_said_before_anything_changes(
    nexus: Nexus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEXUS_HOME", "/etc/passwd")

    assert nexus("init", "--name", "p").returncode == 1
    assert refs(nexus.place) == ["refs/heads/main"]
    assert not (nexus.place / ".nexus").exists()


def test_a_kill_while_the_home_is_made_leaves_nothing_that_others_could_look_into(
    nexus: Nexus, sealed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, killer = shutil.which("git"), tmp_path / "bin" / "git"
    killer.parent.mkdir()
    killer.write_text(
        f'#!/bin/sh\ncase "$*" in\n*"init --quiet --bare"*) "{real}" "$@"; kill -9 0;;\nesac\nexec "{real}" "$@"\n'
    )
    killer.chmod(0o755)
    with monkeypatch.context() as patch:
        patch.setenv("PATH", f"{killer.parent}{os.pathsep}{os.environ['PATH']}")
        with at_work(nexus.place, "init", "--name", "p") as (command, _):
            assert command.wait(60) == -9

    left = [path for path in (sealed / "nexus").iterdir() if path.name.startswith(".home.") and path.is_dir()]
    assert [path.stat().st_mode & 0o077 for path in left] == [0]
    nexus.ok("init", "--name", "p")
    assert [path for path in left if path.exists()] == []
    assert (sealed / "nexus" / "home.git").stat().st_mode & 0o077 == 0
