"""A change of a plan with a secret, and the landing of a run with a withheld patch: none of it leaves the machine."""

from pathlib import Path
from typing import Any

import pytest

from gitnexus.prompts.model import Blocked, ExecResult, Plan, PlanChanges, PlanStep, ResearchBundle, StepChange
from gitnexus.runs.drive import drive_run
from gitnexus.runs.workflow.routing import route_prompt
from gitnexus.runs.workflow.start import start_workflow
from gitnexus.workflow.specialist import WorkOrder, WorkResult
from tests.attacks.machines import Machine
from tests.attacks.test_withheld_proposals import IN_FILE, SECRET, holders
from tests.attacks.test_withheld_proposals import replace as replace_secret
from tests.conftest import run_git
from tests.runs.workflow.test_workflow import opened, pending_answers


class Team:
    """Specialists for a plan with a question; what they find out puts a secret into a step."""

    name = "team"

    def work(self, order: WorkOrder) -> WorkResult:
        known = PlanStep(id="S1", title=f"paint it {SECRET}", commands=(("cat", "TODO.md"),))
        change = StepChange(op="replace", step="S1", why="it is known", steps=(known,))
        asked = Blocked(kind="needs_research", question="which colour?", suggested_ctx=("file:TODO.md",))
        outputs: dict[str, Any] = {
            "plan": Plan(goal="go", steps=(PlanStep(id="S1", title="paint", questions=("which colour?",)),)),
            "research": ResearchBundle(question=order.prompt, summary="red"),
            "plan_patch": PlanChanges(summary="paint it", changes=(change,)),
            "exec": ExecResult(status="blocked", summary="", blocked=asked),
        }
        return WorkResult(output=outputs[order.node.type])


@pytest.mark.parametrize("answer", ["", "deny", "cancel"], ids=["waits", "denied", "cancelled"])
def test_a_change_of_a_plan_with_a_secret_is_not_pushed(
    ada: Machine, hub: Path, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    monkeypatch.setattr("gitnexus.runs.workflow.stage.specialist_for_node", lambda *_given: Team())
    (ada.place / "TODO.md").write_text("# To do\n")
    run_git(ada.place, "add", "-A")
    run_git(ada.place, "commit", "-qm", "what to do")
    with ada.here(), opened(ada.place) as state:
        desk = start_workflow(state, route_prompt(state, "/plan-exec paint").definition)
        run = desk.record.id
        drive_run(desk, lambda said: None, None)
        ada.ok("approve", "--unseen", "--hold", run)
        drive_run(desk, lambda said: None, None)
        asked = [(one.name, one.kind) for one in pending_answers(desk)]
    assert [kind for _, kind in asked] == ["plan_patch"]
    if answer:
        ada.ok(answer, run)
    ada.ok("checkpoint", run)

    ada.sync()

    assert f"refs/nexus/runs/{run}" in run_git(hub, "for-each-ref")
    assert holders(hub) == []
    assert ada("replay", run, "--verify").returncode == 0


def test_a_run_with_a_withheld_patch_lands_without_it(ada: Machine, mallory: Machine, hub: Path) -> None:
    run = ada.begin_waiting_run(f"echo good > good.txt; {IN_FILE}")
    ada.sync()
    waiting = ada("land", run)
    replace_secret(ada, run)
    ada.ok("approve", run, "a2", "--unseen")
    ada.ok("land", run)
    run_git(ada.place, "push", "-q", "origin", "HEAD:main")
    ada.sync()

    assert waiting.returncode != 0
    assert (ada.place / "good.txt").exists()
    assert (ada.place / "made.txt").read_text() == "harmless"
    assert holders(hub) == []
    mallory.sync()
    assert holders(mallory.place) == []
    assert ada("verify", "origin/main~1..origin/main").returncode == 0
    ada.ok("clean", run)
    ada.sync()
    assert holders(hub) == []


def test_a_withheld_patch_that_was_approved_lands_and_is_pushed_as_a_commit(ada: Machine, hub: Path) -> None:
    run = ada.begin_waiting_run(IN_FILE)
    ada.sync()

    ada.ok("approve", "--unseen", run)
    ada.ok("land", run)
    run_git(ada.place, "push", "-q", "origin", "HEAD:main")

    assert (ada.place / "made.txt").read_text() == SECRET
    assert ada("verify", "origin/main~1..origin/main").returncode == 0


def test_a_mirror_pushes_what_is_withheld_and_sync_says_so(ada: Machine, hub: Path) -> None:
    run = ada.begin_waiting_run(IN_FILE)
    ada.sync()
    ref = f"refs/nexus/local/{run}/a1"
    run_git(ada.place, "push", "-q", "--mirror", "origin")

    said = ada.sync().said

    (words,) = [line for line in said if "refs/nexus/local/" in line]
    assert words.startswith(f"origin has {ref}: a proposal that was withheld because of a secret was pushed by hand")
    assert words.endswith(f"rotate what it holds, then git push origin --delete {ref}")
    run_git(ada.place, "push", "-q", "origin", "--delete", ref)
    assert ada.sync().said == []


def test_the_name_of_such_a_ref_is_quoted_in_the_command_that_deletes_it(ada: Machine, hub: Path) -> None:
    main = run_git(hub, "rev-parse", "main").strip()
    run_git(hub, "update-ref", "refs/nexus/local/x;touch$IFS'pwned'", main)

    (words,) = ada.sync().said

    assert words.endswith("""--delete 'refs/nexus/local/x;touch$IFS'"'"'pwned'"'"''""")


def test_a_server_that_hides_these_refs_takes_none_of_them(ada: Machine, hub: Path) -> None:
    ada.begin_waiting_run(IN_FILE)
    ada.sync()
    run_git(hub, "config", "--add", "receive.hideRefs", "refs/nexus/local")

    run_git(ada.place, "push", "-q", "--mirror", "origin", check=False)

    assert "refs/nexus/local/" not in run_git(hub, "for-each-ref")


def test_who_fetches_from_the_clone_itself_does_not_get_what_is_withheld(ada: Machine, tmp_path: Path) -> None:
    ada.begin_waiting_run(IN_FILE)

    run_git(tmp_path, "clone", "-q", "--mirror", ada.place.as_uri(), "mirror.git")

    assert "refs/nexus/runs/" in run_git(tmp_path / "mirror.git", "for-each-ref")
    assert "refs/nexus/local/" not in run_git(tmp_path / "mirror.git", "for-each-ref")
    assert holders(tmp_path / "mirror.git") == []


@pytest.mark.parametrize("purge", [False, True], ids=["left", "purged"])
def test_what_is_withheld_stays_hidden_as_long_as_it_is_there(ada: Machine, purge: bool) -> None:
    ada.begin_waiting_run(IN_FILE)

    ada.ok("uninstall", *(["--purge", "--yes"] if purge else []))

    assert ("refs/nexus/local/" in run_git(ada.place, "for-each-ref")) == (not purge)
    hidden = run_git(ada.place, "config", "--local", "--get-all", "transfer.hideRefs", check=False)
    assert hidden == ("" if purge else "refs/nexus/local\n")
