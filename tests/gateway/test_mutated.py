"""Thousands of damaged patches: nothing outside is touched, nothing crashes, every refusal is one of ours.

Each is judged as text, in this process; every twentieth goes through the tool, and git.
"""

import os
import random
import re
from pathlib import Path

import pytest

from gitnexus.base.errors import NexusError
from gitnexus.gateway.paths import why_unwritable
from gitnexus.gateway.table import call_tool
from gitnexus.git import patchtext
from tests.conftest import run_git
from tests.gateway.scene import Law, bench_at, diff_of, everything, repository_at
from tests.seeds import chance_of

WORDS = [
    "../", "/", ".git/", "..", "/etc/passwd", "\x00", "\\000", '"', "\\", "\n", "\r", "@@ -1 +1 @@\n",
    "@@ -1,9 +0,0 @@\n",
    "diff --git a/x b/x\n", "rename from a.txt\n", "rename to ../x\n", "copy from .env\n", "copy to notes\n", "+++ b/",
    "--- a/", "new file mode 120000\n", "new file mode 160000\n", "old mode 100644\n", "new mode 100755\n", "link/",
    "deleted file mode 100644\n", "GIT binary patch\n", "literal 9\n", "delta 9\n", "\\ No newline at end of file\n",
    "index 0000000..1111111\n", "Binary files a/x and b/x differ\n", "\ud83d\ude00", "é", "\udcff", "\x1b[2J", "~1",
    ":",
]  # fmt: skip


def seeds(place: Path) -> list[str]:
    (place / "a.txt").write_text("one\n2\nthree\nfour\nfive")
    (place / "new.txt").write_text("new\n")
    (place / "src" / "main.py").chmod(0o755)
    (place / "data.bin").write_bytes(bytes(reversed(range(256))) * 3)
    (place / "süß").symlink_to("a.txt")
    run_git(place, "mv", ".gitignore", "ignore")
    whole = diff_of(place, "--find-copies-harder")
    (place / "a.txt").write_text("1\ntwo\nthree\nfour\n5\n")
    return [whole, diff_of(place)]


def mutated(chance: random.Random, patch: str) -> str:
    for _ in range(chance.choice((1, 1, 2, 3, 8))):
        at = chance.randrange(len(patch) + 1)
        lines = patch.split("\n")
        match chance.randrange(7):
            case 0:
                patch = patch[:at] + chance.choice(WORDS) + patch[at:]
            case 1:
                patch = patch[:at] + patch[at + chance.randrange(1, 40) :]
            case 2:
                patch = patch[:at] + chr(chance.randrange(256)) + patch[at + 1 :]
            case 3:
                line = chance.randrange(len(lines))
                patch = "\n".join([*lines[:line], *lines[line + 1 :]])
            case 4:
                line = chance.randrange(len(lines))
                patch = "\n".join([*lines[:line], lines[chance.randrange(len(lines))], *lines[line:]])
            case 5:
                line = chance.randrange(len(lines))
                lines[line] = chance.choice(WORDS).rstrip("\n") + lines[line]
                patch = "\n".join(lines)
            case _:
                patch = patch.replace(
                    chance.choice(("a.txt", "new.txt", "src/", "b/", "1", "100644")), chance.choice(WORDS), 1
                )
    return patch


NAME = re.compile(r"^(?:\+\+\+ b/|rename to |copy to )(.+)$", re.MULTILINE)


def refused_as_text(patch: str) -> bool:
    """Ask what is decided without git: about the text, and about each name that it would write to."""
    for name in NAME.findall(patch):
        if why_unwritable(name) is None:
            assert os.path.normpath(name) == name and not name.startswith(("/", "../")), repr(patch)
            assert ".git" not in name.lower().split("/"), repr(patch)
    try:
        raw = patch.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return True
    return patchtext.why_patch_refused(raw) is not None


def attack(place: Path, count: int, chance: random.Random, every: int = 1) -> tuple[int, int]:
    """Try `count` patches as text, some through the tool too; return how many of these were applied and refused."""
    patches = seeds(place)
    outside = {
        name: os.lstat(place.parent / name).st_mtime_ns for name in os.listdir(place.parent) if name != place.name
    }
    git_files = everything(place / ".git")
    bench, clean, applied, refused = bench_at(place, Law()), everything(place), 0, 0
    for number in range(count):
        patch = mutated(chance, chance.choice(patches))
        bad_text = refused_as_text(patch)
        if number % every:
            continue
        try:
            call_tool(bench, "repo.apply_patch", {"patch": patch})
        except NexusError:
            refused += 1
            assert everything(place) == clean, repr(patch)
        else:
            applied += 1
            assert not bad_text, repr(patch)
            for name in everything(place):
                assert ".git" not in name.lower().split("/"), repr(patch)
            run_git(place, "reset", "-q", "--hard")
            run_git(place, "clean", "-qfdx")
            git_files = everything(place / ".git")
        assert everything(place / ".git") == git_files, repr(patch)
    now = {name: os.lstat(place.parent / name).st_mtime_ns for name in os.listdir(place.parent) if name != place.name}
    assert now == outside
    return applied, refused


def test_damaged_patches_do_no_harm(tmp_path: Path) -> None:
    applied, refused = attack(repository_at(tmp_path / "a" / "b"), 200, random.Random(0), every=20)

    assert applied > 0, "some damage is none, or the test would try nothing"
    assert refused > 0


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_ten_thousand_damaged_patches_do_no_harm(tmp_path: Path, part: int) -> None:
    applied, refused = attack(repository_at(tmp_path / "a" / "b"), 1000, chance_of(part), every=20)

    assert applied > 0
    assert applied + refused == 50
