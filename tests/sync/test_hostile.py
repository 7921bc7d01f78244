"""A remote that means no good: what it sends is refused or held aside with a sentence, and nothing local is lost."""

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from gitnexus.base.canonical import json_document, parse_json
from gitnexus.base.clock import utc_now
from gitnexus.base.errors import Conflict, Invalid, NexusError, VerificationFailed
from gitnexus.git import blob_id
from gitnexus.policy import approvers as chain
from gitnexus.policy.signed import FILE, sign_files
from gitnexus.state import STATE_REF, State
from gitnexus.state.format import project_id_of
from tests.conftest import run_git, trust
from tests.policy.signing import Key
from tests.sync.two import Clone

LAW = b"---\nversion: 1\ndeny:\n  - run: [curl, '**']\n---\n\n# Policy\n"
LAX = b"---\nversion: 1\nmode: autopilot\nallow:\n  - run: [curl, '**']\n---\n\n# Policy\n"


@pytest.fixture
def eve(hub: Path, ada: Clone) -> State:
    """The hub, as who owns it writes there; Ada's policy denies something, and she signed it."""
    ada.write({"policy.md": LAW})
    trust(ada.place)
    ada.add(1, "of ada")
    ada.sync()
    return State.open(hub)


def test_a_weaker_policy_that_nobody_signed_is_held_aside(ada: Clone, eve: State) -> None:
    eve.write({"policy.md": LAX, "memory/a.md": b"# A\n"}, why="mischief")

    done = ada.sync()

    assert ada.read("policy.md") == LAW
    assert done.held == {"policy.md": f"it changed since it was signed {_at(eve)}; ours stays"}
    assert [ada.read(path) for path in done.beside] == [LAX]
    assert ada.read("memory/a.md") == b"# A\n"  # what is harmless comes in all the same
    assert eve.latest().read("policy.md") == LAW  # and the remote is right again


def _at(eve: State) -> str:
    return str(parse_json(eve.read(FILE) or b"")["files"]["policy.md"]["at"])


def test_a_policy_signed_by_a_stranger_is_held_aside(ada: Clone, eve: State) -> None:
    signer = Key()
    guarded = {"policy.md": (LAX, blob_id(LAX, "sha1"))}
    raw = sign_files(eve.read(FILE), project_id_of(eve.snapshot) or "", guarded, signer, utc_now())
    eve.write({"policy.md": LAX, FILE: raw}, why="mischief")

    done = ada.sync()

    assert ada.read("policy.md") == LAW
    assert "is not an approver of this project" in done.held["policy.md"]


def test_a_list_of_approvers_that_a_stranger_began_is_held_aside(ada: Clone, eve: State) -> None:
    before = ada.read("approvers")
    signer = Key()
    project = project_id_of(eve.snapshot) or ""
    mine = chain.start_chain(project, "Eve", signer, utc_now()).to_bytes()
    raw = sign_files(None, project, {"policy.md": (LAX, blob_id(LAX, "sha1"))}, signer, utc_now())
    eve.write({"approvers": mine, "policy.md": LAX, FILE: raw}, why="mischief")

    done = ada.sync()

    assert (ada.read("approvers"), ada.read("policy.md")) == (before, LAW)
    assert sorted(done.held) == ["approvers", "policy.md"]


def test_approvers_and_a_policy_that_are_deleted_there_stay(ada: Clone, eve: State) -> None:
    eve.write({"approvers": None, "policy.md": None, FILE: None}, why="mischief")

    done = ada.sync()

    assert ada.read("policy.md") == LAW and ada.read("approvers") is not None and ada.read(FILE) is not None
    assert sorted(done.held) == ["approvers", "policy.md"]


def test_an_old_policy_with_its_true_signature_is_not_brought_out_again(ada: Clone, eve: State) -> None:
    old = {path: eve.read(path) for path in ("policy.md", FILE)}
    ada.write({"policy.md": LAW.replace(b"curl", b"wget")})
    trust(ada.place)
    ada.sync()
    eve.latest()
    eve.write(old, why="mischief")

    done = ada.sync()

    assert ada.read("policy.md") == LAW.replace(b"curl", b"wget")
    assert done.held["policy.md"] == "it is an older version, put back; ours stays"


def test_settings_that_loosen_come_in_without_what_loosens(ada: Clone, eve: State) -> None:
    value = {"memory": {"categories": ["ops"]}, "sandbox": {"level": "L0"}}
    eve.write({"settings.json": json_document(value)}, why="mischief")

    done = ada.sync()

    assert parse_json(ada.read("settings.json") or b"") == {"memory": {"categories": ["ops"]}}
    assert done.held == {"settings.json": "what it would loosen is left out: nobody signed it"}


def tree_with(hub: Path, rows: str) -> None:
    """Commit a tree that no git nexus would write on top of the state."""
    tree = subprocess.run(
        ["git", "mktree", "--missing"], cwd=hub, input=rows, capture_output=True, text=True, check=True
    )
    commit = run_git(hub, "commit-tree", "-p", STATE_REF, "-m", "mischief", tree.stdout.strip())
    run_git(hub, "update-ref", STATE_REF, commit.strip())


@pytest.mark.parametrize(
    ("row", "word"),
    [
        ("100644 blob {blob}\tgit~1", "a spelling of .git"),
        ("120000 blob {blob}\tlink", "a link or a submodule"),
        ("160000 commit {commit}\tmodule", "a link or a submodule"),
        ("100644 blob {blob}\tup\\\\..\\\\x", "a backslash or a colon"),
    ],
)
def test_paths_that_play_tricks_are_left_out_and_told(ada: Clone, eve: State, hub: Path, row: str, word: str) -> None:
    blob = run_git(hub, "hash-object", "-w", "--stdin", stdin="evil").strip()
    commit = run_git(hub, "rev-parse", STATE_REF).strip()
    rows = run_git(hub, "ls-tree", STATE_REF)
    tree_with(hub, rows + row.format(blob=blob, commit=commit) + "\n")

    done = ada.sync()

    assert [word in why for why in done.held.values()] == [True]
    assert run_git(ada.place, "ls-tree", STATE_REF) == rows


@pytest.mark.parametrize(
    "raw", [b'{"id":"../../../home/x","title":"t"}\n', b'{"id":"T3","title":"t"}\n', b"not json", b'{"id":"T2"}\n']
)
def test_a_task_file_that_lies_about_itself_is_left_out_and_told(ada: Clone, eve: State, raw: bytes) -> None:
    eve.write({"backlog/T2.json": raw, "backlog/T1.json": raw}, why="mischief")

    done = ada.sync()

    assert (ada.read("backlog/T2.json"), ada.task(1)["title"]) == (None, "of ada")
    assert sorted(done.held) == ["backlog/T1.json", "backlog/T2.json"]


def refused(ada: Clone, kind: type[NexusError], words: str) -> NexusError:
    before = ada.tip, run_git(ada.place, "status", "--porcelain")
    with pytest.raises(kind, match=words) as said:
        ada.sync()
    assert (ada.tip, run_git(ada.place, "status", "--porcelain")) == before
    return said.value


@pytest.mark.parametrize("mebibytes", [16, pytest.param(1024, marks=pytest.mark.slow)])
def test_a_file_of_up_to_a_gigabyte_is_refused_by_its_size_alone(
    ada: Clone, eve: State, hub: Path, mebibytes: int
) -> None:
    add_large_file(hub, (bytes(2**20) for _ in range(mebibytes)))

    refused(ada, Invalid, f"holds a file of {mebibytes} MiB")


def add_large_file(hub: Path, pieces: Iterable[bytes]) -> None:
    """Add a file to the state on the server with git alone: our own writers search every byte for secrets."""
    with subprocess.Popen(
        ["git", "hash-object", "-w", "--stdin"], cwd=hub, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as made:
        assert made.stdin is not None and made.stdout is not None
        made.stdin.writelines(pieces)
        made.stdin.close()
        blob = made.stdout.read().decode().strip()
    tree_with(hub, run_git(hub, "ls-tree", STATE_REF) + f"100644 blob {blob}\tlarge\n")


def test_more_bytes_than_a_clone_wants_end_the_fetch(ada: Clone, eve: State, hub: Path) -> None:
    run_git(ada.place, "config", "nexus.syncMaxBytes", "1m")
    add_large_file(hub, [os.urandom(11 * 2**20)])

    refused(ada, NexusError, "more than 1 MiB|holds a file of 11 MiB")
    assert list((ada.place / ".git/objects/pack").glob("tmp_*")) == []


@pytest.mark.slow
@pytest.mark.parametrize(("files", "mebibytes"), [(1, 60), (15, 4)])
def test_few_large_files_are_bounded_as_one_is_and_leave_nothing_on_the_disk(
    ada: Clone, eve: State, hub: Path, files: int, mebibytes: int
) -> None:
    run_git(ada.place, "config", "nexus.syncMaxBytes", "20m")
    eve.write({f"memory/{n}.md": os.urandom(mebibytes * 2**20) for n in range(files)}, why="mischief")

    refused(ada, NexusError, "the remote sends more than 20 MiB; the fetch was ended, and nothing was changed")

    assert sum(file.stat().st_size for file in (ada.place / ".git/objects").rglob("*") if file.is_file()) < 2**20


def test_a_history_that_was_rewritten_is_refused_and_can_be_joined(ada: Clone, eve: State, hub: Path) -> None:
    ada.add(2, "more")
    ada.sync()
    run_git(hub, "update-ref", STATE_REF, f"{STATE_REF}~1")
    eve.latest()
    eve.write({"memory/a.md": b"# A\n"}, why="mischief")

    said = refused(ada, Conflict, "was rewritten")
    ada.sync(rewritten=True)

    assert "--rewritten" in (said.hint or "")
    assert (ada.task(2)["title"], eve.latest().read("backlog/T2.json") is not None) == ("more", True)


def test_a_state_that_is_deleted_there_is_told_and_put_back_when_that_is_said(
    ada: Clone, eve: State, hub: Path
) -> None:
    run_git(hub, "update-ref", "-d", STATE_REF)

    said = refused(ada, Conflict, "has none now")
    ada.sync(pull=False, restore=True)

    assert said.fix == "git nexus sync --push origin"
    assert run_git(hub, "rev-parse", STATE_REF).strip() == ada.tip


def test_another_project_in_the_same_history_is_refused(ada: Clone, eve: State) -> None:
    form = parse_json(eve.read("format.json") or b"")
    eve.write({"format.json": json_document({**form, "id": "0" * 16})}, why="mischief")

    refused(ada, VerificationFailed, "is of another project")


def test_a_log_and_a_branch_of_ours_are_not_written_over(ada: Clone, eve: State, hub: Path) -> None:
    run = "261116-1503-k7fb"
    for ref in (f"refs/nexus/runs/{run}", f"refs/heads/nexus/{run}"):
        run_git(ada.place, "update-ref", ref, "HEAD")
    ada.sync()
    evil = run_git(hub, "commit-tree", "-m", "mischief", "HEAD^{tree}").strip()
    for ref in (f"refs/nexus/runs/{run}", f"refs/heads/nexus/{run}"):
        run_git(hub, "update-ref", ref, evil)
    before = run_git(ada.place, "for-each-ref", "refs/nexus/runs", "refs/heads")

    done = ada.sync()

    assert run_git(ada.place, "for-each-ref", "refs/nexus/runs", "refs/heads") == before
    assert [text.endswith("both stay unchanged") for text in done.said] == [True, True]
