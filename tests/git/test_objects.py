"""One contract for both ways of talking to git."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitnexus.git import Author, GitFailed, Objects, RefLocked, blob_id, discover
from gitnexus.git.loose import is_plainly_written
from gitnexus.git.native import NativeObjects
from gitnexus.git.plumbing import PlumbingObjects
from tests.conftest import examples, run_git
from tests.waiting import age_lock

WHO = Author("Ada Lövelace", "ada@example.com", 1_700_000_000, 90)
REF = "refs/nexus/state"


def opened(place: Path, way: str) -> Objects:
    repo = discover(place)
    if way == "plumbing":
        return PlumbingObjects(repo)
    native = NativeObjects.open(repo)
    assert native is not None
    return native


@pytest.fixture(params=["plumbing", "native"])
def objects(request: pytest.FixtureRequest, repository: Path) -> Iterator[Objects]:
    found = opened(repository, request.param)
    yield found
    found.close()


def commit(objects: Objects, parents: list[str], changes: dict[str, bytes | None], message: str = "why\n") -> str:
    return objects.write_commit(parents=parents, changes=changes, message=message, author=WHO)[0]


def test_files_of_a_commit_are_read_back(objects: Objects) -> None:
    made = commit(objects, [], {"a.txt": b"one\n", "ö rdner/b c.txt": b"two\n", "empty": b""})

    tree = objects.tree_of(made)
    entry = objects.find(tree, "ö rdner/b c.txt")

    assert entry is not None
    assert objects.blob(entry.oid) == b"two\n"
    assert sorted(objects.entries(tree)) == ["a.txt", "empty", "ö rdner"]
    assert objects.find(tree, "ö rdner/nothing") is None
    assert objects.find(tree, "a.txt/below") is None


def test_many_blobs_are_read_at_once_in_their_order(objects: Objects) -> None:
    files = {f"n/{number}": b"%d " % number * (number % 700) for number in range(1200)}
    rows = objects.entries(objects.entries(objects.tree_of(commit(objects, [], dict(files))))["n"].oid)

    found = list(objects.blobs([rows[path.removeprefix("n/")].oid for path in files]))

    assert found == list(files.values())
    assert list(objects.blobs([])) == []


def test_a_missing_blob_among_many_is_told_and_the_next_question_is_answered(objects: Objects) -> None:
    tree = objects.tree_of(commit(objects, [], {"a": b"one", "b": b"two"}))
    a, b = (objects.entries(tree)[name].oid for name in "ab")

    with pytest.raises(GitFailed, match="missing"):
        list(objects.blobs([a, "1" * 40, b]))
    with pytest.raises(GitFailed, match="not a blob"):
        list(objects.blobs([a, tree, b]))

    assert list(objects.blobs([b, a])) == [b"two", b"one"]


def test_deleting_the_last_file_of_a_folder_deletes_the_folder(objects: Objects) -> None:
    first = commit(objects, [], {"keep": b"", "deep/er/x": b"1", "deep/y": b"2"})
    second = commit(objects, [first], {"deep/er/x": None, "deep/y": None, "not/there": None})

    assert list(objects.entries(objects.tree_of(second))) == ["keep"]


def test_a_file_makes_room_for_a_folder_and_back(objects: Objects) -> None:
    first = commit(objects, [], {"x": b"file"})
    second = commit(objects, [first], {"x": None, "x/y": b"in folder"})
    third = commit(objects, [second], {"x/y": None, "x": b"file"})

    assert objects.find(objects.tree_of(second), "x/y") is not None
    assert objects.tree_of(third) == objects.tree_of(first)


def test_the_ref_moves_only_from_where_it_was_seen(objects: Objects) -> None:
    first = commit(objects, [], {"a": b"1"})
    second = commit(objects, [first], {"a": b"2"})

    assert objects.tip(REF) is None
    assert objects.swap(REF, None, first, "begin")
    assert not objects.swap(REF, None, second, "again")
    assert not objects.swap(REF, second, first, "back")
    assert objects.swap(REF, first, second, "on")
    assert objects.tip(REF) == second
    assert objects.swap(REF, second, None, "end")
    assert objects.tip(REF) is None


def test_every_move_is_in_the_reflog_with_its_reason(objects: Objects, repository: Path) -> None:
    first = commit(objects, [], {"a": b"1"})
    second = commit(objects, [first], {"a": b"2"})
    objects.swap(REF, None, first, "state: begin\n\nmore")
    objects.swap(REF, first, second, "state: go on")

    shown = run_git(repository, "reflog", "show", "--format=%H %gs", REF)

    assert shown.splitlines() == [f"{second} state: go on", f"{first} state: begin"]


def test_a_ref_whose_lock_is_held_says_so_and_moves_nothing(objects: Objects, repository: Path) -> None:
    first = commit(objects, [], {"a": b"1"})
    second = commit(objects, [first], {"a": b"2"})
    objects.swap(REF, None, first, "begin")

    with (repository / ".git" / f"{REF}.lock").open("w"), pytest.raises(RefLocked):
        objects.swap(REF, first, second, "on")

    assert objects.tip(REF) == first


def test_a_lock_that_a_killed_git_left_a_moment_ago_is_waited_for_and_broken(
    objects: Objects, repository: Path
) -> None:
    first = commit(objects, [], {"a": b"1"})
    second = commit(objects, [first], {"a": b"2"})
    objects.swap(REF, None, first, "begin")
    left = repository / ".git" / f"{REF}.lock"
    left.touch()
    age_lock(left)

    assert objects.swap(REF, first, second, "on")

    assert objects.tip(REF) == second


def test_a_branch_of_the_same_name_is_not_mistaken_for_the_ref(objects: Objects, repository: Path) -> None:
    run_git(repository, "update-ref", f"refs/heads/{REF}", "HEAD")

    assert objects.tip(REF) is None


def test_a_packed_ref_is_found(objects: Objects, repository: Path) -> None:
    first = commit(objects, [], {"a": b"1"})
    objects.swap(REF, None, first, "begin")
    run_git(repository, "pack-refs", "--all", "--prune")

    assert objects.tip(REF) == first


def test_an_object_that_is_missing_is_named(objects: Objects) -> None:
    missing = "1" * 40

    with pytest.raises(GitFailed) as failed:
        objects.blob(missing)

    assert missing in failed.value.message


def test_writing_leaves_no_ref_behind(objects: Objects, repository: Path) -> None:
    before = run_git(repository, "for-each-ref")
    commit(objects, [], {"a": b"1"})

    assert run_git(repository, "for-each-ref") == before
    assert not list((repository / ".git").glob("fast_import_crash*"))


names = st.text(
    st.characters(min_codepoint=33, max_codepoint=0x2FF, exclude_characters='/\x7f"'), min_size=1, max_size=8
)
paths = st.lists(names.filter(lambda n: n not in (".", "..", ".git")), min_size=1, max_size=3).map("/".join)
trees = st.dictionaries(paths, st.binary(max_size=20), max_size=6).filter(
    lambda files: not any(a != b and b.startswith(a + "/") for a in files for b in files)
)


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=trees, after=trees)
def test_both_ways_write_the_very_same_commit(
    repository: Path, before: dict[str, bytes], after: dict[str, bytes]
) -> None:
    made = []
    for way in ("plumbing", "native"):
        objects = opened(repository, way)
        first = commit(objects, [], dict(before))
        changes: dict[str, bytes | None] = {**dict.fromkeys(before), **after}
        made.append((first, commit(objects, [first], changes, "second\n\nbecause ü\n")))
        objects.close()

    assert made[0] == made[1]


def test_blob_ids_are_gits_own(repository: Path) -> None:
    asked = subprocess.run(
        ["git", "hash-object", "--stdin"], cwd=repository, input=b"x\0y", capture_output=True, check=True
    )

    assert blob_id(b"x\0y", "sha1") == asked.stdout.decode().strip()


def test_a_sha256_repository_takes_the_way_that_knows_it(tmp_path: Path) -> None:
    run_git(tmp_path, "init", "-q", "--object-format=sha256")

    assert NativeObjects.open(discover(tmp_path)) is None
    objects = opened(tmp_path, "plumbing")
    made = commit(objects, [], {"a": b"1"})
    assert len(made) == 64
    assert objects.swap(REF, None, made, "begin")
    assert objects.tip(REF) == made
    objects.close()


def test_a_deletion_below_a_file_leaves_the_file(objects: Objects) -> None:
    first = commit(objects, [], {"a": b"1", "b/c": b"2"})

    second = commit(objects, [first], {"a/x": None, "b/c/d": None, "gone/y": None})

    assert objects.tree_of(second) == objects.tree_of(first)


@pytest.mark.parametrize("setting", ["core.fsync=all", "core.fsyncObjectFiles=true", "core.sharedRepository=group", ""])
def test_however_objects_are_written_git_finds_them_whole(repository: Path, setting: str) -> None:
    if setting:
        run_git(repository, "config", *setting.split("="))
    objects = PlumbingObjects(discover(repository))

    made = commit(objects, [], {"a": b"one", "b/c.txt": b"two", "b.c": b"three", "b-c": b"four"})
    objects.swap(REF, None, made, "why")
    objects.close()

    run_git(repository, "fsck", "--strict", "--connectivity-only")
    assert run_git(repository, "ls-tree", "-r", "--name-only", made).split() == ["a", "b-c", "b.c", "b/c.txt"]
    assert is_plainly_written(repository / ".git") == (setting == "")


def test_a_packed_ref_is_found_and_one_that_only_ends_like_it_is_not(objects: Objects, repository: Path) -> None:
    made = commit(objects, [], {"a": b"1"})
    objects.swap(REF, None, made, "why")
    run_git(repository, "pack-refs", "--all")

    assert objects.tip(REF) == made
    assert objects.tip("refs/nexus/nexus/state") is None
    assert objects.tip("refs/nexus/stat") is None
