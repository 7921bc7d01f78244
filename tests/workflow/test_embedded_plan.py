"""Plans by rule: lists become steps, whole and in their order; what nobody wrote down is asked for."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitnexus.prompts.functions import function_named
from gitnexus.prompts.model import Blocked, Claim, Plan, PlanStep, ResearchBundle
from gitnexus.workflow.embedded import plan_by_rule
from gitnexus.workflow.embedded.argv import commands_in_sentence, parse_command_line
from gitnexus.workflow.embedded.extract_actions import FoundWork, changed_paths, diffs_of_step
from gitnexus.workflow.embedded.outline import parse_outline
from gitnexus.workflow.embedded.question import named_paths
from gitnexus.workflow.embedded.steps import estimate_risk
from gitnexus.workflow.specialist import AnsweredQuestion
from tests.conftest import examples
from tests.workflow.scene import Seen, made, order, seen

DIFF = "--- a/src/loop.py\n+++ b/src/loop.py\n@@ -1,2 +1,2 @@\n def loop():\n-    pass\n+    return 1\n"


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    with pytest.MonkeyPatch.context() as patch:
        home = tmp_path_factory.mktemp("home")
        patch.setenv("HOME", str(home))
        patch.setenv("NEXUS_HOME", str(home / "nexus"))
        with seen(made(Path(tmp_path_factory.mktemp("scene")))) as found:
            yield found


def plan(prompt: str, view: Seen | None = None, **given: object) -> Plan:
    found = plan_by_rule(order("plan", prompt, view, **given))  # type: ignore[arg-type]
    assert isinstance(found, Plan), found
    assert function_named("MakePlan").answer(found.plain()) == found
    return found


def shape(found: Plan) -> list[tuple[str, str, tuple[str, ...], tuple[tuple[str, ...], ...]]]:
    return [(one.id, one.title, one.files, one.commands) for one in found.steps]


def test_the_acceptance_list_of_a_task_becomes_steps_with_commands_and_files(view: Seen) -> None:
    found = plan("do T1", view)

    assert shape(found) == [
        ("S1", "`make test` passes", ("src/client.py",), (("make", "test"),)),
        ("S2", "docs/retries.md tells about jitter", ("docs/retries.md",), ()),
    ]
    assert found.steps[0].accept == ("`make test` passes",)
    assert found.steps[0].ctx.docs == ("task:T1",)
    assert found.steps[1].ctx.paths == ("docs/retries.md",)
    assert found.questions == (
        "S2 says what to reach and not how: without a command or a patch only an agent can do it.",
    )


def test_the_task_that_a_run_is_for_is_planned_and_an_open_dependency_is_told(view: Seen) -> None:
    found = plan("go on", view, task="T2")

    assert [one.title for one in found.steps] == ["Measure it"]
    assert found.questions[:2] == (
        "Note: T2 has no acceptance list: it becomes one step.",
        "Note: T2 depends on T1, which is open.",
    )


@pytest.mark.parametrize("prompt", ["plan phase core", "plan docs/phases/core.md", "work on the active phase"])
def test_the_open_steps_of_a_phase_become_steps_under_their_own_ids(view: Seen, prompt: str) -> None:
    found = plan(prompt, view)

    assert shape(found) == [
        ("loop", "write `src/loop.py`", ("src/loop.py",), ()),
        ("green", "`make test` passes", (), (("make", "test"),)),
    ]
    assert found.steps[0].ctx.docs == ("doc:docs/phases/core.md",)


@pytest.mark.parametrize(("prompt", "refs"), [("plan todo.md", ()), ("go", ("file:todo.md",))])
def test_a_checklist_in_a_file_becomes_steps_without_what_is_ticked(
    view: Seen, prompt: str, refs: tuple[str, ...]
) -> None:
    assert [one.title for one in plan(prompt, view, refs=refs).steps] == ["rename the loop"]


def test_a_checklist_in_an_artifact_becomes_steps(view: Seen) -> None:
    assert [one.title for one in plan("go", view, refs=("artifact:run/todo.md",)).steps] == ["from a run"]


def test_a_row_carries_its_patch_and_commands_and_what_must_hold() -> None:
    code = f"  ```diff\n{indented(DIFF)}  ```\n\n  ```sh\n  $ make test\n  ok\n  ```\n"
    text = f"- [ ] mend the loop\n  - it returns 1\n\n{code}"
    (step,) = plan(text).steps

    assert diffs_of_step(step) == [DIFF]
    assert (step.commands, step.files, step.accept) == ((("make", "test"),), ("src/loop.py",), ("it returns 1",))
    assert step.risk == 1


def test_a_patch_after_a_command_is_a_step_of_its_own() -> None:
    text = f"1. move\n\n   ```sh\n   make a\n   ```\n\n   ```diff\n{indented(DIFF, 3)}   ```\n2. next\n"
    found = plan(text)

    assert [(one.id, one.title, one.depends) for one in found.steps] == [
        ("S1", "move (1 of 2)", ()),
        ("S2", "move (2 of 2)", ("S1",)),
        ("S3", "next", ("S2",)),
    ]


def test_rows_below_a_row_are_steps_if_they_have_boxes_and_conditions_if_not() -> None:
    found = plan("- [ ] a group\n  - [ ] one\n  - [x] gone\n  - [ ] two, after one\n- [ ] last\n  - holds\n")

    assert [one.title for one in found.steps] == ["one", "two, after one", "last"]
    assert found.steps[2].accept == ("holds",)


def test_a_step_waits_for_those_it_names() -> None:
    found = plan("- [ ] a {#first}\n- [ ] b\n- [ ] c, after first and S2\n")

    assert found.steps[2].depends == ("first", "S2")


def test_clauses_of_a_prompt_become_steps_in_their_order() -> None:
    found = plan("Add a flag to src/cli.py, then run `make test`. Is that fine?")

    assert shape(found) == [
        ("S1", "Add a flag to src/cli.py", ("src/cli.py",), ()),
        ("S2", "run `make test`", (), (("make", "test"),)),
    ]
    assert found.steps[1].depends == ("S1",)


def test_a_line_that_needs_a_shell_is_a_question_and_no_command() -> None:
    found = plan("- [ ] run `make test | tee log` now\n")

    assert found.steps[0].commands == ()
    assert found.questions[0].startswith("S1: `make test | tee log` needs a shell")


def test_research_gives_context_and_its_open_questions_stay_open() -> None:
    claims = (
        Claim(text="x", citations=("file:src/a.py#L1-L2",), confidence=80),
        Claim(text="y", citations=("file:src/b.py#L1-L2",), confidence=30),
    )
    bundle = ResearchBundle(
        question="q", summary="s", claims=claims, constraints=("keep (doc:AGENDA.md#GOAL)",), unresolved=("who?",)
    )
    found = plan("- [ ] look\n", inputs={"research": bundle})

    assert found.steps[0].ctx.docs == ("doc:AGENDA.md#GOAL", "file:src/a.py#L1-L2")
    assert found.questions[-1] == "who?"


def test_an_answer_that_lists_steps_is_the_plan() -> None:
    asked = AnsweredQuestion("Which steps?", "- [ ] one\n- [ ] two")

    assert [one.title for one in plan("make it better?", answers=(asked,)).steps] == ["one", "two"]


def test_a_question_lists_no_steps_and_is_blocked_with_what_may_help(view: Seen) -> None:
    found = plan_by_rule(order("plan", "why is it slow?", view))

    assert isinstance(found, Blocked)
    assert found.kind == "needs_user_input"
    assert found.suggested_ctx == ("doc:AGENDA.md", "task:T1")


def test_a_list_where_all_is_ticked_is_blocked() -> None:
    assert plan_by_rule(order("plan", "- [x] a\n- [X] b\n")) == Blocked(
        kind="needs_user_input",
        question="What is left to do? Every row of the checklist in the prompt is ticked.",
    )


@pytest.mark.parametrize(
    ("prompt", "goal"),
    [
        ("Ship it:\n\n- [ ] a\n- [ ] b\n", "Ship it"),
        ("- [ ] a\n", "the checklist in the prompt"),
        ("Apply this.\n\n```sh\nmake\n```\n", "Apply this."),
    ],
)
def test_the_goal_is_what_stands_above_the_list(prompt: str, goal: str) -> None:
    assert plan(prompt).goal == goal


@pytest.mark.parametrize(
    ("told", "files", "commands", "risk"),
    [
        ("write the page", ["docs/a.md"], (), 0),
        ("write the function", ["src/a.py"], (), 1),
        ("migrate the table", ["src/a.py"], (), 2),
        ("tidy", ["pyproject.toml"], (), 2),
        ("delete old backups", [], (), 3),
        ("tidy", [], (("git", "push"),), 3),
    ],
)
def test_risk_is_a_rule(told: str, files: list[str], commands: tuple[tuple[str, ...], ...], risk: int) -> None:
    assert estimate_risk(told, files, FoundWork((), commands)) == risk


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("`make test` passes", [("make", "test")]),
        ("run `pytest -q tests/a.py`", [("pytest", "-q", "tests/a.py")]),
        ("rename `old_name` to `new_name`", []),
        ("`load_config` works", []),
        ("check with `git grep 'a b'`", [("git", "grep", "a b")]),
        ("`$ ls`", [("ls",)]),
        ("see `make`", []),
    ],
)
def test_code_in_a_sentence_is_a_command_if_it_is_said_to_be_run(text: str, commands: list[tuple[str, ...]]) -> None:
    assert list(commands_in_sentence(text).commands) == commands


PLAIN = st.text(st.characters(codec="ascii", min_codepoint=33, exclude_characters="|<>;&$`*?~'\"\\#="), min_size=1)


@given(st.lists(PLAIN, max_size=5))
def test_a_command_line_comes_back_as_its_words(words: list[str]) -> None:
    import shlex

    assert parse_command_line(shlex.join(["make", *words])) == ("make", *words)


@given(st.text(max_size=400))
@settings(max_examples=examples(60))
def test_any_text_has_an_outline_and_any_line_is_a_command_or_a_reason(text: str) -> None:
    assert parse_outline(text) == parse_outline(text)
    assert parse_command_line(text)


ROW = st.tuples(st.sampled_from(["do a", "see src/x.py", "run `make`", "drop it", "after S1"]), st.booleans())


@given(st.lists(ROW, min_size=1, max_size=12), st.sampled_from(["-", "1."]))
@settings(max_examples=examples(60))
def test_every_open_row_is_one_step_and_waits_only_for_steps_before_it(rows: list[tuple[str, bool]], dash: str) -> None:
    text = "".join(f"{dash} [{'x' if done else ' '}] {words} {at}\n" for at, (words, done) in enumerate(rows))
    found = plan_by_rule(order("plan", text))
    wanted = [f"{words} {at}" for at, (words, done) in enumerate(rows) if not done]

    if wanted:
        assert isinstance(found, Plan)
        assert [step.title for step in found.steps] == wanted
        assert well_ordered(found.steps)


def well_ordered(steps: tuple[PlanStep, ...]) -> bool:
    before: set[str] = set()
    for step in steps:
        if not set(step.depends) <= before or step.id in before:
            return False
        before.add(step.id)
    return True


def indented(text: str, by: int = 2) -> str:
    return "".join(f"{' ' * by}{line}" for line in text.splitlines(keepends=True))


def test_a_task_of_another_project_is_not_taken_for_ours(view: Seen) -> None:
    found = plan("- write it\n- run `make`\n", view, task="other:T1")

    assert [one.title for one in found.steps] == ["write it", "run `make`"]
    assert found.questions[0] == "Note: other:T1 is a task of another project, and its list is not read here."


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("do the steps in zu tun.md", ["zu tun.md"]),
        ("do the steps in 'zu tun.md', then those of ./mein Büro/b (1).txt.", ["zu tun.md", "mein Büro/b (1).txt"]),
        ("see `zu tun.md` and tun.md", ["zu tun.md", "tun.md"]),
        ("jazu tun.md", ["tun.md"]),
        ("zu\ntun.md", ["tun.md"]),
    ],
)
def test_a_file_with_a_blank_in_its_name_is_named_by_all_of_it(text: str, named: list[str]) -> None:
    assert named_paths(text, frozenset({"zu tun.md", "tun.md", "mein Büro/b (1).txt"})) == named


def test_the_files_of_a_patch_are_spelled_as_they_are_called_and_not_as_git_quotes_them() -> None:
    diff = (
        '--- "a/b/\\303\\244 b.txt"\t\n+++ "b/b/\\303\\244 b.txt"\t\n@@ -1 +1 @@\n-a\n+b\n'
        'diff --git a/x b/y\nrename from x\nrename to "y \\"z\\""\n'
        "--- a/plain one.txt\t\n+++ b/plain one.txt\t\n--- /dev/null\n+++ b/new.txt\n"
    )

    assert changed_paths([diff]) == ["b/ä b.txt", "x", 'y "z"', "plain one.txt", "new.txt"]


@pytest.mark.parametrize(
    "prompt", ["Plan and implement the open steps in TODO.md", "do the tasks from `notes/next.md`"]
)
def test_a_list_that_is_not_there_is_named_and_asked_for(view: Seen, prompt: str) -> None:
    found = plan_by_rule(order("plan", prompt, view))

    assert isinstance(found, Blocked)
    assert "md is not in the commit that this begins at" in found.question


def test_a_file_that_is_to_be_made_is_no_list_that_is_missing(view: Seen) -> None:
    assert [step.title for step in plan("write NOTES.md", view).steps] == ["write NOTES.md"]
