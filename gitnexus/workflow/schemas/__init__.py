"""JSON Schemas of what workflows are made of: one as a file, the others as the records say. Tests compare them."""

import json
from importlib.resources import files

from gitnexus.base.errors import NotFound

WORKFLOW = "router.workflow.schema.json"
NAMES = ("router.workflow", "research", "plan", "plan_patch", "exec.result", "proposed_action")


def text_of(name: str) -> str:
    """Return a schema as it is written."""
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


def schema_named(name: str) -> str:
    """Return the text of a schema. Raises: NotFound."""
    if name == NAMES[0]:
        return text_of(WORKFLOW)
    if name not in NAMES:
        raise NotFound(f"there is no schema {name[:60]!r}", hint=f"there are: {', '.join(NAMES)}")
    # The records of prompts and policy: only who asks for one of them pays.
    from gitnexus.policy.model import ProposedAction
    from gitnexus.prompts.model import ExecResult, Plan, PlanChanges, ResearchBundle
    from gitnexus.prompts.schema import schema_of

    forms = dict(zip(NAMES[1:], (ResearchBundle, Plan, PlanChanges, ExecResult, ProposedAction), strict=True))
    return json.dumps(schema_of(forms[name], name), indent=2, ensure_ascii=False) + "\n"
