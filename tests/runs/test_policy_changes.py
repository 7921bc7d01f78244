"""A policy that changes while a run waits is in the run's log, once."""

import json
from pathlib import Path
from typing import Any

from tests.conftest import Nexus, run_git
from tests.runs.live import begun, events, folder


def logged(project: Path, run: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder(project, run) / "events.jsonl").read_bytes().splitlines()]


def test_rules_that_change_while_a_run_waits_are_logged_once_before_what_they_decide(
    nexus: Nexus, project: Path
) -> None:
    run = begun(nexus)
    started = events(project, run, "workflow.started")[0]["policy"]
    nexus.ok("policy", "add", "allow", "--user", "--", "make", "test")

    nexus.ok("approve", "--unseen", run)

    (change,) = events(project, run, "policy.changed")
    assert (change["before"], change["by"], change["why"]) == (started, "Test Person", "+ allow run make test")
    kinds = [one["kind"] for one in logged(project, run)]
    assert kinds.index("policy.changed") < kinds.index("permission.granted")
    (line,) = [row for row in nexus.ok("replay", run).splitlines() if "Test Person changed the policy" in row]
    assert "+ allow run make test" in line


def test_who_changed_the_projects_policy_is_named_and_the_users_own_file_is_theirs(nexus: Nexus, project: Path) -> None:
    run = begun(nexus, "echo more >> readme.txt")
    run_git(project, "config", "user.name", "Grace Other")
    nexus.ok("policy", "add", "deny", "--write", "secret/**")
    run_git(project, "config", "user.name", "Test Person")

    nexus.ok("approve", "--unseen", run)

    assert [(one["by"], one["why"]) for one in events(project, run, "policy.changed")] == [
        ("Grace Other", "+ deny write secret/**")
    ]


def test_a_new_reason_or_prose_of_the_policy_is_no_other_policy(nexus: Nexus, project: Path) -> None:
    run = begun(nexus, "echo more >> readme.txt")
    policy = project / ".nexus" / "policy.md"
    policy.write_text(policy.read_text() + "\nMore prose.\n")

    nexus.ok("approve", "--unseen", run)

    assert events(project, run, "policy.changed") == []
