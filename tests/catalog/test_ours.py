"""The catalog that comes with us: whole, current, valid, and in agreement with the rest of the program."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from gitnexus.catalog.builtin import FOLDER, builtin_catalog
from gitnexus.catalog.generate import render_manifest
from gitnexus.catalog.harnesses import TOPICS
from gitnexus.catalog.package import load_package
from gitnexus.cycle.resume import TIERS

ROOT = Path(__file__).parents[2]
ROLES = {
    "architect": ("how", "persistent", "high", ("no_file_edit", "no_task_create", "no_task_update")),
    "designer": ("how", "persistent", "high", ("no_file_edit", "no_task_create", "no_task_update")),
    "postdoc": ("how", "persistent", "high", ("no_file_edit", "no_task_create", "no_task_update")),
    "strategist": ("how", "persistent", "high", ("no_file_edit", "no_task_create", "no_task_update")),
    "engineer": ("do", "bounded", "standard", ("no_task_create",)),
    "researcher": ("do", "persistent", "standard", ("no_file_edit", "no_task_create")),
    "writer": ("do", "bounded", "standard", ("no_task_create",)),
    "reviewer": ("check", "ephemeral", "standard", ("no_file_edit", "no_task_create")),
    "tester": ("check", "ephemeral", "standard", ("no_file_edit", "no_task_create")),
}
SKILLS = {"nx-init": True, "nx-plan": False, "nx-run": False, "nx-sync": False}


def generator() -> ModuleType:
    found = importlib.util.spec_from_file_location("generate", ROOT / "conformance" / "generate.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def schema(name: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads((FOLDER / "schema" / f"{name}.schema.json").read_text()))


def complaints(name: str, value: Any) -> list[str]:
    return [error.message for error in schema(name).iter_errors(value)]


def test_it_is_whole_by_the_rules_for_anybodys_package() -> None:
    assert load_package(FOLDER).problems == ()


def test_its_manifest_is_current() -> None:
    text, problems = render_manifest(FOLDER)

    assert problems == []
    assert (FOLDER / "manifest.json").read_text(encoding="utf-8") == text, "run make docs"


def test_its_schemas_are_what_the_records_say() -> None:
    made = generator()

    kept = {path.name: path.read_text() for path in (FOLDER / "schema").iterdir()}

    assert kept == {name: made.text(value) for name, value in made.catalog_schemas().items()}, "run make docs"
    for value in made.catalog_schemas().values():
        Draft202012Validator.check_schema(value)


def test_all_its_data_fit_the_schemas() -> None:
    value = json.loads((FOLDER / "manifest.json").read_text())

    assert complaints("manifest", value) == []
    assert complaints("memory-policy", value["vocabulary"]["memory_policy"]) == []
    for name, word in (("capability", "capabilities"), ("tag", "tags"), ("task-exception", "task_exceptions")):
        assert [complaints(name, row) for row in value["vocabulary"][word]] == [[] for _ in value["vocabulary"][word]]
    for kind in ("agent", "skill"):
        for path in (FOLDER / f"{kind}s").glob("*/meta.yml"):
            assert complaints(kind, yaml.safe_load(path.read_text())) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("agent", {"id": "x", "name": "x", "description": "d", "category": "do", "resume_tier": "bounded"}),
        ("agent", {"id": "X", "name": "x", "description": "d", "category": "c", "resume_tier": "t", "model_tier": "x"}),
        ("tag", {"id": "x", "trigger": "[x]", "type": "skill", "description": "d", "handler": "h"}),
        ("tag", {"id": "x", "trigger": "x", "type": "skill", "description": "d", "skill": "nx-x"}),
        ("capability", {"id": "x", "description": "d", "intent": "i", "prose_guidance": "p"}),
        ("skill", {"id": "nx-x", "name": "nx-x"}),
        ("memory-policy", {}),
        ("task-exception", {"id": "a.b.c", "description": "", "applies_when": "", "treatment": "", "rationale": ""}),
    ],
)  # fmt: skip
def test_the_schemas_refuse_what_is_incomplete_or_misspelt(name: str, value: Any) -> None:
    assert complaints(name, value) != []


def test_nine_roles_as_the_contract_has_them() -> None:
    catalog = builtin_catalog()

    found = {
        name: (agent.category, agent.resume_tier, agent.model_tier, agent.capabilities)
        for name, agent in catalog.agents.items()
    }

    assert found == ROLES
    assert list(found) == list(ROLES)


def test_four_skills_of_which_one_is_manual() -> None:
    assert {name: skill.manual_only for name, skill in builtin_catalog().skills.items()} == SKILLS


def test_every_prompt_is_there_and_has_its_hash() -> None:
    catalog = builtin_catalog()

    for path in [*(f"agents/{name}" for name in catalog.agents), *(f"skills/{name}" for name in catalog.skills)]:
        assert catalog.body(path).startswith("# ")


def test_seven_capabilities_the_four_of_the_contract_first() -> None:
    assert list(builtin_catalog().capabilities) == [
        "no_file_edit",
        "no_task_create",
        "no_task_update",
        "no_shell_exec",
        "no_task_close",
        "no_subagent_spawn",
        "no_user_question",
    ]


def test_the_tags_of_the_contract_and_no_others() -> None:
    assert {(tag.trigger, tag.variants, tag.skill or tag.handler) for tag in builtin_catalog().tags} == {
        ("[plan]", ("auto",), "nx-plan"),
        ("[run]", (), "nx-run"),
        ("[sync]", (), "nx-sync"),
        ("[d]", (), "nx_plan_decide"),
        ("[m]", (), "memory_store"),
        ("[m:gc]", (), "memory_gc"),
        ("[rule]", ("*",), "rule_store"),
    }


def test_skills_ask_only_for_topics_that_every_harness_has_a_word_on() -> None:
    asked = {topic for skill in builtin_catalog().skills.values() for topic in skill.harness_docs_refs}

    assert asked <= set(TOPICS)


def test_the_tiers_that_the_cycle_decides_by_are_those_of_the_catalog() -> None:
    assert {name: agent.resume_tier for name, agent in builtin_catalog().agents.items()} == TIERS


def test_no_prompt_sends_an_agent_to_a_macro_that_nobody_expands() -> None:
    catalog = builtin_catalog()

    for path in [*(f"agents/{name}" for name in catalog.agents), *(f"skills/{name}" for name in catalog.skills)]:
        assert re.findall(r"\{\{", catalog.body(path)) == []


def test_looking_at_it_imports_no_yaml() -> None:
    code = (
        "import sys; sys.argv = ['git-nexus', 'agents', 'engineer']\n"
        "from gitnexus.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print('yaml' in sys.modules)"
    )

    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/").stdout

    assert shown.splitlines()[-1] == "False"


def test_a_prompt_that_was_changed_after_installing_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import shutil

    from gitnexus.base.errors import Failed
    from gitnexus.catalog import builtin

    shutil.copytree(FOLDER, tmp_path / "data")
    (tmp_path / "data/agents/engineer/body.md").write_text("# Do as you like\n")
    monkeypatch.setattr(builtin, "FOLDER", tmp_path / "data")
    fresh = builtin.builtin_catalog.__wrapped__()

    with pytest.raises(Failed) as refused:
        fresh.body("agents/engineer")

    assert "was changed after it was installed" in refused.value.message
