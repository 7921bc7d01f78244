"""`git nexus route` and `git nexus workflow`, as a person calls them."""

import json
import re
from pathlib import Path

import pytest

from gitnexus.base.canonical import json_document
from gitnexus.workflow.run_definition import definition_from_command
from tests.conftest import Nexus, run_git, trust
from tests.workflow.stub import served
from tests.workflow.test_macros import RELEASE


def macro(project: Path, name: str, raw: bytes) -> None:
    folder = project / ".nexus" / "commands" / "custom"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(raw)


def test_the_card_says_who_does_what_how_sure_it_is_and_what_else_could_be_meant(project: Path, nexus: Nexus) -> None:
    shown = nexus.ok("route", "Implement it by the latest standard")

    assert shown.splitlines()[:6] == [
        "Workflow  research-exec, chosen by the rules, 60% sure",
        "Why       “implement” asks for a change, “latest” asks for something to find out",
        "",
        "     node      work      who         after     makes",
        "  1  research  research  researcher  -         research.json, research.md",
        "  2  exec      exec      executor    research  exec_result.json",
    ]
    assert "Or       exec: make the change" in shown
    assert shown.endswith('Nothing was run. For another one begin with its name: git nexus route "/exec …"\n')


def test_a_proposal_runs_and_writes_nothing(project: Path, nexus: Nexus) -> None:
    before = run_git(project, "for-each-ref"), run_git(project, "worktree", "list")

    nexus.ok("route", "have Codex fix it")

    assert (run_git(project, "for-each-ref"), run_git(project, "worktree", "list")) == before
    assert run_git(project, "status", "--porcelain") == ""


def test_the_json_holds_the_workflow_and_its_hash(project: Path, nexus: Nexus) -> None:
    told = json.loads(nexus.ok("route", "--json", "Improve our onboarding"))

    assert told["_meta"]["command"] == "route"
    assert [one["id"] for one in told["workflow"]["nodes"]] == ["research", "plan", "exec"]
    assert told["definitionHash"].startswith("sha256:")
    assert (told["source"], told["confidence"]) == ("rules", 30)
    assert [sorted(one) for one in told["alternatives"]] == [["about", "name"]] * 3
    assert "fallback" not in told


def test_a_workflow_can_be_written_edited_and_checked(project: Path, nexus: Nexus) -> None:
    told = json.loads(nexus.ok("route", "--json", "--output", "w.json", "fix it"))
    raw = (project / "w.json").read_text(encoding="utf-8")
    (project / "w.json").write_text(raw.replace('"adapter": ""', '"adapter": "codex"'), encoding="utf-8")
    edited = json.loads(nexus.ok("workflow", "check", "w.json", "--json"))
    (project / "w.json").write_text(raw.replace('"exec"', '"think"'), encoding="utf-8")
    broken = nexus("workflow", "check", "w.json")

    assert told["output"] == str(project / "w.json")
    assert edited["workflow"]["nodes"][0]["adapter"] == "codex"
    assert edited["definitionHash"] != told["definitionHash"]
    assert broken.returncode == 6
    assert "w.json: nodes[0]: type should be one of" in broken.stderr
    again = nexus("route", "--output", "w.json", "fix it")
    assert again.returncode == 1
    assert "w.json already exists" in again.stderr


def test_the_definition_of_a_run_is_a_workflow_with_the_hash_that_it_has(project: Path, nexus: Nexus) -> None:
    run = definition_from_command(("make", "test"))
    (project / "workflow.json").write_bytes(json_document(run.plain()))

    told = json.loads(nexus.ok("workflow", "check", "workflow.json", "--json"))

    from gitnexus.events.model import definition_hash

    assert told["definitionHash"] == definition_hash(run.plain())
    assert told["workflow"]["nodes"][0]["type"] == "command"


def test_a_macro_of_the_project_is_listed_shown_named_and_a_broken_one_is_told(project: Path, nexus: Nexus) -> None:
    macro(project, "release.md", RELEASE)
    macro(project, "broken.md", b"oops")
    macro(project, "notes.txt", b"x")

    listed = json.loads(nexus.ok("workflow", "list", "--json"))
    own = [row for row in listed["workflows"] if not row["builtIn"]]

    assert own == [{"name": "release", "about": "look, decide, and ship", "builtIn": False}]
    assert [row["path"] for row in listed["wrong"]] == ["commands/custom/broken.md", "commands/custom/notes.txt"]
    assert "Ship a release: {prompt}." in nexus.ok("workflow", "show", "release")
    card = nexus.ok("route", "/release 1.2")
    assert "release, chosen by its name, 100% sure" in card
    assert re.findall(r"^  (\d)  (\w+)", card, re.MULTILINE) == [
        ("1", "look"), ("1", "risks"), ("2", "plan"), ("3", "do"), ("4", "prove")
    ]  # fmt: skip
    assert "commands/custom/release.md" in run_git(project, "ls-tree", "-r", "--name-only", "refs/nexus/state")
    checked = nexus("workflow", "check")
    assert checked.returncode == 6
    assert "broken.md: it should begin with a front matter" in checked.stderr
    assert "broken.md is not a workflow" in nexus("doctor").stdout


def test_a_workflow_that_there_is_not_is_not_found(project: Path, nexus: Nexus) -> None:
    assert nexus("workflow", "show", "nope").returncode == 4
    assert nexus("route", "/nope x").returncode == 4
    assert nexus("workflow", "check", "nope.json").returncode == 4
    assert nexus("route", " ").returncode == 6


def test_a_projects_router_is_asked_only_once_it_is_signed(project: Path, nexus: Nexus) -> None:
    with served() as stub:
        value = {"workflow": {"router": {"url": f"{stub.url}/v1", "model": "tiny"}}}
        (project / ".nexus" / "settings.json").write_text(json.dumps(value))
        before = nexus("route", "Improve our onboarding", "--json")
        unsigned = len(stub.asked)
        trust(project)
        after = json.loads(nexus.ok("route", "Improve our onboarding", "--json"))
        rules = json.loads(nexus.ok("route", "Improve our onboarding", "--json", "--rules"))

    assert unsigned == 0
    assert "does not count before git nexus policy trust" in before.stderr
    assert json.loads(before.stdout)["source"] == "rules"
    assert (after["source"], after["workflow"]["name"]) == ("model", "plan-exec")
    assert rules["source"] == "rules"
    gone = nexus.ok("route", "Improve our onboarding")
    assert "No model" in gone
    assert "the model cannot be reached" in gone


def test_your_own_router_needs_no_signature(project: Path, nexus: Nexus, sealed: Path) -> None:
    with served("ollama") as stub:
        value = {"workflow": {"router": {"url": stub.url, "kind": "ollama", "model": "tiny"}}}
        (sealed / "nexus" / "settings.json").write_text(json.dumps(value))

        assert "chosen by the small model, 88% sure" in nexus.ok("route", "Improve our onboarding")
    assert stub.paths == ["/api/chat"]


def test_a_value_that_the_environment_keeps_secret_does_not_leave(
    project: Path, nexus: Nexus, sealed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAGING_PASSWORD", "mellow-otter-argues")
    with served() as stub:
        value = {"workflow": {"router": {"url": stub.url, "model": "tiny"}}}
        (sealed / "nexus" / "settings.json").write_text(json.dumps(value))
        told = json.loads(nexus.ok("route", "Onboarding with mellow-otter-argues", "--json"))

    assert told["source"] == "model"
    assert "Onboarding with" in stub.asked[0]["messages"][1]["content"]
    assert "mellow-otter-argues" not in json.dumps(stub.asked)


def test_settings_that_break_a_rule_are_told_by_route_and_doctor(project: Path, nexus: Nexus, sealed: Path) -> None:
    (sealed / "nexus" / "settings.json").write_text('{"workflow": {"router": {"url": "ftp://x"}}}')

    assert nexus("route", "fix it").returncode == 6
    assert "workflow: router: url should begin with http" in nexus("doctor").stdout


def test_a_plan_is_shown_in_batches_counted_at_a_commit(project: Path, nexus: Nexus) -> None:
    (project / "src").mkdir()
    for name in "abcdef":
        (project / "src" / f"{name}.py").write_text("x\n")
    run_git(project, "add", "src")
    run_git(project, "commit", "-qm", "more")
    steps = [{"id": "one", "files": ["readme.txt"]}, {"id": "two", "files": ["src/*.py"]}, {"id": "three"}]
    (project / "plan.json").write_text(json.dumps({"id": "p", "steps": steps}))

    now = json.loads(nexus.ok("workflow", "batches", "plan.json", "--cu", "10", "--output", "split.json", "--json"))
    before = json.loads(nexus.ok("workflow", "batches", "plan.json", "--cu", "10", "--base", "HEAD~1", "--json"))
    after = json.loads(nexus.ok("workflow", "batches", "split.json", "--cu", "10", "--json"))

    assert now["batches"] == [{"steps": ["one"], "cu": 5, "ctxKib": 0, "risk": 0}]
    assert now["held"] == ["two", "three"]
    assert now["splits"][0]["over"] == [{"limit": "cu", "has": 15, "may": 10}]
    assert now["limits"] == {"cu": 10, "steps": 8, "ctxKib": 160, "risk": 6}
    assert [batch["steps"] for batch in before["batches"]] == [["one", "two", "three"]]
    assert [batch["steps"] for batch in after["batches"]] == [["one"], ["two.1"], ["two.2", "three"]]
    assert "split  two takes 15 complexity units of 10" in nexus.ok("workflow", "batches", "plan.json", "--cu", "10")
    assert nexus("workflow", "batches", "plan.json", "--base", "nope").returncode == 4
    assert nexus("workflow", "batches", "nope.json").returncode == 4


def test_the_schema_is_printed(project: Path, nexus: Nexus) -> None:
    assert json.loads(nexus.ok("workflow", "schema"))["$id"] == "urn:git-nexus:workflow:2"
    assert json.loads(nexus.ok("workflow", "schema", "--json"))["schema"]["$id"] == "urn:git-nexus:workflow:2"
