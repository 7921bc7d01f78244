"""Changes in the forms that models write them in: many forms of one change give one tree, and unclear ones none."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from gitnexus.base.errors import Conflict, DeniedByPolicy, Invalid, NexusError
from gitnexus.gateway.dialects import edits_of_sections, is_exact_diff, parse_sections
from gitnexus.gateway.dialects.place import UnclearPlace
from gitnexus.gateway.patching import check_any_patch
from gitnexus.git import discover
from gitnexus.git.private import private_git
from gitnexus.git.revisions import resolve_head
from gitnexus.policy import denied_by
from tests.conftest import run_git

OLD = '''import time


def load(path):
    """Read it."""
    with open(path) as file:
        return file.read()


def save(path, text):
    with open(path) as file:
        file.write(text)


def close(file):
    file.close()
'''
NEW = OLD.replace("def save(path, text):\n    with open(path) as", 'def save(path, text):\n    with open(path, "w") as')
HUNK = """ def save(path, text):
-    with open(path) as file:
+    with open(path, "w") as file:
         file.write(text)
"""
PATH = "src/files.py"
BODY = HUNK + " \n \n def close(file):\n"
HEADER = f"--- a/{PATH}\n+++ b/{PATH}\n"
GIT = f"diff --git a/{PATH} b/{PATH}\nindex 1111111..2222222 100644\n{HEADER}@@ -10,6 +10,6 @@\n{BODY}"
SEARCH = "def save(path, text):\n    with open(path) as file:\n"
REPLACE = 'def save(path, text):\n    with open(path, "w") as file:\n'
BEGIN = f"*** Begin Patch\n*** Update File: {PATH}\n"
DIALECTS = {
    "as git writes it": GIT,
    "wrong counts": GIT.replace("@@ -10,6 +10,6 @@", "@@ -10,17 +10,2 @@"),
    "wrong line numbers": GIT.replace("@@ -10,6 +10,6 @@", "@@ -3,6 +4,6 @@"),
    "without a/ and b/": f"--- {PATH}\n+++ {PATH}\n@@ -10,6 +10,6 @@\n{BODY}",
    "@@ without numbers": f"--- a/{PATH}\n+++ b/{PATH}\n@@\n{HUNK}",
    "@@ with dots": f"--- a/{PATH}\n+++ b/{PATH}\n@@ ... @@\n{HUNK}",
    "@@ with the line above": f"--- a/{PATH}\n+++ b/{PATH}\n@@ def save(path, text): @@\n"
    '-    with open(path) as file:\n+    with open(path, "w") as file:\n',
    "fenced": f"```diff\n{GIT}```\n",
    "fenced, with words around": f"Here it is:\n\n```diff\n--- a/{PATH}\n+++ b/{PATH}\n@@ -1 +1 @@\n{HUNK}```\n\nDone.",
    "with times": f"--- a/{PATH}\t2026-01-01 00:00:00\n+++ b/{PATH}\t2026-01-02 00:00:00\n@@ -10,3 +10,3 @@\n{HUNK}",
    "blanks of empty lines lost": GIT.replace("\n \n \n", "\n\n\n"),
    "carriage returns": GIT.replace("\n", "\r\n"),
    "apply_patch": f"*** Begin Patch\n*** Update File: {PATH}\n@@ def save(path, text):\n{HUNK}*** End Patch\n",
    "apply_patch in a shell": f"apply_patch <<'EOF'\n{BEGIN}{HUNK}*** End Patch\nEOF\n",
    "apply_patch, fenced": f"```\n*** Begin Patch\n*** Update File: {PATH}\n@@\n{HUNK}*** End Patch\n```\n",
    "search and replace": f"{PATH}\n<<<<<<< SEARCH\n{SEARCH}=======\n{REPLACE}>>>>>>> REPLACE\n",
    "search and replace, fenced": f"{PATH}\n```py\n<<<<<<< SEARCH\n{SEARCH}=======\n{REPLACE}>>>>>>> REPLACE\n```\n",
    "search and replace with lines": f"`{PATH}`\n------- SEARCH\n{SEARCH}=======\n{REPLACE}+++++++ REPLACE\n",
    "the whole file, path above": f"**{PATH}**\n\n```python\n{NEW}```\n",
    "the whole file, path in the fence": f"```python title=\"{PATH}\"\n{NEW}```\n",
    "the whole file, path as the language": f"```{PATH}\n{NEW}```\n",
    "the whole file, after the language": f"~~~python:{PATH}\n{NEW}~~~\n",
}  # fmt: skip
TWICE = " with open(path) as file:"


def _sr(old: str, new: str, path: str = PATH) -> str:
    return f"{path}\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n"


WRONG = {
    "two places": f'{HEADER}@@\n-    with open(path) as file:\n+    with open(path, "w") as file:\n',
    "two places, wrong number": f"{HEADER}@@ -2,1 +2,1 @@\n-    with open(path) as file:\n+    pass\n",
    "two places, wrong counts": f"{HEADER}@@ -11,9 +11 @@\n-    with open(path) as file:\n+    pass\n",
    "two places to search": _sr("    with open(path) as file:\n", "    pass\n"),
    "two places in apply_patch": f"*** Begin Patch\n*** Update File: {PATH}\n@@\n-    with open(path) as file:\n"
    "+    pass\n*** End Patch\n",
    "two empty lines": f"--- a/{PATH}\n+++ b/{PATH}\n@@\n \n-\n+x\n",
    "other context": GIT.replace("file.write(text)", "file.write(data)"),
    "other context, fenced": f"```diff\n{GIT.replace('def save', 'def store')}```\n",
    "other context in apply_patch": f"{BEGIN}@@\n-def keep():\n+def save():\n*** End Patch\n",
    "other text to search": _sr("def store(path):\n", "def save(path):\n"),
    "blanks of another number": GIT.replace("-    with", "-  with"),
    "no such line above": f"*** Begin Patch\n*** Update File: {PATH}\n@@ class Files:\n{HUNK}*** End Patch\n",
    "outside of the worktree": GIT.replace(PATH, "../files.py"),
    "outside, to search": _sr(SEARCH, REPLACE, "../../etc/passwd.d/x"),
    "an absolute path": "*** Begin Patch\n*** Add File: /etc/cron.d/x\n+x\n*** End Patch\n",
    "the folder of git": "*** Begin Patch\n*** Add File: .git/hooks/pre-commit\n+x\n*** End Patch\n",
    "the folder of git, whole": "```.Git/config\n[core]\n```\n",
    "through a link": "```link/x.py\nx\n```\n",
    "the link itself": _sr("src\n", "elsewhere\n", "link"),
    "no such file": GIT.replace(PATH, "src/other.py"),
    "deletes no such file": "*** Begin Patch\n*** Delete File: src/other.py\n*** End Patch\n",
    "a file that is there made anew": f"*** Begin Patch\n*** Add File: {PATH}\n+x\n*** End Patch\n",
    "moved onto another": f"*** Begin Patch\n*** Update File: {PATH}\n*** Move to: README.md\n{HUNK}*** End Patch\n",
    "cut off": f"*** Begin Patch\n*** Update File: {PATH}\n@@\n{HUNK}",
    "a block cut off": f"{PATH}\n<<<<<<< SEARCH\n{SEARCH}=======\n{REPLACE}",
    "a fence cut off": f"```{PATH}\n{NEW}",
    "lines left out": f"```{PATH}\nimport time\n\n# ... rest of the file unchanged ...\n```\n",
    "lines left out with dots": f"```{PATH}\nimport time\n...\n```\n",
    "no file named": f"```diff\n@@ -10,3 +10,3 @@\n{HUNK}```\n",
    "no path above": f"<<<<<<< SEARCH\n{SEARCH}=======\n{REPLACE}>>>>>>> REPLACE\n",
    "several middles": _sr(SEARCH + "=======\n", REPLACE),
    "nothing but words": "Open the file for writing in `save`, that is all.",
    "nothing changes": _sr(SEARCH, SEARCH),
    "a line of the hunk without its sign": GIT.replace("         file.write", "file.write"),
    "added at no place": f"--- a/{PATH}\n+++ b/{PATH}\n@@\n+import os\n",
    "the same lines twice": _sr(SEARCH, REPLACE) + _sr(SEARCH, REPLACE),
    "one file in two sections": GIT + GIT,
    "two forms at once": f"```diff\n{GIT}```\n\n```src/more.py\nx\n```\n",
    "a file removed with other lines": f"--- a/{PATH}\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-import time\n",
}  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("dialects")
    run_git(found, "init", "-q")
    (found / "src").mkdir()
    (found / PATH).write_text(OLD)
    (found / "README.md").write_text("# Files\n")
    (found / ".env").write_text("TOKEN=1\n")
    (found / "link").symlink_to("src")
    run_git(found, "add", "-f", ".")
    run_git(found, "-c", "user.name=T", "-c", "user.email=t@example.com", "commit", "-qm", "begin")
    return found


def _tree(place: Path, text: str) -> str:
    repo = discover(place)
    with private_git(repo) as git:
        done = check_any_patch(git, resolve_head(repo, git), text.encode(), denied_by)
        git.keep(done.result_tree)
        return done.result_tree


def test_every_form_of_one_change_gives_the_same_tree(place: Path) -> None:
    trees = {name: _tree(place, text) for name, text in DIALECTS.items()}

    assert len(DIALECTS) >= 12
    assert len(set(trees.values())) == 1, json.dumps(trees, indent=1)
    assert run_git(place, "show", f"{trees['fenced']}:{PATH}").rstrip("\n") == NEW.rstrip("\n")


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_or_unclear_gives_no_tree(place: Path, name: str) -> None:
    with pytest.raises((Invalid, Conflict)) as refused:
        _tree(place, WRONG[name])

    assert refused.value.message


def test_there_are_thirty_wrong_ones() -> None:
    assert len(WRONG) >= 30


def _edits(text: str, files: Mapping[str, str]) -> dict[str, str | None]:
    read: Callable[[str], bytes] = lambda path: files[path].encode()  # noqa: E731
    rows = edits_of_sections(parse_sections(text), dict.fromkeys(files, "100644"), read)
    return {row.path: None if row.content is None else row.content.decode() for row in rows}


def test_an_unclear_place_is_told_with_the_lines_of_each(place: Path) -> None:
    with pytest.raises(UnclearPlace) as refused:
        _tree(place, WRONG["two places"])

    assert "fits 2 places of src/files.py, at the lines 6, 11" in refused.value.message
    assert "11:     with open(path) as file:" in refused.value.context["around"]


def test_what_does_not_fit_is_told_with_the_lines_that_are_most_like_it(place: Path) -> None:
    with pytest.raises(Conflict) as refused:
        _tree(place, WRONG["other context, fenced"])

    assert "'def store(path, text):' is not in the file" in refused.value.message
    assert "10: def save(path, text):\n11:     with open(path) as file:" in refused.value.context["around"]


def test_where_no_line_is_equal_the_line_that_is_most_like_one_is_told(place: Path) -> None:
    with pytest.raises(Conflict) as refused:
        _tree(place, _sr("        file.write(text, mode)\n", "        pass\n"))

    assert "        file.write(text)" in refused.value.context["around"]
    assert "1: import time" not in refused.value.context["around"]


def test_a_file_that_no_agent_may_read_cannot_be_found_out(place: Path) -> None:
    for text in (_sr("TOKEN=1\n", "TOKEN=2\n", ".env"), _sr("TOKEN=9\n", "x\n", ".env")):
        with pytest.raises(NexusError) as refused:
            _tree(place, text)
        assert refused.value.message == "there is no file .env"
    with pytest.raises(DeniedByPolicy):
        _tree(place, "```.env\nTOKEN=2\n```\n")


def test_files_are_added_moved_and_deleted_in_one_change() -> None:
    text = "*** Begin Patch\n*** Add File: c.txt\n+c\n+\n+d\n*** Delete File: a.txt\n*** Update File: b.txt\n"
    text += "*** Move to: sub/b.txt\n@@\n-one\n+1\n*** End Patch\n"

    assert _edits(text, {"a.txt": "a\n", "b.txt": "one\n"}) == {
        "c.txt": "c\n\nd\n", "a.txt": None, "b.txt": None, "sub/b.txt": "1\n",
    }  # fmt: skip


def test_line_endings_and_a_missing_last_newline_stay_as_they_are() -> None:
    assert _edits(_sr("b\n", "x\ny\n", "f"), {"f": "a\r\nb\r\nc"}) == {"f": "a\r\nx\r\ny\r\nc"}
    assert _edits(_sr("c\n", "d\n", "f.x"), {"f.x": "a\nc"}) == {"f.x": "a\nd"}
    ended = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n"
    assert _edits(ended, {"f": "a\nb"}) == {"f": "a\nc\n"}


def test_hunks_whose_lines_around_overlap_and_stand_in_any_order_fit() -> None:
    text = "*** Begin Patch\n*** Update File: f\n@@\n c\n-d\n+D\n@@\n-a\n+A\n b\n c\n*** End Patch\n"

    assert _edits(text, {"f": "a\nb\nc\nd\n"}) == {"f": "A\nb\nc\nD\n"}


def test_lines_come_below_the_line_that_is_named_and_at_the_end() -> None:
    body = "class A:\n    def f(self):\n        return 1\n\n\nclass B:\n    def f(self):\n        return 1\n"
    text = (
        "*** Begin Patch\n*** Update File: m.py\n@@ class B:\n@@ def f(self):\n-        return 1\n+        return 2\n"
    )
    end = "@@\n+x = 1\n*** End of File\n*** End Patch\n"

    assert _edits(text + end, {"m.py": body}) == {"m.py": body[:-2] + "2\nx = 1\n"}


def test_a_removed_line_that_looks_like_a_header_is_a_removed_line() -> None:
    text = "--- a/f.sql\n+++ b/f.sql\n@@ -1,3 +1,3 @@\n select 1;\n--- old words\n+++ new words\n select 2;\n"

    assert _edits(text, {"f.sql": "select 1;\n-- old words\nselect 2;\n"}) == {
        "f.sql": "select 1;\n++ new words\nselect 2;\n"
    }


def test_a_diff_that_names_a_place_among_several_exactly_is_no_guess() -> None:
    text = "--- a/f\n+++ b/f\n@@ -3 +3 @@\n-x\n+y\n"

    assert _edits(text, {"f": "x\nx\nx\nx\n"}) == {"f": "x\nx\ny\nx\n"}


def test_only_what_git_itself_reads_counts_as_an_exact_diff() -> None:
    assert is_exact_diff(GIT)
    assert not is_exact_diff(DIALECTS["without a/ and b/"])
    assert not is_exact_diff(DIALECTS["fenced"])
