"""The pure decisions of a cycle, without a repository."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitnexus.base.errors import Invalid, NexusError, NotFound
from gitnexus.base.tool import check_parameters
from gitnexus.cycle.agents import AgentEntry, plain_agent_name
from gitnexus.cycle.close import with_closed_cycle
from gitnexus.cycle.model import Cycle, CycleHistory, CycleTask, PlanFile, PlanIssue, TaskFile
from gitnexus.cycle.plan import apply_issue_change, with_decision
from gitnexus.cycle.resume import ResumeSituation, decide_resume, is_edited_by_others
from gitnexus.cycle.table import TOOLS
from gitnexus.cycle.tasks import summarize_tasks, with_new_task
from gitnexus.cycle.tasks import with_task_status as task_updated

PLAN = PlanFile(
    id=3,
    topic="T",
    issues=(PlanIssue(id=1, title="a", status="decided", decision="x"), PlanIssue(id=4, title="b")),
    created_at="2026-01-01T00:00:00Z",
)


def tasks(*rows: tuple[int, str, tuple[int, ...]]) -> TaskFile:
    made = tuple(CycleTask(id=i, title=f"t{i}", context="c", status=s, deps=d) for i, s, d in rows)  # type: ignore[arg-type]
    return TaskFile(goal="G", tasks=made)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"action": "add"}, "title is required for add"),
        ({"action": "remove"}, "issue_id is required for remove"),
        ({"action": "reopen"}, "issue_id is required for reopen"),
        ({"action": "edit", "issue_id": 1}, "issue_id and title are required for edit"),
        ({"action": "edit", "title": "x"}, "issue_id and title are required for edit"),
        ({"action": "remove", "issue_id": 9}, "Issue 9 not found"),
        ({"action": "zap"}, "Unknown action: zap"),
    ],
)
def test_a_change_that_makes_no_sense_is_refused_in_the_contracts_words(params: dict[str, object], words: str) -> None:
    with pytest.raises(NexusError) as refused:
        apply_issue_change(PLAN, params)

    assert refused.value.message == words


def test_without_a_plan_nothing_can_be_changed_or_decided() -> None:
    for act in (
        lambda: apply_issue_change(None, {"action": "add", "title": "x"}),
        lambda: with_decision(None, {"issue_id": 1}),
    ):
        with pytest.raises(NotFound, match=r"^No active plan session$"):
            act()


def test_a_new_issue_gets_a_number_that_was_never_used() -> None:
    plan, issue, past = apply_issue_change(PLAN, {"action": "add", "title": "c"})

    assert (issue.id, past) == (5, "added")
    assert [i.id for i in plan.issues] == [1, 4, 5]


def test_reopening_takes_the_decision_back() -> None:
    plan, issue, _ = apply_issue_change(PLAN, {"action": "reopen", "issue_id": 1})

    assert issue == PlanIssue(id=1, title="a")
    assert "decision" not in plan.plain()["issues"][0]


def test_deciding_again_overwrites_and_keeps_who_was_asked() -> None:
    once, _ = with_decision(
        PLAN, {"issue_id": 4, "decision": "y", "how_agents": ["architect"], "how_summary": {"architect": "s"}}
    )
    twice, issue = with_decision(once, {"issue_id": 4, "decision": "z"})

    assert (issue.decision, issue.how_agents, issue.how_summary) == ("z", ("architect",), {"architect": "s"})
    assert twice.issues[0] == PLAN.issues[0]


def test_a_task_without_a_goal_takes_the_plans_topic_and_else_its_own_title() -> None:
    params = {"title": "first", "context": "c"}

    assert with_new_task(None, PLAN, params, "now")[0].goal == "T"
    assert with_new_task(None, None, params, "now")[0].goal == "first"
    assert with_new_task(tasks(), PLAN, params, "now")[0].goal == "G"
    assert with_new_task(tasks(), PLAN, {**params, "goal": "new"}, "now")[0].goal == "new"


def test_a_dependency_that_does_not_exist_is_named() -> None:
    with pytest.raises(Invalid, match="deps names tasks that do not exist: 7, 8"):
        with_new_task(tasks((1, "pending", ())), None, {"title": "t", "context": "c", "deps": [1, 7, 8]}, "now")


def test_decisions_are_added_and_never_replaced() -> None:
    file, _ = with_new_task(None, None, {"title": "t", "context": "c", "decisions": ["a"]}, "now")
    file, _ = with_new_task(file, None, {"title": "u", "context": "c", "decisions": ["b"]}, "now")

    assert file.decisions == ("a", "b")
    assert [task.id for task in file.tasks] == [1, 2]


def test_ready_is_what_waits_for_nothing_in_file_order() -> None:
    file = tasks(
        (5, "pending", ()), (1, "completed", ()), (2, "pending", (1,)), (3, "pending", (2,)), (4, "in_progress", ())
    )

    assert summarize_tasks(file) == {"total": 5, "completed": 1, "pending": 3, "blocked": 1, "ready": [5, 2]}


@given(st.lists(st.sampled_from(["pending", "in_progress", "completed"]), max_size=8))
def test_the_counts_add_up(statuses: list[str]) -> None:
    counts = summarize_tasks(tasks(*((at, status, ()) for at, status in enumerate(statuses, 1))))

    assert counts["completed"] + counts["pending"] + counts["blocked"] == counts["total"] == len(statuses)


def test_a_task_may_go_back_and_an_unknown_one_is_named() -> None:
    file, task = task_updated(tasks((1, "completed", ())), 1, "pending")

    assert task.status == "pending"
    with pytest.raises(NotFound, match=r"^Task id 9 not found$"):
        task_updated(file, 9, "pending")


def test_what_a_killed_close_archived_is_not_archived_twice() -> None:
    cycle = Cycle(completed_at="1", branch="main", plan=PLAN, tasks=tasks((1, "completed", ())).tasks)
    once, why = with_closed_cycle(CycleHistory(), cycle)
    twice, nothing = with_closed_cycle(once, cycle.changed(completed_at="2"))

    assert why == "cycle: close the plan 'T', 1 of 1 tasks done"
    assert (twice, nothing) == (once, "")


def test_closing_nothing_twice_is_two_cycles() -> None:
    empty = Cycle(completed_at="1", branch="main")
    once, _ = with_closed_cycle(CycleHistory(), empty)

    assert len(with_closed_cycle(once, empty)[0].cycles) == 2
    assert once.plain()["cycles"][0]["plan"] is None


@pytest.mark.parametrize(
    ("tool", "params", "words"),
    [
        ("plan_start", {"topic": "x", "issues": []}, "research_summary is required for plan_start"),
        ("plan_start", {"topic": "x", "issues": "a", "research_summary": ""}, "issues should be a list of texts"),
        ("task_add", {"title": 3, "context": "c"}, "title should be text"),
        ("task_add", {"title": "t", "context": "c", "deps": ["x"]}, "deps should be a list of whole numbers"),
        ("task_update", {"id": "one", "status": "pending"}, "id should be a whole number"),
        ("task_update", {"id": 1, "status": "done"}, "status should be one of pending, in_progress, completed"),
        ("task_list", {"zap": 1}, "task_list has no parameter 'zap'"),
        ("task_close", {"refuse_open": "yes"}, "refuse_open should be true or false"),
    ],
)
def test_parameters_are_checked_before_anything_happens(tool: str, params: dict[str, object], words: str) -> None:
    with pytest.raises(Invalid) as refused:
        check_parameters(TOOLS[tool], params)

    assert refused.value.message == words


@pytest.mark.parametrize("given_id", [2, "2", " 2 "])
def test_numbers_that_come_as_text_are_numbers(given_id: object) -> None:
    assert check_parameters(TOOLS["task_update"], {"id": given_id, "status": "pending"})["id"] == 2


def test_a_plug_ins_prefix_is_not_part_of_a_name() -> None:
    assert plain_agent_name("claude-nexus:architect") == "architect"
    with pytest.raises(Invalid):
        plain_agent_name("Arch itect")


Y, N = True, False
SAME = "the same agent, the same files, and nobody edited them since"
FRESH = "the task asks for a fresh start"
TABLE = [
    # policy, tier, has session, same agent, same files, others edited → resumed, why
    ("fresh", "persistent", Y, Y, Y, N, N, FRESH),
    ("fresh", "bounded", Y, Y, Y, N, N, FRESH),
    ("fresh", "ephemeral", Y, Y, Y, N, N, FRESH),
    ("resume", "persistent", Y, N, N, N, Y, "the task asks to go on"),
    ("resume", "ephemeral", Y, Y, Y, N, Y, "the task asks to go on"),
    ("resume", "bounded", Y, Y, Y, N, Y, "the task asks to go on"),
    ("resume", "bounded", Y, Y, Y, Y, N, "others edited its files since"),
    ("resume", "persistent", N, Y, Y, N, N, "there is no earlier session to resume"),
    ("resume_if_same_artifact", "persistent", Y, Y, Y, N, Y, SAME),
    ("resume_if_same_artifact", "persistent", Y, N, Y, N, N, "another agent had it"),
    ("resume_if_same_artifact", "persistent", Y, Y, N, N, N, "it is about other files"),
    ("resume_if_same_artifact", "persistent", Y, Y, Y, Y, N, "others edited its files since"),
    ("resume_if_same_artifact", "bounded", N, Y, Y, N, N, "there is no earlier session to resume"),
    (None, "ephemeral", Y, Y, Y, N, N, "this role checks with fresh eyes"),
    (None, "persistent", Y, N, N, Y, Y, "this role keeps its session"),
    (None, "persistent", N, Y, Y, N, N, "there is no earlier session to resume"),
    (None, "bounded", Y, Y, Y, N, Y, SAME),
    (None, "bounded", Y, N, Y, N, N, "another agent had it"),
    (None, "bounded", Y, Y, N, N, N, "it is about other files"),
    (None, "bounded", Y, Y, Y, Y, N, "others edited its files since"),
    (None, "bounded", N, Y, Y, N, N, "there is no earlier session to resume"),
]  # fmt: skip


@pytest.mark.parametrize("row", TABLE)
def test_fresh_or_resumed_for_every_row_of_the_table(row: tuple[object, ...]) -> None:
    assert decide_resume(ResumeSituation(*row[:6])) == row[6:]  # type: ignore[arg-type]


def test_an_edit_counts_only_if_another_made_it_later_to_the_same_file() -> None:
    def entry(agent: str, stopped: str | None, *files: str) -> AgentEntry:
        return AgentEntry(harness_id="h", started_at="1", agent_id=agent, stopped_at=stopped, files_touched=files)

    mine = entry("me", "5", "a")
    assert not is_edited_by_others([mine, entry("you", "4", "a")], "me", ["a"])
    assert not is_edited_by_others([mine, entry("you", "6", "b")], "me", ["a"])
    assert is_edited_by_others([mine, entry("you", "6", "a")], "me", ["a"])
    assert is_edited_by_others([mine, entry("you", None, "a")], "me", ["a"])
