"""A model that is told what did not hold: one card for what does, every attempt in the log and in `metrics`."""

import json
from pathlib import Path
from typing import Any

import pytest

from gitnexus.runs.actions.edit import propose_edited_patch, write_draft
from gitnexus.runs.open_run import open_run
from tests.conftest import Nexus, run_git, trust
from tests.prompts.stub import served
from tests.runs.workflow.test_workflow import opened

PROOF = ["grep", "-q", "^total = 2$", "code.txt"]


def _answer(old: str, new: str) -> dict[str, Any]:
    block = f"code.txt\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n"
    actions = [
        {"kind": "patch", "summary": f"make it {new}", "diff": block},
        {"kind": "command", "summary": "prove it", "argv": PROOF},
    ]
    return {"status": "done", "summary": f"it is {new}", "actions": actions}


def _set_model(project: Path, url: str) -> None:
    (project / "code.txt").write_text("first line\ntotal = 1\nlast line\n")
    run_git(project, "add", "-A")
    run_git(project, "commit", "-qm", "begin")
    endpoint = {"url": url, "model": "m", "seconds": 20}
    settings = {"workflow": {"specialists": {"executor": "model"}}, "prompts": {"endpoint": endpoint}}
    (project / ".nexus" / "settings.json").write_text(json.dumps(settings))
    (project / ".nexus" / "policy.md").write_text('---\nversion: 1\nallow:\n  - run: ["grep", "**"]\n---\n')
    trust(project)


@pytest.mark.slow
def test_wrong_form_no_fit_failed_test_and_right_are_one_card_one_yes_and_four_attempts(
    nexus: Nexus, project: Path
) -> None:
    right = _answer("total = 1", "total = 2")
    with served({"status": "done"}, _answer("sum = 1", "sum = 2"), _answer("total = 1", "total = 3"), right) as stub:
        _set_model(project, stub.url)
        told = json.loads(nexus("run", "/exec correct the total in code.txt", "--json").stdout)
        run = told["run"]["id"]
        nexus.ok("approve", "--unseen", run)
        done = json.loads(nexus.ok("resume", run, "--json"))

    assert [(one["kind"], one["status"]) for one in told["actions"]] == [("patch", "waiting")]
    assert done["run"]["status"] == "completed"
    assert run_git(project, "show", f"nexus/{run}:code.txt") == "first line\ntotal = 2\nlast line\n"
    assert len(stub.asked) == 4
    assert "2: total = 1" in stub.prompts[2]
    assert "grep -q" in stub.prompts[3]
    assert "fails with status 1" in stub.prompts[3]
    row = next(one for one in json.loads(nexus.ok("metrics", "--json"))["metrics"] if one["adapter"] == "model")
    assert (row["steps"], row["retries"]) == (1, 3)  # four attempts
    assert (row["schema"]["invalid"], row["patches"]["applied"], row["patches"]["failed"]) == (1, 1, 1)
    assert nexus("replay", run, "--verify").returncode == 0


def test_what_a_model_took_that_gave_no_usable_answer_is_in_the_log_and_in_metrics(nexus: Nexus, project: Path) -> None:
    wrong = {"status": "perhaps"}
    with served(wrong, wrong, wrong, wrong, _answer("total = 1", "total = 2")) as stub:
        _set_model(project, stub.url)
        told = json.loads(nexus("run", "/exec correct the total in code.txt", "--json").stdout)
        asked = len(stub.asked)
        run = told["run"]["id"]
        row = next(one for one in json.loads(nexus.ok("metrics", "--json"))["metrics"] if one["adapter"] == "model")
        verified = nexus("replay", run, "--verify")
        again = json.loads(nexus("resume", run, "--json").stdout)

    assert (asked, told["run"]["status"]) == (4, "failed")
    assert (row["schema"]["invalid"], row["schema"]["valid"], row["retries"]) == (4, 0, 3)
    assert row["tokens"]["input"] > 0
    assert verified.returncode == 0, verified.stdout
    assert [(one["kind"], one["status"]) for one in again["actions"]] == [("patch", "waiting")]
    assert nexus("replay", run, "--verify").returncode == 0


@pytest.mark.slow
def test_out_of_tries_it_asks_and_resume_tries_again(nexus: Nexus, project: Path) -> None:
    bad, right = _answer("total = 1", "total = 3"), _answer("total = 1", "total = 2")
    with served(bad, bad, bad, bad, right) as stub:
        _set_model(project, stub.url)
        told = json.loads(nexus("run", "/exec correct the total in code.txt", "--json").stdout)
        asked = len(stub.asked)
        again = json.loads(nexus("resume", told["run"]["id"], "--json").stdout)

    assert asked == 4, told
    assert told["actions"] == []
    assert told["questions"][0]["text"].startswith("no valid result after 4 tries. The last one: with this change")
    assert [(one["kind"], one["status"]) for one in again["actions"]] == [("patch", "waiting")]


@pytest.mark.slow
def test_a_plan_whose_steps_wait_in_a_circle_goes_back_to_the_planner(nexus: Nexus, project: Path) -> None:
    circle = [{"id": "S1", "title": "a", "depends": ["S2"]}, {"id": "S2", "title": "b", "depends": ["S1"]}]
    right = [{"id": "S1", "title": "a"}, {"id": "S2", "title": "b", "depends": ["S1"]}]
    with served({"goal": "g", "steps": circle}, {"goal": "g", "steps": right}) as stub:
        _set_model(project, stub.url)
        settings = project / ".nexus" / "settings.json"
        settings.write_text(settings.read_text().replace('"executor"', '"planner"'))
        trust(project)
        told = json.loads(nexus("run", "/plan the total in code.txt", "--json").stdout)

    assert told["run"]["status"] == "completed"
    assert len(stub.asked) == 2
    assert "steps wait for each other in a circle: S1 → S2 → S1" in stub.prompts[1]


@pytest.mark.slow
def test_a_change_of_a_plan_that_touches_a_step_that_is_done_or_is_denied_goes_back_to_the_planner(
    nexus: Nexus, project: Path
) -> None:
    steps = [{"id": "S1", "title": "a"}, {"id": "S2", "title": "b", "depends": ["S1"]}]
    parts = [{"id": "S1a", "title": "a"}, {"id": "S1b", "title": "a"}]
    split = {"summary": "s", "changes": [{"op": "split", "step": "S1", "why": "w", "steps": parts}]}
    mend = {"summary": "m", "changes": [{"op": "replace", "step": "S2", "why": "w", "steps": steps[1:]}]}
    blocked = {"status": "blocked", "summary": "b", "blocked": {"kind": "needs_plan_patch", "question": "how?"}}
    first, second = _patch_only("total = 1", "total = 3"), _patch_only("total = 3", "total = 2")
    with served({"goal": "g", "steps": steps}, first, blocked, split, mend, mend, second) as stub:
        _set_model(project, stub.url)
        settings = project / ".nexus" / "settings.json"
        both = '"executor": "model", "planner": "model"'
        settings.write_text(settings.read_text().replace('"executor": "model"', both))
        trust(project)
        run = json.loads(nexus("run", "/plan-exec the total in code.txt", "--yes", "--json").stdout)["run"]["id"]
        codes = [nexus("approve", "--unseen", "--wait", run).returncode for _ in range(2)]
        codes.append(nexus("deny", "--reason", "rather call it c", "--wait", run).returncode)
        codes += [nexus("approve", "--unseen", "--wait", run).returncode for _ in range(2)]

    assert codes == [21, 21, 21, 21, 0]
    assert "Done already, and not to be changed: S1" in stub.prompts[3]
    assert "the step S1 is done already and cannot be changed" in stub.prompts[4]
    assert "rather call it c" in stub.prompts[5]
    assert len(stub.asked) == 7
    assert run_git(project, "log", "--format=%s", f"main..nexus/{run}").count("\n") == 2
    assert nexus("replay", run, "--verify").returncode == 0


def _patch_only(old: str, new: str) -> dict[str, Any]:
    answer = _answer(old, new)
    return {**answer, "actions": answer["actions"][:1]}


@pytest.mark.slow
def test_a_patch_that_a_person_made_worse_is_mended_before_its_step_is_done(nexus: Nexus, project: Path) -> None:
    plan = {"goal": "g", "steps": [{"id": "S1", "title": "the total", "files": ["code.txt"], "commands": [PROOF]}]}
    with served(plan, _patch_only("total = 1", "total = 2"), _patch_only("total = 9", "total = 2")) as stub:
        _set_model(project, stub.url)
        settings = project / ".nexus" / "settings.json"
        both = '"executor": "model", "planner": "model"'
        settings.write_text(settings.read_text().replace('"executor": "model"', both))
        trust(project)
        asked = nexus("run", "/plan-exec the total in code.txt", "--yes", "--json")
        run = json.loads(asked.stdout)["run"]["id"]
        with opened(project) as state:
            draft = write_draft(open_run(state, run), "a1")
            draft.write_text(draft.read_text().replace("+total = 2", "+total = 9"))
            assert propose_edited_patch(open_run(state, run), "a1") == "a2"
        worse = nexus("approve", "--unseen", "--wait", "--json", run)
        mended = nexus("approve", "--unseen", "--wait", "--json", run)

    assert (asked.returncode, worse.returncode, mended.returncode) == (21, 21, 0), worse.stderr
    statuses = [(one["id"], one["status"]) for one in json.loads(worse.stdout)["actions"]]
    assert statuses == [("a1", "denied"), ("a2", "executed"), ("a3", "waiting")]
    assert "on what was committed" in stub.prompts[2]
    assert "fails with status 1" in stub.prompts[2]
    assert json.loads(mended.stdout)["run"]["status"] == "completed"
    assert run_git(project, "show", f"nexus/{run}:code.txt") == "first line\ntotal = 2\nlast line\n"
    assert nexus("replay", run, "--verify").returncode == 0


@pytest.mark.slow
def test_who_gives_up_again_asks_again_and_a_run_that_failed_is_tried_again(nexus: Nexus, project: Path) -> None:
    bad, right = _answer("total = 1", "total = 3"), _answer("total = 1", "total = 2")
    plan = {"goal": "g", "steps": [{"id": "S1", "title": "the total", "files": ["code.txt"], "commands": [PROOF]}]}
    wrong_form = [{"status": "done"}] * 4
    with served(*wrong_form, plan, *[bad] * 8, right) as stub:
        _set_model(project, stub.url)
        settings = project / ".nexus" / "settings.json"
        both = '"executor": "model", "planner": "model"'
        settings.write_text(settings.read_text().replace('"executor": "model"', both))
        trust(project)
        failed = nexus("run", "/plan-exec the total in code.txt", "--yes")
        run = failed.stdout.split()[0]
        asks = json.loads(nexus("resume", run, "--json").stdout)
        asks_again = json.loads(nexus("resume", run, "--json").stdout)
        nexus.ok("answer", run, "two, not three", "--hold")
        tried = nexus("resume", run, "--json")
        done = nexus("approve", "--unseen", "--wait", run, "--json")

    assert failed.returncode == 1
    assert f"git nexus resume {run} to try again" in failed.stdout
    assert [one["questions"][0]["id"] for one in (asks, asks_again)] == ["q1", "q2"]
    assert "two, not three" in stub.prompts[-1]
    assert (tried.returncode, done.returncode) == (21, 0), tried.stdout + tried.stderr
    assert json.loads(done.stdout)["run"]["status"] == "completed"
    assert nexus("replay", run, "--verify").returncode == 0


@pytest.mark.slow
def test_what_a_reviewer_remarks_is_done_and_reviewed_again(nexus: Nexus, project: Path) -> None:
    first, second = _patch_only("total = 1", "total = 3"), _patch_only("total = 3", "total = 2")
    claim = {"text": "it should be two", "citations": ["file:code.txt#L2-L2"], "confidence": 90}
    remark = {"question": "q", "summary": "the total is wrong", "claims": [claim]}
    with served(first, remark, second, {"question": "q", "summary": "fine"}) as stub:
        _set_model(project, stub.url)
        settings = project / ".nexus" / "settings.json"
        settings.write_text(settings.read_text().replace('"executor"', '"researcher": "model", "executor"'))
        trust(project)
        run = json.loads(nexus("run", "/exec-review the total", "--yes", "--json").stdout)["run"]["id"]
        asks = nexus("approve", "--unseen", "--wait", run, "--json")
        done = nexus("approve", "--unseen", "--wait", run, "--json")

    assert (asks.returncode, done.returncode) == (21, 0), asks.stderr + done.stderr
    assert "the total is wrong\n- it should be two (file:code.txt#L2-L2)" in stub.prompts[2]
    assert run_git(project, "show", f"nexus/{run}:code.txt") == "first line\ntotal = 2\nlast line\n"
    assert json.loads(done.stdout)["run"]["status"] == "completed"
    assert nexus("replay", run, "--verify").returncode == 0


@pytest.mark.slow
def test_what_was_denied_is_not_tried_again_and_what_failed_is_asked_about_anew(nexus: Nexus, project: Path) -> None:
    (project / "check.sh").write_text("test -f ready\n")
    run_git(project, "add", "-A")
    run_git(project, "commit", "-qm", "a check")
    first = json.loads(nexus("run", "run `sh check.sh`", "--yes", "--json").stdout)["run"]["id"]
    nexus("approve", "--unseen", "--wait", first)
    again = json.loads(nexus("resume", first, "--json").stdout)
    nexus("deny", first, "--wait")
    denied = json.loads(nexus("resume", first, "--json").stdout)

    assert [one["status"] for one in again["actions"]] == ["executed", "waiting"]
    assert [one["status"] for one in denied["actions"]] == ["executed", "denied"]
    assert denied["run"]["status"] == "failed"
    assert nexus("replay", first, "--verify").returncode == 0


def test_a_handoff_to_somebody_whom_nobody_knows_goes_back_with_those_who_are_known(
    nexus: Nexus, project: Path
) -> None:
    def to(name: str) -> dict[str, Any]:
        action = {"kind": "handoff", "summary": f"to {name}", "receiver": name, "message": "do it"}
        return {"status": "done", "summary": "handed over", "actions": [action]}

    with served(to("nobody"), to("command"), to("planner")) as stub:
        _set_model(project, stub.url)
        told = json.loads(nexus("run", "/exec correct the total", "--yes", "--json").stdout)

    assert [(one["kind"], one["summary"], one["status"]) for one in told["actions"]] == [
        ("handoff", "to planner", "waiting")
    ]
    assert "there is no agent and no role 'nobody'" in stub.prompts[1]
    assert "roles: researcher, planner, executor, architect" in stub.prompts[1]
    assert "a command cannot be handed over to" in stub.prompts[2]
    assert nexus("replay", told["run"]["id"], "--verify").returncode == 0
