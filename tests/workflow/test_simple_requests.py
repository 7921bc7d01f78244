"""Requests that need no model: what is understood, what it changes, and what is said about the rest."""

import json
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitnexus.workflow.embedded import execute_by_rule, plan_by_rule
from gitnexus.workflow.embedded.file_edits import replace_words
from gitnexus.workflow.embedded.simple_requests import (
    FileDeletion,
    FileMove,
    RunCommandRequest,
    RunTestsRequest,
    WordReplacement,
    parse_simple_requests,
)
from tests.conftest import Nexus, examples, run_git
from tests.workflow import scene

KNOWN = frozenset(
    {
        "docs/x.md",
        "docs/y.md",
        "src/config.py",
        "Makefile",
        "a.txt",
        "b c.txt",
        "old/one.py",
        "old/two.py",
        "tests/a.py",
    }
)


def replaced(old: str, new: str, *paths: str, many: bool = False, sure: bool = True) -> WordReplacement:
    return WordReplacement(old, new, paths, many, sure)


@pytest.mark.parametrize(
    ("prompt", "requests"),
    [
        ("Fix the typo in docs/x.md: teh → the", [replaced("teh", "the", "docs/x.md")]),
        ('fix typos in docs/x.md: "teh" -> "the", recieve -> receive',
         [replaced("teh", "the", "docs/x.md"), replaced("recieve", "receive", "docs/x.md")]),
        ("Fix the typo teh → the in docs/x.md.", [replaced("teh", "the", "docs/x.md")]),
        ("Please replace `foo` by `bar` in docs/x.md and a.txt!", [replaced("foo", "bar", "docs/x.md", "a.txt")]),
        ("replace `foo in x` with `bar to y` in a.txt", [replaced("foo in x", "bar to y", "a.txt")]),
        ("rename load_config to read_config in src/config.py",
         [replaced("load_config", "read_config", "src/config.py")]),
        ("In a.txt, replace foo with bar", [replaced("foo", "bar", "a.txt")]),
        ("teh in docs/x.md should be the", [replaced("teh", "the", "docs/x.md")]),
        ("change colour to color everywhere", [replaced("colour", "color", many=True)]),
        ("change colour to color in docs/", [replaced("colour", "color", "docs/", many=True)]),
        ("Correct the spelling of recieve to receive in docs/x.md", [replaced("recieve", "receive", "docs/x.md")]),
        ("Ersetze foo durch bar in docs/x.md", [replaced("foo", "bar", "docs/x.md")]),
        ("Change the limit from 3 to 5 in a.txt", [replaced("limit from 3", "5", "a.txt", sure=False)]),
        ("rename docs/x.md to z.md", [FileMove(("docs/x.md",), "docs/z.md")]),
        ("Rename the file docs/x.md to docs/z.md and delete a.txt",
         [FileMove(("docs/x.md",), "docs/z.md"), FileDeletion(("a.txt",))]),
        ("Move old/ to new/", [FileMove(("old/",), "new")]),
        ("move a.txt into docs", [FileMove(("a.txt",), "docs/")]),
        ("move a.txt and Makefile to docs/", [FileMove(("a.txt", "Makefile"), "docs/")]),
        ("Benenne a.txt in c.txt um", [FileMove(("a.txt",), "c.txt")]),
        ("delete old/one.py and old/two.py", [FileDeletion(("old/one.py", "old/two.py"))]),
        ("delete the folder old", [FileDeletion(("old/",))]),
        ('Delete "b c.txt"', [FileDeletion(("b c.txt",))]),
        ("Lösche die Datei a.txt", [FileDeletion(("a.txt",))]),
        ("run the tests", [RunTestsRequest()]),
        ("Please run all the tests again.", [RunTestsRequest()]),
        ("Run the tests in tests/", [RunTestsRequest(("tests/",))]),
        ("`make lint`", [RunCommandRequest(("make", "lint"))]),
        ("run `make lint` and run the tests", [RunCommandRequest(("make", "lint")), RunTestsRequest()]),
        ("Replace `a` with `b` in a.txt, then run `make`",
         [replaced("a", "b", "a.txt"), RunCommandRequest(("make",))]),
    ],
)  # fmt: skip
def test_a_request_is_understood(prompt: str, requests: list[object]) -> None:
    assert list(parse_simple_requests(prompt, KNOWN)) == requests


@pytest.mark.parametrize(
    "prompt",
    [
        "improve the design",
        "Rename a.txt to b.txt and improve the design",
        "replace stand by me with go on in a.txt",
        "Rename function load_config to read_config",
        "fix the bug in src/config.py",
        "fix the parser in src/config.py: it must return the arrow",
        "remove the unused imports",
        "delete docs",
        "delete nothing.txt",
        "move a.txt and Makefile to other.txt",
        "rename a.txt to something better",
        "Why run the tests?",
        "run the tests of the parser that failed yesterday",
        "run `a | b`",
        "run ```x```",
        "",
    ],
)
def test_what_is_not_understood_as_a_whole_is_not_understood_at_all(prompt: str) -> None:
    assert parse_simple_requests(prompt, KNOWN) == ()


@given(
    st.text(max_size=300)
    | st.lists(st.sampled_from('replace fix rename in to by with , : → ` " the a.txt of'.split())).map(" ".join)
)
@settings(max_examples=examples(100))
def test_any_text_is_parsed(prompt: str) -> None:
    parse_simple_requests(prompt, KNOWN)


@pytest.mark.parametrize(
    ("text", "old", "new", "after"),
    [
        ("teh tehran teh.", "teh", "the", "the tehran the."),
        ("a.b a.bc", "a.b", "x", "x a.bc"),
        ("(foo)", "(foo)", "\\1", "\\1"),
        ("--flag --flags", "--flag", "--other", "--other --flags"),
    ],
)
def test_a_text_inside_of_a_longer_word_stays(text: str, old: str, new: str, after: str) -> None:
    assert replace_words(text, old, new) == after


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    files = {"crlf.txt": b"one teh\r\ntwo\r\n", "end.txt": b"teh end", "na me.txt": b"teh\n", 'q"t\t.txt': b"teh\n",
             "empty": b"", "blob.bin": b"\0\xff", "latin.txt": b"teh \xff\n", "run.sh": b"#!/bin/sh\n"}  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        home = tmp_path_factory.mktemp("home")
        patch.setenv("HOME", str(home))
        patch.setenv("NEXUS_HOME", str(home / "nexus"))
        place = scene.made(tmp_path_factory.mktemp("scene"))
        for name, raw in files.items():
            (place / name).write_bytes(raw)
        (place / "run.sh").chmod(0o755)
        run_git(place, "add", *files)
        run_git(place, "commit", "-qm", "more files")
        yield place


def applied(place: Path, prompt: str) -> dict[str, tuple[str, bytes]]:
    """Return the files that git has after the patch for a prompt, with their modes."""
    with scene.seen(place) as view:
        result = execute_by_rule(scene.order("exec", prompt, view))
    assert result.blocked is None, result.blocked
    (action,) = result.actions
    run_git(place, "apply", "--cached", "-", stdin=action.diff)
    tree = run_git(place, "write-tree").strip()
    run_git(place, "read-tree", "HEAD")
    found = {}
    for row in run_git(place, "ls-tree", "-r", "-z", tree).split("\0")[:-1]:
        head, _, name = row.partition("\t")
        raw = subprocess.run(["git", "cat-file", "blob", head.split()[2]], cwd=place, capture_output=True, check=True)
        found[name] = (head.split()[0], raw.stdout)
    return found


@pytest.mark.parametrize(
    ("prompt", "gone", "there"),
    [
        ("Fix the typo in end.txt: teh → the", "", {"end.txt": ("100644", b"the end")}),
        ("replace teh by the in crlf.txt and `na me.txt`", "",
         {"crlf.txt": ("100644", b"one the\r\ntwo\r\n"), "na me.txt": ("100644", b"the\n")}),
        ("replace teh by the everywhere", "",
         {'q"t\t.txt': ("100644", b"the\n"), "latin.txt": ("100644", b"teh \xff\n")}),
        ("rename run.sh to start.sh", "run.sh", {"start.sh": ("100755", b"#!/bin/sh\n")}),
        ("move blob.bin to data/", "blob.bin", {"data/blob.bin": ("100644", b"\0\xff")}),
        ("rename end.txt to last.txt, then replace teh by the in end.txt", "end.txt", {}),
        ("delete run.sh and empty", "run.sh empty", {}),
        ("move docs/ to pages/", "docs/retries.md",
         {"pages/retries.md": ("100644", scene.FILES["docs/retries.md"].encode())}),
    ],
)  # fmt: skip
def test_the_patch_says_exactly_that(place: Path, prompt: str, gone: str, there: dict[str, tuple[str, bytes]]) -> None:
    if "then replace" in prompt:
        with scene.seen(place) as view:
            blocked = execute_by_rule(scene.order("exec", prompt, view)).blocked
        assert blocked is not None
        assert "end.txt no longer exists" in blocked.question
        return

    after = applied(place, prompt)

    assert {name: after[name] for name in there} == there
    assert not set(gone.split()) & after.keys()


@pytest.mark.parametrize(
    ("prompt", "why"),
    [
        ("replace teh by the in todo.md", "“teh” does not occur in todo.md"),
        ("replace tw by the in crlf.txt", "“tw” occurs in crlf.txt only inside longer words; give more of the text"),
        ("replace TEH by the in crlf.txt", "“TEH” occurs in crlf.txt only with other capital letters"),
        ("replace foo by bar in blob.bin", "blob.bin is no text"),
        ("delete blob.bin", "delete it with a command, as in `git rm blob.bin`"),
        ("move end.txt to crlf.txt", "crlf.txt already exists"),
        ("move end.txt to ../x.txt", "is not a path in this repository"),
        ("run `make` and delete end.txt", "ask for it on its own"),
    ],
)
def test_what_cannot_be_done_is_said_with_its_reason(place: Path, prompt: str, why: str) -> None:
    with scene.seen(place) as view:
        blocked = execute_by_rule(scene.order("exec", prompt, view)).blocked

    assert blocked is not None
    assert why in blocked.question


def test_a_secret_file_is_no_file_to_change(place: Path) -> None:
    with scene.seen(place) as view:
        blocked = execute_by_rule(scene.order("exec", "replace backoff by x in .env", view)).blocked

    assert blocked is not None
    assert "git nexus model add" in blocked.question


def test_the_tests_are_run_by_the_target_that_the_project_has(place: Path) -> None:
    with scene.seen(place) as view:
        result = execute_by_rule(scene.order("exec", "Run the tests", view))

    assert [one.argv for one in result.actions] == [("make", "test")]


def test_the_rows_of_a_checklist_become_one_patch_in_their_order(place: Path) -> None:
    rows = "- [ ] rename end.txt to last.txt\n- [ ] replace teh by the in crlf.txt\n- [ ] run the tests\n"
    with scene.seen(place) as view:
        result = execute_by_rule(scene.order("exec", rows, view))
        plan = plan_by_rule(scene.order("plan", rows, view))

    assert [one.kind for one in result.actions] == ["patch", "command"]
    assert plan.questions == ()  # type: ignore[union-attr]


def test_a_step_of_a_plan_is_done_by_rule_and_proved_by_its_commands(place: Path) -> None:
    rows = "- [ ] rename end.txt to last.txt\n  - `make test` passes\n"
    with scene.seen(place) as view:
        plan = plan_by_rule(scene.order("plan", rows, view))
        result = execute_by_rule(scene.order("exec", rows, view, plan=plan, step="S1"))

    assert [(one.kind, one.argv) for one in result.actions] == [("patch", ()), ("command", ("make", "test"))]


def test_a_command_alone_does_not_stand_for_what_else_was_asked(place: Path) -> None:
    with scene.seen(place) as view:
        result = execute_by_rule(scene.order("exec", "Fix the parser and run `make test`", view))

    assert result.blocked is not None


def test_random_edits_give_what_git_makes_of_them(place: Path) -> None:
    names = ["crlf.txt", "end.txt", "todo.md", "run.sh", "na me.txt"]
    chance = random.Random(7)
    for _ in range(12):
        chosen = chance.sample(names, 3)
        prompt = f"delete `{chosen[0]}`, move `{chosen[1]}` to far/away/ and rename `{chosen[2]}` to z"

        after = applied(place, prompt)

        assert after.keys() & {*chosen} == set()
        assert {f"far/away/{chosen[1]}", "z"} <= after.keys()


def test_a_typo_is_mended_by_one_command_and_one_yes(project: Path, nexus: Nexus) -> None:
    (project / "page.md").write_text("This is teh page.\n")
    run_git(project, "add", "page.md")
    run_git(project, "commit", "-qm", "a page")

    started = nexus("run", "Fix the typo in page.md: teh → the", "--json")

    assert started.returncode == 21, started.stderr
    run = json.loads(started.stdout)["run"]["id"]
    nexus.ok("approve", "--unseen", run)
    assert run_git(project, "show", f"nexus/{run}:page.md") == "This is the page.\n"


def test_what_rules_cannot_do_starts_nothing_and_names_the_command(project: Path, nexus: Nexus) -> None:
    refused = nexus("run", "improve the design")

    assert refused.returncode == 1
    assert refused.stderr.startswith(
        "error: “improve the design” needs a model or an agent, and none is set up: "
        "git nexus model add sets up a model\n"
    )
    assert json.loads(nexus.ok("runs", "--json"))["runs"] == []


@pytest.mark.parametrize("prompt", ["delete nope.md", "fix the typo in nope.md: teh → the", "rename nope.md to z.md"])
def test_a_file_that_is_not_there_is_named_first(project: Path, nexus: Nexus, prompt: str) -> None:
    assert nexus("run", prompt).stderr.startswith("error: there is no nope.md, so rules cannot do “")
