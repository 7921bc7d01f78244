"""Rules and context: kept by tag, never touched by gc."""

from pathlib import Path

import pytest

from gitnexus.base.errors import Duplicate, Invalid, NotFound
from gitnexus.memory import Notes
from gitnexus.memory.rules import (
    add_rule,
    read_rule_or_context,
    require_rule_text,
    require_tag_name,
    rules_by_tag,
    with_rule,
)
from gitnexus.state import State
from tests.conftest import Nexus, run_git


def test_a_rule_is_a_line_in_the_file_of_its_tag() -> None:
    once = with_rule("", "Never force-push", "git")

    assert once == "# Rules: git\n\n- Never force-push\n"
    assert with_rule(once, "Rebase first", "git") == once + "- Rebase first\n"
    with pytest.raises(Duplicate):
        with_rule(once, "never force-push.", "git")


@pytest.mark.parametrize("tag", ["../x", "a b", "-x", "ü.x", "x/y", "x" * 65])
def test_a_tag_is_one_plain_word(tag: str) -> None:
    with pytest.raises(Invalid):
        require_tag_name(tag)


@pytest.mark.parametrize("text", ["", " \n ", "x" * 2001, "use AKIA" + "IOSFODNN7EXAMPLE"])
def test_what_cannot_be_a_rule_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        require_rule_text(text)


def test_rules_are_commits_and_are_listed_by_tag(project: Path) -> None:
    notes = Notes(State.open(project))
    add_rule(notes, "Never force-push", "git")
    add_rule(notes, "Say  it\nplainly")

    snapshot = State.open(project).snapshot
    assert rules_by_tag(snapshot) == {"general": ["Say it plainly"], "git": ["Never force-push"]}
    assert read_rule_or_context(snapshot, "rules", "git.md") == "# Rules: git\n\n- Never force-push\n"
    with pytest.raises(NotFound):
        read_rule_or_context(snapshot, "rules", "nothing")
    assert run_git(project, "log", "-1", "--format=%s", "refs/nexus/state").strip() == "rules: add to general"


def test_the_commands_show_rules_and_context(project: Path, nexus: Nexus) -> None:
    (project / ".nexus" / "context").mkdir()
    (project / ".nexus" / "context" / "layers.md").write_text("# Three layers\n\nstate, rooms, surfaces\x1b[2J\n")

    assert nexus.ok("rule", "add", "Never force-push", "--tag", "git") == "Added to git: Never force-push\n"
    assert nexus.ok("rule", "list") == "git\n  - Never force-push\n"
    assert nexus.ok("rule", "list", "--tag", "x") == "No rules yet.\nNext: git nexus rule add TEXT\n"
    assert nexus.ok("context", "list") == "layers  Three layers\n"
    assert nexus.ok("context", "show", "layers").endswith("surfaces\\x1b[2J\n")
    assert nexus("context", "show", "nope").returncode == 4
