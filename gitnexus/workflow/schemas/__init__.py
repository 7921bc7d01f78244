"""Returns the JSON Schemas of workflow documents: files, of which `make docs` writes all but one from the models."""

import json
from importlib.resources import files

from gitnexus.base.errors import NotFound

WORKFLOW = "router.workflow.schema.json"
NAMES = ("router.workflow", "research", "plan", "plan_patch", "exec.result", "proposed_action")


def read_schema_file(name: str) -> str:
    """Return the text of a schema file."""
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


def find_schema_text(name: str) -> str:
    """Return the text of a schema. Raises: NotFound."""
    if name not in NAMES:
        raise NotFound(f"there is no schema {name[:60]!r}", hint=f"there are: {', '.join(NAMES)}")
    return read_schema_file(f"{name}.schema.json")


def render_schemas() -> dict[str, str]:
    """Return the schemas that are derived from models, by the names of their files."""
    # The documents of prompts and policy: only who writes the files pays.
    from gitnexus.policy.model import ProposedAction
    from gitnexus.prompts.model import ExecResult, Plan, PlanChanges, ResearchBundle, prompt_schema

    forms = dict(zip(NAMES[1:], (ResearchBundle, Plan, PlanChanges, ExecResult, ProposedAction), strict=True))
    return {
        f"{name}.schema.json": json.dumps(prompt_schema(form, name), indent=2, ensure_ascii=False) + "\n"
        for name, form in forms.items()
    }
