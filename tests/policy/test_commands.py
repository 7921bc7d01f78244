"""`git nexus policy` as a person types it."""

import json
from pathlib import Path

import pytest

from tests.conftest import Nexus, run_git
from tests.terminal import answered


def told(nexus: Nexus, *argv: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(nexus.ok("policy", argv[0], "--json", *argv[1:]))
    return found


def test_a_rule_is_added_shown_explained_and_removed(project: Path, nexus: Nexus) -> None:
    before = told(nexus, "explain", "--", "git", "status")
    added = told(nexus, "add", "allow", "--user", "--name", "look", "--", "git", "status")
    after = told(nexus, "explain", "--", "git", "status")
    nexus.ok("policy", "remove", "user.look")
    nexus.ok("policy", "add", "allow", "--user", "--name", "look", "--", "git", "status")
    nexus.ok("policy", "remove", "look")

    assert (before["verdict"], before["rule"]) == ("ask", "silence")
    assert before["instead"] == "git nexus policy add allow -- git status"
    assert added["rule"]["id"] == "user.look"  # type: ignore[index]
    assert (after["verdict"], after["rule"]) == ("allow", "user.look")
    assert told(nexus, "show")["rules"] == []


def test_a_project_policy_that_nobody_signed_only_tightens(project: Path, nexus: Nexus) -> None:
    nexus.ok("policy", "add", "allow", "--write", "src/**")
    nexus.ok("policy", "add", "deny", "--why", "they are mine", "--", "git", "push", "**")

    shown = told(nexus, "show")
    pushed = told(nexus, "explain", "--", "git", "-C", "x", "push")

    assert [rule["id"] for rule in shown["rules"]] == ["project.deny.1"]  # type: ignore[attr-defined]
    assert [rule["id"] for rule in shown["ignored"]] == ["project.allow.1"]  # type: ignore[attr-defined]
    assert shown["project"] == {"exists": True, "trusted": False}
    assert (pushed["verdict"], pushed["rule"]) == ("deny", "project.deny.1")
    assert "they are mine" in str(pushed["why"])
    assert "policy: add to deny" in nexus.ok("log")


def test_a_rule_for_where_nothing_confines_is_added_by_a_flag(project: Path, nexus: Nexus) -> None:
    nexus.ok("policy", "add", "allow", "--user", "--unconfined", "--", "make", "test")

    (rule,) = told(nexus, "show")["rules"]  # type: ignore[misc]
    found = told(nexus, "explain", "--sandbox", "L0", "--network", "full", "--", "make", "test")

    assert rule["unconfined"] is True
    assert (found["verdict"], found["rule"]) == ("allow", "user.allow.1")


def test_at_a_terminal_a_change_of_the_policy_is_shown_and_signed_in_one_go(project: Path, nexus: Nexus) -> None:
    add = ("git", "nexus", "policy", "add", "allow", "--")

    status, drawn = answered(project, *add, "git", "status", typed=("y",))
    signed = told(nexus, "show")
    left, _ = answered(project, *add, "git", "log", typed=("n",))
    unsigned = told(nexus, "show")

    assert status == left == 0
    assert '+  - run: ["git", "status"]' in drawn
    assert signed["project"] == {"exists": True, "trusted": True}
    assert [rule["id"] for rule in signed["rules"]] == ["project.allow.1"]  # type: ignore[attr-defined]
    assert unsigned["project"] == {"exists": True, "trusted": False}
    assert len(unsigned["ignored"]) == 2  # type: ignore[arg-type]


def test_a_patch_is_explained_by_what_git_would_do_and_nothing_is_changed(project: Path, nexus: Nexus) -> None:
    nexus.ok("policy", "add", "allow", "--user", "--write", "src/**")
    (project / "src").mkdir()
    (project / "src" / "a.py").write_text("x = 1\n")
    run_git(project, "add", "src")
    fine = run_git(project, "diff", "--cached")
    (project / "src" / "link").symlink_to("/etc/passwd")
    run_git(project, "add", "src")
    (project.parent / "bad.patch").write_text(run_git(project, "diff", "--cached"))
    (project.parent / "fine.patch").write_text(fine)
    run_git(project, "reset", "-q")
    objects = run_git(project, "count-objects", "-v")

    allowed = told(nexus, "explain", "--patch", str(project.parent / "fine.patch"))
    denied = told(nexus, "explain", "--patch", str(project.parent / "bad.patch"))
    broken = nexus("policy", "explain", "--patch", "-", stdin="no patch at all\n")

    assert (allowed["verdict"], allowed["rule"], allowed["kind"]) == ("allow", "user.allow.1", "patch")
    assert (denied["verdict"], denied["rule"]) == ("deny", "builtin.link")
    assert denied["request"] is None
    assert broken.returncode == 6
    assert run_git(project, "count-objects", "-v") == objects


def test_a_patch_on_a_denied_file_is_explained_by_the_rule_and_the_repositorys_config_is_not_asked(
    project: Path, nexus: Nexus
) -> None:
    nexus.ok("policy", "add", "deny", "--user", "--name", "mine", "--read", "private/**")
    (project / "private").mkdir()
    (project / "private" / "a.txt").write_text("one\n")
    run_git(project, "add", "private")
    run_git(project, "commit", "-qm", "private")
    (project / "private" / "a.txt").write_text("two\n")
    (project.parent / "read.patch").write_text(run_git(project, "diff"))
    # A key that stops git wherever the repository's own config is read.
    run_git(project, "config", "apply.whitespace", "no-such-way")

    told_so = told(nexus, "explain", "--patch", str(project.parent / "read.patch"))

    assert (told_so["verdict"], told_so["rule"], told_so["request"]) == ("deny", "user.mine", None)
    assert told_so["instead"] == "git nexus policy remove user.mine"


def test_the_mode_is_shown_and_set_and_bypass_needs_the_users_settings(
    project: Path, nexus: Nexus, sealed: Path
) -> None:
    nexus.ok("policy", "mode", "acceptEdits", "--user")
    refused = nexus("policy", "mode", "bypass", "--user")
    (sealed / "nexus" / "settings.json").write_text('{"policy": {"bypass": true}}\n')
    nexus.ok("policy", "mode", "bypass", "--user")

    assert refused.returncode == 20
    assert nexus("policy", "mode", "bypass").returncode == 20
    assert told(nexus, "mode")["mode"] == "bypass"
    assert told(nexus, "explain", "--", "ls")["rule"] == "mode.bypass"
    assert told(nexus, "explain", "--", "cat", ".env")["verdict"] == "deny"


def test_a_broken_policy_is_named_and_allows_nothing(project: Path, nexus: Nexus, sealed: Path) -> None:
    nexus.ok("policy", "mode", "default", "--user")
    (sealed / "nexus" / "policy.md").write_text("---\nversion: 1\nalow: []\n---\n")

    done = nexus("policy", "explain", "--", "ls")

    assert done.returncode == 6
    assert "'alow' is not known" in done.stderr


def test_an_editor_that_breaks_the_policy_changes_nothing(
    project: Path, nexus: Nexus, monkeypatch: pytest.MonkeyPatch
) -> None:
    nexus.ok("policy", "add", "deny", "--read", "secrets/**")
    before = (project / ".nexus" / "policy.md").read_bytes()

    monkeypatch.setenv("VISUAL", "sed -i s/deny/denied/")
    broken = nexus("policy", "edit")
    monkeypatch.setenv("VISUAL", "sed -i s/secrets/private/")
    nexus.ok("policy", "edit")

    assert broken.returncode == 6
    assert (project / ".nexus" / "policy.md").read_bytes() == before.replace(b"secrets", b"private")


def test_what_an_agent_named_its_file_does_not_reach_the_terminal(project: Path, nexus: Nexus) -> None:
    shown = nexus.ok("policy", "explain", "--", "ls", "\x1b[2Jx", "\u202ey")

    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_a_rule_for_a_role_that_nobody_has_is_refused_with_a_proposal(project: Path, nexus: Nexus) -> None:
    refused = nexus("policy", "add", "deny", "--write", "one", "--role", "enginer")
    noted = nexus("policy", "add", "deny", "--user", "--write", "one", "--role", "enginer")

    assert (refused.returncode, "there is no role 'enginer'" in refused.stderr) == (4, True)
    assert "did you mean engineer? roles: " in refused.stderr
    assert "there is no role 'enginer' in this project; did you mean engineer?" in noted.stderr
    assert [rule["id"] for rule in told(nexus, "show")["rules"]] == ["user.deny.1"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("argv", [("sh", "-c", "id"), ("env", "id"), ("/usr/bin/id",), ("sh", "-c", "true; id")])
def test_a_reason_names_the_program_that_a_rule_speaks_about(
    project: Path, nexus: Nexus, argv: tuple[str, ...]
) -> None:
    nexus.ok("policy", "add", "deny", "--", "id", "**")

    assert told(nexus, "explain", "--", *argv)["why"] == "id: deny run id **"
