"""Every kind of change comes into the files, all of it or nothing, through trees."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gitnexus.base.errors import Conflict, DeniedByPolicy, Failed, Invalid, NexusError
from gitnexus.gateway.card import build_card
from gitnexus.gateway.table import call_tool
from gitnexus.git import discover
from gitnexus.git.patches import apply_patch
from gitnexus.policy.grants import GrantContext
from gitnexus.policy.model import PatchRequest
from tests.conftest import run_git
from tests.gateway.scene import TEXT, Law, bench_at, diff_of, everything, repository_at


def _rename(place: Path) -> None:
    run_git(place, "mv", "a.txt", "src/b.txt")
    (place / "src" / "b.txt").write_text("one\nTWO\nthree\nfour\nfive\n")


def _folder_for_file(place: Path) -> None:
    (place / "a.txt").unlink()
    (place / "a.txt").mkdir()
    (place / "a.txt" / "inside").write_text("x\n")


def _file_for_folder(place: Path) -> None:
    (place / "src" / "main.py").unlink()
    (place / "src").rmdir()
    (place / "src").write_text("x\n")


def _link_for_file(place: Path) -> None:
    (place / "a.txt").unlink()
    (place / "a.txt").symlink_to("src/main.py")


CHANGES: dict[str, Callable[[Path], object]] = {
    "text": lambda place: (place / "a.txt").write_text("one\n2\nthree\nfour\nfive\n"),
    "create": lambda place: (place / "new.txt").write_text("new\n"),
    "create empty": lambda place: (place / "new.txt").write_text(""),
    "create deep": lambda place: ((place / "x" / "y").mkdir(parents=True), (place / "x/y/z").write_text("z\n")),
    "delete": lambda place: (place / "src" / "main.py").unlink(),
    "rename with a change": _rename,
    "exec bit": lambda place: (place / "src" / "main.py").chmod(0o755),
    "binary": lambda place: (place / "data.bin").write_bytes(bytes(reversed(range(256))) * 3),
    "binary new": lambda place: (place / "new.bin").write_bytes(os.urandom(3000)),
    "no newline at end": lambda place: (place / "a.txt").write_text("one\ntwo\nthree\nfour\nfive"),
    "CRLF": lambda place: (place / "a.txt").write_bytes(b"one\r\ntwo\r\nthree\nfour\nfive\n"),
    "latin-1": lambda place: (place / "a.txt").write_bytes(b"one\ntw\xf6\nthree\nfour\nfive\n"),
    "an umlaut and a blank": lambda place: (place / "süß sauer.txt").write_text("x\n"),
    "a link inside": lambda place: (place / "src" / "up").symlink_to("../a.txt"),
    "a link gone": lambda place: (place / "link").unlink(),
    "a link for a file": _link_for_file,
    "a folder for a file": _folder_for_file,
    "a file for a folder": _file_for_folder,
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("renames", ["--no-renames", "--find-copies-harder"])
def test_what_git_wrote_as_a_patch_comes_into_the_files_as_it_was(
    place: Path, law: Law, change: str, renames: str
) -> None:
    if change == "a file for a folder":
        (place / "link").unlink()
        run_git(place, "commit", "-qam", "no link into src")
    CHANGES[change](place)
    wanted = everything(place)
    patch = diff_of(place, renames)

    answer = call_tool(bench_at(place, law), "repo.apply_patch", {"patch": patch})

    assert everything(place) == wanted
    run_git(place, "add", "-A")
    assert answer["resultTree"] == run_git(place, "write-tree").strip()
    assert law.kinds == ["action.proposed", "action.started", "action.completed"]


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
@pytest.mark.parametrize("kind", ["plain", "linked", "bare"])
def test_the_trees_are_the_same_in_every_kind_of_repository(tmp_path: Path, object_format: str, kind: str) -> None:
    place = repository_at(tmp_path / "first", object_format=object_format)
    base = run_git(place, "rev-parse", "HEAD").strip()
    (place / "a.txt").write_text("other\n")
    (place / "new.txt").write_text("new\n")
    patch = diff_of(place)
    run_git(place, "worktree", "add", "-q", str(tmp_path / "linked"))
    run_git(place, "clone", "-q", "--bare", ".", str(tmp_path / "bare"))
    where = place if kind == "plain" else tmp_path / kind
    before = run_git(place, "count-objects", "-v")

    done = apply_patch(discover(where), base, patch.encode())

    assert [row.path for row in done.changes] == ["a.txt", "new.txt"]
    assert done.base_tree == run_git(place, "rev-parse", "HEAD^{tree}").strip()
    assert len(done.result_tree) == (64 if object_format == "sha256" else 40)
    assert run_git(place, "count-objects", "-v") == before, "nothing stays before it is approved"


def test_056_the_result_does_not_depend_on_anybodys_config_or_attributes(place: Path, sealed: Path) -> None:
    (place / "a.txt").write_text("one  \n2\t\nthree\nfour\nfive\n")
    patch = diff_of(place).encode()
    base = run_git(place, "rev-parse", "HEAD").strip()
    plain = apply_patch(discover(place), base, patch)
    for name, value in (
        ("core.autocrlf", "true"), ("core.eol", "crlf"), ("apply.whitespace", "fix"),
        ("apply.ignoreWhitespace", "change"),
        ("core.whitespace", "trailing-space,tab-in-indent"), ("diff.noprefix", "true"), ("diff.renames", "copies"),
    ):  # fmt: skip
        run_git(place, "config", "--global", name, value)
        run_git(place, "config", name, value)
    (place / ".git" / "info" / "attributes").write_text("* text eol=crlf whitespace=fix -diff\n")

    assert apply_patch(discover(place), base, patch) == plain


@pytest.mark.parametrize("spoiled", ["a.txt", "new.txt", "src/deep/new.txt"])
def test_a_file_that_somebody_changed_meanwhile_stops_the_whole_patch(place: Path, law: Law, spoiled: str) -> None:
    (place / "a.txt").write_text("other\n")
    (place / "new.txt").write_text("new\n")
    (place / "src" / "deep").mkdir()
    (place / "src" / "deep" / "new.txt").write_text("new\n")
    patch = diff_of(place)
    (place / spoiled).parent.mkdir(exist_ok=True)
    (place / spoiled).write_text("mine\n")
    before = everything(place)

    with pytest.raises(Conflict):
        call_tool(bench_at(place, law), "repo.apply_patch", {"patch": patch})

    assert everything(place) == before
    assert law.kinds[-1] == "action.failed"


def test_what_fails_midway_is_taken_back(place: Path, law: Law, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "a.txt").write_text("other\n")
    (place / "src" / "main.py").unlink()
    (place / "x").mkdir()
    (place / "x" / "new.txt").write_text("new\n")
    (place / "zz.txt").write_text("new\n")
    patch = diff_of(place)
    before = everything(place)
    real = os.link

    def full(src: object, dst: object, **how: object) -> None:
        if dst == "zz.txt":
            raise OSError(28, "no space left on device")
        real(src, dst, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "link", full)
    with pytest.raises(Conflict, match="nothing was changed"):
        call_tool(bench_at(place, law), "repo.apply_patch", {"patch": patch})

    assert everything(place) == before
    assert not (place / "x").exists()


def test_what_cannot_be_taken_back_is_kept_and_the_place_is_told(
    place: Path, law: Law, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "a.txt").unlink()
    (place / "new.txt").write_text("new\n")
    patch = diff_of(place)
    real = os.rename

    def stuck(src: object, dst: object, **how: object) -> None:
        if dst == "a.txt":
            raise OSError(13, "permission denied")
        real(src, dst, **how)  # type: ignore[arg-type]

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "no space left on device")

    monkeypatch.setattr(os, "rename", stuck)
    monkeypatch.setattr(os, "link", full)
    with pytest.raises(Failed) as refused:
        call_tool(bench_at(place, law), "repo.apply_patch", {"patch": patch})

    kept = place / str(refused.value.hint).rpartition(" ")[2]
    assert [path.read_text() for path in kept.glob("old-*")] == [TEXT]


def test_a_patch_for_other_lines_is_a_conflict_and_needs_a_new_approval(place: Path, law: Law) -> None:
    (place / "a.txt").write_text("one\n2\nthree\nfour\nfive\n")
    patch = diff_of(place)
    (place / "a.txt").write_text("quite\nother\n")
    run_git(place, "commit", "-qam", "moved on")

    with pytest.raises(Conflict, match="does not apply") as refused:
        call_tool(bench_at(place, law), "repo.apply_patch", {"patch": patch})

    assert refused.value.code == 23
    assert law.spent == []


@pytest.mark.parametrize("patch", ["", "hello\n", "diff --git a/a.txt b/a.txt\n"])
def test_what_is_no_patch_is_refused(place: Path, law: Law, patch: str) -> None:
    with pytest.raises(Invalid):
        call_tool(bench_at(place, law), "repo.apply_patch", {"patch": patch})


def test_a_denied_file_cannot_be_found_out_by_trying_hunks_on_it(place: Path, law: Law) -> None:
    right = f"--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n-{SECRET_LINE}\n+x\n"
    wrong = right.replace(SECRET_LINE, "DATABASE=guess")
    said = []

    for patch in (right, wrong):
        with pytest.raises(DeniedByPolicy) as refused:
            call_tool(bench_at(place, law), "repo.apply_patch", {"patch": patch})
        said.append(refused.value.message)

    assert said[0] == said[1]
    assert law.judged == []


SECRET_LINE = "DATABASE=verysecretvalue"


def test_an_error_of_any_kind_is_one_that_people_can_read(place: Path, law: Law) -> None:
    with pytest.raises(NexusError):
        call_tool(bench_at(place, law), "repo.apply_patch", {"patch": "\ud83d"})


def test_026_040_the_gate_is_told_where_a_link_leads_and_what_is_binary(place: Path, law: Law) -> None:
    (place / "new.bin").write_bytes(bytes(100))
    (place / "new.txt").write_text("x\n")
    (place / "src" / "up").symlink_to("../a.txt")
    (place / "data.bin").unlink()

    call_tool(bench_at(place, law), "repo.apply_patch", {"patch": diff_of(place)})

    request = law.judged[0]
    assert isinstance(request, PatchRequest)
    assert [(row.path, row.link_target, row.binary) for row in request.changes] == [
        ("data.bin", "", False), ("new.bin", "", True), ("new.txt", "", False), ("src/up", "../a.txt", False),
    ]  # fmt: skip


def test_040_a_card_tells_type_size_and_hash_of_what_no_diff_shows(place: Path, law: Law) -> None:
    (place / "data.bin").write_bytes(b"\x7fELF" + bytes(9))
    (place / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(92))
    ids = run_git(place, "hash-object", "data.bin", "logo.png").split()
    call_tool(bench_at(place, law), "repo.apply_patch", {"patch": diff_of(place)})
    request = law.judged[0]

    shown = build_card(discover(place), request, law.decide(request), "default", "", GrantContext(""))

    assert [(row.path, row.what) for row in shown.files] == [
        ("data.bin", f"changed, binary, Linux program (ELF), 13 bytes, blob {ids[0]}"),
        ("logo.png", f"new, binary, PNG image, 100 bytes, blob {ids[1]}"),
    ]


def test_a_patch_does_not_take_a_folder_away_from_under_a_hidden_file(place: Path, law: Law) -> None:
    (place / "conf").mkdir()
    (place / "conf" / ".env").write_text("X=1\n")
    run_git(place, "add", "-A")
    run_git(place, "commit", "-qm", "hidden below")
    patch = "diff --git a/conf b/conf\nnew file mode 100644\n--- /dev/null\n+++ b/conf\n@@ -0,0 +1 @@\n+x\n"

    with pytest.raises(NexusError):
        call_tool(bench_at(place, law), "repo.apply_patch", {"patch": patch})

    assert (place / "conf" / ".env").read_text() == "X=1\n"


def test_a_hidden_file_made_anew_is_shown_to_the_gate(place: Path, law: Law) -> None:
    law.verdict = "deny"
    patch = "diff --git a/.env b/.env\nnew file mode 100644\n--- /dev/null\n+++ b/.env\n@@ -0,0 +1 @@\n+x\n"

    with pytest.raises(DeniedByPolicy):
        call_tool(bench_at(place, law), "repo.apply_patch", {"patch": patch})

    request = law.judged[0]
    assert isinstance(request, PatchRequest)
    assert [(row.path, row.old_mode) for row in request.changes] == [(".env", "100644")]


def test_what_is_public_under_another_name_is_no_secret(place: Path, law: Law) -> None:
    (place / "example.txt").write_text((place / ".env").read_text())
    run_git(place, "add", "-A")
    run_git(place, "commit", "-qm", "told")
    patch = "diff --git a/example.txt b/copy.txt\nsimilarity index 100%\ncopy from example.txt\ncopy to copy.txt\n"

    call_tool(bench_at(place, law), "repo.apply_patch", {"patch": patch})

    assert (place / "copy.txt").read_text() == (place / ".env").read_text()
