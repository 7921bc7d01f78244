"""Commits written and read as they are, whatever they hold."""

from pathlib import Path

import pytest

from gitnexus.base.errors import Invalid, NotFound
from gitnexus.git import Author, discover
from gitnexus.git.commits import CommitRange, iterate_commits, parse_commit_range, write_commit_object
from gitnexus.git.private import private_git
from tests.conftest import run_git

MESSAGES = ["plain\n", "no newline at the end", "a\n\nb\n\n---\nc\n", "\x1b[31mred\n", "ümläut\u2028x\n", "\ttab\r\n",
            "x\n\n" + "long " * 30_000 + "\n", "commit 0000\ntree 0000\n", "- dash\n> head\n"]  # fmt: skip


def test_a_range_comes_back_whole_parents_first_with_their_trees(repository: Path) -> None:
    base = run_git(repository, "rev-parse", "HEAD").strip()
    tree = run_git(repository, "rev-parse", "HEAD^{tree}").strip()
    empty = run_git(repository, "mktree").strip()
    with private_git(discover(repository)) as git:
        tip, made = base, []
        for at, text in enumerate(MESSAGES):
            tip = write_commit_object(
                git, empty if at % 2 else tree, [tip], text, Author("agent", "a@b", 1), Author("me", "m@b", 2)
            )
            made.append(tip)
        merge = write_commit_object(git, tree, [tip, base], "merge\n", Author("me", "m@b", 3))
        rows = list(iterate_commits(git, CommitRange(merge, (base,))))
        last = list(iterate_commits(git, CommitRange(merge), most=2))

    assert [row.id for row in rows] == [*made, merge]
    assert [row.message for row in rows[:-1]] == MESSAGES
    assert [row.parent_trees for row in rows[:2]] == [(tree,), (tree,)]
    assert rows[-1].parents == (tip, base)
    assert rows[-1].parent_trees == (rows[-2].tree, tree)
    assert last == rows[-2:]
    assert run_git(repository, "log", "-1", "--format=%an %cn", made[0]) == "agent me\n"
    run_git(repository, "fsck", "--strict")


def test_a_name_cannot_write_a_line_of_its_own(repository: Path) -> None:
    tree = run_git(repository, "rev-parse", "HEAD^{tree}").strip()
    with private_git(discover(repository)) as git:
        made = write_commit_object(git, tree, [], "x\n", Author("a\ngpgsig evil <x>", "m>\n<@b", 1))

    assert run_git(repository, "log", "-1", "--format=%an|%ae", made) == "agpgsig evil x|m@b\n"


def test_what_is_not_there_or_no_id_is_refused(repository: Path) -> None:
    tree = run_git(repository, "rev-parse", "HEAD^{tree}").strip()
    who = Author("a", "b", 1)
    with private_git(discover(repository)) as git:
        for bad, error in (("--help", Invalid), ("HEAD", Invalid), ("0" * 40, NotFound)):
            with pytest.raises(error):
                write_commit_object(git, bad, [], "x", who)
        with pytest.raises(NotFound):
            write_commit_object(git, tree, [tree], "x", who)
        with pytest.raises(Invalid):
            write_commit_object(git, tree, [], "x\0y", who)
        with pytest.raises(Invalid):
            list(iterate_commits(git, CommitRange("--all")))


def test_a_range_is_read_as_people_write_it(repository: Path) -> None:
    first = run_git(repository, "rev-parse", "HEAD").strip()
    run_git(repository, "commit", "-q", "--allow-empty", "-m", "second")
    second = run_git(repository, "rev-parse", "HEAD").strip()
    repo = discover(repository)
    with private_git(repo) as git:
        found = [
            parse_commit_range(repo, git, text)
            for text in ("HEAD~1..HEAD", f"{first}..", "main^..main", "@", first[:10])
        ]

    both = CommitRange(second, (first,))
    assert found == [both, both, both, CommitRange(second), CommitRange(first)]
