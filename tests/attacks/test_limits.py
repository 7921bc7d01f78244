"""More than a machine can take: folders without end, names and lines of any length, too many files, odd numbers."""

import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitnexus.base.files import remove_tree
from gitnexus.git import discover, worktree_tree
from gitnexus.git.private import private_git
from gitnexus.state import State
from tests.conftest import Nexus, run_git

NEST = "import os\nfor _ in range({}):\n    os.mkdir('d')\n    os.chdir('d')\nopen('f', 'w').write('x')\n"


@pytest.fixture(autouse=True)
def leave_nothing_deep(tmp_path: Path, sealed: Path) -> Iterator[None]:
    """Remove what pytest could not: it calls itself for each level of folders."""
    yield
    for folder in (tmp_path, sealed):
        remove_tree(folder)


def run_python(nexus: Nexus, code: str) -> tuple[int, str]:
    """Let a run execute a script; return the status and the run's id."""
    (nexus.place / "script.py").write_text(code)
    run_git(nexus.place, "add", "script.py")
    run_git(nexus.place, "commit", "-qm", "a script")
    done = nexus("run", "--json", "--", "python3", "script.py")
    return done.returncode, json.loads(done.stdout)["run"]["id"]


def test_folders_without_end_are_left_out_and_the_run_is_cleaned(nexus: Nexus, project: Path) -> None:
    status, run = run_python(
        nexus, NEST.format(1200) + "os.chdir('/'.join(['..'] * 1200))\nopen('kept', 'w').close()\n"
    )

    said = nexus.ok("replay", run)
    cleaned = nexus("clean", run, "--force")

    assert status == 21
    assert "folders deep" in said
    assert (cleaned.returncode, "only in that folder: d/d/d" in cleaned.stdout) == (0, True)


def test_what_is_left_out_of_a_patch_is_told_where_it_is_approved(nexus: Nexus, project: Path) -> None:
    done = nexus("run", "--", "sh", "-c", "mkfifo pipe; echo kept > kept")
    run = nexus("runs").stdout.split()[0].removeprefix("nexus/")

    told = json.loads(nexus("review", "--json", run).stdout)["runs"][0]
    shown = nexus("review", run).stdout

    words = "pipe: it is neither a file, a link nor a folder"
    assert f"left out of a1: {words}" in done.stdout
    assert f"left out of a1: {words}" in shown
    assert f"│ left out {words}; it is in the worktree" in shown
    assert told["leftOut"] == [{"action": "a1", "what": words}]


def test_what_is_left_out_is_told_where_nothing_else_was_changed(nexus: Nexus, project: Path) -> None:
    done = nexus("run", "--", "mkfifo", "pipe")

    assert "left out of any patch: pipe: it is neither a file, a link nor a folder" in done.stdout


def test_what_is_nested_thousands_of_times_is_removed_and_links_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mine").write_text("mine")
    top = tmp_path / "top"
    top.mkdir()
    before = os.getcwd()
    try:
        os.chdir(top)
        for number in range(5000):
            if number % 1000 == 0:
                os.symlink(outside, "link")
            os.mkdir("d")
            os.chdir("d")
    finally:
        os.chdir(before)

    remove_tree(top)

    assert not top.exists()
    assert (outside / "mine").read_text() == "mine"


def test_too_many_new_files_are_refused_with_the_number(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worktree_tree, "MOST_NEW_FILES", 3)
    for number in range(4):
        (repository / f"new-{number}").touch()

    with private_git(discover(repository)) as git, pytest.raises(worktree_tree.TooManyFiles) as refused:
        worktree_tree.write_worktree_tree(git, repository, run_git(repository, "rev-parse", "HEAD").strip())

    assert "more than 3 new files" in refused.value.message


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "status"),
    [
        (NEST.format(4_000), 0),
        ("import os\nfor i in range(120_000):\n    os.close(os.open(str(i), os.O_CREAT | os.O_WRONLY))\n", 1),
        ("print('x' * 60_000_000)", 0),
        ("open('n' * 255, 'w').write('x')\nopen('\u00fc' * 127, 'w').write('x' * 60_000_000)", 21),
    ],
    ids=["nested", "many", "a line", "names"],
)
def test_whatever_a_run_leaves_it_ends_with_a_reason_and_is_cleaned(
    nexus: Nexus, project: Path, code: str, status: int
) -> None:
    ended, run = run_python(nexus, code)

    assert ended == status
    assert nexus("review", run).returncode != 99
    nexus("deny", run)  # what waits
    assert nexus("clean", run).returncode == 0


def test_a_number_that_is_no_integer_is_not_taken_for_one(nexus: Nexus, project: Path) -> None:
    for number in ("1.5", "1.0", "1e0", "1.00000000000000000001", "true", "1e-1", '"1.5"', "1e400", "[1]"):
        done = nexus("tool", "nx_task_update", f'{{"id": {number}, "status": "completed"}}')

        assert "whole number" in done.stdout or "JSON" in done.stdout + done.stderr, (number, done)
        assert done.returncode != 99


@pytest.mark.parametrize("argv", [("worker", "--lease"), ("worker", "--poll"), ("discover", "x", "--threshold")])
@pytest.mark.parametrize("number", ["nan", "-nan", "inf"])
def test_what_is_no_number_is_in_no_range(nexus: Nexus, argv: tuple[str, ...], number: str) -> None:
    done = nexus(*argv, number)

    assert done.returncode == 2
    assert "is not in the range" in done.stderr


@pytest.mark.parametrize(
    ("path", "text", "argv"),
    [
        ("policy.md", "---\nversion: {}\n---\n", ("policy", "show")),
        ("commands/custom/mine.md", "---\nversion: {}\nabout: x\nnodes: [{{id: a, type: research}}]\n---\n",
         ("doctor",)),
    ],
    ids=["policy", "macro"],
)  # fmt: skip
@pytest.mark.parametrize("number", ["1.0", "true", "1e0"])
def test_a_document_whose_version_is_no_integer_is_refused(
    nexus: Nexus, project: Path, path: str, text: str, argv: tuple[str, ...], number: str
) -> None:
    file = project / ".nexus" / path
    file.parent.mkdir(exist_ok=True, parents=True)
    file.write_text(text.format(number))

    done = nexus(*argv)

    assert done.returncode != 99
    assert "version should be" in done.stdout + done.stderr


def test_a_format_that_is_no_integer_is_refused(nexus: Nexus, project: Path) -> None:
    state = State.open(project)
    value = json.loads(state.read("format.json") or b"")
    state.write({"format.json": json.dumps({**value, "format": 1.0}).encode()}, why="mischief")
    state.close()

    done = nexus("status")

    assert done.returncode not in (0, 99)
    assert "does not say which format this is" in done.stderr


def test_what_a_killed_run_left_for_its_callers_is_removed_by_the_next_command(
    nexus: Nexus, project: Path, sealed: Path
) -> None:
    run = json.loads(nexus("run", "--json", "--", "true").stdout)["run"]["id"]
    [home] = {place.parent for place in sealed.rglob("private") if (place / run).is_dir()}
    private_folder = home / "private" / run
    own = sorted(path.name for path in private_folder.iterdir() if path.name.startswith(("calls-", "new-")))
    left, step = private_folder / "calls-left", private_folder.with_name(f"{run}.step") / "calls-left"
    used = private_folder / "calls-used"
    for folder in (left, step, used):
        folder.mkdir(parents=True)
        os.mkfifo(folder / "requests")
    held = os.open(used, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(held, fcntl.LOCK_EX)

    nexus.ok("replay", run)
    os.close(held)

    assert own == []
    assert [folder.exists() for folder in (left, step, used)] == [False, False, True]
    nexus.ok("clean", run)
    assert not private_folder.exists()
