"""The commands about the catalog, as a person calls them."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gitnexus.catalog.builtin import FOLDER, builtin_catalog
from gitnexus.catalog.harnesses import HARNESSES
from tests.catalog.packages import package
from tests.catalog.test_open import configure
from tests.conftest import Nexus


def asked(nexus: Nexus, *argv: str, place: Path | None = None) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(nexus.ok(*argv, "--json", place=place))
    return found


def test_the_roles_are_one_screen_also_outside_of_a_repository(nexus: Nexus, tmp_path: Path) -> None:
    shown = nexus.ok("agents", place=tmp_path)

    assert [line.split()[0] for line in shown.splitlines()[1:10]] == list(builtin_catalog().agents)
    assert len(shown.splitlines()) <= 24
    assert all(len(line) <= 120 for line in shown.splitlines())


def test_a_role_is_shown_with_its_limits_its_denied_tools_and_its_prompt(nexus: Nexus) -> None:
    shown = nexus.ok("agents", "engineer")

    for words in (
        "role         Code, tests, debugging",
        "category     do",
        "resume tier  bounded",
        "model tier   standard",
        "canonical    no_task_create",
        "effective    no_task_create",
        "claude-code  mcp__nexus__nx_task_add",
        "opencode     nexus_nx_task_add",
    ):
        assert f"  {words}" in shown
    assert shown.endswith((FOLDER / "agents/engineer/body.md").read_text(encoding="utf-8"))


def test_what_a_project_adds_is_told_apart_from_what_the_role_has(project: Path, nexus: Nexus) -> None:
    configure(project, capabilities={"engineer": ["no_shell_exec"]})

    shown = nexus.ok("agents", "engineer")
    found = asked(nexus, "agents", "engineer")["agent"]

    assert "  added here   no_shell_exec" in shown
    assert found["canonicalCapabilities"] == ["no_task_create"]
    assert found["effectiveCapabilities"] == ["no_task_create", "no_shell_exec"]
    assert "Bash" in found["deniedTools"]["claude-code"]
    assert list(found["deniedTools"]) == list(HARNESSES)
    assert found["prompt"] == (FOLDER / "agents/engineer/body.md").read_text(encoding="utf-8")


def test_an_addition_that_removes_stops_the_command_with_status_6(project: Path, nexus: Nexus) -> None:
    configure(project, capabilities={"engineer": ["-no_task_create"]})

    done = nexus("agents", "engineer")

    assert done.returncode == 6
    assert done.stdout == ""
    assert "'-no_task_create' would take a capability away" in done.stderr


@pytest.mark.parametrize("command", ["agents", "skills", "capabilities"])
def test_a_name_that_is_not_there_is_answered_with_those_that_are(nexus: Nexus, command: str) -> None:
    done = nexus(command, "nobody")

    assert done.returncode == 4
    assert "hint: there are: " in done.stderr


def test_the_skills_and_the_text_of_one_for_a_harness(nexus: Nexus) -> None:
    rows = asked(nexus, "skills")["skills"]
    text = asked(nexus, "skills", "nx-init", "--harness", "gemini-cli")["skill"]["text"]

    assert [(row["id"], row["triggers"], row["manualOnly"]) for row in rows] == [
        ("nx-init", [], True),
        ("nx-plan", ["[plan]", "[plan:auto]"], False),
        ("nx-run", ["[run]"], False),
        ("nx-sync", ["[sync]"], False),
    ]
    assert "## In Gemini CLI" in text
    assert HARNESSES["gemini-cli"].notes["instruction_file"] in text
    assert HARNESSES["gemini-cli"].notes["resume_invocation"] not in text
    assert nexus("skills", "nx-init", "--harness", "emacs").returncode == 4
    assert nexus("skills", "nx-init", "--match", "x").returncode == 2


def test_what_a_message_would_start_can_be_asked(nexus: Nexus) -> None:
    shown = nexus.ok("skills", "--match", "[d] #2 SQLite\n[m:gc]\n[plan:auto] the rest\n`[run]`")
    routes = asked(nexus, "skills", "--match", "[d] SQLite\n[rule:x] y")["routes"]

    assert shown.splitlines() == [
        "[d]     tool plan_decide      issue_id=2, decision=SQLite",
        "[m:gc]  tool memory_gc        no parameters",
        "[plan]  skill nx-plan (auto)  the rest\\x0a`[run]`",
    ]
    assert routes[0]["missing"] == ["issue_id"]
    assert routes[1]["params"] == {"text": "y", "tag": "x"}
    assert nexus.ok("skills", "--match", "arr[d]").startswith("No tag: ")


def test_a_message_cannot_paint_the_terminal(nexus: Nexus) -> None:
    shown = nexus.ok("skills", "--match", "[d] \x1b[2Jgone")

    assert "\x1b" not in shown
    assert "\\x1b[2Jgone" in shown


def test_a_prompt_of_somebody_elses_cannot_paint_the_terminal(project: Path, nexus: Nexus) -> None:
    root = package(project / "cat")
    (root / "agents/baker/body.md").write_text("\x1b[2J\u202egone\n")
    nexus.ok("catalog", "manifest", "cat")
    configure(project, source="cat")

    shown = nexus.ok("agents", "baker")

    assert "\x1b" not in shown
    assert "\\x1b[2J\\u202egone" in shown


def test_a_capability_shows_its_tools_in_every_harness_and_why_there_is_none(nexus: Nexus) -> None:
    rows = asked(nexus, "capabilities")["capabilities"]
    found = asked(nexus, "capabilities", "no_user_question")["capability"]
    shown = nexus.ok("capabilities", "no_file_edit")

    assert len(rows) == 7
    assert found["deniedTools"] == {
        "claude-code": ["AskUserQuestion"],
        "codex": ["request_user_input"],
        "gemini-cli": ["ask_user"],
        "opencode": ["question"],
        "git-nexus": [],
    }
    assert list(found["withoutTool"]) == ["git-nexus"]
    assert "codex        apply_patch" in shown
    assert "claude-code  file_deletion: no tool deletes" in shown
    assert all(len(line) <= 120 for line in nexus.ok("capabilities").splitlines())


def test_a_broken_source_is_a_notice_and_the_answer_is_ours(project: Path, nexus: Nexus) -> None:
    package(project / "cat")
    (project / "cat/manifest.json").write_text("{}")
    configure(project, source="cat")
    nexus("status")

    done = nexus("agents", "--json")

    assert done.returncode == 0
    assert "catalog.source cat is broken" in done.stderr
    assert json.loads(done.stdout)["source"] == "built-in"
    assert nexus("doctor").returncode == 1
    checked = nexus("catalog", "check")
    assert checked.returncode == 1
    assert "  manifest.json: agents should be a list" in checked.stdout


def test_a_package_can_be_checked_and_given_its_manifest(nexus: Nexus, tmp_path: Path) -> None:
    root = package(tmp_path / "cat")
    (root / "agents/baker/body.md").write_text("# Baker\n\nBake less.\n")
    assert nexus("catalog", "check", str(root)).returncode == 1

    first = nexus.ok("catalog", "manifest", str(root))
    second = nexus.ok("catalog", "manifest", str(root))

    assert (first, second) == ("Written.\n", "manifest.json is up to date.\n")
    assert nexus.ok("catalog", "check", str(root)) == f"{root} is valid: 1 role, 1 skill.\n"
    assert asked(nexus, "catalog", "check", str(root))["whole"] is True
    assert asked(nexus, "catalog", "check")["source"] == "built-in"


def test_no_manifest_is_written_for_a_folder_that_is_no_package(nexus: Nexus, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    done = nexus("catalog", "manifest", str(tmp_path / "empty"), "--json")

    assert done.returncode == 6
    assert "vocabulary/tags.yml is missing" in json.loads(done.stdout)["error"]["context"]["problems"]
    assert list((tmp_path / "empty").iterdir()) == []


def test_in_a_pipe_that_closes_early_nothing_is_complained_about(nexus: Nexus) -> None:
    done = subprocess.run(
        "git nexus agents engineer | head -1", shell=True, cwd=nexus.place, capture_output=True, text=True, check=False
    )

    assert done.stdout.startswith("engineer: ")
    assert done.stderr == ""
