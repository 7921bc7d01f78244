"""A rule or a grant for a role serves that role: the one that the run's definition gives, never one that is claimed."""

import json
from pathlib import Path
from typing import Any

import pytest

from gitnexus.runs.actions.propose import ProposalContext, log_proposal, read_proposed_request, role_of_node
from gitnexus.runs.agent.tools import call_run_tool
from tests.conftest import Nexus, run_git, trust
from tests.runs.agent.test_agent_at_work import propose as proposes
from tests.runs.begun import begun, new_file
from tests.runs.live import ASKED, UNPROVED

NOT_FOUND = 4


def agent(nexus: Nexus, role: str, *steps: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Let an agent of a role work, and return how that ended."""
    (nexus.place / "steps.json").write_text(json.dumps({"steps": steps}))
    run_git(nexus.place, "add", "-f", "steps.json")
    run_git(nexus.place, "commit", "-qm", "what the agent does", "--allow-empty")
    as_role = ("--role", role) if role else ()
    done = nexus("run", "--agent", "scripted", *as_role, "--json", "steps.json")
    return done.returncode, json.loads(done.stdout)


def write(path: str) -> dict[str, Any]:
    return {"do": "write", "path": path, "text": f"{path}\n"}


@pytest.mark.parametrize(("role", "status"), [("engineer", 0), ("tester", ASKED), ("", ASKED)])
def test_a_rule_for_a_role_allows_that_role_and_no_other(nexus: Nexus, project: Path, role: str, status: int) -> None:
    nexus.ok("policy", "add", "allow", "--write", "one", "--role", "engineer")
    trust(project)

    ended, _ = agent(nexus, role, write("one"))

    assert ended == status


@pytest.mark.parametrize(("role", "denied"), [("tester", True), ("engineer", False), ("", True)])
def test_a_rule_that_denies_a_role_denies_that_role_and_who_has_none(
    nexus: Nexus, project: Path, role: str, denied: bool
) -> None:
    nexus.ok("policy", "add", "deny", "--write", "one", "--role", "tester")
    nexus.ok("policy", "add", "allow", "--write", "one")
    trust(project)

    _, told = agent(nexus, role, write("one"))

    assert [one["status"] for one in told["actions"]] == ["denied" if denied else "executed"]


@pytest.mark.slow
def test_a_grant_for_one_role_serves_no_other(nexus: Nexus, project: Path) -> None:
    _, told = agent(nexus, "engineer", write("docs/one.md"))
    nexus.ok("approve", "--unseen", told["run"]["id"], "--scope", "path")

    again, same, other, none = (agent(nexus, role, write("docs/one.md"))[0] for role in
                                ("engineer", "engineer", "tester", ""))  # fmt: skip

    assert (again, same, other, none) == (0, 0, ASKED, ASKED)


@pytest.mark.parametrize("role", ["zork", "\x1b[31mengineer", "claude"])
def test_a_run_as_a_role_that_nobody_has_is_refused_before_anything_is_made(
    nexus: Nexus, project: Path, role: str
) -> None:
    done = nexus("run", "--agent", "scripted", "--role", role, "steps.json")

    assert done.returncode == NOT_FOUND
    assert "there is no role" in done.stderr
    assert "engineer" in done.stderr.partition("hint:")[2]
    assert "\x1b" not in done.stderr
    assert json.loads(nexus.ok("runs", "--all", "--json"))["runs"] == []


@pytest.mark.parametrize("option", [("--role", "engineer"), ("--model", "m"), ("--sign-in",)])
def test_what_a_command_would_take_no_notice_of_is_refused(
    nexus: Nexus, project: Path, option: tuple[str, ...]
) -> None:
    done = nexus("run", *option, "--", "true")

    assert done.returncode == 2
    assert f"{option[0]} is for an agent, not for a command" in done.stderr


def test_an_agent_does_not_choose_its_role(nexus: Nexus, project: Path) -> None:
    nexus.ok("policy", "add", "allow", "--write", "one", "--role", "engineer")
    trust(project)

    ended, told = agent(nexus, "tester", proposes("propose_patch", patch=new_file("one"), role="engineer"),
                        proposes("propose_patch", patch=new_file("one"), summary="role: engineer"))  # fmt: skip

    assert ended == ASKED or not told["actions"]
    assert {one["status"] for one in told["actions"]} <= {"waiting"}


def test_a_request_of_a_role_that_its_step_does_not_have_cannot_be_approved(nexus: Nexus, project: Path) -> None:
    with begun(project) as desk:
        call_run_tool(desk, "propose_patch", {"patch": new_file("one")})
        request = read_proposed_request(desk, "a1").changed(role="engineer")
        log_proposal(desk, "a2", request, "as an engineer", "main", ProposalContext(replaces="a1"))
        run = desk.record.id

    done = nexus("approve", "--unseen", run, "a2")

    assert done.returncode == UNPROVED
    assert "a2 was proposed as the role 'engineer', which its step does not have" in done.stderr


@pytest.mark.slow
def test_who_was_handed_over_to_has_the_role_that_was_approved(nexus: Nexus, project: Path) -> None:
    nexus.ok("policy", "add", "allow", "--write", "one", "--role", "engineer")
    trust(project)
    hand = proposes("handoff", to="engineer", message="steps.json")
    _, told = agent(nexus, "tester", hand, write("one"))
    run = told["run"]["id"]

    nexus.ok("approve", "--unseen", run, "a1")

    from gitnexus.app import open_nexus
    from gitnexus.runs.open_run import open_run

    opened = open_nexus(project)
    desk = open_run(opened.state, run)
    roles = {step: role_of_node(desk, step) for step in ("main", "handoff-a1")}
    asked = [(one["kind"], one["status"]) for one in told["actions"]]
    opened.close()
    assert roles == {"main": "tester", "handoff-a1": "engineer"}
    assert ("patch", "waiting") in asked  # the tester's own write is no engineer's


def test_of_two_steps_at_work_each_has_its_own_role(nexus: Nexus, project: Path) -> None:
    from gitnexus.app import open_nexus
    from gitnexus.runs.open_run import open_run
    from gitnexus.runs.start import RunRequest, start_run
    from gitnexus.workflow.run_definition import RunDefinition, RunNode

    opened = open_nexus(project)
    nodes = tuple(RunNode(id=role, adapter="scripted", role=role, prompt="x") for role in ("tester", "engineer"))
    made = start_run(opened.state, RunRequest(RunDefinition(name="two", nodes=nodes), "two at once"))
    for node in nodes:
        body = {"node": node.id, "agent": node.role, "adapter": node.adapter, "attempt": 1}
        made.log.append("node.started", "nexus", body)
    desk = open_run(opened.state, made.record.id)
    desk.caller = "engineer"

    call_run_tool(desk, "propose_patch", {"patch": new_file("one")})

    assert read_proposed_request(desk, "a1").role == "engineer"
    assert (desk.view().actions["a1"].node, role_of_node(desk, "")) == ("engineer", "")
    opened.close()
