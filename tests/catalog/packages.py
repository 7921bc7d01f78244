"""Small packages of the nexus-core layout, made for one test each."""

from pathlib import Path
from typing import Any

import yaml

from gitnexus.catalog.generate import write_manifest

CAPABILITY = {
    "id": "no_shell_exec",
    "description": "No commands.",
    "intent": "shell_execution_denial",
    "blocks_semantic_classes": ["shell_command_exec"],
    "prose_guidance": "Deny shells.",
}
AGENT = {
    "id": "baker",
    "name": "baker",
    "description": "Bakes.",
    "task": "Bread",
    "category": "do",
    "resume_tier": "bounded",
    "model_tier": "standard",
    "capabilities": ["no_shell_exec"],
    "alias_ko": "제빵사",
}
SKILL = {"id": "nx-bake", "name": "nx-bake", "description": "Bake.", "summary": "Bake.", "triggers": ["bake"]}
TAGS = [
    {
        "id": "bake",
        "trigger": "[bake]",
        "type": "skill",
        "skill": "nx-bake",
        "description": "Bake.",
        "variants": ["hot"],
    },
    {"id": "d", "trigger": "[d]", "type": "inline_action", "handler": "nx_plan_decide", "description": "Decide."},
]


def put(root: Path, path: str, value: Any) -> None:
    """Write a file of a package: YAML for what is no text."""
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    text = value if isinstance(value, str) else yaml.safe_dump(value, allow_unicode=True, sort_keys=False)
    place.write_text(text, encoding="utf-8")


def package(root: Path) -> Path:
    """Make a whole package with one role and one skill."""
    put(root, "agents/baker/meta.yml", AGENT)
    put(root, "agents/baker/body.md", "# Baker\n\nBacke Brötchen.\n")
    put(root, "skills/nx-bake/meta.yml", SKILL)
    put(root, "skills/nx-bake/body.md", "# nx-bake\n\nBake it.\n")
    put(root, "vocabulary/capabilities.yml", {"capabilities": [CAPABILITY]})
    put(root, "vocabulary/categories.yml", {"categories": [{"id": "do", "description": "Does."}]})
    put(root, "vocabulary/resume-tiers.yml", {"resume_tiers": [{"id": "bounded", "description": "For a while."}]})
    put(root, "vocabulary/tags.yml", {"tags": TAGS})
    for name in ("invocations", "task_exceptions"):
        put(root, f"vocabulary/{name.replace('_', '-')}.yml", {name: []})
    put(root, "vocabulary/memory_policy.yml", memory_policy())
    assert write_manifest(root) == (True, [])
    return root


def memory_policy() -> dict[str, Any]:
    """Return the least that a memory policy may say."""
    words = {"principle": "p", "description": "d"}
    return {
        "categories": [{"id": "empirical", "prefix": "empirical-", "description": "d"}],
        "naming": {"pattern": "^x$", "description": "d", "optional_prefix": True},
        "access_tracking": {
            "observation_primitive": "file_read",
            "scope": ".nexus/memory/",
            "description": "d",
            "information_accumulated": [{"name": "n", "meaning": "m"}],
            "storage_contract_reference": "s",
        },
        "forgetting": {
            "manual_gate_default": True,
            "description": "d",
            "automatic_deletion_structure": dict(words),
            "recoverable_deletion_requirement": "git_commit",
            "recoverable_deletion_description": "d",
        },
        "merge": words,
    }
