"""Beside husky, lefthook and the pre-commit framework: both sides' hooks run, and what is theirs stays theirs."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitnexus.git.hookmanagers import hook_advice
from tests.slow.calls import Done, call, copy_of_the_working_tree, must

pytestmark = pytest.mark.slow

_EVENTS = ["pre-commit", "pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-checkout"]
_LEFTHOOK = """\
pre-commit:
  jobs:
    - run: echo lefthook >>../marks
"""
_PRE_COMMIT = """\
repos:
  - repo: local
    hooks:
      - id: mark
        name: mark
        language: system
        entry: sh -c 'echo pre-commit >>../marks'
        always_run: true
        pass_filenames: false
"""


@dataclass(frozen=True)
class Manager:
    """A hook manager at work in `place`; its hook writes its name to `../marks`."""

    name: str
    place: Path
    install: Callable[[], str]

    def ran(self) -> bool:
        """True if its own hook ran since this was last asked."""
        marks = self.place.parent / "marks"
        found = marks.exists() and marks.read_text().split() == [self.name]
        marks.unlink(missing_ok=True)
        return found


@pytest.fixture(params=["husky", "lefthook", "pre_commit"])
def manager(request: pytest.FixtureRequest, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Manager:
    """`repository` with one of the three set up in it, and committed."""
    program: Path = request.getfixturevalue(request.param)
    if request.param == "husky":
        found = Manager("husky", repository, lambda: must(["node", program], repository))
        found.install()
        (repository / ".husky" / "pre-commit").write_text("echo husky >>../marks\n")
    elif request.param == "lefthook":
        # lefthook's hook looks for its program on PATH.
        monkeypatch.setenv("PATH", f"{os.environ['PATH']}:{program.parent}")
        found = Manager("lefthook", repository, lambda: must([program, "install"], repository))
        (repository / "lefthook.yml").write_text(_LEFTHOOK)
        found.install()
    else:
        found = Manager("pre-commit", repository, lambda: must([program, "install"], repository))
        (repository / ".pre-commit-config.yaml").write_text(_PRE_COMMIT)
        found.install()
    must(["git", "add", "."], repository)
    must(["git", "commit", "-m", "hooks"], repository)
    assert found.ran()
    return found


def everything_of(place: Path) -> dict[str, tuple[bytes, int]]:
    """Return each file that a hook manager or git's owner could call theirs, with its mode."""
    folders = [path for path in place.iterdir() if path.name not in (".git", ".nexus")]
    folders += [place / ".git" / "hooks", place / ".git" / "config", place / ".git" / "info"]
    files = [file for folder in folders for file in [folder, *folder.rglob("*")] if file.is_file()]
    return {str(file.relative_to(place)): (file.read_bytes(), file.stat().st_mode) for file in files}


def commit(place: Path, name: str) -> Done:
    (place / name).write_text(f"{name}\n")
    must(["git", "add", name], place)
    return call(["git", "commit", "-m", f"add {name}"], place)


def commit_of_state(place: Path) -> Done:
    """Try to commit `.nexus/`, then take it out of the index again."""
    must(["git", "add", "-f", ".nexus"], place)
    tried = call(["git", "commit", "-m", "state"], place)
    must(["git", "reset", "-q"], place)
    return tried


def refused_by_us(tried: Done) -> bool:
    return tried.returncode != 0 and "is state: it lives on refs/nexus/state" in tried.stdout


def hooks_of(place: Path) -> dict[str, str]:
    shown = json.loads(must(["git", "nexus", "hooks", "status", "--json"], place))
    return {hook["event"]: hook["how"] for hook in shown["hooks"]}


def add_what_init_advised(manager: Manager, said: str) -> None:
    """Do as the note says: husky's hooks are files that its user writes."""
    told = [line.partition("add to .husky/")[2] for line in said.splitlines() if "add to .husky/" in line]
    for words in told:
        event, _, line = words.partition(": ")
        with (manager.place / ".husky" / event).open("a") as file:
            file.write(f"{line}\n")
    assert [words.partition(": ")[0] for words in told] == _EVENTS


def test_both_hooks_run_beside_each_other(with_old_git: None, manager: Manager) -> None:
    said = must(["git", "nexus", "init"], manager.place)
    if manager.name == "husky":
        add_what_init_advised(manager, said)

    clean = commit(manager.place, "clean.txt")
    ran_for_clean = manager.ran()
    state = commit_of_state(manager.place)

    assert clean.returncode == 0, clean.stdout
    assert ran_for_clean
    assert refused_by_us(state), state.stdout


@pytest.mark.parametrize("manager", ["husky"], indirect=True)
def test_the_line_that_husky_runs_counts_as_installed(with_old_git: None, manager: Manager) -> None:
    add_what_init_advised(manager, must(["git", "nexus", "init"], manager.place))
    status = must(["git", "nexus", "status"], manager.place)
    doctor = must(["git", "nexus", "doctor"], manager.place)

    assert "git nexus hooks install" not in status
    assert "does not run" not in doctor


@pytest.mark.parametrize("manager", ["husky"], indirect=True)
def test_a_folder_that_husky_owns_is_left_to_it(with_old_git: None, manager: Manager) -> None:
    before = everything_of(manager.place)
    must(["git", "nexus", "init"], manager.place)
    after = everything_of(manager.place)

    assert {name for name in {*before, *after} if before.get(name) != after.get(name)} == {".git/info/exclude"}
    assert hooks_of(manager.place) == dict.fromkeys(_EVENTS, "none")


def test_uninstall_leaves_everything_as_it_was(with_old_git: None, manager: Manager) -> None:
    before = everything_of(manager.place)
    must(["git", "nexus", "init"], manager.place)
    must(["git", "nexus", "init"], manager.place)
    must(["git", "nexus", "uninstall"], manager.place)

    assert everything_of(manager.place) == before
    assert commit(manager.place, "later.txt").returncode == 0
    assert manager.ran()


def test_hooks_uninstall_leaves_the_hooks_as_they_were(with_old_git: None, manager: Manager) -> None:
    must(["git", "nexus", "init", "--no-hooks"], manager.place)
    before = everything_of(manager.place)
    must(["git", "nexus", "hooks", "install"], manager.place)
    must(["git", "nexus", "hooks", "uninstall"], manager.place)

    assert everything_of(manager.place) == before
    assert commit(manager.place, "later.txt").returncode == 0
    assert manager.ran()


def test_the_managers_own_install_breaks_nothing(with_old_git: None, manager: Manager) -> None:
    said = must(["git", "nexus", "init"], manager.place)
    if manager.name == "husky":
        add_what_init_advised(manager, said)
    manager.install()
    between = commit(manager.place, "between.txt")
    ran_between = manager.ran()
    must(["git", "nexus", "hooks", "install"], manager.place)
    after = commit(manager.place, "after.txt")
    ran_after = manager.ran()

    assert between.returncode == 0, between.stdout
    assert ran_between
    assert after.returncode == 0, after.stdout
    assert ran_after
    assert refused_by_us(commit_of_state(manager.place))


def test_the_framework_that_comes_later_runs_us_too(with_old_git: None, repository: Path, pre_commit: Path) -> None:
    must(["git", "nexus", "init"], repository)
    (repository / ".pre-commit-config.yaml").write_text(_PRE_COMMIT)
    later = Manager("pre-commit", repository, lambda: must([pre_commit, "install"], repository))
    later.install()
    must(["git", "add", "."], repository)
    clean = commit(repository, "clean.txt")
    ran_for_clean = later.ran()
    state = commit_of_state(repository)
    later.ran()
    must(["git", "nexus", "uninstall"], repository)
    without_us = commit(repository, "later.txt")
    ran_without_us = later.ran()
    must([pre_commit, "uninstall"], repository)
    without_both = commit(repository, "last.txt")

    assert clean.returncode == 0, clean.stdout
    assert ran_for_clean
    assert refused_by_us(state), state.stdout
    assert without_us.returncode == 0, without_us.stdout
    assert ran_without_us
    assert without_both.returncode == 0, without_both.stdout


def test_lefthook_that_comes_later_puts_us_aside_until_we_are_installed_again(
    with_old_git: None, repository: Path, lefthook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}:{lefthook.parent}")
    must(["git", "nexus", "init"], repository)
    (repository / "lefthook.yml").write_text(_LEFTHOOK)
    later = Manager("lefthook", repository, lambda: must([lefthook, "install"], repository))
    later.install()
    how = hooks_of(repository)
    doctor = must(["git", "nexus", "doctor"], repository)
    must(["git", "nexus", "hooks", "install"], repository)
    clean = commit(repository, "clean.txt")
    ran_for_clean = later.ran()
    state = commit_of_state(repository)

    assert how["pre-commit"] == "none"
    assert "pre-commit does not run" in doctor
    assert clean.returncode == 0, clean.stdout
    assert ran_for_clean
    assert refused_by_us(state), state.stdout


def test_config_hooks_touch_no_file_of_a_manager(with_new_git: Path, manager: Manager) -> None:
    config = must(["git", "config", "--local", "-l"], manager.place)
    before = everything_of(manager.place)
    must(["git", "nexus", "init"], manager.place)
    during = everything_of(manager.place)
    how = hooks_of(manager.place)
    clean = commit(manager.place, "clean.txt")
    ran_for_clean = manager.ran()
    state = commit_of_state(manager.place)
    manager.install()
    state_again = commit_of_state(manager.place)
    (manager.place / "clean.txt").unlink()
    must(["git", "nexus", "uninstall"], manager.place)

    ours = {".git/config", ".git/info/exclude"}
    assert {name for name in {*before, *during} if before.get(name) != during.get(name)} == ours
    assert how == dict.fromkeys(_EVENTS, "config")
    assert clean.returncode == 0, clean.stdout
    assert ran_for_clean
    assert refused_by_us(state), state.stdout
    assert refused_by_us(state_again), state_again.stdout
    assert must(["git", "config", "--local", "-l"], manager.place) == config
    assert everything_of(manager.place) == before


def test_the_framework_runs_our_hooks_from_its_own_config(
    repository: Path, pre_commit: Path, tmp_path: Path, network: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in network.items():
        monkeypatch.setenv(name, value)
    source = copy_of_the_working_tree(tmp_path / "git-nexus")
    must(["git", "init", "-q"], source)
    must(["git", "add", "-A"], source)
    must(["git", "commit", "-qm", "the project as it is"], source)
    told = list(dict.fromkeys(hook_advice("pre-commit", event) for event in _EVENTS))
    ids = [words.removeprefix("add the hook ").removesuffix(" to .pre-commit-config.yaml") for words in told]
    (repository / ".pre-commit-config.yaml").write_text(
        f"default_install_hook_types: [{', '.join(_EVENTS)}]\n"
        f"repos:\n  - repo: {source}\n    rev: {must(['git', 'rev-parse', 'HEAD'], source).strip()}\n    hooks:\n"
        + "".join(f"      - id: {name}\n" for name in ids)
    )
    must(["git", "add", ".pre-commit-config.yaml"], repository)
    must([pre_commit, "install", "--install-hooks"], repository, seconds=300)
    must(["git", "nexus", "init", "--no-hooks"], repository)
    # From here on only the framework's own copy is there.
    monkeypatch.setenv("PATH", without_git_nexus(os.environ["PATH"]))

    must(["git", "commit", "-m", "use the framework"], repository)
    state = commit_of_state(repository)
    (repository / "settings.txt").write_text("aws = AKIA" + "QWERTYUIOPASDFGH\n")
    must(["git", "add", "settings.txt"], repository)
    warned = must(["git", "commit", "-m", "settings"], repository)

    assert refused_by_us(state), state.stdout
    assert "settings.txt:1 looks like a secret" in warned
    assert trailers_are_kept(repository)
    assert worktree_is_filled(repository)


def test_what_we_advise_for_lefthooks_config_works(
    repository: Path, lefthook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}:{lefthook.parent}")
    told = [
        hook_advice("lefthook", event).partition("add to lefthook.yml, below ")[2].partition(": ") for event in _EVENTS
    ]
    (repository / "lefthook.yml").write_text("".join(f"{event}:\n  {job}\n" for event, _, job in told))
    must(["git", "add", "."], repository)
    must([lefthook, "install"], repository)
    must(["git", "nexus", "init", "--no-hooks"], repository)
    must(["git", "commit", "-m", "ours in their config"], repository)
    state = commit_of_state(repository)

    assert refused_by_us(state), state.stdout
    assert trailers_are_kept(repository)
    assert worktree_is_filled(repository)


def trailers_are_kept(place: Path) -> bool:
    """Amend a commit of an agent in each way there is, and put another one on top."""
    agent = {**os.environ, "GIT_AUTHOR_NAME": "Agent", "GIT_AUTHOR_DATE": "@1700000000 +0000"}
    dropping = {**os.environ, "GIT_EDITOR": "echo by editor >"}
    must(["git", "commit", "--allow-empty", "-m", "work\n\nNexus-Run: r1"], place, agent)
    must(["git", "commit", "--amend", "--allow-empty", "-m", "by message"], place)
    amended = [must(["git", "log", "-1", "--format=%B"], place).strip()]
    must(["git", "commit", "--amend", "--allow-empty"], place, dropping)
    amended += [must(["git", "log", "-1", "--format=%B"], place).strip()]
    must(["git", "commit", "--allow-empty", "-m", "on top"], place)
    amended += [must(["git", "log", "-1", "--format=%B"], place).strip()]
    return amended == ["by message\n\nNexus-Run: r1", "by editor\n\nNexus-Run: r1", "on top"]


def worktree_is_filled(place: Path) -> bool:
    must(["git", "worktree", "add", "../other"], place)
    return sorted(os.listdir(place.parent / "other" / ".nexus")) == sorted(os.listdir(place / ".nexus"))


def without_git_nexus(path: str) -> str:
    return os.pathsep.join(folder for folder in path.split(os.pathsep) if not Path(folder, "git-nexus").exists())
