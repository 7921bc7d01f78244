"""Workflows for real: a prompt becomes nodes, approvals, commits, papers on the state ref, and the same state again."""

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from textwrap import indent
from typing import Any, NamedTuple

import pytest

from gitnexus.app import open_nexus
from gitnexus.events.log import EventDraft
from gitnexus.events.model import Event
from gitnexus.prompts.model import (
    Action,
    Blocked,
    ExecResult,
    Plan,
    PlanChanges,
    PlanStep,
    ResearchBundle,
    StepChange,
)
from gitnexus.runs.actions.approve import approve_action
from gitnexus.runs.actions.ask import answer_question
from gitnexus.runs.actions.card import action_card
from gitnexus.runs.drive import drive_run
from gitnexus.runs.open_run import OpenRun, open_run
from gitnexus.runs.workflow.replay import replay_workflow
from gitnexus.runs.workflow.routing import route_prompt
from gitnexus.runs.workflow.stage import LiveStage
from gitnexus.runs.workflow.start import start_workflow
from gitnexus.workflow.edit import with_node_agent
from gitnexus.workflow.progress import WorkflowProgress
from gitnexus.workflow.specialist import WorkOrder, WorkResult
from tests.conftest import Nexus, run_git, trust

TODO = """\
# To do

- [ ] Greet in hello.txt

  ```diff
  --- /dev/null
  +++ b/hello.txt
  @@ -0,0 +1 @@
  +Hello
  ```

  ```sh
  cat hello.txt
  ```
"""
PROMPT = "compare, plan and implement the steps in TODO.md"
# Stands in for Claude Code: answers in no form at first, and in the right one when it is told so; edits when it may.
FAKE = """\
#!/bin/sh
prompt=$(cat)
said='I think it is fine.'
case "$prompt" in
*"could not be used"*) said='{\\"question\\": \\"how?\\", \\"summary\\": \\"by hand\\"}';;
*"write it"*) echo written > by-agent.txt; said='written';;
esac
printf '{"type":"result","subtype":"success","is_error":false,"result":"%s","num_turns":1,' "$said"
printf '"usage":{"input_tokens":5,"output_tokens":2}}\\n'
"""


@pytest.fixture
def todo(nexus: Nexus, project: Path) -> Path:
    """A project whose list says what to do, down to the patch."""
    (project / "TODO.md").write_text(TODO)
    run_git(project, "add", "-A")
    run_git(project, "commit", "-qm", "what to do")
    return project


@contextlib.contextmanager
def opened(place: Path) -> Iterator[Any]:
    nexus = open_nexus(place)
    try:
        yield nexus.state
    finally:
        nexus.close()


class PendingAnswer(NamedTuple):
    """What a workflow waits for: the name of a question or action, its kind, its node, and the text."""

    name: str
    kind: str
    node: str
    text: str


def pending_answers(run: OpenRun) -> list[PendingAnswer]:
    """Return what a workflow waits for a person to answer, in log order."""
    progress, view = WorkflowProgress(), run.view()
    progress.fold(run.events())
    found = [
        PendingAnswer(name, "question", progress.questions.get(name, ""), text) for name, text in view.questions.items()
    ]
    for name, one in view.actions.items():
        if one.status in ("waiting", "unknown", "proposed"):
            found.append(PendingAnswer(name, one.kind, one.node, one.summary))
    return found


def walked(desk: OpenRun) -> str:
    """Drive a run with nobody there, answer yes to all that waits, and so on until it is through."""
    for _ in range(20):
        view = drive_run(desk, lambda said: None, None)
        names = [one.name for one in pending_answers(desk) if one.kind != "question"]
        if not names:
            return view.status
        for name in names:
            approve_action(desk, name)
    raise AssertionError


def story(desk: OpenRun) -> list[str]:
    """Return what a run did, without what differs from clone to clone and walk to walk."""
    return [one.body["node"] for one in desk.events() if one.kind == "node.completed"]


def test_a_prompt_walks_from_research_to_a_commit_by_the_commands_a_person_types(
    nexus: Nexus, todo: Path, tmp_path: Path
) -> None:
    told = json.loads(nexus("run", PROMPT, "--json").stdout)
    run = told["run"]["id"]
    (card,) = json.loads(nexus("review", run, "--json").stdout)["runs"][0]["actions"]
    done = json.loads(nexus.ok("approve", "--unseen", run, "--json"))
    again = nexus("replay", run, "--verify")

    assert [(one["id"], one["kind"], one["status"]) for one in told["actions"]] == [("a1", "patch", "waiting")]
    assert card["proofs"] == ["cat hello.txt"]  # one question for both
    assert [(one["kind"], one["status"]) for one in done["actions"]] == [("patch", "executed"), ("command", "executed")]
    assert done["run"]["status"] == "completed"
    assert run_git(todo, "show", f"nexus/{run}:hello.txt") == "Hello\n"
    assert json.loads(nexus.ok("verify", f"main..nexus/{run}", "--json"))["ok"]
    papers = run_git(todo, "ls-tree", "-r", "--name-only", "refs/nexus/state", "plans", "research").split()
    assert papers == [f"plans/plan.{run}.plan.json", f"plans/plan.{run}.plan.md",
                      f"research/research.{run}.research.json", f"research/research.{run}.research.md"]  # fmt: skip
    clone = tmp_path / "clone"
    run_git(tmp_path, "clone", "-q", str(todo), str(clone))
    run_git(clone, "fetch", "-q", "origin", "refs/nexus/*:refs/nexus/*")
    with opened(clone) as state:
        found = replay_workflow(open_run(state, run))
    with opened(todo) as state:
        assert replay_workflow(open_run(state, run)) == found
    assert "the same state sha256:" in again.stderr


def test_who_wants_no_research_drops_it_and_who_wants_another_agent_names_it(nexus: Nexus, todo: Path) -> None:
    told = json.loads(nexus("run", PROMPT, "--drop", "research", "--give", "plan=embedded", "--json").stdout)

    with opened(todo) as state:
        assert story(open_run(state, told["run"]["id"])) == ["plan"]
    assert "--give NODE=AGENT says who does a node of a workflow" in nexus("run", PROMPT, "--model", "m").stderr
    assert nexus("run", "--drop", "x", "--", "true").returncode == 2


def test_a_workflow_in_a_file_is_run_as_it_stands_and_refused_once_it_was_edited(nexus: Nexus, todo: Path) -> None:
    nexus.ok("route", PROMPT, "--output", "flow.json")
    told = json.loads(nexus("run", "--workflow", "flow.json", "--json").stdout)
    file = todo / ".git" / "nexus" / "runs" / told["run"]["id"] / "workflow.json"
    value = json.loads(file.read_text())
    value["budgets"]["parallel"] = 9
    file.write_text(json.dumps(value))

    done = nexus("resume", told["run"]["id"], "--json")

    assert done.returncode == 22
    assert "is not the one that it was started with" in json.loads(done.stdout)["error"]["message"]


def test_the_embedded_executor_says_what_it_cannot_do_and_goes_on_with_the_answer(todo: Path) -> None:
    with opened(todo) as state:
        desk = start_workflow(state, route_prompt(state, "/plan-exec add a licence").definition)
        drive_run(desk, lambda said: None, None)
        (question,) = pending_answers(desk)
        assert (question.kind, question.node) == ("question", "exec")

        answer_question(desk, "```diff\n--- /dev/null\n+++ b/LICENCE\n@@ -0,0 +1 @@\n+free\n```\n", question.name)
        status = walked(desk)

        assert status == "completed"
        assert run_git(todo, "show", f"nexus/{desk.record.id}:LICENCE") == "free\n"


def patched(title: str, *paths: str) -> str:
    """Return a row of a list: a patch that makes files, spelled as git spells them, and a command that proves it."""
    diff = "".join(
        f"diff --git {quoted('a', path)} {quoted('b', path)}\nnew file mode 100644\n"
        f"--- /dev/null\n+++ {quoted('b', path)}\n@@ -0,0 +1 @@\n+x\n"
        for path in paths
    )
    return f"- [ ] {title}\n\n" + indent(f"```diff\n{diff}```\n\n```sh\nls\n```\n", "  ")


def quoted(side: str, path: str) -> str:
    told = "".join(chr(byte) if byte < 128 else f"\\{byte:o}" for byte in path.encode())
    return f'"{side}/{told}"'


def listed(place: Path, *rows: str) -> None:
    (place / "zu tun.md").write_text("# Zu tun\n\n" + "\n".join(rows))
    run_git(place, "add", "-A")
    run_git(place, "commit", "-qm", "what to do")


@pytest.mark.slow
def test_a_step_that_is_too_big_is_split_by_the_embedded_planner_and_runs_once_that_is_approved(project: Path) -> None:
    paths = [f"Büro {at}/ä {at}.txt" for at in range(9)]
    listed(project, patched("Make all of it", *paths))
    with opened(project) as state:
        desk = start_workflow(state, route_prompt(state, "/plan-exec the steps in zu tun.md").definition)
        drive_run(desk, lambda said: None, None)
        asked = [(one.kind, one.node) for one in pending_answers(desk)]
        status = walked(desk)

        assert asked == [("handoff", "exec")]
        assert status == "completed"
        kinds = [one.kind for one in desk.view().actions.values()]
        assert kinds == ["handoff", "plan_patch", "patch", "patch", "command"]
        made = run_git(project, "diff", "-z", "--name-only", "main", f"nexus/{desk.record.id}").split("\0")
        assert made == [*paths, ""]
        assert replay_workflow(desk) is not None


def test_autopilot_walks_a_plan_by_a_signed_policy_tells_each_step_and_stops_where_that_is_silent(
    project: Path,
) -> None:
    listed(project, *(patched(f"Make {at}", f"Büro {at}/ä.txt") for at in (1, 2)), patched("Leave", "wo anders/ö.txt"))
    rules = "allow:\n  - write: ['Büro 1/**', 'Büro 2/**']\nautopilot:\n  allow:\n    - run: [ls]\n"
    (project / ".nexus" / "policy.md").write_text(f"---\nversion: 1\nmode: autopilot\n{rules}---\n")
    trust(project)
    told: list[str] = []
    with opened(project) as state:
        desk = start_workflow(
            state, route_prompt(state, "/plan-exec the steps in zu tun.md").definition, mode="autopilot"
        )
        drive_run(desk, lambda said: told.append(said.text), None)

        assert told[-3:] == [
            "S1 is done (1 of 3 in batch exec.1)",
            "S2 is done (2 of 3 in batch exec.1)",
            "exec stops at S3: a5 has to be asked about",
        ]
        assert [one.status for one in desk.view().actions.values()] == ["executed"] * 4 + ["waiting"]
        assert replay_workflow(desk) is not None


class Killed(BaseException):
    """As a kill: nothing is tidied up."""


# The walk writes eleven times; two of them at once, the others with the slow tests.
@pytest.mark.parametrize(
    "at", [1, 8, *(pytest.param(one, marks=pytest.mark.slow) for one in (0, 2, 3, 4, 5, 6, 7, 9, 10))]
)
def test_killed_at_any_write_it_goes_on_and_repeats_no_node_and_no_action(
    todo: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    count, write = iter(range(10**6)), LiveStage.write

    def dying(stage: LiveStage, drafts: list[EventDraft]) -> list[Event]:
        if next(count) == at:
            raise Killed
        return write(stage, drafts)

    with opened(todo) as state:
        desk = start_workflow(state, route_prompt(state, PROMPT).definition)
        monkeypatch.setattr(LiveStage, "write", dying)
        with pytest.raises(Killed):
            walked(desk)
        run = desk.record.id
    with opened(todo) as state:
        desk = open_run(state, run)
        status = walked(desk)

        assert status == "completed"
        assert story(desk) == ["research", "plan", "exec"]
        assert [(name, one.kind, one.status) for name, one in desk.view().actions.items()] == [
            ("a1", "patch", "executed"), ("a2", "command", "executed"),
        ]  # fmt: skip
        assert desk.view().odd == ()
        assert replay_workflow(desk) is not None


@pytest.mark.slow
def test_what_a_run_did_is_ticked_in_its_phase_by_an_action_of_its_own(nexus: Nexus, project: Path) -> None:
    nexus.ok("agenda", "init")
    nexus.ok("agenda", "phase", "add", "core")
    nexus.ok("agenda", "phase", "start", "core")
    phase = project / "docs" / "phases" / "core.md"
    rows = TODO.partition("\n\n")[2].replace("\n\n", "\n")
    phase.write_text(phase.read_text().replace("DELIVERABLES:\n", f"DELIVERABLES:\n{rows}"))
    run_git(project, "add", "-A")
    run_git(project, "commit", "-qm", "an agenda")
    with opened(project) as state:
        desk = start_workflow(state, route_prompt(state, "plan and implement the phase core").definition)
        status = walked(desk)

        assert status == "completed"
        kinds = [one.kind for one in desk.view().actions.values()]
        assert kinds == ["patch", "command", "agenda_patch", "patch"]
        text = run_git(project, "show", f"nexus/{desk.record.id}:docs/phases/core.md")
        assert "- [x] Greet in hello.txt" in text
        assert f"- run: {desk.record.id}" in text
    assert json.loads(nexus.ok("verify", f"main..nexus/{desk.record.id}", "--json"))["ok"]


def test_an_agent_answers_in_the_form_of_its_node_or_edits_and_has_its_tree_proposed(
    nexus: Nexus, project: Path, sealed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = sealed / ".local" / "bin" / "claude"
    program.parent.mkdir(parents=True)
    program.write_text(FAKE)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    with opened(project) as state:
        definition = route_prompt(state, "/research-exec write it").definition
        for id_ in ("research", "exec"):
            definition = with_node_agent(definition, id_, "claude")
        nodes = tuple(one.changed(prompt="find out how" if one.id == "research" else "") for one in definition.nodes)
        desk = start_workflow(state, definition.changed(nodes=nodes))
        status = walked(desk)

        assert status == "completed"
        checks = [one.body["ok"] for one in desk.events() if one.kind == "output.checked"]
        assert checks == [False, True]
        assert [one.kind for one in desk.view().actions.values()] == ["patch"]
        assert run_git(project, "show", f"nexus/{desk.record.id}:by-agent.txt") == "written\n"
        assert desk.view().input_tokens == 15
        assert replay_workflow(desk) is not None


def test_a_command_is_a_node_like_others_and_what_it_changed_is_proposed(nexus: Nexus, project: Path) -> None:
    write = {"id": "write", "type": "command", "specialist": "executor", "argv": ["sh", "-c", "echo x > new.txt"]}
    look = {"id": "look", "type": "research", "specialist": "researcher", "way": "proposer", "prompt": "where is x"}
    (project / "flow.json").write_text(
        json.dumps({"version": 2, "name": "two", "nodes": [write, look], "edges": [["write", "look"]]})
    )
    run = json.loads(nexus("run", "--workflow", "flow.json", "--title", "two", "--json").stdout)["run"]["id"]
    nexus.ok("approve", "--unseen", run)
    done = json.loads(nexus.ok("resume", run, "--json"))

    assert (done["run"]["status"], done["papers"]) == ("completed", [f".nexus/research/research.{run}.look.md"])
    assert run_git(project, "show", f"nexus/{run}:new.txt") == "x\n"


@pytest.mark.slow
def test_a_cycle_is_carried_out_task_by_task_and_lead_is_told_what_came_of_each(nexus: Nexus, project: Path) -> None:
    for at in (1, 2):
        diff = f"```diff\n--- /dev/null\n+++ b/{at}.txt\n@@ -0,0 +1 @@\n+{at}\n```\n"
        given = {"title": f"write {at}", "context": diff, "owner": "engineer"}
        nexus.ok("tool", "task_add", json.dumps(given))
    nexus.ok("tool", "task_add", json.dumps({"title": "dream", "context": "of nothing", "owner": "engineer"}))

    run = json.loads(nexus("run", "--cycle", "--parallel", "3", "--json").stdout)["run"]["id"]
    nexus.ok("approve", "--unseen", run)
    nexus.ok("approve", "--unseen", run)

    tasks = json.loads(nexus.ok("tool", "task_list"))["tasks"]
    assert [(one["status"], one.get("result", {}).get("outcome")) for one in tasks] == [
        ("completed", "success"), ("completed", "success"), ("in_progress", None),
    ]  # fmt: skip
    assert f"nexus/{run}" in run_git(project, "branch", "--list", "nexus/*")
    assert run_git(project, "show", f"nexus/{run}:2.txt") == "2\n"
    (question,) = json.loads(nexus("review", run, "--json").stdout)["runs"][0]["questions"]
    assert "dream" in question["text"] or "of nothing" in question["text"]


class Team:
    """Specialists for a plan that is wrong at first: the executor asks, others find out and mend the plan."""

    name = "team"
    plan = Plan(goal="go", steps=(PlanStep(id="S1", title="paint", questions=("which colour?",)),))
    blocked = Blocked(kind="needs_research", question="which colour?", suggested_ctx=("file:TODO.md",))

    def work(self, order: WorkOrder) -> WorkResult:
        known = PlanStep(id="S1", title="paint it red", commands=(("cat", "TODO.md"),))
        change = StepChange(op="replace", step="S1", why="it is red", steps=(known,))
        outputs: dict[str, Any] = {
            "plan": self.plan,
            "research": ResearchBundle(question=order.prompt, summary=f"red, by {len(order.pack) > 0}"),
            "plan_patch": PlanChanges(summary="paint it red", changes=(change,)),
            "exec": ExecResult(status="blocked", summary="", blocked=self.blocked),
        }
        if order.plan is not None and order.plan.steps[0].title == "paint it red":
            action = Action(kind="command", summary="look", argv=("cat", "TODO.md"))
            outputs["exec"] = ExecResult(status="done", summary="painted", actions=(action,))
        return WorkResult(output=outputs[order.node.type])


def test_a_block_is_cleared_by_a_handoff_and_a_new_plan_each_after_a_yes(
    todo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gitnexus.runs.workflow.stage.specialist_for_node", lambda *_given: Team())
    with opened(todo) as state:
        desk = start_workflow(state, route_prompt(state, "/plan-exec paint").definition)
        seen = []
        for _ in range(4):
            view = drive_run(desk, lambda said: None, None)
            for one in pending_answers(desk):
                card, _ = action_card(desk, one.name)
                seen.append((one.kind, one.node, any('"paint it red"' in row for row in card.body)))
                approve_action(desk, one.name)

        assert view.status == "completed"
        assert seen == [("handoff", "exec", False), ("plan_patch", "handoff-a1-plan", True), ("command", "exec", False)]
        assert story(desk) == ["plan", "handoff-a1", "handoff-a1-plan", "exec"]
        papers = [path for path in state.latest().names("plans") if path.endswith(".json")]
        assert papers == [f"plan.{desk.record.id}.plan.json"]
        assert b"paint it red" in (state.latest().read(f"plans/{papers[0]}") or b"")
        assert replay_workflow(desk) is not None


def test_autopilot_stops_where_a_patch_changes_what_its_step_does_not_name(
    todo: Path, sealed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = Plan(goal="go", steps=(PlanStep(id="S1", title="one", files=("a.txt",)),))
    patch = Action(kind="patch", summary="more", diff="--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+b\n")
    outputs = {"plan": plan, "exec": ExecResult(status="done", summary="done", actions=(patch,))}
    monkeypatch.setattr(Team, "work", lambda team, order: WorkResult(output=outputs[order.node.type]))
    monkeypatch.setattr("gitnexus.runs.workflow.stage.specialist_for_node", lambda *_given: Team())
    with opened(todo) as state:
        desk = start_workflow(state, route_prompt(state, "/plan-exec go").definition, mode="autopilot")
        drive_run(desk, lambda said: None, None)

        (question,) = pending_answers(desk)
        assert "it changes b.txt, which the plan does not name" in question.text
        assert desk.view().actions == {}
        answer_question(desk, "stop there", question.name)
        assert walked(desk) == "failed"
        assert replay_workflow(desk) is not None
