"""Looking at a repository: bounded, the same on disk and in a commit, and true."""

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gitnexus.base.errors import Invalid, NotFound
from gitnexus.gateway.table import call_tool
from tests.conftest import run_git
from tests.gateway.scene import TEXT, Law, bench_at

SHOWN = [".gitignore", "a.txt", "data.bin", "link", "src/main.py"]


@pytest.mark.parametrize("revision", ["", "HEAD", "main"])
def test_a_listing_holds_the_files_but_not_the_denied_ones(place: Path, law: Law, revision: str) -> None:
    answer = call_tool(bench_at(place, law), "repo.list_tree", {"revision": revision})

    assert [row["path"] for row in answer["entries"]] == SHOWN
    assert answer["entries"][1] == {"path": "a.txt", "kind": "file", "size": len(TEXT)}
    assert answer["entries"][3]["kind"] == "link"
    assert (answer["more"], answer["hidden"]) == (False, 1)
    assert law.events[-1] == ("tool.read", {"tool": "repo.list_tree", "path": "", "revision": revision})


@pytest.mark.parametrize("revision", ["", "HEAD"])
def test_a_listing_can_be_had_in_pages_and_below_a_folder(place: Path, law: Law, revision: str) -> None:
    bench = bench_at(place, law)

    page = call_tool(bench, "repo.list_tree", {"revision": revision, "offset": 1, "limit": 2})
    below = call_tool(bench, "repo.list_tree", {"revision": revision, "path": "src/"})

    assert [row["path"] for row in page["entries"]] == ["a.txt", "data.bin"]
    assert page["more"] is True
    assert [row["path"] for row in below["entries"]] == ["src/main.py"]


def test_ignored_is_what_the_commit_says_and_not_what_was_written_since(place: Path, law: Law) -> None:
    (place / ".gitignore").write_text("payload.py\n")
    (place / "payload.py").write_text("x\n")
    (place / "ignored").mkdir()
    (place / "ignored" / "x").write_text("x\n")
    (place / "build.log").write_text("x\n")
    bench = bench_at(place, law)

    listed = [row["path"] for row in call_tool(bench, "repo.list_tree", {})["entries"]]
    changed = call_tool(bench, "git.status", {})["changes"]

    assert "payload.py" in listed
    assert not {"ignored/x", "build.log"} & set(listed)
    assert changed == [{"path": ".gitignore", "change": "changed"}, {"path": "payload.py", "change": "added"}]


@pytest.mark.parametrize("revision", ["", "HEAD"])
def test_a_file_is_read_line_by_line(place: Path, law: Law, revision: str) -> None:
    bench = bench_at(place, law)

    whole = call_tool(bench, "repo.read_file", {"path": "a.txt", "revision": revision})
    some = call_tool(bench, "repo.read_file", {"path": "a.txt", "revision": revision, "offset": 2, "limit": 2})
    past = call_tool(bench, "repo.read_file", {"path": "a.txt", "revision": revision, "offset": 99})

    assert whole["text"] == "one\ntwo\nthree\nfour\nfive"
    assert (whole["total"], whole["more"]) == (5, False)
    assert (some["text"], some["from"], some["lines"], some["more"]) == ("two\nthree", 2, 2, True)
    assert (past["text"], past["more"]) == ("", False)


def test_a_long_file_and_a_long_line_are_cut_and_say_so(place: Path, law: Law) -> None:
    (place / "long.txt").write_text("y" * 100 + "\n" + ("x" * 99 + "\n") * 10_000)
    (place / "wide.txt").write_text("x" * 1_000_000)
    bench = bench_at(place, law)

    long = call_tool(bench, "repo.read_file", {"path": "long.txt"})
    wide = call_tool(bench, "repo.read_file", {"path": "wide.txt"})

    assert (long["lines"], long["more"]) == (2000, True)
    assert len(wide["text"]) <= 256 * 1024


def test_a_binary_file_is_named_so_and_not_shown(place: Path, law: Law) -> None:
    assert call_tool(bench_at(place, law), "repo.read_file", {"path": "data.bin"}) == {
        "path": "data.bin", "size": 1024, "binary": True,
    }  # fmt: skip


def test_a_link_inside_is_followed_on_disk(place: Path, law: Law) -> None:
    (place / "deep").symlink_to("src/../src")

    assert call_tool(bench_at(place, law), "repo.read_file", {"path": "link"})["text"] == "print('hello')"
    assert call_tool(bench_at(place, law), "repo.read_file", {"path": "deep/main.py"})["text"] == "print('hello')"


@pytest.mark.parametrize("path", ["nothing", "src/nothing", "a.txt/x", "src"])
def test_what_is_no_file_is_named(place: Path, law: Law, path: str) -> None:
    with pytest.raises((NotFound, Invalid)):
        call_tool(bench_at(place, law), "repo.read_file", {"path": path})
    with pytest.raises((NotFound, Invalid)):
        call_tool(bench_at(place, law), "repo.read_file", {"path": path, "revision": "HEAD"})


SEARCHES: list[tuple[dict[str, Any], list[tuple[str, int]]]] = [
    ({"query": "hello"}, [("src/main.py", 1)]),
    ({"query": "HELLO"}, []),
    ({"query": "HELLO", "ignore_case": True}, [("src/main.py", 1)]),
    ({"query": "^t", "regex": True}, [("a.txt", 2), ("a.txt", 3)]),
    ({"query": "^t"}, []),
    ({"query": "t", "path": "src"}, [("src/main.py", 1)]),
    ({"query": "--help"}, []),
]


@pytest.mark.parametrize("revision", ["", "HEAD"])
@pytest.mark.parametrize(("params", "hits"), SEARCHES)
def test_a_search_finds_lines(
    place: Path, law: Law, params: dict[str, Any], hits: list[tuple[str, int]], revision: str
) -> None:
    answer = call_tool(bench_at(place, law), "repo.search", {**params, "revision": revision})

    assert [(hit["path"], hit["line"]) for hit in answer["hits"]] == hits


def test_a_search_is_bounded_and_no_pattern_makes_it_slow(place: Path, law: Law) -> None:
    (place / "many.txt").write_text("needle\n" * 1000)
    (place / "evil.txt").write_text("a" * 5000 + "!\n")
    bench = bench_at(place, law)

    answer = call_tool(bench, "repo.search", {"query": "needle"})
    slow = call_tool(bench, "repo.search", {"query": "^(a+)+$", "regex": True})

    assert (len(answer["hits"]), answer["more"]) == (200, True)
    assert slow["hits"] == []
    for query in ("(", "a\nb", "", "\ud83d", "(?P<x>"):
        with pytest.raises(Invalid):
            call_tool(bench, "repo.search", {"query": query, "regex": True})


def test_a_line_of_a_private_key_is_not_found_by_itself(place: Path, law: Law) -> None:
    body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7"
    word = "PRIVATE" + " KEY"
    (place / "notes.txt").write_text(f"-----BEGIN {word}-----\n{body}\n{body}\n-----END {word}-----\n")
    bench = bench_at(place, law)

    def key_hidden(text: str) -> str:
        return re.sub("-----BEGIN.*-----", "[private key]", text, flags=re.DOTALL)

    bench = replace(bench, gate=replace(bench.gate, mask=key_hidden))

    assert body not in str(call_tool(bench, "repo.search", {"query": "MIIEvQ"}))
    assert body not in str(call_tool(bench, "repo.read_file", {"path": "notes.txt", "offset": 2}))


def test_the_status_tells_every_kind_of_change_and_what_fits_into_no_tree(place: Path, law: Law) -> None:
    (place / "a.txt").unlink()
    (place / "src" / "main.py").chmod(0o755)
    (place / "link").unlink()
    (place / "link").write_text("now a file\n")
    (place / "new.txt").write_text("x\n")
    os.mkfifo(place / "pipe")
    (place / "nested").mkdir()
    run_git(place / "nested", "init", "-q")

    answer = call_tool(bench_at(place, law), "git.status", {})

    assert answer["changes"] == [
        {"path": "a.txt", "change": "deleted"},
        {"path": "link", "change": "replaced by another kind"},
        {"path": "new.txt", "change": "added"},
        {"path": "src/main.py", "change": "mode changed"},
    ]
    assert [row["path"] for row in answer["odd"]] == ["nested", "pipe"]


def test_the_diff_of_the_worktree_is_a_patch_that_applies(place: Path, law: Law) -> None:
    (place / "a.txt").write_text(TEXT.replace("two", "2"))
    (place / "new.txt").write_text("new\n")
    bench = bench_at(place, law)
    patch = call_tool(bench, "git.diff", {})["diff"]
    run_git(place, "checkout", "-q", "a.txt")
    (place / "new.txt").unlink()

    call_tool(bench, "repo.apply_patch", {"patch": patch})

    assert (place / "a.txt").read_text() == TEXT.replace("two", "2")
    assert (place / "new.txt").read_text() == "new\n"


def test_before_the_first_commit_there_is_only_the_disk(tmp_path: Path, law: Law) -> None:
    (tmp_path / "fresh").mkdir()
    run_git(tmp_path / "fresh", "init", "-q")
    (tmp_path / "fresh" / "x").write_text("x\n")
    bench = bench_at(tmp_path / "fresh", law)

    assert [row["path"] for row in call_tool(bench, "repo.list_tree", {})["entries"]] == ["x"]
    assert call_tool(bench, "cmd.run", {"argv": ["true"]})["status"] == 0
    for tool in ("git.status", "git.diff"):
        with pytest.raises(NotFound):
            call_tool(bench, tool, {})


def test_a_bare_repository_is_read_by_its_commits(place: Path, law: Law, tmp_path: Path) -> None:
    run_git(place, "clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    bench = bench_at(tmp_path / "bare.git", law)

    assert call_tool(bench, "repo.read_file", {"path": "a.txt", "revision": "main"})["total"] == 5
    with pytest.raises(Invalid, match="bare"):
        call_tool(bench, "repo.read_file", {"path": "a.txt"})


@pytest.mark.parametrize("revision", ["", "HEAD"])
def test_names_that_are_no_utf_8_are_spelled_out_and_hurt_nobody(place: Path, law: Law, revision: str) -> None:
    (place / os.fsdecode(b"caf\xe9.txt")).write_text("needle\n")
    (place / os.fsdecode(b"d\xff")).mkdir()
    (place / os.fsdecode(b"d\xff") / ".env").write_text("needle\n")
    run_git(place, "add", "-A")
    run_git(place, "commit", "-qm", "latin")
    bench = bench_at(place, law)

    listed = [row["path"] for row in call_tool(bench, "repo.list_tree", {"revision": revision})["entries"]]
    hits = call_tool(bench, "repo.search", {"query": "needle", "revision": revision})["hits"]
    read = call_tool(bench, "repo.read_file", {"path": os.fsdecode(b"caf\xe9.txt"), "revision": revision})
    (place / os.fsdecode(b"caf\xe9.txt")).unlink()

    assert "caf\\xe9.txt" in listed
    assert [hit["path"] for hit in hits] == ["caf\\xe9.txt"]
    assert read["text"] == "needle"
    assert call_tool(bench, "git.status", {})["changes"] == [{"path": "caf\\xe9.txt", "change": "deleted"}]
    assert "-needle" in call_tool(bench, "git.diff", {})["diff"]
