"""Packs from a real repository: the budget, the cut, what is left out, and the same again."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitnexus.app import open_nexus
from gitnexus.base.errors import Invalid, NotFound, VerificationFailed
from gitnexus.gateway.recorder import run_folder
from gitnexus.git import discover
from gitnexus.git.private import private_git
from gitnexus.git.revisions import resolve_commit
from gitnexus.packs import ContextPack, Library, PackBudget, estimate_tokens, pack_references, rebuild_pack, render_pack
from gitnexus.packs.find import RunArtifact
from gitnexus.packs.store import PackCache
from gitnexus.packs.tree import BaseTree
from gitnexus.policy import denied_by
from gitnexus.runs.workflow.packs import build_pack, find_pack, pack_text, verify_pack
from gitnexus.state import State
from tests.conftest import Nexus, examples, run_git, trust

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
OF_KEY = "RSA PRIVATE KEY-----\n"
KEY = f"-----BEGIN {OF_KEY}" + "MIIEpAIBAAKCAQEAabcdEFGH1234\n" * 4 + f"-----END {OF_KEY}"
FILES = {
    "AGENDA.md": "---\nID: agenda\n---\n\n# Agenda\n\nGOAL:\n- one\n- two\n\nCONSTRAINTS:\n- no network\n",
    "src/app.py": "".join(f"def step_{at}(): pass\n" for at in range(1, 101)),
    "src/wide.py": "x = '" + "y" * 3000 + "'\n",
    "src/secret.py": f"before\n{KEY}TOKEN = '{TOKEN}'\nafter\n",
    "src/end.txt": "one\r\ntwo\r\nthree",
    ".env": "PASSWORD=" + "hunter2 step_1\n",
    "empty.txt": "",
}
REFS = [
    "src/app.py", "src/app.py#L5-L40", "src/app.py#L90", "src/wide.py", "src/secret.py", "doc:agenda#GOAL", "AGENDA.md",
    "grep:step_1", "grep[src]:pass", ".env", "gone.py", "artifact:run/log", "empty.txt", "src/app.py#L500", "memory:x",
]  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("packs")
    run_git(place, "init", "-q")
    for name, text in FILES.items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_bytes(text.encode())
    (place / "data.bin").write_bytes(b"\0\1step_1")
    (place / "link").symlink_to("src/app.py")
    run_git(place, "add", ".")
    run_git(place, "-c", "user.name=T", "-c", "user.email=t@example.com", "commit", "-qm", "all")
    return place


@pytest.fixture(scope="module")
def library(place: Path) -> Iterator[Library]:
    repo = discover(place)
    log = RunArtifact("run", "sha256:" + "a" * 64, "log", b"step_1 ok\n" * 30, "b" * 40)
    state = State.open(place)
    with private_git(repo) as git:
        tree = BaseTree(git, resolve_commit(repo, git, "HEAD"), denied_by)
        yield Library(tree, state.latest(), lambda run, word: log)
    state.close()


def out(pack: ContextPack) -> dict[str, str]:
    return {one.ref: one.why for one in pack.left_out}


@given(
    refs=st.lists(st.sampled_from(REFS), max_size=8),
    kib=st.integers(1, 12),
    tokens=st.sampled_from([0, 400, 900, 2000]),
)
@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_pack_is_larger_than_its_budget_and_each_is_the_same_again(
    library: Library, refs: list[str], kib: int, tokens: int
) -> None:
    pack = pack_references(library, refs, PackBudget(kib=kib, tokens=tokens))
    text = render_pack(pack)

    assert len(text.encode()) <= kib * 1024
    assert not tokens or estimate_tokens(text) <= tokens
    assert rebuild_pack(pack, library) == pack
    assert ContextPack.from_value(json.loads(json.dumps(pack.plain())), "pack").verified() == pack
    told = {one.ref for one in pack.pieces} | set(out(pack))
    assert told == set(pack.refs)
    assert "hunter2" not in text and TOKEN not in text and "MIIEpAIBAAKCAQEA" not in text


def test_every_piece_says_where_its_lines_come_from(library: Library, place: Path) -> None:
    pack = pack_references(library, ["src/app.py#L5-L6", "doc:agenda#CONSTRAINTS", "grep:step_100"], PackBudget())

    assert [one.text for one in pack.pieces] == [
        "def step_5(): pass\ndef step_6(): pass\n",
        "CONSTRAINTS:\n- no network\n",
        "src/app.py:100: def step_100(): pass\n",
    ]
    for piece in pack.pieces:
        for source in piece.sources:
            assert source.commit == run_git(place, "rev-parse", "HEAD").strip()
            assert source.blob == run_git(place, "rev-parse", f"HEAD:{source.path}").strip()
    assert [(one.sources[0].first_line, one.sources[0].last_line) for one in pack.pieces] == [
        (5, 6),
        (11, 12),
        (100, 100),
    ]


def test_a_file_is_cut_at_a_line_and_a_document_is_not_cut(library: Library) -> None:
    pack = pack_references(library, ["src/app.py", "AGENDA.md#GOAL", "src/end.txt"], PackBudget(kib=1))
    file = pack.pieces[0]

    assert (file.cut, file.lines, file.text.count("\n")) == (True, 100, file.sources[0].last_line)
    assert file.text.endswith("(): pass\n")
    assert list(out(pack)) == ["file:src/app.py", "doc:AGENDA.md#GOAL", "file:src/end.txt"]
    assert out(pack)["file:src/app.py"] == f"cut: {file.sources[0].last_line} of 100 lines fit"
    assert "are left" in out(pack)["doc:AGENDA.md#GOAL"]


def test_what_does_not_fit_leaves_its_room_to_what_comes_after(library: Library) -> None:
    pack = pack_references(library, ["src/wide.py", "AGENDA.md#GOAL"], PackBudget(kib=1))

    assert [one.ref for one in pack.pieces] == ["doc:AGENDA.md#GOAL"]
    assert list(out(pack)) == ["file:src/wide.py"]


def test_what_is_left_out_says_why(library: Library) -> None:
    refs = [".env", "gone.py", "src", "link", "data.bin", "empty.txt", "doc:agenda#NOPE", "grep:nowhere to be",
            "task:T9", "memory:../policy", "src/app.py", "src/app.py#L5-L6", "doc:.env#X"]  # fmt: skip

    told = out(pack_references(library, refs, PackBudget()))

    commit = library.base.commit[:12]
    assert told == {
        "file:.env": "it may not be read: *.env",
        "file:gone.py": f"there is no such file in {commit}",
        "file:src": "it is a folder",
        "file:link": "it is a link",
        "file:data.bin": "it is binary",
        "file:empty.txt": "it is empty",
        "doc:agenda#NOPE": told["doc:agenda#NOPE"],
        "grep:nowhere to be": "no file that may be read holds these words",
        "task:T9": "the state has no backlog/T9.json",
        "memory:../policy": "there is no memory of that name",
        "file:src/app.py#L5-L6": "file:src/app.py contains it already",
        "doc:.env#X": "it may not be read: *.env",
    }
    assert "NOPE" in told["doc:agenda#NOPE"]


def test_secrets_are_hidden_and_lines_keep_their_numbers(library: Library) -> None:
    pack = pack_references(library, ["src/secret.py", "grep:after", "src/secret.py#L3-L4"], PackBudget())

    assert pack.pieces[0].text == "before\n[private-key]\n\n\n\n\n\nTOKEN = '[github-token]'\nafter\n"
    assert pack.pieces[0].hidden == 2
    assert pack.pieces[1].text == "src/secret.py:9: after\n"


def test_a_search_does_not_look_into_what_is_denied_nor_for_what_is_hidden(library: Library) -> None:
    assert pack_references(library, ["grep:hunter2", f"grep:{TOKEN}"], PackBudget()).pieces == ()


def test_line_ends_of_windows_are_line_ends(library: Library) -> None:
    assert pack_references(library, ["src/end.txt"], PackBudget()).pieces[0].text == "one\ntwo\nthree\n"


@pytest.mark.parametrize(
    "budget", [PackBudget(kib=0), PackBudget(kib=5000), PackBudget(tokens=5), PackBudget(tokens=-1)]
)
def test_a_budget_without_room_is_refused(library: Library, budget: PackBudget) -> None:
    with pytest.raises(Invalid):
        pack_references(library, ["src/app.py"], budget)


def test_a_pack_that_was_changed_is_not_read(library: Library, tmp_path: Path) -> None:
    pack = pack_references(library, ["src/app.py"], PackBudget())
    store = PackCache(tmp_path)
    store.put(pack, "a" * 64)

    assert store.named(pack.hash[:15]) == store.asked("a" * 64) == pack
    file = next(store.folder.glob("*.json"))
    file.write_bytes(file.read_bytes().replace(b"step_1(", b"step_x("))
    with pytest.raises(VerificationFailed):
        store.named(pack.hash)
    assert store.asked("a" * 64) is None
    with pytest.raises(NotFound):
        store.named("../../etc")


def test_a_pack_of_a_project_is_proved_from_the_repository_until_the_policy_says_otherwise(
    project: Path, nexus: Nexus
) -> None:
    (project / "notes.txt").write_text("".join(f"{at}\n" for at in range(20)))
    run_git(project, "add", "notes.txt")
    run_git(project, "commit", "-qm", "notes")
    nexus.ok("task", "add", "Write it down")
    opened = open_nexus(project)
    pack = build_pack(opened.state, ["notes.txt", "task:T1", "readme.txt"])

    # Neither the checkout nor later commits matter.
    (project / "notes.txt").write_text("other\n")
    run_git(project, "commit", "-qam", "other")
    nexus.ok("task", "update", "T1", "--title", "Other")
    opened.close()
    opened = open_nexus(project)
    verify_pack(opened.state, find_pack(opened.state, pack.hash))
    assert '"title":"Write it down"' in pack_text(pack)

    nexus.ok("policy", "add", "deny", "--read", "notes.txt")
    nexus.ok("policy", "add", "deny", "--read", ".nexus/backlog/**")
    trust(project)
    opened.close()
    opened = open_nexus(project)
    with pytest.raises(VerificationFailed) as refused:
        verify_pack(opened.state, pack)
    assert "file:notes.txt is left out" in refused.value.message
    refused_too = build_pack(opened.state, ["readme.txt", "task:T1", "file:.nexus/backlog/T1.json"])
    assert list(out(refused_too).values()) == ["it may not be read: project.deny.2"] * 2
    tampered = replace(pack.pieces[0], text="never said\n")
    with pytest.raises(VerificationFailed):
        verify_pack(opened.state, pack.changed(pieces=(tampered, *pack.pieces[1:])).hashed())
    opened.close()


def test_a_person_builds_shows_and_checks_a_pack(project: Path, nexus: Nexus) -> None:
    answer = json.loads(nexus.ok("pack", "build", "readme.txt", "gone.txt", "--json"))
    name = answer["pack"]["hash"]

    assert answer["pack"]["leftOut"][0]["ref"] == "file:gone.txt"
    assert answer["text"] == nexus.ok("pack", "show", name[7:19])
    assert nexus.ok("pack", "check", name).startswith(f"{name} is what the repository gives.\n")
    refused = nexus("pack", "build", "gone.txt")
    assert (refused.returncode, refused.stdout) == (4, "")
    assert nexus("pack", "show", "abcd").returncode == 4


def test_what_a_run_kept_is_pinned_and_found_on_its_ref_where_the_log_is_gone(project: Path, nexus: Nexus) -> None:
    nexus.ok("run", "--", "sh", "-c", "echo one; echo two")
    run = json.loads(nexus.ok("runs", "--all", "--json"))["runs"][0]["id"]
    nexus.ok("checkpoint", run)
    opened = open_nexus(project)
    pack = build_pack(opened.state, [f"artifact:{run}/output-main.log", f"artifact:{run[-4:]}/output-main.log"])

    shutil.rmtree(run_folder(opened.repo.common_dir, run))
    verify_pack(opened.state, pack)
    opened.close()
    assert [(one.text, one.sources[0].path) for one in pack.pieces] == [("one\ntwo\n", f"{run}/output-main.log")]
    assert pack.refs[0].startswith(f"artifact:{run}/sha256:")


def test_a_commit_of_the_history_is_a_piece_and_no_other_commit_is(place: Path, library: Library) -> None:
    head = run_git(place, "rev-parse", "HEAD").strip()
    other = run_git(
        place, "-c", "user.name=T", "-c", "user.email=t@example.com", "commit-tree", "HEAD^{tree}", "-m", "x"
    )
    pack = pack_references(library, [f"commit:{head[:10]}", f"commit:{other.strip()}", "commit:HEAD"], PackBudget())

    (piece,) = pack.pieces
    assert piece.ref == f"commit:{head}"
    assert piece.text.startswith(f"commit {head}\nall\nchanged: AGENDA.md\n")
    assert ".env" not in piece.text
    assert out(pack) == {
        f"commit:{other.strip()}": f"there is no commit {other[:12]} in the history of {head[:12]}",
        "commit:HEAD": "a commit is named by 7 or more digits of its id",
    }


def test_closed_cycles_are_pieces_each_by_its_number(library: Library) -> None:
    cycles = {
        "cycles": [
            {"branch": "main", "completed_at": "2026-01-02", "plan": None, "tasks": []},
            {"branch": "main", "completed_at": "2026-01-03", "plan": None,
             "tasks": [{"id": 1, "title": "Write it", "context": "now", "status": "completed"}]},
            {"branch": "main", "completed_at": "2026-01-04", "plan": None,
             "tasks": [{"id": 1, "title": "Read it", "context": "then", "status": "pending"}]},
        ]
    }  # fmt: skip

    class Told:
        commit = "c" * 40

        def read(self, path: str) -> bytes | None:
            return json.dumps(cycles).encode() if path == "history.json" else None

        def oid(self, path: str) -> str | None:
            return "b" * 40

    pack = pack_references(replace(library, state=Told()), ["cycle:2", "cycle:3", "cycle:1", "cycle:x"], PackBudget())  # type: ignore[arg-type]

    assert [one.text.splitlines()[2] for one in pack.pieces] == [
        "- task 1: Write it (completed)",
        "- task 1: Read it (pending)",
    ]
    assert out(pack) == dict.fromkeys(["cycle:1", "cycle:x"], "there is no closed cycle of that number")
