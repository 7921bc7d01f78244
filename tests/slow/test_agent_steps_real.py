"""A plan's step by the real programs: what does not hold goes back to them, in their own session, to one card."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.stub_models import Step
from tests.conftest import Nexus, run_git, trust
from tests.runs.workflow.test_agent_steps import PROOF, STALE, allow, plan
from tests.slow.programs import BELOW, MODELS, WAYS, Model, Ways, placed

pytestmark = pytest.mark.slow
# What a program was told, last first, and in which attempt it is then.
_TOLD = (("fails with status", 3), ("propose_patch was refused", 2), ("blocked: kind should be", 1))


class FourTries(Model):
    """A model that answers by what it was told: wrong form, a patch that does not fit, a wrong change, a right one."""

    def __init__(self, home: Path, ways: Ways) -> None:
        tries = (
            (Step(text='{"blocked": {"kind": "tired", "question": "why?"}}'),),
            (ways.ours("propose_patch", {"patch": STALE}), Step(text="Proposed.")),
            (ways.run("printf 'total = 3\\n' > code.txt"), Step(text="Three.")),
            (ways.run("printf 'total = 2\\n' > code.txt"), Step(text="Two.")),
        )
        super().__init__(home, *(step for turns in tries for step in turns))
        self._tries = tries
        self._begins: dict[int, int] = {}

    def step(self, results: int, has_tools: bool) -> Step:
        if not has_tools:
            return Step(text="A title")
        told = json.dumps(self.requests[-1][1])
        at = next((number for words, number in _TOLD if words in told), 0)
        # Programs differ in what of the session so far they send again: only what comes after counts.
        begin = self._begins.setdefault(at, results)
        chosen = self._tries[at][min(max(results - begin, 0), len(self._tries[at]) - 1)]
        self.steps = (chosen,)
        return super().step(0, has_tools)


def set_up(nexus: Nexus, project: Path, name: str, address: str) -> None:
    (project / "code.txt").write_text("total = 1\n")
    plan(project, ("Correct the total", ("code.txt",), PROOF))
    allow(project, "grep")
    run_git(project, "config", "--global", f"nexus.{name}.modelUrl", address + BELOW[name])
    made: dict[str, Any] = json.loads(nexus.ok("route", "/plan-exec the steps in TODO.md", "--json"))["workflow"]
    made.pop("definition_hash", None)
    node = next(one for one in made["nodes"] if one["id"] == "exec")
    node |= {"adapter": name, "model": MODELS[name], "way": "contained"}
    (project / "flow.json").write_text(json.dumps(made))
    trust(project)


@pytest.mark.parametrize("name", WAYS)
def test_wrong_form_no_fit_failed_test_and_right_are_one_card_one_yes_and_four_attempts(
    name: str, nexus: Nexus, project: Path, sealed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    placed(name, sealed, monkeypatch)
    with FourTries(sealed, WAYS[name]) as model:
        set_up(nexus, project, name, model.address)
        done = nexus("run", "--workflow", "flow.json", "--yes", "--json")
        assert done.returncode == 21, done.stdout + done.stderr
        told = json.loads(done.stdout)
        run = told["run"]["id"]
        ended = json.loads(nexus.ok("approve", "--unseen", "--wait", run, "--json"))

    assert [(one["kind"], one["status"]) for one in told["actions"]] == [("patch", "waiting")]
    assert ended["run"]["status"] == "completed"
    assert run_git(project, "show", f"nexus/{run}:code.txt") == "total = 2\n"
    row = next(one for one in json.loads(nexus.ok("metrics", "--json"))["metrics"] if one["adapter"] == name)
    assert (row["steps"], row["retries"]) == (1, 3)  # four attempts
    assert (row["schema"]["invalid"], row["patches"]["failed"], row["patches"]["applied"]) == (1, 1, 1)
    # The stub counts 100 tokens for each request: a session that is taken up is not counted again.
    assert row["tokens"]["input"] <= 100 * len(model.requests)
    assert nexus("replay", run, "--verify").returncode == 0
