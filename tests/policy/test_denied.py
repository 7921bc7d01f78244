"""What every reading verb asks about a path: one list for all, and the rules of the law beside it."""

import pytest

from gitnexus.policy import DENIED, denied_by
from gitnexus.policy.builtin import secret_pattern_for
from gitnexus.policy.compiled_rules import make_read_check
from tests.policy.scene import law

PLACES = [one for one in DENIED if not one.startswith("!")]


def spelled(pattern: str) -> str:
    return pattern.replace("**/", "").replace("*", "x")


def test_what_holds_credentials_is_denied_to_readers_writers_and_commands_alike() -> None:
    unreadable = make_read_check(law())

    for path in (before + spelled(pattern) for pattern in PLACES for before in ("", "deep/er/")):
        assert denied_by(path) is not None, path
        assert secret_pattern_for(path) is not None, path
        assert secret_pattern_for(path.upper()) is not None, path
        assert unreadable(path) == "builtin.secret", path


@pytest.mark.parametrize("folder", [".ssh", ".aws", ".kube", ".secrets", "home/.config/gcloud"])
def test_a_folder_of_credentials_is_denied_itself_and_with_all_below(folder: str) -> None:
    denied = make_read_check(law())

    assert denied(folder) == denied(f"{folder}/a/b") == "builtin.secret"


@pytest.mark.parametrize("path", ["src/main.py", ".env.example", "docs/ssh.md", "testdata/proc/self/environ", "README"])
def test_ordinary_files_can_be_read(path: str) -> None:
    assert make_read_check(law())(path) is None
    assert denied_by(path) is None


def test_an_example_in_a_folder_of_credentials_is_not_an_example() -> None:
    assert make_read_check(law())(".ssh/.env.example") == "builtin.secret"


def test_the_rules_of_the_law_are_asked_as_well_and_named() -> None:
    denied = make_read_check(law('deny:\n  - read: ["private/**"]\n    name: mine\n  - write: ["src/**"]'))

    assert denied("private/a/b.txt") == denied("PRIVATE/a") == "user.mine"
    assert denied("src/main.py") is None


@pytest.mark.parametrize("path", [".git/config", "a/../b", "/etc/passwd", "~/.profile", "a\x00b", ""])
def test_what_is_no_path_of_the_repository_cannot_be_read(path: str) -> None:
    assert make_read_check(law())(path) == "builtin.path"
