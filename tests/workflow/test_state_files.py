"""The schemas and built-in workflows on the state ref: what they say, and that init writes them."""

import json
from pathlib import Path

import pytest

from gitnexus.workflow.commands import parse_custom_macro, workflow_from_macro
from gitnexus.workflow.macros import MACROS, Macro, MacroPart, expand_macro
from gitnexus.workflow.schemas import NAMES, find_schema_text
from gitnexus.workflow.state_files import generated_state_files, render_macro
from tests.conftest import Nexus, run_git


@pytest.mark.parametrize("name", MACROS)
def test_a_built_in_workflow_copied_under_another_name_does_the_same(name: str) -> None:
    raw = generated_state_files()[f"commands/builtins/{name}.md"]
    ours = expand_macro(MACROS[name], "fix it", {"executor": "codex"})

    copied = workflow_from_macro(parse_custom_macro("mine", raw), "fix it", {"executor": "codex"})

    assert raw.decode() == render_macro(MACROS[name])
    assert copied.changed(name=name) == ours


def test_a_macro_with_agents_and_prompts_is_written_with_them() -> None:
    part = MacroPart("look", "research", adapter="claude", prompt='say "why": in one line')

    found = parse_custom_macro("mine", render_macro(Macro("x", "a: b", (part,))).encode())

    step = found.head.nodes[0]
    assert (found.about, step.agent, step.prompt) == ("a: b", "claude", 'say "why": in one line')


def kept(project: Path) -> dict[str, str]:
    """Return the files of both folders as they are in the checkout of the state."""
    top = project / ".nexus"
    return {
        str(file.relative_to(top)): file.read_text()
        for folder in ("schemas", "commands/builtins")
        for file in (top / folder).iterdir()
    }


def test_init_writes_them_and_twice_is_harmless(nexus: Nexus, project: Path) -> None:
    tip = run_git(project, "rev-parse", "refs/nexus/state")

    nexus.ok("init")

    found = kept(project)
    assert run_git(project, "rev-parse", "refs/nexus/state") == tip
    assert {f"schemas/{name}.schema.json" for name in NAMES} | {f"commands/builtins/{name}.md" for name in MACROS} == {
        *found
    }
    for name in NAMES:
        assert found[f"schemas/{name}.schema.json"] == find_schema_text(name)
        assert json.loads(nexus.ok("workflow", "schema", name)) == json.loads(find_schema_text(name))


def test_init_brings_those_of_another_version_up_to_date_and_says_so(nexus: Nexus, project: Path) -> None:
    before = kept(project)
    (project / ".nexus" / "schemas" / "plan.schema.json").write_text("{}\n")
    (project / ".nexus" / "commands" / "builtins" / "exec.md").unlink()
    nexus.ok("status")

    said = nexus.ok("init")

    assert "wrote schemas/ and commands/builtins/ of this version" in said
    assert kept(project) == before
    assert "wrote schemas/" not in nexus.ok("init")


def test_a_copied_workflow_is_offered_by_its_name(nexus: Nexus, project: Path) -> None:
    folder = project / ".nexus" / "commands"
    (folder / "custom" / "careful.md").write_text((folder / "builtins" / "exec-review.md").read_text())

    told = json.loads(nexus.ok("route", "--json", "/careful fix it"))

    assert [node["type"] for node in told["workflow"]["nodes"]] == ["exec", "review"]
