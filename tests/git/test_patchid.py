"""The name of a change: what it heeds, what it does not, and who has no say in it."""

from pathlib import Path

import pytest

from gitnexus.base.errors import Invalid
from gitnexus.git import discover
from gitnexus.git.patchid import patch_id, patch_ids
from gitnexus.git.private import private_git
from tests.conftest import run_git

BODY = [f"line {n}" for n in range(40)]


def tree(place: Path, files: dict[str, bytes]) -> str:
    rows = []
    for name, data in files.items():
        (place / ".blob").write_bytes(data)
        mode = "100755" if name.endswith(".sh") else "100644"
        rows.append(f"{mode} blob {run_git(place, 'hash-object', '-w', '--no-filters', '.blob').strip()}\t{name}")
    return run_git(place, "mktree", stdin="".join(f"{row}\n" for row in sorted(rows))).strip()


def named(place: Path, old: dict[str, bytes], new: dict[str, bytes]) -> str:
    with private_git(discover(place)) as git:
        return patch_id(git, tree(place, old), tree(place, new))


def text(*lines: str) -> bytes:
    return ("\n".join(lines) + "\n").encode()


def changed(at: int, words: str, body: list[str] = BODY) -> bytes:
    return text(*body[:at], words, *body[at + 1 :])


def test_a_change_keeps_its_name_on_another_base(repository: Path) -> None:
    here = named(repository, {"a": text(*BODY)}, {"a": changed(30, "x")})
    moved = ["new", "lines", *BODY]
    there = named(repository, {"a": text(*moved), "b": b"1"}, {"a": changed(32, "x", moved), "b": b"1"})

    assert here == there
    assert here.startswith("sha256:")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param({"a": text(*BODY)}, {"a": changed(30, "x ")}, id="blank at the end"),
        pytest.param({"a": text(*BODY)}, {"a": changed(30, "x\r")}, id="line end"),
        pytest.param({"b": text(*BODY)}, {"b": changed(30, "x")}, id="path"),
        pytest.param({"a.sh": text(*BODY)}, {"a.sh": changed(30, "x")}, id="mode"),
        pytest.param({"a": text(*BODY[:29], "other", *BODY[30:])},
                     {"a": changed(30, "x", [*BODY[:29], "other", *BODY[30:]])}, id="context"),
        pytest.param({"a": text(*BODY)}, {"a": changed(30, "x")[:-1]}, id="no newline at the end"),
    ],
)  # fmt: skip
def test_whatever_else_differs_is_another_name(repository: Path, old: dict[str, bytes], new: dict[str, bytes]) -> None:
    usual = named(repository, {"a": text(*BODY)}, {"a": changed(30, "x")})

    assert named(repository, old, new) != usual


def test_binary_files_count_by_what_they_hold_on_both_sides(repository: Path) -> None:
    one = named(repository, {"a": b"\0one"}, {"a": b"\0two"})

    assert one == named(repository, {"a": b"\0one", "b": b"x"}, {"a": b"\0two", "b": b"x"})
    assert one != named(repository, {"a": b"\0one"}, {"a": b"\0three"})
    assert one != named(repository, {"a": b"\0zero"}, {"a": b"\0two"})


def test_no_config_and_no_attribute_has_a_say(repository: Path) -> None:
    usual = named(repository, {"a": text(*BODY)}, {"a": changed(30, "x")})
    for key, value in (("diff.context", "1"), ("diff.noprefix", "true"), ("diff.algorithm", "patience"),
                       ("diff.external", "false"), ("diff.odd.textconv", "false"), ("diff.odd.binary", "true"),
                       ("core.abbrev", "4"), ("color.ui", "always")):  # fmt: skip
        run_git(repository, "config", key, value)
    (repository / ".git" / "info" / "attributes").write_text("* diff=odd\n")

    assert named(repository, {"a": text(*BODY)}, {"a": changed(30, "x")}) == usual
    attributes = {".gitattributes": b"* -diff\n"}
    assert named(repository, {"a": text(*BODY), **attributes}, {"a": changed(30, "x"), **attributes}) == usual


def test_one_child_names_many_changes_and_nothing_is_named_by_nothing(repository: Path) -> None:
    empty, one, two = tree(repository, {}), tree(repository, {"a": b"1\n"}), tree(repository, {"a": b"2\n"})
    with private_git(discover(repository)) as git:
        single = [patch_id(git, empty, one), patch_id(git, one, two)]
        with patch_ids(git) as ids:
            assert [ids.of(empty, one), ids.of(one, two), ids.of(one, one)] == [*single, ""]
            with pytest.raises(Invalid):
                ids.of("--output=x", one)


def test_the_name_is_the_same_for_every_version(repository: Path) -> None:
    """A change of this value makes every approval worthless after a rebase: it must not happen by accident."""
    assert named(repository, {"a": text(*BODY)}, {"a": changed(30, "x")}) == (
        "sha256:253900d2b0530d28e1921bcf406621393c0109ff59994fc73c92e5b50786fa6e"
    )
