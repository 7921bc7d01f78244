"""The private folder of a run: what we put there, whatever its agent left."""

import os
from pathlib import Path

import pytest

from gitnexus.runs.agent.home import delete_private_file, lent_sign_ins, write_private_file

LOGIN = ((".maker/auth.json", "maker/auth.json"),)


@pytest.fixture
def private(tmp_path: Path) -> Path:
    (tmp_path / "private").mkdir()
    return tmp_path / "private"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home" / ".maker").mkdir(parents=True)
    (tmp_path / "home" / ".maker" / "auth.json").write_text("mine")
    return tmp_path / "home"


def test_a_file_is_for_its_owner_alone_and_replaces_what_was_there(private: Path) -> None:
    write_private_file(private, "a/b/settings.json", b"1")
    write_private_file(private, "a/b/settings.json", b"2")

    assert (private / "a/b/settings.json").read_bytes() == b"2"
    assert (private / "a/b/settings.json").stat().st_mode & 0o777 == 0o600
    assert os.listdir(private / "a/b") == ["settings.json"]


@pytest.mark.parametrize("name", ["maker", "maker/auth.json"])
def test_a_link_that_an_agent_left_is_not_followed(private: Path, home: Path, name: str) -> None:
    target = home / ".maker" if name == "maker" else home / ".maker" / "auth.json"
    (private / name).parent.mkdir(exist_ok=True)
    (private / name).symlink_to(target)

    write_private_file(private, "maker/auth.json", b"ours")

    assert (home / ".maker" / "auth.json").read_text() == "mine"
    assert os.listdir(home / ".maker") == ["auth.json"]
    assert (private / "maker/auth.json").read_bytes() == b"ours"


def test_a_folder_where_a_file_is_to_be_is_set_aside(private: Path) -> None:
    (private / "settings.json" / "x").mkdir(parents=True)

    write_private_file(private, "settings.json", b"1")

    assert (private / "settings.json").read_bytes() == b"1"


def test_a_sign_in_is_there_for_a_while_and_never_comes_back(private: Path, home: Path) -> None:
    with lent_sign_ins(private, home, LOGIN) as found:
        copy = private / "maker/auth.json"
        seen = copy.read_text()
        copy.write_text("changed")

    assert (found, seen) == ((".maker/auth.json",), "mine")
    assert not copy.exists()
    assert (home / ".maker" / "auth.json").read_text() == "mine"


def test_a_link_instead_of_the_copy_loses_nothing_of_the_persons(private: Path, home: Path) -> None:
    with lent_sign_ins(private, home, LOGIN):
        (private / "maker/auth.json").unlink()
        (private / "maker/auth.json").symlink_to(home / ".maker" / "auth.json")

    assert not os.path.lexists(private / "maker/auth.json")
    assert (home / ".maker" / "auth.json").read_text() == "mine"


def test_what_is_no_file_is_not_lent(private: Path, home: Path) -> None:
    (home / ".maker" / "auth.json").unlink()
    os.mkfifo(home / ".maker" / "auth.json")

    with lent_sign_ins(private, home, LOGIN) as found:
        assert found == ()
    delete_private_file(private, "nothing/here")
