"""Attacks on patches, reading, commands and our own git, by their numbers: real git, real files."""

import os
import re
import stat
import subprocess
import zlib
from base64 import b85encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gitnexus
from gitnexus.base.errors import Conflict, DeniedByPolicy, Invalid, NexusError, NotFound, VerificationFailed
from gitnexus.base.text import make_visible
from gitnexus.gateway import artifacts
from gitnexus.gateway.paths import is_reserved
from gitnexus.gateway.table import call_tool
from gitnexus.git import discover
from gitnexus.git.patches import apply_patch
from gitnexus.policy.model import PatchRequest
from tests.conftest import run_git
from tests.gateway.scene import SECRET, TEXT, Law, bench_at, everything


def new(path: str, text: str = "x", mode: str = "100644", quoted: bool = False) -> str:
    a, b = (f'"a/{path}"', f'"b/{path}"') if quoted else (f"a/{path}", f"b/{path}")
    return (
        f"diff --git {a} {b}\nnew file mode {mode}\n--- /dev/null\n+++ {b}\n@@ -0,0 +1 @@\n+{text}\n"
        + "\\ No newline at end of file\n" * (mode == "120000")
    )


def change(path: str = "a.txt", hunk: str = "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n") -> str:
    return f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n{hunk}"


def binary(path: str, kind: str, size: int, data: bytes) -> str:
    packed = zlib.compress(data)
    lines = []
    for at in range(0, len(packed), 52):
        piece = packed[at : at + 52]
        code = chr(len(piece) + (64 if len(piece) <= 26 else 70))
        lines.append(code + b85encode(piece, pad=True).decode())
    return (
        f"diff --git a/{path} b/{path}\nindex {'1' * 40}..{'2' * 40} 100644\nGIT binary patch\n{kind} {size}\n"
        + "\n".join(lines)
        + "\n\n"
    )


def number(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


REFUSED = [
    pytest.param(new(".git/hooks/pre-commit", mode="100755"), id="001-hook"),
    pytest.param(new("src/../../outside.txt"), id="003-traversal"),
    pytest.param(new("src/../inside.txt"), id="003-traversal-that-stays-inside"),
    pytest.param(new("/etc/pwned"), id="003-absolute"),
    pytest.param(new(".GIT/config"), id="005-case"),
    pytest.param(new(".gIt/config"), id="005-mixed-case"),
    pytest.param(new("sub/.git/config"), id="006-nested"),
    pytest.param(new("a/b/.git/hooks/x"), id="006-nested-deeper"),
    pytest.param(new(".g\u200cit/config"), id="x-hfs-ignorable"),
    pytest.param(new("git~1/config"), id="x-ntfs-short-name"),
    pytest.param(new(".git./config"), id="008-trailing-dot"),
    pytest.param(new(".git /config"), id="008-trailing-blank"),
    pytest.param(new("docs./x"), id="008-trailing-dot-anywhere"),
    pytest.param(new(".git::$INDEX_ALLOCATION/config"), id="010-stream-of-git"),
    pytest.param(new("a.txt:ads"), id="010-stream"),
    pytest.param(new("\\056git/hooks/x", quoted=True), id="011-quoted-octal"),
    pytest.param(new("safe\\000.env", quoted=True), id="013-nul-quoted"),
    pytest.param(new("safe\0.env"), id="013-nul-raw"),
    pytest.param(new("x\\033[2Jy", quoted=True), id="015-escape-quoted"),
    pytest.param(new("x\x1b[2Jy"), id="015-escape-raw"),
    pytest.param(new("a\\nb", quoted=True), id="015-newline"),
    pytest.param(new("x\u202ey"), id="015-bidi"),
    pytest.param(new(".e\u200cnv"), id="015-joiner"),
    pytest.param(new("x\\377y", quoted=True), id="015-not-utf-8"),
    pytest.param(new("a\\\\b", quoted=True), id="015-backslash"),
    pytest.param(new("cafe\u0301.txt") + new("caf\u00e9.txt"), id="023-nfc-nfd"),
    pytest.param(new("A.TXT"), id="023-case-of-a-file-that-is-there"),
    pytest.param(new("SRC/other.py"), id="023-case-of-a-folder-that-is-there"),
    pytest.param(new("l", "/etc", "120000"), id="026-absolute-link"),
    pytest.param(new("link/pwn.txt"), id="028-through-a-link"),
    pytest.param(new("docs/x", "../../../../etc/passwd", "120000"), id="031-relative-escape"),
    pytest.param(new("x", ".git/config", "120000"), id="031-link-into-git"),
    pytest.param(new("x", "src/../.GIT/config", "120000"), id="031-link-into-git-other-spelling"),
    pytest.param(new("x", "out/passwd", "120000") + new("out", "..", "120000"), id="031-through-a-second-link"),
    pytest.param(new("x", "y", "120000") + new("y", "x", "120000"), id="031-circle"),
    pytest.param(binary("data.bin", "literal", 4294967295, b"x"), id="041-literal-bomb"),
    pytest.param(binary("data.bin", "literal", 10**30, b"x"), id="041-number-bomb"),
    pytest.param(
        binary("data.bin", "delta", 20, number(1024) + number(2**40) + b"\xff" * 10), id="041-delta-bomb"
    ),
    pytest.param(change(hunk="@@ -1,5 +1,5 @@\n one\n"), id="048-count-too-large"),
    pytest.param(change(hunk="@@ -1,99999999999999999999 +1 @@\n one\n"), id="048-count-absurd"),
    pytest.param(change(hunk="@@ -1,2 +1,2 @@\n one\n\\ No newline at end of file\n two\n"), id="061-marker-in-hunk"),
    pytest.param(
        change(hunk="@@ -1,2 +1,3 @@\n one\n+x\n\\ No newline at end of file\n two\n"), id="061-marker-after-plus"
    ),
]  # fmt: skip


@pytest.mark.parametrize("patch", REFUSED)
def test_the_whole_patch_is_refused_and_nothing_is_written(place: Path, law: Law, patch: str) -> None:
    before, outside = everything(place), sorted(os.listdir(place.parent))
    git_before = everything(place / ".git")

    with pytest.raises((Invalid, Conflict)):
        call_tool(bench_at(place, law), "repo.apply_patch", {"patch": new("honest.txt") + patch})

    assert everything(place) == before
    assert everything(place / ".git") == git_before
    assert sorted(os.listdir(place.parent)) == outside
    assert law.judged == []
    assert law.kinds == ["action.rejected"]


def judged_paths(law: Law) -> list[str]:
    request = law.judged[0]
    assert isinstance(request, PatchRequest)
    return [row.path for row in request.changes]


RENAMED = "diff --git a/a.txt b/b.txt\nsimilarity index 100%\nrename from a.txt\nrename to c.txt\n"
SEEN = [
    pytest.param("diff --git x/y/z.txt x/y/z.txt\nnew file mode 100644\n--- /dev/null\n+++ x/y/z.txt\n"
                 "@@ -0,0 +1 @@\n+x\n", ["y/z.txt"], id="016-p1"),
    pytest.param("diff --git a/src/main.py b/src/main.py\nsimilarity index 100%\nrename from src/main.py\n"
                 "rename to c.txt\n", ["c.txt", "src/main.py"], id="018-rename-header"),
    pytest.param("diff --git a/a.txt b/.env.local\nsimilarity index 100%\ncopy from a.txt\ncopy to .env.local\n",
                 [".env.local"], id="020-copy-to-denied"),
    pytest.param(new("aux.txt"), ["aux.txt"], id="025-reserved"),
    pytest.param("diff --git a/a.txt b/a.txt\ndeleted file mode 100644\n--- a/a.txt\n+++ /dev/null\n@@ -1,5 +0,0 @@\n"
                 "-one\n-two\n-three\n-four\n-five\n" + new("a.txt", "src/main.py", "120000"), ["a.txt"],
                 id="030-typechange"),
    pytest.param(new(".gitmodules", '[submodule "x"]'), [".gitmodules"], id="035-gitmodules"),
    pytest.param(new(".gitattributes", "* filter=evil diff=evil"), [".gitattributes"], id="036-gitattributes"),
    pytest.param("diff --git a/a.txt b/a.txt\nold mode 100644\nnew mode 100755\n", ["a.txt"], id="038-exec-bit"),
    pytest.param("diff --git a/sub b/sub\nnew file mode 160000\n--- /dev/null\n+++ b/sub\n@@ -0,0 +1 @@\n"
                 f"+Subproject commit {'1' * 40}\n", ["sub"], id="035-gitlink"),
    pytest.param("diff --git a/src/main.py b/src/main.py\ndeleted file mode 100644\n--- a/src/main.py\n+++ /dev/null\n"
                 "@@ -1 +0,0 @@\n-print('hello')\n", ["src/main.py"], id="043-deletion"),
    pytest.param(new("conftest.py"), ["conftest.py"], id="045-executes-later"),
    pytest.param(change() + "-- \n2.39\n\n" + new("hidden.txt"), ["a.txt", "hidden.txt"], id="046-after-a-signature"),
    pytest.param(change(hunk="@@ -40,3 +40,3 @@\n one\n-two\n+2\n three\n"), ["a.txt"], id="050-wrong-line-numbers"),
    pytest.param(change(hunk="@@ -1,3 +1,3 @@\n one\n-two\n+safe()\revil()\n three\n"), ["a.txt"], id="055-lone-cr"),
    pytest.param(change() + change(hunk="@@ -3,3 +3,3 @@\n three\n-four\n+4\n five\n"), ["a.txt"], id="060-twice"),
    pytest.param("e !touch pwned\n" + change(), ["a.txt"], id="065-ed-script"),
]  # fmt: skip


@pytest.mark.parametrize(("patch", "paths"), SEEN)
def test_the_gate_sees_what_git_would_do_and_not_what_the_text_says(
    place: Path, law: Law, patch: str, paths: list[str]
) -> None:
    law.verdict = "deny"
    before = everything(place)

    with pytest.raises(DeniedByPolicy):
        call_tool(bench_at(place, law), "repo.apply_patch", {"patch": patch})

    assert judged_paths(law) == paths
    assert everything(place) == before
    assert law.kinds == ["action.proposed", "action.rejected"]


def test_018_a_rename_whose_header_lies_is_judged_by_what_comes_out_or_refused(place: Path, law: Law) -> None:
    law.verdict = "deny"

    with pytest.raises(NexusError):
        call_tool(bench_at(place, law), "repo.apply_patch", {"patch": RENAMED})

    assert all(judged_paths(law) == ["a.txt", "c.txt"] for _ in law.judged)


def test_025_a_reserved_name_is_flagged(place: Path, law: Law) -> None:
    answer = call_tool(bench_at(place, law), "repo.apply_patch", {"patch": new("docs/aux.txt")})

    assert answer["reserved"] == ["docs/aux.txt"]
    assert [is_reserved(name) for name in ("CON", "nul", "COM1.md", "console", "auxiliary.txt")] == [
        True, True, True, False, False,
    ]  # fmt: skip


def blob_of_env(place: Path) -> str:
    return run_git(place, "rev-parse", "HEAD:.env").strip()


def old_secret(place: Path) -> str:
    """Return the id of a secret that is only in history, under a name that nobody denies now."""
    (place / "old.txt").write_text("TOKEN=historic\n")
    run_git(place, "add", "-A")
    run_git(place, "commit", "-qm", "with it")
    found = run_git(place, "rev-parse", "HEAD:old.txt").strip()
    run_git(place, "rm", "-q", "old.txt")
    run_git(place, "commit", "-qm", "without it")
    return found


def by_id_in_other_words(blob: str) -> str:
    """Return a patch that sends one content and announces the id of another."""
    made = binary("n.txt", "literal", 5, b"other")
    return made.replace(f"index {'1' * 40}..{'2' * 40} 100644", f"new file mode 100644\nindex {'0' * 40}..{blob}")


STEALING: list[Any] = [
    pytest.param(lambda place: "diff --git a/.env b/notes.txt\nsimilarity index 100%\ncopy from .env\n"
                 "copy to notes.txt\n", id="021-copy"),
    pytest.param(lambda place: "diff --git a/.env b/notes.txt\nsimilarity index 100%\nrename from .env\n"
                 "rename to notes.txt\n", id="021-rename"),
    pytest.param(lambda place: "diff --git a/.env b/notes.txt\nsimilarity index 50%\ncopy from .env\n"
                 "copy to notes.txt\n--- a/.env\n+++ b/notes.txt\n@@ -1,0 +2 @@\n+x\n", id="021-copy-with-a-change"),
    pytest.param(lambda place: f"diff --git a/n.txt b/n.txt\nnew file mode 100644\nindex {'0' * 40}.."
                 f"{blob_of_env(place)}\nBinary files /dev/null and b/n.txt differ\n", id="021-by-its-id"),
    pytest.param(lambda place: by_id_in_other_words(blob_of_env(place)), id="021-by-its-id-in-other-words"),
    pytest.param(lambda place: f"diff --git a/n.txt b/n.txt\nnew file mode 100644\nindex {'0' * 40}.."
                 f"{old_secret(place)}\nBinary files /dev/null and b/n.txt differ\n", id="178-history-by-its-id"),
]  # fmt: skip


@pytest.mark.parametrize("make", STEALING)
def test_a_patch_does_not_read_what_its_sender_may_not(place: Path, law: Law, make: Callable[[Path], str]) -> None:
    patch = make(place)
    before = everything(place)

    with pytest.raises((DeniedByPolicy, Invalid)):
        call_tool(bench_at(place, law), "repo.apply_patch", {"patch": patch})

    assert everything(place) == before
    assert law.judged == []


def test_028_a_link_that_somebody_laid_on_disk_is_not_written_through(place: Path, law: Law, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (place / "docs").symlink_to(outside)

    with pytest.raises(Conflict):
        call_tool(bench_at(place, law), "repo.apply_patch", {"patch": new("docs/pwn.txt")})

    assert list(outside.iterdir()) == []


def test_033_a_hard_link_to_elsewhere_is_not_read(place: Path, law: Law, tmp_path: Path) -> None:
    (tmp_path / "credentials").write_text("outside\n")
    os.link(tmp_path / "credentials", place / "c")
    os.unlink(place / "a.txt")
    os.link(tmp_path / "credentials", place / "a.txt")
    bench = bench_at(place, law)

    for name in ("c", "a.txt"):
        with pytest.raises(Invalid, match="hard link"):
            call_tool(bench, "repo.read_file", {"path": name})
    assert call_tool(bench, "repo.search", {"query": "outside"})["hits"] == []
    assert "outside" not in str(call_tool(bench, "git.diff", {}))


def test_051_an_ambiguous_place_is_bound_by_the_result(place: Path, law: Law) -> None:
    (place / "a.txt").write_text("x\n" * 9)
    run_git(place, "commit", "-qam", "alike")
    repo, base = discover(place), run_git(place, "rev-parse", "HEAD").strip()
    first = apply_patch(repo, base, change(hunk="@@ -2,3 +2,3 @@\n x\n-x\n+y\n x\n").encode())
    second = apply_patch(repo, base, change(hunk="@@ -5,3 +5,3 @@\n x\n-x\n+y\n x\n").encode())

    assert first.result_tree != second.result_tree


def test_053_whitespace_is_not_guessed(place: Path, law: Law) -> None:
    with pytest.raises(Conflict):
        call_tool(
            bench_at(place, law),
            "repo.apply_patch",
            {"patch": change(hunk="@@ -1,3 +1,3 @@\n one \n-two\n+2\n three\n")},
        )


def test_063_bytes_that_are_no_text_are_applied_as_they_are(place: Path, law: Law) -> None:
    patch = change(hunk="@@ -1,3 +1,3 @@\n one\n-two\n+tw\udcf6\n three\n")

    call_tool(bench_at(place, law), "repo.apply_patch", {"patch": patch})

    assert (place / "a.txt").read_bytes() == TEXT.encode().replace(b"two", b"tw\xf6")
    assert "tw\\xf6" in call_tool(bench_at(place, law), "repo.read_file", {"path": "a.txt"})["text"]


ARGV: list[Any] = [
    pytest.param("git status", id="085-a-string"),
    pytest.param([], id="085-empty"),
    pytest.param([""], id="085-no-program"),
    pytest.param(["git", 1], id="085-a-number"),
    pytest.param(["git", None], id="085-null"),
    pytest.param(["git", ["a"]], id="085-a-list"),
    pytest.param(["a\0b"], id="085-nul"),
    pytest.param(["git", "\ud83d"], id="085-half-a-pair"),
    pytest.param(["true", *["x"] * 100_000], id="086-many"),
    pytest.param(["true", "x" * 4_000_000], id="086-long"),
]


@pytest.mark.parametrize("argv", ARGV)
def test_argv_that_is_no_list_of_bounded_texts_is_refused(place: Path, law: Law, argv: Any) -> None:
    with pytest.raises(Invalid):
        call_tool(bench_at(place, law), "cmd.run", {"argv": argv})

    assert law.judged == []


LITERAL = [
    pytest.param(["echo", "status", "&&", "touch", "pwned"], id="066-and"),
    pytest.param(["echo", "x", ">", "pwned"], id="070-redirection"),
    pytest.param(["echo", "$(touch pwned)", "`touch pwned`", "${IFS}", "~/.ssh/id", "*", "{a,b}"], id="083-expansion"),
    pytest.param(["printf", "%s", "--", "-rf", "--output=pwned"], id="090-dashes"),
]


@pytest.mark.parametrize("argv", LITERAL)
def test_metacharacters_are_plain_arguments(place: Path, law: Law, argv: list[str]) -> None:
    answer = call_tool(bench_at(place, law), "cmd.run", {"argv": argv})

    assert answer["status"] == 0
    assert not (place / "pwned").exists()
    for word in argv[1:]:
        if word != "%s":
            assert word in answer["output"]


@pytest.mark.parametrize(
    "path", [pytest.param("--output=pwned", id="091-option"), pytest.param(":(exclude)a.txt", id="091-magic"),
             pytest.param(":/", id="091-top"), pytest.param("*.txt", id="091-glob")],
)  # fmt: skip
def test_a_path_of_a_diff_is_a_name_and_nothing_else(place: Path, law: Law, path: str) -> None:
    (place / "a.txt").write_text("changed\n")

    answer = call_tool(bench_at(place, law), "git.diff", {"paths": [path]})

    assert answer["diff"] == ""
    assert sorted(os.listdir(place.parent)) == sorted({place.name})
    assert not (place / "pwned").exists()


@pytest.mark.parametrize(
    "revision",
    [
        "--output=pwned",
        "-x",
        "HEAD:.env",
        "HEAD..HEAD",
        ":/first",
        "HEAD^{/first}",
        "@{-1}",
        "HEAD@{1}",
        "a b",
        "",
        "x\n",
    ],
)
def test_a_revision_names_a_commit_and_nothing_else(place: Path, law: Law, revision: str) -> None:
    with pytest.raises((Invalid, NotFound)):
        call_tool(bench_at(place, law), "git.diff", {"revision": revision or "nowhere", "to": "HEAD"})


def armed(place: Path, sealed: Path) -> Path:
    """Put a trap wherever git looks for something to execute; return the file that shows that one sprang."""
    sprung = sealed / "sprung"
    trap = sealed / "trap"
    trap.write_text(f"#!/bin/sh\necho \"$0 $*\" >> '{sprung}'\ncat\n")
    trap.chmod(0o755)
    config = place / ".git" / "config"
    settings = {
        "core": {"fsmonitor": trap, "hooksPath": place / "hooks", "pager": trap, "editor": trap, "sshCommand": trap,
                 "alternateRefsCommand": trap, "askPass": trap, "attributesFile": place / "attributes"},
        'filter "evil"': {"clean": trap, "smudge": trap, "process": trap, "required": "true"},
        'diff "evil"': {"textconv": trap, "command": trap},
        'merge "evil"': {"driver": trap},
        "diff": {"external": trap},
        "interactive": {"diffFilter": trap},
        'trailer "x"': {"command": trap, "cmd": trap},
        "gpg": {"program": trap},
        "log": {"showSignature": "true"},
        "commit": {"gpgSign": "true"},
        "include": {"path": place / "more.config"},
        "extensions": {"worktreeConfig": "true"},
    }  # fmt: skip
    text = "".join(
        f"[{name}]\n" + "".join(f'\t{key} = "{value}"\n' for key, value in rows.items())
        for name, rows in settings.items()
    )
    with config.open("a") as handle:
        handle.write(text)
    (place / "more.config").write_text(f'[core]\n\tfsmonitor = "{trap}"\n[alias]\n\tdiff-tree = "!{trap}"\n')
    (place / ".git" / "config.worktree").write_text(f'[core]\n\tfsmonitor = "{trap}"\n')
    for attributes in (place / ".gitattributes", place / ".git" / "info" / "attributes", place / "attributes"):
        attributes.write_text("* filter=evil diff=evil merge=evil -text\n")
    (place / "hooks").mkdir()
    for folder in (place / "hooks", place / ".git" / "hooks"):
        for hook in (
            "post-index-change",
            "reference-transaction",
            "post-checkout",
            "pre-auto-gc",
            "fsmonitor-watchman",
        ):
            (folder / hook).write_text(trap.read_text())
            (folder / hook).chmod(0o755)
    return sprung


@pytest.mark.parametrize(
    "kind",
    [pytest.param("main", id="148-153-main-worktree"), pytest.param("linked", id="148-153-linked-worktree")],
)
def test_our_own_git_obeys_nothing_that_an_agent_can_write(place: Path, law: Law, sealed: Path, kind: str) -> None:
    where = place
    if kind == "linked":
        where = place.parent / "linked"
        run_git(place, "worktree", "add", "-q", str(where))
    bench = bench_at(where, law)
    sprung = armed(place, sealed)
    (where / "src" / "main.py").write_text("print('changed')\n")

    call_tool(bench, "git.status", {})
    call_tool(bench, "git.diff", {})
    call_tool(bench, "git.diff", {"revision": "HEAD", "to": "HEAD"})
    call_tool(bench, "repo.search", {"query": "print"})
    call_tool(bench, "repo.search", {"query": "print", "revision": "HEAD"})
    call_tool(bench, "repo.list_tree", {})
    call_tool(bench, "repo.read_file", {"path": "a.txt", "revision": "main"})
    call_tool(bench, "repo.apply_patch", {"patch": change()})

    assert not sprung.exists(), sprung.read_text()
    assert (where / "a.txt").read_text() == TEXT.replace("two", "2")
    # The trap is a real one: the user's own git springs it.
    subprocess.run(["git", "status"], cwd=where, capture_output=True, check=False)
    assert sprung.exists()


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, id=f"098-100-{name}") for name in (
        "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_EXTERNAL_DIFF", "GIT_EXEC_PATH", "GIT_TRACE",
        "GIT_CONFIG_GLOBAL", "GIT_OBJECT_DIRECTORY", "GIT_CONFIG_PARAMETERS", "GIT_ATTR_SOURCE", "GIT_PAGER")],
)  # fmt: skip
def test_no_variable_of_ours_reaches_the_private_git(
    place: Path, law: Law, sealed: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    bench = bench_at(place, law)
    monkeypatch.setenv(name, str(sealed / "elsewhere"))

    call_tool(bench, "repo.apply_patch", {"patch": change()})

    assert (place / "a.txt").read_text() == TEXT.replace("two", "2")
    assert not (sealed / "elsewhere").exists()


def test_088_a_git_inside_the_worktree_is_not_ours(
    place: Path, law: Law, sealed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = bench_at(place, law)
    (place / "bin").mkdir()
    (place / "bin" / "git").write_text(f"#!/bin/sh\ntouch '{sealed}/sprung'\n")
    (place / "bin" / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}/bin:bin:{os.environ['PATH']}")

    call_tool(bench, "git.status", {})

    assert not (sealed / "sprung").exists()


READS: list[Any] = [
    pytest.param("repo.read_file", {"path": ".env"}, id="178-read"),
    pytest.param("repo.read_file", {"path": ".ENV"}, id="178-read-other-case"),
    pytest.param("repo.read_file", {"path": ".env::$DATA"}, id="178-read-its-stream"),
    pytest.param("repo.read_file", {"path": ".env."}, id="178-read-with-a-dot"),
    pytest.param("repo.read_file", {"path": "src\\..\\.env"}, id="178-read-with-backslashes"),
    pytest.param("repo.read_file", {"path": ".e\u200cnv"}, id="178-read-with-a-joiner"),
    pytest.param("repo.read_file", {"path": ".env", "revision": "HEAD"}, id="178-history"),
    pytest.param("repo.read_file", {"path": ".env", "revision": "HEAD~1"}, id="178-older-history"),
    pytest.param("repo.read_file", {"path": "to-env"}, id="178-through-a-link"),
    pytest.param("repo.read_file", {"path": "src/to-folder/.env"}, id="178-through-a-linked-folder"),
    pytest.param("repo.read_file", {"path": ".git/config"}, id="178-git-folder"),
    pytest.param("repo.read_file", {"path": "to-git"}, id="178-link-into-git"),
    pytest.param("repo.read_file", {"path": "to-outside"}, id="178-link-outside"),
    pytest.param("repo.read_file", {"path": "../outside.txt"}, id="178-traversal"),
    pytest.param("repo.read_file", {"path": "src/../.env"}, id="178-traversal-inside"),
    pytest.param("repo.read_file", {"path": "./.env"}, id="178-dot"),
    pytest.param("repo.read_file", {"path": "pipe"}, id="178-pipe"),
    pytest.param("git.diff", {"paths": [".env"]}, id="178-diff"),
    pytest.param("repo.search", {"query": "DATABASE", "path": ".env"}, id="178-search"),
    pytest.param("repo.list_tree", {"path": ".env"}, id="178-list"),
]


@pytest.mark.parametrize(("tool", "params"), READS)
def test_what_is_denied_is_denied_to_every_verb(place: Path, law: Law, tool: str, params: dict[str, Any]) -> None:
    _with_ways_in(place)

    with pytest.raises((DeniedByPolicy, Invalid)):
        call_tool(bench_at(place, law), tool, params)


def test_178_no_listing_search_status_or_diff_shows_what_is_denied(place: Path, law: Law) -> None:
    _with_ways_in(place)
    (place / ".env").write_text("DATABASE=changedsecret\n")
    (place / "a.txt").write_text("changed\n")
    bench = bench_at(place, law)
    answers = [
        call_tool(bench, "repo.list_tree", {}),
        call_tool(bench, "repo.list_tree", {"revision": "HEAD~1"}),
        call_tool(bench, "repo.search", {"query": ".", "regex": True}),
        call_tool(bench, "repo.search", {"query": "DATABASE", "revision": "HEAD"}),
        call_tool(bench, "repo.search", {"query": "database", "ignore_case": True, "revision": "HEAD~1"}),
        call_tool(bench, "git.status", {}),
        call_tool(bench, "git.diff", {}),
        call_tool(bench, "git.diff", {"revision": "HEAD~1", "to": "HEAD"}),
    ]

    for answer in answers:
        shown = str({key: value for key, value in answer.items() if key != "hidden"})
        assert "secret" not in shown
        assert "'.env'" not in shown
        assert answer["hidden"] >= 1, "what was left out is counted"
    assert "+changed" in answers[6]["diff"]


def test_178_a_file_that_became_a_folder_of_denied_files_is_not_shown(place: Path, law: Law) -> None:
    (place / "a.txt").unlink()
    (place / "a.txt").mkdir()
    (place / "a.txt" / ".env").write_text("DATABASE=othersecret\n")

    answer = call_tool(bench_at(place, law), "git.diff", {"paths": ["a.txt"]})

    assert "-one" in answer["diff"]
    assert "othersecret" not in answer["diff"]


def _with_ways_in(place: Path) -> None:
    (place / ".env").write_text(SECRET + "MORE=secondsecret\n")
    (place / "to-env").symlink_to(".env")
    (place / "src" / "to-folder").symlink_to("../sub")
    (place / "sub").mkdir()
    (place / "sub" / ".env").write_text(SECRET)
    (place / "to-git").symlink_to(".git/config")
    (place / "to-outside").symlink_to("../outside.txt")
    (place.parent / "outside.txt").write_text("outside\n")
    run_git(place, "add", "-A")
    run_git(place, "commit", "-qm", "second")
    os.mkfifo(place / "pipe")


def test_150_only_plumbing_of_git_that_runs_nothing_is_called_on_what_an_agent_wrote() -> None:
    rooms = Path(gitnexus.__file__).parent
    texts = [path.read_text() for folder in ("git", "gateway") for path in (rooms / folder).rglob("*.py")]
    called = {name for text in texts if "PrivateGit" in text for name in re.findall(
        r'git\.(?:run|must|beginning)\(\s*"([a-z-]+)"', text)}  # fmt: skip

    assert called == {
        "apply", "cat-file", "diff-tree", "hash-object", "ls-files", "ls-tree", "merge-base", "merge-tree", "read-tree",
        "rev-list", "rev-parse", "update-index", "write-tree",
    }  # fmt: skip


def test_156_a_worktree_behind_a_link_is_not_written(place: Path, law: Law, tmp_path: Path) -> None:
    from dataclasses import replace

    (tmp_path / "wt").symlink_to(place)
    bench = bench_at(place, law)
    linked = replace(bench, repo=replace(bench.repo, worktree=tmp_path / "wt"))

    with pytest.raises(NexusError):
        call_tool(linked, "repo.apply_patch", {"patch": change()})

    assert (place / "a.txt").read_text() == TEXT


def test_186_an_artifact_that_was_changed_is_not_handed_out(place: Path, law: Law) -> None:
    bench = bench_at(place, law)
    name = call_tool(bench, "artifact.write", {"filename": "logs/x.diff", "content": "approved\n"})["digest"]
    file = next(path for path in bench.artifacts.rglob("*") if path.is_file())
    assert artifacts.read_artifact(bench.artifacts, name) == b"approved\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o444
    file.unlink()
    file.write_text("swapped\n")

    with pytest.raises(VerificationFailed):
        artifacts.read_artifact(bench.artifacts, name)


def test_078_a_command_has_no_pager_no_editor_and_no_terminal(place: Path, law: Law) -> None:
    answer = call_tool(bench_at(place, law), "cmd.run", {"argv": ["git", "-p", "log", "-1", "--format=%s"]})

    assert (answer["status"], answer["output"]) == (0, "first\n")


def test_what_a_refusal_says_is_safe_to_show(place: Path, law: Law) -> None:
    with pytest.raises(NexusError) as refused:
        call_tool(bench_at(place, law), "repo.apply_patch", {"patch": new("x\x1b[2Jy")})

    assert make_visible(refused.value.message) == refused.value.message
