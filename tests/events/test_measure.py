"""Counting a run from its log: who did what, in one pass, whatever agents write into it."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitnexus.events import RunLog
from gitnexus.events.kinds import KINDS
from gitnexus.events.log import EventDraft
from gitnexus.events.measure import _STEPS, MeasuredWorker, RunMeasure, WorkerTally, measure_run

RUN = "261116-1503-k7fb"
HASH = "sha256:" + "a" * 64
CODEX, PLANNER = MeasuredWorker("codex", "codex"), MeasuredWorker("planner", "claude")
START = ("workflow.started", {"run": RUN, "definition": HASH, "agent": "codex"})


def counted(place: Path, *events: tuple[str, dict[str, Any]]) -> RunMeasure:
    log = RunLog(place / RUN)
    log.append_many([EventDraft(kind, "nexus", body) for kind, body in (START, *events)])
    return measure_run(log.raw())


def proposed(action: str, kind: str = "patch", **more: Any) -> tuple[str, dict[str, Any]]:
    return "action.proposed", {"action": action, "actionKind": kind, "summary": "s", "digest": HASH, **more}


def judged(action: str, verdict: str) -> tuple[str, dict[str, Any]]:
    return "action.judged", {"action": action, "verdict": verdict, "rule": "r", "why": "w"}


def granted(action: str, by: str = "ann", scope: str = "once") -> tuple[str, dict[str, Any]]:
    return "permission.granted", {"action": action, "digest": HASH, "by": by, "scope": scope}


def executed(action: str, ok: bool = True, **more: Any) -> tuple[str, dict[str, Any]]:
    return "tool.executed", {"action": action, "tool": "t", "ok": ok, **more}


def node(name: str, what: str = "started", **more: Any) -> tuple[str, dict[str, Any]]:
    return f"node.{what}", {"node": name, **more}


def test_a_whole_run_is_counted_for_who_did_it(tmp_path: Path) -> None:
    found = counted(
        tmp_path,
        node("N1", agent="planner", adapter="claude"),
        ("agent.spent", {"input": 100, "output": 20, "cost": 1500, "node": "N1"}),
        ("output.checked", {"node": "N1", "schema": "plan", "ok": False}),
        ("output.checked", {"node": "N1", "schema": "plan", "ok": True}),
        node("N1", "completed"),
        node("N2", agent="codex"),
        proposed("a1", node="N2"),
        judged("a1", "ask"),
        judged("a1", "ask"),
        granted("a1", scope="session"),
        executed("a1"),
        proposed("a2", "command", node="N2"),
        judged("a2", "allow"),
        granted("a2", by="policy"),
        executed("a2", ok=False, tests="pytest"),
        proposed("a3", "command", node="N2"),
        executed("a3", tests="pytest"),
        proposed("a4", "command", node="N2"),
        judged("a4", "deny"),
        ("batch.finished", {"batch": "b1", "ok": True, "cu": 12, "node": "N2"}),
        ("batch.finished", {"batch": "b2", "ok": False, "cu": 90, "node": "N2"}),
        ("run.finished", {"ok": True}),
    )

    assert (found.run, found.unreadable, list(found.workers)) == (RUN, 0, [PLANNER, CODEX])
    assert found.workers[PLANNER] == WorkerTally(
        runs=1, completed=1, steps=1, valid=1, invalid=1, metered=1, input=100, output=20, costed=1, cost=1500
    )
    assert found.workers[CODEX] == WorkerTally(
        runs=1, completed=1, steps=1, valid=4, applied=1, passed=1, batches=1, units=12, asked=1, approved=1,
        widened=1, refused=1,
    )  # fmt: skip


def test_who_was_answered_goes_on_and_who_failed_tries_again(tmp_path: Path) -> None:
    events = [node("N1", agent="codex"), node("N1", "blocked", why="asks"), node("N1", agent="codex"),
              node("N1", agent="codex"), node("N1", "failed", why="x"), node("N1", agent="codex")]  # fmt: skip

    tally = counted(tmp_path, *events).workers[CODEX]

    assert (tally.steps, tally.retries) == (1, 2)


def test_who_waited_for_an_approval_goes_on_and_an_answer_that_did_not_fit_is_a_retry(tmp_path: Path) -> None:
    checked = {"node": "N1", "schema": "ExecStep"}
    events = [
        node("N1", agent="codex"), ("output.checked", {**checked, "ok": False, "attempt": 1}),
        ("output.checked", {**checked, "ok": True, "attempt": 2}), proposed("a1", node="N1"), judged("a1", "ask"),
        granted("a1"), executed("a1"), node("N1", agent="codex"),
    ]  # fmt: skip

    tally = counted(tmp_path, *events).workers[CODEX]

    assert (tally.steps, tally.retries, tally.invalid) == (1, 1, 1)


def test_the_steps_of_a_plan_are_steps(tmp_path: Path) -> None:
    steps = [("step.finished", {"node": "N1", "step": name, "ok": True}) for name in ("S1", "S2", "S3")]

    found = counted(tmp_path, node("N1", agent="codex"), *steps, node("N2", agent="codex"))

    assert found.workers[CODEX].steps == 4


@pytest.mark.parametrize(
    ("events", "invalid", "unfit"),
    [
        ([("action.rejected", {"action": "propose_patch", "why": "w", "error": "E_VALIDATION_FAILED"})], 1, 0),
        ([("action.rejected", {"action": "propose_patch", "why": "w", "error": "E_CONFLICT"})], 0, 1),
        ([("action.rejected", {"action": "propose_command", "why": "w", "error": "E_CONFLICT"})], 0, 0),
        ([("action.rejected", {"action": "propose_patch", "why": "w", "error": "E_DENIED"})], 0, 0),
        ([("action.rejected", {"action": "propose_patch", "why": "w"})], 1, 0),
        ([proposed("a1"), ("action.rejected", {"action": "a1", "why": "a2 replaces it"})], 0, 0),
        ([proposed("a1"), ("action.rejected", {"action": "a1", "why": "w", "error": "E_CONFLICT"})], 0, 1),
        ([proposed("a1"), executed("a1", ok=False)], 0, 1),
        ([("action.rejected", {"action": "edit", "why": "a1: nothing was changed"}), proposed("a2", by="ann")], 0, 0),
    ],
)
def test_a_proposal_that_is_none_and_a_patch_that_does_not_fit_are_two_things(
    tmp_path: Path, events: list[Any], invalid: int, unfit: int
) -> None:
    tally = counted(tmp_path, *events).workers[CODEX]

    assert (tally.invalid, tally.unfit) == (invalid, unfit)


def test_checks_before_a_landing_count_for_who_made_the_last_patch(tmp_path: Path) -> None:
    found = counted(
        tmp_path, node("N1", agent="planner", adapter="claude"), proposed("a1", node="N1"), executed("a1"),
        node("N2", agent="codex"), ("checks.ran", {"argv": ["make", "test"], "ok": False}),
    )  # fmt: skip

    assert (found.workers[PLANNER].broken, found.workers[CODEX].broken) == (1, 0)


def test_a_run_that_is_cancelled_did_not_end_well_and_one_that_goes_on_has_not_ended(tmp_path: Path) -> None:
    ended = counted(tmp_path / "a", ("run.cancelled", {"by": "ann"})).workers[CODEX]
    again = counted(
        tmp_path / "b", ("run.finished", {"ok": False}), ("run.resumed", {"by": "ann", "definition": HASH})
    ).workers[CODEX]

    assert (ended.completed, ended.failed) == (0, 1)
    assert (again.completed, again.failed) == (0, 0)


def test_an_agent_cannot_hide_a_line_by_what_it_claims(tmp_path: Path) -> None:
    claims = {"kind": "agent.progress", "prev": "sha256:0", "x": ',"kind":"tool.read","prev":"'}

    assert counted(tmp_path, proposed("a1", claims=claims)).workers[CODEX].valid == 1


def test_what_is_no_event_is_passed_over_and_told(tmp_path: Path) -> None:
    log = RunLog(tmp_path / RUN)
    log.append(START[0], "nexus", START[1])
    log.append(*("run.finished", "nexus", {"ok": True}))
    lines = log.raw().splitlines(keepends=True)

    found = measure_run(lines[0] + b'{"kind":"tool.executed","body":[]}\nnot json\n' + lines[1] + lines[1][:40])

    assert (found.workers[CODEX].completed, found.unreadable) == (1, 2)


def test_only_kinds_that_exist_are_counted() -> None:
    assert {name.decode() for name in _STEPS} <= set(KINDS)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8), lambda inner: st.lists(inner) | st.dictionaries(
        st.sampled_from(["action", "node", "kind", "ok", "by", "input"]), inner), max_leaves=6)  # fmt: skip


@given(st.lists(st.tuples(st.sampled_from(sorted(_STEPS)), VALUES) | st.binary(max_size=60), max_size=12))
def test_no_log_makes_it_fail(rows: list[Any]) -> None:
    raw = b"".join(
        row + b"\n" if isinstance(row, bytes)
        else json.dumps({"body": row[1], "kind": row[0].decode(), "time": "t"}, separators=(",", ":")).encode() + b"\n"
        for row in rows
    )  # fmt: skip

    assert measure_run(raw).unreadable <= raw.count(b"\n")
