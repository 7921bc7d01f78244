"""Returns the JSON Schemas of workflow documents: files that `make docs` writes from the models."""

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
    # Only what writes the files needs the models.
    from gitnexus.base.document import json_schema_of
    from gitnexus.policy.model import ProposedAction
    from gitnexus.prompts.model import ExecResult, Plan, PlanChanges, ResearchBundle, prompt_schema
    from gitnexus.workflow.definition import VERSION, WorkflowDefinition

    forms = dict(zip(NAMES[1:], (ResearchBundle, Plan, PlanChanges, ExecResult, ProposedAction), strict=True))
    schemas = {WORKFLOW: json_schema_of(WorkflowDefinition, f"urn:git-nexus:workflow:{VERSION}")}
    schemas |= {f"{name}.schema.json": prompt_schema(form, name) for name, form in forms.items()}
    return {name: json.dumps(schema, indent=2, ensure_ascii=False) + "\n" for name, schema in schemas.items()}
