"""`doctor --fix` on a damaged state: what can be had comes back, what cannot is left out by file and named."""

import errno
import json
import os
from pathlib import Path

import pytest

from gitnexus.app import salvage
from gitnexus.app.rescue import mend_state
from gitnexus.git import discover
from gitnexus.state import STATE_REF
from tests.conftest import Nexus, run_git
from tests.rows import few_fast


@pytest.fixture
def kept(project: Path, nexus: Nexus) -> Nexus:
    """A project with two tasks and two notes, a change each."""
    for number in ("1", "2"):
        nexus.ok("task", "add", f"task {number}")
        nexus.ok("memory", "add", f"note-{number}", f"text {number}")
    return nexus


def object_file(place: Path, name: str) -> Path:
    oid = run_git(place, "rev-parse", name).strip()
    return place / ".git" / "objects" / oid[:2] / oid[2:]


def damage(file: Path, how: str) -> None:
    file.chmod(0o644)
    if how == "missing":
        file.unlink()
    else:
        file.write_bytes(b"damaged")


def files_on_ref(place: Path) -> list[str]:
    return run_git(place, "ls-tree", "-r", "--name-only", STATE_REF).split()


@pytest.mark.parametrize("how", ["missing", "damaged"])
def test_a_blob_whose_bytes_lie_in_the_checkout_comes_back_and_no_change_is_lost(kept: Nexus, how: str) -> None:
    tip = run_git(kept.place, "rev-parse", STATE_REF)
    damage(object_file(kept.place, f"{STATE_REF}:memory/note-1.md"), how)

    told = kept("doctor")
    shown = kept.ok("doctor", "--fix")

    assert told.returncode == 1
    assert "missing or damaged in git: memory/note-1.md" in told.stdout
    assert "restored memory/note-1.md" in shown
    assert run_git(kept.place, "rev-parse", STATE_REF) == tip
    assert run_git(kept.place, "fsck", "--no-dangling") == ""
    assert "text 1" in kept.ok("memory", "show", "note-1")


@pytest.mark.parametrize("how", ["missing", "damaged"])
def test_a_record_that_cannot_be_read_harms_no_other(kept: Nexus, how: str) -> None:
    for path in ("memory/note-1.md", "backlog/T1.json"):
        damage(object_file(kept.place, f"{STATE_REF}:{path}"), how)

    notes, tasks = kept("memory", "list"), kept("task", "list")

    assert (notes.returncode, tasks.returncode) == (0, 0)
    assert "note-2" in notes.stdout
    assert "memory/note-1.md is missing or damaged" in notes.stderr
    assert "task 2" in tasks.stdout
    assert "backlog/T1.json is missing or damaged" in tasks.stdout + tasks.stderr
    assert "Added T3" in kept.ok("task", "add", "task 3")


def test_what_nobody_has_is_left_out_by_file_and_its_number_is_not_given_again(kept: Nexus) -> None:
    tip = run_git(kept.place, "rev-parse", STATE_REF).strip()
    for path in ("memory/note-1.md", "backlog/T2.json"):
        damage(object_file(kept.place, f"{STATE_REF}:{path}"), "missing")
        (kept.place / ".nexus" / path).write_text("{}")

    findings = json.loads(kept("doctor", "--fix", "--json").stdout)["findings"]

    lost = [row["message"].split(" ")[0] for row in findings if " is lost: " in row["message"]]
    assert lost == ["backlog/T2.json", "memory/note-1.md"]
    assert {"backlog/T1.json", "memory/note-2.md", "approvers"} <= set(files_on_ref(kept.place))
    kept_ref = next(row["message"].split(" ")[-1] for row in findings if "is kept as" in row["message"])
    assert run_git(kept.place, "rev-parse", kept_ref).strip() == tip
    assert "Added T3" in kept.ok("task", "add", "another")
    assert run_git(kept.place, "rev-list", "--objects", "--quiet", STATE_REF) == ""


@pytest.mark.parametrize("name", [f"{STATE_REF}^{{tree}}", f"{STATE_REF}:memory", STATE_REF])
@pytest.mark.parametrize("how", few_fast(["missing", "damaged"]))
def test_a_tree_or_commit_that_is_gone_is_made_again_from_the_checkout(kept: Nexus, name: str, how: str) -> None:
    files = run_git(kept.place, "ls-tree", "-r", STATE_REF)
    damage(object_file(kept.place, name), how)

    kept("doctor", "--fix")

    assert run_git(kept.place, "ls-tree", "-r", STATE_REF) == files
    assert run_git(kept.place, "rev-list", "--objects", "--quiet", STATE_REF) == ""
    assert "text 2" in kept.ok("memory", "show", "note-2")


def test_what_only_a_remote_has_is_fetched_from_there(kept: Nexus, tmp_path: Path) -> None:
    tip = run_git(kept.place, "rev-parse", STATE_REF)
    run_git(tmp_path, "init", "-q", "--bare", "server.git")
    run_git(kept.place, "remote", "add", "origin", str(tmp_path / "server.git"))
    run_git(kept.place, "push", "-q", "origin", f"{STATE_REF}:{STATE_REF}")
    (kept.place / ".nexus" / "memory" / "note-1.md").write_text("# Note\n\nedited\n")
    for name in (f"{STATE_REF}:memory/note-1.md", f"{STATE_REF}~2:memory", f"{STATE_REF}~1"):
        damage(object_file(kept.place, name), "missing")

    shown = kept("doctor", "--fix").stdout

    assert "restored memory/note-1.md from origin" in shown
    assert run_git(kept.place, "merge-base", STATE_REF, tip.strip()) == tip
    assert run_git(kept.place, "fsck", "--no-dangling") == ""


@pytest.mark.parametrize("aim", ["code", "symbolic", "damaged"])
def test_a_ref_that_names_no_state_is_noticed_by_every_command_and_put_back(kept: Nexus, aim: str) -> None:
    place = kept.place
    good, code = (run_git(place, "rev-parse", name).strip() for name in (STATE_REF, "refs/heads/main"))
    files = {path.name for path in (place / ".nexus").iterdir()}
    if aim == "code":
        run_git(place, "update-ref", STATE_REF, "refs/heads/main")
    elif aim == "symbolic":
        run_git(place, "symbolic-ref", STATE_REF, "refs/heads/main")
    else:
        oid = run_git(place, "hash-object", "-w", "--stdin", stdin="no commit").strip()
        (place / ".git" / STATE_REF).write_text(f"{oid}\n")

    statuses = {
        words: kept(*words.split()).returncode for words in ("status", "task list", "task add x", "init", "log")
    }
    run_git(place, "checkout", "-q", "-b", "other")
    refused = kept("doctor")
    kept("doctor", "--fix")

    assert statuses == dict.fromkeys(statuses, 1)
    assert refused.returncode == 1
    assert run_git(place, "rev-parse", STATE_REF).strip() == good
    assert run_git(place, "rev-parse", "refs/heads/main").strip() == code
    assert {path.name for path in (place / ".nexus").iterdir()} == files
    assert "task 2" in kept.ok("task", "list")


def test_a_disk_that_refuses_to_take_what_is_there_loses_none_of_it(
    kept: Nexus, monkeypatch: pytest.MonkeyPatch
) -> None:
    tip = run_git(kept.place, "rev-parse", STATE_REF)
    damage(object_file(kept.place, f"{STATE_REF}:memory/note-1.md"), "missing")

    def refuse(*_: object, **__: object) -> str:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as full:
        full.setattr(salvage, "write_loose", refuse)
        with pytest.raises(OSError, match="No space left on device"):
            mend_state(discover(kept.place))

    assert run_git(kept.place, "rev-parse", STATE_REF) == tip
    assert "restored memory/note-1.md" in kept.ok("doctor", "--fix")
    assert "text 1" in kept.ok("memory", "show", "note-1")


def test_a_remote_that_cannot_be_asked_for_what_is_lost_is_named(kept: Nexus, tmp_path: Path) -> None:
    run_git(kept.place, "remote", "add", "origin", str(tmp_path / "not-there.git"))
    damage(object_file(kept.place, f"{STATE_REF}:memory/note-1.md"), "missing")
    (kept.place / ".nexus" / "memory" / "note-1.md").write_text("another text\n")

    shown = kept("doctor", "--fix").stdout

    assert "memory/note-1.md is lost" in shown
    assert "origin could not be asked, and may have what is lost" in shown


@pytest.mark.parametrize("path", few_fast(["backlog/T2.json", "memory/note-2.md"]))
def test_what_was_left_out_while_the_remote_was_away_comes_back_when_it_answers(
    kept: Nexus, tmp_path: Path, path: str
) -> None:
    run_git(tmp_path, "init", "-q", "--bare", "server.git")
    run_git(kept.place, "remote", "add", "origin", str(tmp_path / "server.git"))
    kept.ok("sync")
    damage(object_file(kept.place, f"{STATE_REF}:{path}"), "missing")
    (kept.place / ".nexus" / path).unlink()
    (tmp_path / "server.git").rename(tmp_path / "away.git")
    assert f"{path} is lost" in kept("doctor", "--fix").stdout
    (tmp_path / "away.git").rename(tmp_path / "server.git")
    refused = kept("sync")
    assert (refused.returncode, "git nexus doctor --fix" in refused.stderr) == (1, True)

    seen = kept("doctor").stdout
    shown = kept.ok("doctor", "--fix")
    said = kept.ok("sync")

    assert "refs/nexus/lost/" in seen and "lacks objects" in seen, seen
    assert "1 object is back" in shown, shown
    assert path in files_on_ref(kept.place)
    assert '"tombstone"' not in run_git(kept.place, "show", f"{STATE_REF}:{path}"), said
    assert "lacks objects" not in kept.ok("doctor")
