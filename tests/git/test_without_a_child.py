"""What is read without a git child is what git itself would say, or git is asked."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitnexus.git import config, configfile, discover
from gitnexus.git.branches import current_branch, tip_of_ref
from gitnexus.git.configfile import NotPlain, parse_plain_config
from gitnexus.git.discovery import Repo, find_plain_repo
from gitnexus.git.identity import current_author
from gitnexus.git.loose import read_loose
from tests.conftest import run_git

_NAMES = st.sampled_from(["user", "core", "URL", "branch", "a-b", "include", "includeIf", "a.b"])
_WORDS = st.text(st.sampled_from(list('ab Z9.-_="\\#;\t/~ü[]:')), max_size=12)
_LINES = st.one_of(
    st.builds("[{}]".format, _NAMES),
    st.builds('[{} "{}"]'.format, _NAMES, _WORDS),
    st.builds("\t{} = {}".format, st.sampled_from(["name", "Email", "x9", "9x", "insteadOf"]), _WORDS),
    st.builds('{}="{}"'.format, st.sampled_from(["name", "Email"]), _WORDS),
    st.sampled_from(["bare", "# a remark", "; another", "", "   ", "x", "[a]\tb = c"]),
)


@given(st.lists(_LINES, max_size=6).map("\n".join))
def test_a_configuration_is_read_as_git_reads_it_or_not_at_all(text: str) -> None:
    try:
        rows = parse_plain_config(text)
    except NotPlain:
        return
    argv = ["git", "config", "--file", "-", "--list", "-z"]
    said = subprocess.run(argv, input=text.encode(), capture_output=True, check=True).stdout.decode()
    assert rows == [(key, value) for key, _, value in (row.partition("\n") for row in said.split("\0")[:-1])]


@pytest.mark.parametrize(
    "text",
    [
        "[include]\n\tpath = x\n",
        '[includeIf "gitdir:/"]\n',
        '[a]\nb = "x\\n"\n',
        "[a]\nb = x \\\ny\n",
        "[a]\r\nb = c\r\n",
        "[a]\nb = x # y\n",
        "[a.b]\n",
        "b = c\n",
        "[a\n",
        "[a]\nb = x\ty\n",
        "[a]\nb = \x00\n",
        "\ufeff[a]\n",
    ],
)
def test_what_needs_more_than_a_line_is_left_to_git(text: str) -> None:
    with pytest.raises(NotPlain):
        parse_plain_config(text)


def _as_git_says(start: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    with monkeypatch.context() as patch:
        patch.setattr("gitnexus.git.discovery.find_plain_repo", lambda _: None)
        return discover(start)


def test_a_plain_repository_is_found_as_git_finds_it(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / "a" / "b").mkdir(parents=True)
    (tmp_path / "link").symlink_to(repository / "a")
    run_git(repository, "worktree", "add", "-q", "-b", "second", str(tmp_path / "zweiter baum"))
    run_git(repository, "worktree", "add", "-q", "--detach", str(tmp_path / "third"))
    run_git(tmp_path, "init", "-q", "--object-format=sha256", "wide")
    for place in ("mein Büro/a/b", "link/b", "zweiter baum", "third", "wide"):
        found = find_plain_repo(tmp_path / place)
        assert found is not None, place
        assert found == _as_git_says(tmp_path / place, monkeypatch), place


@pytest.mark.parametrize(
    "settings",
    [
        ("core.worktree", "/"),
        ("core.bare", "true"),
        ("include.path", "x"),
        ("extensions.worktreeConfig", "true"),
        ("core.repositoryFormatVersion", "7"),
        ("extensions.unheardOf", "1"),
    ],
)
def test_a_repository_with_something_special_about_it_is_left_to_git(repository: Path, settings: tuple) -> None:
    run_git(repository, "config", *settings)
    assert find_plain_repo(repository) is None


def test_what_is_no_plain_repository_is_left_to_git(repository: Path, tmp_path: Path) -> None:
    run_git(tmp_path, "init", "-q", "--bare", "bare.git")
    run_git(tmp_path, "init", "-q", "--separate-git-dir", str(tmp_path / "kept"), "apart")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / ".git").symlink_to(repository / ".git")
    (tmp_path / "empty" / ".git").mkdir(parents=True)
    places = ("bare.git", "bare.git/refs", "apart", "linked", "empty", "mein Büro/.git", "mein Büro/.git/refs", "none")
    assert [place for place in places if find_plain_repo(tmp_path / place) is not None] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="giving a file away takes root")
def test_a_repository_of_somebody_else_is_left_to_git(repository: Path) -> None:
    for path in (repository, repository / ".git"):
        os.chown(path, 4711, -1)
        assert find_plain_repo(repository) is None
        os.chown(path, 0, -1)
    assert find_plain_repo(repository) is not None


@pytest.mark.parametrize("name", ["Ada", "Ada Lovelace", "Jr.", "ä ö", "'quoted'", "a <b", "O'Neil", "(x)", "", " "])
@pytest.mark.parametrize("where", ["user", "committer", "variable"])
def test_the_committer_is_who_git_says(
    repository: Path, monkeypatch: pytest.MonkeyPatch, name: str, where: str
) -> None:
    if where == "variable":
        monkeypatch.setenv("GIT_COMMITTER_NAME", name)
    else:
        run_git(repository, "config", f"{where}.name", name)
    config.config_rows.cache_clear()
    said = subprocess.run(
        ["git", "var", "GIT_COMMITTER_IDENT"], cwd=repository, capture_output=True, text=True, check=False
    )
    who = current_author(discover(repository))
    expected = said.stdout.rpartition(" <")[0] if said.returncode == 0 else "git nexus"
    assert (who.name, who.email) == (expected, "test@example.com" if said.returncode == 0 else "git-nexus@localhost")


def test_all_settings_are_what_git_lists(repository: Path, sealed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (sealed / ".config" / "git").mkdir(parents=True)
    (sealed / ".config" / "git" / "config").write_text("[user]\n\tname = first\n[a]\n\tb\n")
    run_git(repository, "config", "remote.origin.url", "https://example.com/x y.git")
    repo = discover(repository)
    config.config_rows.cache_clear()
    plain = config.config_rows(repo)
    config.config_rows.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr("gitnexus.git.configfile._OF_DISTRIBUTIONS", ())
        assert config.config_rows(repo) == plain
    config.config_rows.cache_clear()


def test_below_git_nexus_no_child_lists_the_settings(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("git") not in configfile._OF_DISTRIBUTIONS:
        pytest.skip("this git is not the distribution's, and only it knows where its settings are")
    # Git puts the folder of its own programs first on the PATH of those that it starts.
    monkeypatch.setenv("PATH", run_git(repository, "--exec-path").strip(), prepend=os.pathsep)
    monkeypatch.setattr("gitnexus.git.config.run_git", lambda *_, **__: pytest.fail("a child was started"))
    config.config_rows.cache_clear()
    assert ("global", "user.name", "Test Person") in config.config_rows(discover(repository))
    config.config_rows.cache_clear()


def test_refs_and_head_are_read_from_their_files(repository: Path) -> None:
    repo = discover(repository)
    head = run_git(repository, "rev-parse", "HEAD^{commit}").strip()
    run_git(repository, "branch", "a/b")
    run_git(repository, "symbolic-ref", "refs/heads/other", "refs/heads/main")
    assert (
        tip_of_ref(repo, "refs/heads/a/b"),
        tip_of_ref(repo, "refs/heads/other"),
        tip_of_ref(repo, "refs/heads/a"),
    ) == (head, head, None)
    run_git(repository, "pack-refs", "--all")
    assert (tip_of_ref(repo, "refs/heads/a/b"), tip_of_ref(repo, "refs/heads/b"), current_branch(repo)) == (
        head,
        None,
        "main",
    )
    run_git(repository, "checkout", "-q", "--detach")
    assert current_branch(repo) == ""


def test_a_damaged_loose_object_is_left_to_git_to_complain_about(repository: Path) -> None:
    objects = repository / ".git" / "objects"
    blob = run_git(repository, "hash-object", "-w", "readme.txt").strip()
    assert read_loose(objects, blob) == ("blob", b"hello\n")
    file = objects / blob[:2] / blob[2:]
    whole = file.read_bytes()
    file.chmod(0o644)
    for damaged in (b"", whole[:-3], b"\0" + whole, whole[:4]):
        file.write_bytes(damaged)
        assert read_loose(objects, blob) is None
