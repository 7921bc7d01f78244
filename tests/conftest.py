"""A sealed home for every test: no user config, no GIT_*, no registry of the person who runs them."""

import gc
import itertools
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.forked import fork_from, forker

# How long an example takes is the machine's affair. A few of them with every change, many where there is time.
FEW, MANY = 15, 100
settings.register_profile("few", deadline=None, max_examples=FEW)
settings.register_profile("many", deadline=None, max_examples=MANY)
settings.load_profile(os.environ.get("EXAMPLES", "few"))


def examples(most: int) -> int:
    """Return how many examples a test gets that cannot have so many of them, or needs more."""
    return most if settings.get_current_profile_name() == "many" else min(most, FEW)


# Whoever starts tests in the background of a shell has Ctrl-C ignored, and so would all that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Nearly all that is made while tests are collected stays to the end; looking for garbage in it finds none.
gc.disable()


def pytest_collection_finish() -> None:
    """Look for garbage from now on, but only in what the tests make."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


def pytest_sessionfinish() -> None:
    """End the launchers that wait for a command, and then the processes that they and commands are forked from."""
    if forker.cache_info().currsize:
        from gitnexus.sandbox import launcher

        launcher._stop_idle_launchers()
        forker().close()


Git = Callable[..., str]
# HEAD, a full ref or a full id, and what hangs on them: nothing that two readers could take for different things.
_PLAIN_REVISION = re.compile(r"(HEAD|refs/[A-Za-z0-9/._-]+|[0-9a-f]{40})([~^][0-9]*|\^\{(tree|commit)\})*")


class Templates:
    """Folders that are made when the first test asks for them; tests change only their copies."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def get(self, name: str, make: Callable[[Path], None]) -> Path:
        """Return the template `name`; `make` fills its folder the first time."""
        folder = self._root / name
        if not folder.exists():
            folder.mkdir()
            try:
                make(folder)
            except BaseException:
                shutil.rmtree(folder)
                raise
        return folder


def copy_tree(source: Path, target: Path) -> Path:
    """Copy a folder with the times of its files, so that git and our checkout index need not read them again."""
    _copy_folder(str(source), str(target))
    return target


def _copy_folder(source: str, target: str) -> None:
    """Four times as fast as `shutil.copytree`, which asks the system a dozen things about each file."""
    os.mkdir(target, os.stat(source).st_mode & 0o7777)
    with os.scandir(source) as entries:
        for entry in entries:
            place = f"{target}/{entry.name}"
            if entry.is_symlink():
                os.symlink(os.readlink(entry.path), place)
            elif entry.is_dir():
                _copy_folder(entry.path, place)
            else:
                stat = entry.stat()
                old = os.open(entry.path, os.O_RDONLY)
                new = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, stat.st_mode & 0o7777)
                while os.sendfile(new, old, None, 2**30):
                    pass
                os.utime(new, ns=(stat.st_atime_ns, stat.st_mtime_ns))
                os.close(old)
                os.close(new)


def copy_project(template: Path, place: Path, home: Path) -> None:
    """Copy a template's `repository` and `home`; what the home keeps by the path of a repository gets the new one."""
    copy_with_home(template / "repository", template / "home", place, home)


def copy_with_home(old_place: Path, old_home: Path, place: Path, home: Path) -> None:
    """Copy a repository and the home that belongs to it; what names the place of the old one names the new one."""
    copy_tree(old_place, place)
    copy_tree(old_home, home)
    name_new_place(old_place, place, home)


def name_new_place(old_place: Path, place: Path, home: Path) -> None:
    """Have what `home` keeps by the path of a repository, and git of its worktrees, name `place` instead."""
    from gitnexus.policy.repo_key import repository_key
    from gitnexus.projects.model import hash_of

    old, new = repository_key(old_place / ".git"), repository_key(place / ".git")
    for kept in [*home.glob(f"*/{old}.*")]:
        kept.rename(kept.with_name(new + kept.suffix))
    for began in home.glob("runs/*/*.place"):
        began.write_text(began.read_text().replace(old, new))
    worktrees = home / "worktrees" / hash_of(os.path.realpath(old_place))
    if worktrees.is_dir():
        for worktree in worktrees.rename(worktrees.with_name(hash_of(os.path.realpath(place)))).iterdir():
            kept = place / ".git" / "worktrees" / worktree.name
            (kept / "gitdir").write_text(f"{worktree / '.git'}\n")
            (worktree / ".git").write_text(f"gitdir: {kept}\n")


def _make_repository(folder: Path) -> None:
    run_git(folder, "init", "-q")
    for sample in (folder / ".git" / "hooks").glob("*.sample"):
        sample.unlink()
    (folder / "readme.txt").write_text("hello\n")
    run_git(folder, "add", ".")
    run_git(folder, "commit", "-qm", "first")


def _make_project(folder: Path, templates: Templates) -> None:
    from gitnexus.app.init import init_project

    place = copy_tree(templates.get("repository", _make_repository), folder / "repository")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NEXUS_HOME", str(folder / "home"))
        init_project(place, name=None, aliases=(), with_hooks=True, local=False).nexus.close()


@pytest.fixture(scope="session", autouse=True)
def pygit2_in_this_process() -> Iterator[None]:
    """State that a test reads or writes itself goes through pygit2: a write takes 3 ms instead of 17.

    Commands take the way that they take everywhere; tests/state and tests/git try both.
    """
    from gitnexus.git.object_access import open_objects

    with pytest.MonkeyPatch.context() as patch:
        for user in ("state.store", "state.home", "projects.place"):
            patch.setattr(f"gitnexus.{user}.open_objects", lambda repo, life="long": open_objects(repo, "long"))
        yield


@pytest.fixture(scope="session", autouse=True)
def forked_processes() -> None:
    """What a test lets the product start of itself is forked, as the commands of a test are."""
    fork_from(forker().addresses)


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the homes of all tests go; pytest itself would count all that are there before it makes one."""
    place = tmp_path_factory.mktemp("homes")
    return (place / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def sealed(homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    home = next(homes)
    home.mkdir()
    for name in list(os.environ):
        if name.startswith(("GIT_", "NEXUS_", "XDG_")) or name in ("NO_COLOR", "PYTHONPATH"):
            monkeypatch.delenv(name)
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Test Person\n\temail = test@example.com\n[init]\n\tdefaultBranch = main\n"
        '[protocol "file"]\n\tallow = always\n[maintenance]\n\tauto = false\n[gc]\n\tauto = 0\n'
    )
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("NEXUS_HOME", str(home / "nexus"))
    monkeypatch.setenv("NEXUS_CHECK_RESULTS", "1")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("TZ", "UTC")
    yield home


def run_git(place: Path, *argv: str, check: bool = True, stdin: str = "") -> str:
    """Run the user's own git, hooks and all, and return what it printed. A plain rev-parse is answered by pygit2."""
    if len(argv) == 2 and argv[0] == "rev-parse" and _PLAIN_REVISION.fullmatch(argv[1]):
        name = _revision(place, argv[1])
        if name is not None:
            return f"{name}\n"
    done = subprocess.run(["git", *argv], cwd=place, input=stdin, capture_output=True, text=True, check=False)
    if check and done.returncode != 0:
        raise AssertionError(f"git {' '.join(argv)} → {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def _revision(place: Path, name: str) -> str | None:
    """Return the id that `name` has in the repository at `place`, None where git itself has to be asked."""
    import pygit2

    try:
        repository = pygit2.Repository(str(place))
        try:
            return str(repository.revparse_single(name).id)
        finally:
            repository.free()
    except (pygit2.GitError, KeyError, ValueError):
        return None


def trust(place: Path) -> None:
    """Sign what waits for a signature, as a person would with git nexus policy trust."""
    from gitnexus.app import open_nexus
    from gitnexus.policy.trust import files_to_sign
    from gitnexus.policy.trust import sign_guarded_files as sign

    nexus = open_nexus(place)
    files = files_to_sign(nexus.state)
    if files:
        sign(nexus.state, files)
    nexus.close()


@pytest.fixture(scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Templates:
    """What tests get copies of, made once for each worker."""
    return Templates(tmp_path_factory.mktemp("templates"))


@pytest.fixture
def repository(tmp_path: Path, templates: Templates, request: pytest.FixtureRequest) -> Path:
    """A repository with one commit, in a folder whose name has a blank and an umlaut."""
    place = tmp_path / "mein Büro"
    if "project" in request.fixturenames:
        return place  # that fixture puts a whole project there
    return copy_tree(templates.get("repository", _make_repository), place)


class Nexus:
    """The command as a person calls it: a process of its own."""

    def __init__(self, place: Path, templates: Templates | None = None) -> None:
        self.place, self.templates = place, templates

    def __call__(self, *argv: str, place: Path | None = None, stdin: str = "") -> "subprocess.CompletedProcess[str]":
        return forker()(argv, place or self.place, stdin)

    def ok(self, *argv: str, place: Path | None = None) -> str:
        done = self(*argv, place=place)
        assert done.returncode == 0, f"{argv} → {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout


@pytest.fixture
def nexus(repository: Path, templates: Templates) -> Nexus:
    """git nexus in `repository`, not initialised."""
    return Nexus(repository, templates)


@pytest.fixture
def project(nexus: Nexus, templates: Templates, sealed: Path) -> Path:
    """An initialised project and the home of its approver: a copy of one that `git nexus init` made."""
    template = templates.get("project", lambda folder: _make_project(folder, templates))
    copy_project(template, nexus.place, sealed / "nexus")
    return nexus.place
