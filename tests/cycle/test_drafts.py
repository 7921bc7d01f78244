"""The rules that make tasks of drafts, each in a table, without a repository."""

import re
from pathlib import Path
from typing import Any

import pytest

from gitnexus.base.errors import Invalid
from gitnexus.base.tool import input_schema_of
from gitnexus.cycle.bundle import (
    is_documentation,
    owner_of_bundle,
    with_docs_exceptions,
    with_shared_files_merged,
    without_generated_files,
)
from gitnexus.cycle.drafts import TaskDraft, parse_drafts
from gitnexus.cycle.jobs import Jobs, jobs_from_drafts
from gitnexus.cycle.pair import RUNTIME, STATIC, UNCHANGED, find_runtime_criterion, required_check, with_check_jobs
from gitnexus.cycle.prompt import (
    ContextTrailers,
    job_context,
    job_field,
    job_title,
    parse_context_trailers,
    why_one_task,
)
from gitnexus.cycle.synthesise import synthesise_jobs
from gitnexus.cycle.table import TOOLS


def draft(*files: str, **fields: Any) -> TaskDraft:
    return TaskDraft(**{"title": "t", "context": "c", "files": files, **fields})


def shape(jobs: Jobs) -> list[tuple[tuple[int, ...], str | None, tuple[str, ...], tuple[int, ...]]]:
    """What matters of jobs: which drafts are in each, whose it is, its files, what it waits for."""
    return [(job.origins, job.owner, job.files, job.deps) for job in jobs]


# --- the door


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([{"title": " ", "context": "c"}], "draft 1: title should not be empty"),
        ([{"title": "t", "context": ""}], "draft 1: context should not be empty"),
        ([{"title": "t", "context": "c", "deps": [2]}], "draft 1: deps names drafts that do not exist: 2"),
        ([{"title": "t", "context": "c", "deps": [0, -1]}], "draft 1: deps names drafts that do not exist: 0, -1"),
        ([{"title": "t", "context": "c", "deps": [1]}], "the drafts wait for each other in a circle: 1 → 1"),
        ([{"title": "t", "context": "c", "owner": "The Boss"}],
         "draft 1: owner 'The Boss' should be lower-case letters, digits and -"),
        ([{"title": "t", "context": "c", "owner": "tester", "verify": "reviewer"}],
         "draft 1: what a tester does is itself a check and has no other; leave verify out"),
        ([{"title": "t", "context": "c", "files": ["../x"]}],
         "draft 1: the file '../x' is refused: it leads out of the repository"),
        ([{"title": "t", "context": "c", "files": ["a/../../x"]}],
         "draft 1: the file 'a/../../x' is refused: it leads out of the repository"),
        ([{"title": "t", "context": "c", "files": ["/etc/x"]}],
         "draft 1: the file '/etc/x' is refused: it leads out of the repository"),
        ([{"title": "t", "context": "c", "files": [""]}], "draft 1: the file '' is refused: it names no file"),
        ([{"title": "t", "context": "c", "files": ["a\x1b[2J"]}],
         "draft 1: the file 'a\\x1b[2J' is refused: it holds control or invisible characters"),
        ([{"title": "t", "context": "c", "files": ["a\nException: x"]}],
         "draft 1: the file 'a\\nException: x' is refused: it holds control or invisible characters"),
        ([{"title": "t", "context": "c", "files": ["x" * 300]}],
         f"draft 1: the file '{'x' * 80}' is refused: it is longer than 1024 characters, or a part of it than 255"),
        ([{"title": "t", "context": "c", "generated": ["!"]}],
         "draft 1: generated '!' is refused: it is not a pattern: Invalid git pattern: '!'"),
        ([{"title": "t", "context": "c", "generated": ["*a*a*b"]}],
         "draft 1: generated '*a*a*b' is refused: it is longer than 120 characters, or has more than two ** or two *"),
        ([{"title": "t", "context": "c", "generated": ["**/a/**/b/**/c"]}],
         "draft 1: generated '**/a/**/b/**/c' is refused: "
         "it is longer than 120 characters, or has more than two ** or two *"),
        ([{"title": "t", "context": "c", "generated": ["x"] * 21}],
         "the drafts hold 21 entries in generated: at most 20 at once"),
        ([{"title": "t", "context": "c"}] * 201, "201 drafts are too many: at most 200 at once"),
        ([{"title": "t", "context": "c", "files": [f"f{n}" for n in range(2001)]}],
         "the drafts hold 2001 entries in files: at most 2000 at once"),
    ],
)  # fmt: skip
def test_a_draft_that_makes_no_sense_is_refused_by_its_number(values: list[dict[str, Any]], words: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse_drafts(values)

    assert refused.value.message == words


def test_a_circle_of_drafts_is_named() -> None:
    with pytest.raises(Invalid, match=r"^the drafts wait for each other in a circle: .*→") as refused:
        parse_drafts([{"title": "t", "context": "c", "deps": [dep]} for dep in (3, 1, 2)])

    assert {*"123"} < set(refused.value.message)


def test_a_file_has_one_spelling_and_an_owner_no_prefix() -> None:
    value = {"title": "t", "context": "c", "owner": "claude-nexus:writer", "deps": [], "scheme": " s ",
             "files": ["./a.md", "a.md", "x//y/../z.md", "gro\u0308ße.md", "größe.md", "a b.md/"]}  # fmt: skip

    (found,) = parse_drafts([value])

    assert found.files == ("a.md", "x/z.md", "größe.md", "a b.md")
    assert (found.owner, found.scheme) == ("writer", "s")


def test_the_tool_lists_the_fields_of_a_draft_and_requires_two() -> None:
    draft = input_schema_of(TOOLS["plan_tasks"])["properties"]["drafts"]["items"]

    assert list(draft["properties"]) == list(TaskDraft.model_fields)
    assert draft["required"] == ["title", "context"]


# --- generated files


@pytest.mark.parametrize(
    ("files", "patterns", "kept", "built"),
    [
        (("a.py", "dist/a.js"), ("dist/",), ("a.py",), ("dist/a.js",)),
        (("a.py", "dist/a.js"), (), ("a.py", "dist/a.js"), ()),
        (("dist/a.js",), ("dist/**",), (), ("dist/a.js",)),
        (("x/dist/a.js", "a.min.js"), ("*.min.js", "/dist/"), ("x/dist/a.js",), ("a.min.js",)),
        (("dist/a.js", "dist/keep.js"), ("dist/*", "!dist/keep.js"), ("dist/keep.js",), ("dist/a.js",)),
    ],
)
def test_what_a_build_writes_counts_for_nothing_and_is_remembered(
    files: tuple[str, ...], patterns: tuple[str, ...], kept: tuple[str, ...], built: tuple[str, ...]
) -> None:
    (job,) = without_generated_files(jobs_from_drafts([draft(*files, generated=patterns)]))

    assert (job.files, job.drafts[0].files, job.built) == (kept, kept, built)
    assert job.exceptions == (("generated_artifacts",) if built else ())


def test_a_pattern_of_one_draft_holds_for_all_so_that_a_build_merges_nobody() -> None:
    jobs = synthesise_jobs([draft("a.py", "dist/x.js", generated=("dist/",)), draft("b.py", "dist/x.js")])

    assert shape(jobs) == [((1,), None, ("a.py",), ()), ((2,), None, ("b.py",), ())]
    assert [job.built for job in jobs] == [("dist/x.js",), ("dist/x.js",)]
    assert parse_context_trailers(job_context(jobs[1])) == ContextTrailers(("generated_artifacts",), (), ("b.py",))
    assert job_context(jobs[1]).endswith("\nGenerated: dist/x.js")


# --- the same file


@pytest.mark.parametrize(
    ("drafts", "expected"),
    [
        ([draft("a"), draft("b")], [((1,), ("a",), ()), ((2,), ("b",), ())]),
        ([draft("a"), draft("b", "a")], [((1, 2), ("a", "b"), ())]),
        ([draft(), draft()], [((1,), (), ()), ((2,), (), ())]),
        # over a third
        ([draft("a"), draft("b"), draft("a", "b")], [((1, 2, 3), ("a", "b"), ())]),
        ([draft("a"), draft("a", "b"), draft("b", "c"), draft("d")], [((1, 2, 3), ("a", "b", "c"), ()),
                                                                      ((4,), ("d",), ())]),
        # sequenced drafts stay apart, in both directions and over others
        ([draft("a"), draft("a", deps=(1,))], [((1,), ("a",), ()), ((2,), ("a",), (1,))]),
        ([draft("a", deps=(2,)), draft("a")], [((1,), ("a",), (2,)), ((2,), ("a",), ())]),
        ([draft("a"), draft("b", deps=(1,)), draft("a", deps=(2,))],
         [((1,), ("a",), ()), ((2,), ("b",), (1,)), ((3,), ("a",), (2,))]),
        # a merge makes a new sequence: 1 and 2 become one, 3 waits for that and keeps out
        ([draft("a"), draft("a", "b"), draft("b", deps=(1,))], [((1, 2), ("a", "b"), ()), ((3,), ("b",), (1,))]),
        # who waited for either waits for both, and both wait for what either waited for
        ([draft("x"), draft("a", deps=(1,)), draft("a"), draft("y", deps=(3,)), draft("z", deps=(2, 3))],
         [((1,), ("x",), ()), ((2, 3), ("a",), (1,)), ((4,), ("y",), (2,)), ((5,), ("z",), (2,))]),
        # who checks changes nothing
        ([draft("a"), draft("a", owner="tester"), draft("a", owner="reviewer")],
         [((1,), ("a",), ()), ((2,), ("a",), ()), ((3,), ("a",), ())]),
    ],
)  # fmt: skip
def test_drafts_of_the_same_file_are_one_unless_one_waits_for_the_other(
    drafts: list[TaskDraft], expected: list[tuple[tuple[int, ...], tuple[str, ...], tuple[int, ...]]]
) -> None:
    jobs = with_shared_files_merged(jobs_from_drafts(drafts))

    assert [(job.origins, job.files, job.deps) for job in jobs] == expected
    assert all((job.exceptions == ("same_file_bundle",)) == (len(job.origins) > 1) for job in jobs)
    assert with_shared_files_merged(jobs) == jobs


@pytest.mark.parametrize(
    ("owners", "owner"),
    [
        ([None, None], None),
        (["engineer", None], "engineer"),
        (["writer", "writer"], "writer"),
        (["writer", "engineer"], "writer"),
        (["researcher", "engineer", "writer"], "engineer"),  # a researcher edits nothing
        (["researcher", "researcher"], "researcher"),
        (["architect", "engineer"], "lead"),
        (["architect", "designer"], "lead"),
        (["engineer", "lead"], "lead"),
        (["engineer", "somebody-else"], "lead"),
    ],
)
def test_who_gets_what_was_drafted_for_several(owners: list[str | None], owner: str | None) -> None:
    assert owner_of_bundle(owners) == owner
    (job,) = with_shared_files_merged(jobs_from_drafts([draft("a", owner=one) for one in owners]))
    assert job.owner == owner


def test_a_merged_task_lists_what_each_draft_asked_for_and_says_who_has_it() -> None:
    one = draft("a.py", "b.py", title="First", context="Do\nthis.", owner="engineer", acceptance="It exits 0",
                approach="Slowly", plan_issue=1)  # fmt: skip
    two = draft("b.py", title="Second", context="And that.\n", owner="writer", acceptance="It reads well", risk="Fog",
                plan_issue=3)  # fmt: skip
    (job, _check) = synthesise_jobs([one, two])

    assert job_title(job) == "First; Second"
    assert job_context(job) == (
        "2 drafts are one task: several would change b.py. They were drafted for engineer, writer; engineer has it. "
        "Do each of them:\n"
        "\n1. First\nDo\nthis.\n"
        "\n2. Second\nAnd that.\n"
        "\nException: same_file_bundle\nIssue: 1\nIssue: 3\nFile: a.py\nFile: b.py"
    )
    assert job_field(job, "acceptance") == "1. It exits 0\n2. It reads well"
    assert (job_field(job, "approach"), job_field(job, "risk")) == ("1. Slowly", "2. Fog")
    assert parse_context_trailers(job_context(job)) == ContextTrailers(("same_file_bundle",), (1, 3), ("a.py", "b.py"))


def test_a_task_that_no_rule_touches_has_the_drafts_own_words() -> None:
    (job,) = synthesise_jobs([draft(title="T", context="C \n", acceptance="A", plan_issue=2)])

    assert (job_title(job), job_context(job), job_field(job, "acceptance"), job_field(job, "risk")) == (
        "T",
        "C \n",
        "A",
        None,
    )


@pytest.mark.parametrize(
    "text",
    ["", "File: a", "x\nFile: a", "x\n\nFile: a\nand more", "x\n\nIssue: 3", "x\n\nIssue: 3\nFile: a", "x\n\nFile:"],
)
def test_only_a_last_paragraph_of_such_lines_is_read_and_issues_only_of_a_bundle(text: str) -> None:
    assert parse_context_trailers(text).issues == parse_context_trailers(text).exceptions == ()
    assert parse_context_trailers(text).files == (("a",) if text in ("File: a", "x\n\nIssue: 3\nFile: a") else ())


# --- documentation

COHERENT, INDEPENDENT = "docs_only.coherent", "docs_only.independent"


@pytest.mark.parametrize(
    ("files", "is_it"),
    [((), False), (("a.md",), True), (("a.md", "B.MD"), True), (("a.md", "a.py"), False), (("md",), False)],
)
def test_documentation_is_markdown_and_nothing_else(files: tuple[str, ...], is_it: bool) -> None:
    assert is_documentation(files) == is_it


@pytest.mark.parametrize(
    ("drafts", "expected"),
    [
        # one scheme, or one decision: together
        ([draft("a.md", scheme="s"), draft("b.md", scheme="s")], [((1, 2), ("a.md", "b.md"), COHERENT)]),
        ([draft("a.md", plan_issue=1), draft("b.md", plan_issue=1)], [((1, 2), ("a.md", "b.md"), COHERENT)]),
        ([draft("a.md", "b.md", scheme="s")], [((1,), ("a.md", "b.md"), COHERENT)]),
        # two schemes or two decisions: apart; a scheme that was named counts more than the issue
        ([draft("a.md", scheme="s"), draft("b.md", scheme="r")],
         [((1,), ("a.md",), INDEPENDENT), ((2,), ("b.md",), INDEPENDENT)]),
        ([draft("a.md", plan_issue=1, scheme="s"), draft("b.md", plan_issue=1)],
         [((1,), ("a.md",), INDEPENDENT), ((2,), ("b.md",), INDEPENDENT)]),
        # nothing in common is said: file by file
        ([draft("a.md", "b.md"), draft("c.md")],
         [((1,), ("a.md",), INDEPENDENT), ((1,), ("b.md",), INDEPENDENT), ((2,), ("c.md",), INDEPENDENT)]),
        # what was merged for a file it shares stays together
        ([draft("a.md", "b.md"), draft("b.md", "c.md")], [((1, 2), ("a.md", "b.md", "c.md"), COHERENT)]),
        # sequenced drafts are never bundled
        ([draft("a.md", scheme="s"), draft("b.md", scheme="s", deps=(1,))],
         [((1,), ("a.md",), INDEPENDENT), ((2,), ("b.md",), INDEPENDENT)]),
        # an engineer's documentation, and what is not only documentation, is no exception
        ([draft("a.md", "b.md", owner="engineer")], [((1,), ("a.md", "b.md"), None)]),
        ([draft("a.md", "b.py")], [((1,), ("a.md", "b.py"), None)]),
    ],
)  # fmt: skip
def test_documentation_is_one_task_for_one_change_and_else_one_for_each_file(
    drafts: list[TaskDraft], expected: list[tuple[tuple[int, ...], tuple[str, ...], str | None]]
) -> None:
    jobs = with_docs_exceptions(with_shared_files_merged(jobs_from_drafts(drafts)))

    assert [(job.origins, job.files, (job.exceptions or (None,))[-1]) for job in jobs] == expected
    assert all(job.owner == "writer" for job in jobs if job.exceptions)
    assert with_docs_exceptions(jobs) == jobs


def test_a_bundle_states_in_its_approach_what_holds_it_together() -> None:
    by_scheme, _ = synthesise_jobs([draft("a.md", "b.md", scheme="the new field", approach="Alphabetically")])
    by_issue, _ = synthesise_jobs([draft("a.md", plan_issue=4), draft("b.md", plan_issue=4)])
    by_file, _ = synthesise_jobs([draft("a.md", "b.md"), draft("b.md", "c.md")])

    assert job_field(by_scheme, "approach") == "All files follow one scheme: the new field.\nAlphabetically"
    assert job_field(by_issue, "approach") == "All files carry out one decision, the one on issue 4."
    assert why_one_task(by_issue) == "all files carry out one decision, the one on issue 4"
    assert job_field(by_file, "approach") == "The files hang together: several drafts change the same ones."
    assert by_file.exceptions == ("same_file_bundle", "docs_only.coherent")


def test_who_waited_for_a_draft_that_was_split_waits_for_all_its_files() -> None:
    jobs = synthesise_jobs([draft("x.py"), draft("a.md", "b.md", title="Docs", deps=(1,)), draft("y.py", deps=(2,))])

    do = [job for job in jobs if job.checks is None]
    assert [(job_title(job), job.files, job.deps) for job in do] == [
        ("t", ("x.py",), ()),
        ("Docs: a.md", ("a.md",), (1,)),
        ("Docs: b.md", ("b.md",), (1,)),
        ("t", ("y.py",), (2, 3)),
    ]
    assert job_context(do[1]).startswith(
        "c\n\nThis task is about a.md alone; each other file has its own.\n\nException: "
    )


def test_what_a_build_writes_goes_with_the_first_of_the_split_files() -> None:
    jobs = synthesise_jobs([draft("a.md", "b.md", "site/a.html", generated=("site/",))])

    assert [(job.built, job.exceptions) for job in jobs if job.checks is None] == [
        (("site/a.html",), ("generated_artifacts", "docs_only.independent")),
        ((), ("docs_only.independent",)),
    ]


# --- who checks


@pytest.mark.parametrize(
    ("acceptance", "found"),
    [
        ("The endpoint returns 200", "The endpoint returns 200"),
        ("GET /x responds within 50 ms", "GET /x responds within 50 ms"),
        ("p95 under 200ms", "p95 under 200ms"),
        ("All tests pass", "All tests pass"),
        ("`make demo` exits 0", "`make demo` exits 0"),
        ("The module is small. It is RETRIED twice", "It is RETRIED twice"),
        ("mypy passes and the page renders", "the page renders"),
        ("Running it twice is harmless", "Running it twice is harmless"),
        ("mypy passes", None),
        ("lint passes; type-check passes", None),
        ("It compiles", None),
        ("All existing tests pass", None),
        ("The tests still pass, behaviour-preserving", None),
        ("No behavior change: the same requests are sent", None),
        ("The class has three methods", None),
        ("The README names the second option", None),
        ("Restarting is documented", None),  # start is a word, not a part of one
        ("", None),
    ],
)
def test_a_criterion_is_about_running_by_its_words(acceptance: str, found: str | None) -> None:
    assert find_runtime_criterion(acceptance) == found


def test_the_words_that_decide_are_the_words_that_people_can_read() -> None:
    page = (Path(__file__).parents[2] / "docs" / "explanation" / "cycle.md").read_text(encoding="utf-8")
    quotes = re.findall(r"(?:^> .*\n)+", page, re.MULTILINE)

    listed = [re.split(r"[,;] ", quote.removeprefix("> ").rstrip().replace("\n> ", " ")) for quote in quotes]

    assert listed == [list(RUNTIME), [*STATIC, *UNCHANGED]]


RUNS, READS = "It exits 0", "It is short"


@pytest.mark.parametrize(
    ("fields", "role"),
    [
        # engineer: what must be seen running
        ({"owner": "engineer", "acceptance": RUNS}, "tester"),
        ({"owner": "engineer", "acceptance": READS}, None),
        ({"owner": "engineer"}, None),
        ({"owner": "engineer", "acceptance": READS, "kind": "behavior"}, "tester"),
        ({"owner": "engineer", "kind": "behavior"}, None),
        ({"owner": "engineer", "acceptance": RUNS, "kind": "refactor"}, None),
        ({"owner": "engineer", "acceptance": RUNS, "kind": "types"}, None),
        ({"owner": "engineer", "acceptance": RUNS, "files": ("a.md",)}, None),
        ({"owner": "engineer", "acceptance": RUNS, "files": ("a.md", "a.py")}, "tester"),
        # writer: what is delivered
        ({"owner": "writer", "acceptance": READS}, "reviewer"),
        ({"owner": "writer", "acceptance": READS, "files": ("a.txt",)}, "reviewer"),
        ({"owner": "writer"}, None),
        ({"owner": "writer", "files": ("a.md",)}, "reviewer"),
        ({"owner": "writer", "files": ("a.md",), "kind": "refactor"}, None),
        # all others: nobody, a researcher least of all
        ({"owner": "researcher", "acceptance": RUNS}, None),
        ({"owner": "researcher", "acceptance": READS, "files": ("a.md",)}, None),
        ({"owner": "architect", "acceptance": RUNS}, None),
        ({"owner": "lead", "acceptance": RUNS}, None),
        ({"acceptance": RUNS}, None),
        ({"owner": "tester", "acceptance": RUNS}, None),
        # what the draft says counts more than the rules
        ({"owner": "engineer", "acceptance": RUNS, "verify": "none"}, None),
        ({"owner": "engineer", "acceptance": RUNS, "verify": "reviewer"}, "reviewer"),
        ({"owner": "researcher", "verify": "reviewer"}, "reviewer"),
        ({"owner": "writer", "files": ("a.md",), "verify": "none"}, None),
        ({"kind": "refactor", "verify": "tester"}, "tester"),
        ({"owner": "tester", "verify": "none"}, None),
    ],
)
def test_who_checks_for_every_row_of_the_table(fields: dict[str, Any], role: str | None) -> None:
    jobs = jobs_from_drafts([TaskDraft(**{"title": "t", "context": "c", **fields})])

    found = required_check(jobs[0])
    assert (found and found[0]) == role
    assert [job.owner for job in with_check_jobs(jobs)[1:]] == ([role] if role else [])
    assert with_check_jobs(with_check_jobs(jobs)) == with_check_jobs(jobs)


def test_of_several_drafts_in_one_task_the_strictest_decides() -> None:
    text = draft("a.md", "a.py", owner="writer", acceptance=READS)
    code = draft("a.py", owner="engineer", acceptance=RUNS)
    plan = draft("a.py", owner="architect")

    assert [job.owner for job in synthesise_jobs([text, code])] == ["writer", "tester"]
    assert [job.owner for job in synthesise_jobs([plan, code])] == ["lead", "tester"]
    assert [job.owner for job in synthesise_jobs([plan, text])] == ["lead", "reviewer"]
    assert [job.owner for job in synthesise_jobs([code.changed(verify="none"), code.changed(kind="types")])] == [
        "engineer"
    ]


def test_a_check_says_what_to_check_and_stands_behind_its_task() -> None:
    first = draft("a.py", title="First", owner="engineer", acceptance=RUNS, plan_issue=2)
    jobs = synthesise_jobs([first, draft("b.py", title="Second")])

    assert [(job_title(job), job.owner, job.deps) for job in jobs] == [
        ("First", "engineer", ()),
        ("Check: First", "tester", (1,)),
        ("Second", None, ()),
    ]
    assert job_context(jobs[1]) == (
        "Check the task before with fresh eyes: First\n\n"
        "Run it, change nothing, and tell for each criterion whether it is met and how you saw it. "
        "There is a check because it must be seen running (“It exits 0”).\n\n"
        "It is about a.py."
    )
    assert (job_field(jobs[1], "acceptance"), jobs[1].issues) == (RUNS, (2,))


def test_a_check_that_was_drafted_is_the_check() -> None:
    do = draft("a.py", owner="engineer", acceptance=RUNS)

    assert len(synthesise_jobs([do, draft(owner="tester", deps=(1,))])) == 2
    assert len(synthesise_jobs([do, draft(owner="reviewer", deps=(1,))])) == 3
    assert len(synthesise_jobs([do, draft(owner="tester")])) == 3


def test_a_task_stands_behind_what_it_waits_for() -> None:
    jobs = synthesise_jobs([draft("a", deps=(3,)), draft("b", deps=(1,)), draft("c")])

    assert shape(jobs) == [((3,), None, ("c",), ()), ((1,), None, ("a",), (1,)), ((2,), None, ("b",), (2,))]
