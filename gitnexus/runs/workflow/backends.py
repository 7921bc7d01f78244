"""Lists the backend of each specialist in a project, where it is configured, and whether it can work here."""

from collections.abc import Iterable
from typing import NamedTuple

from gitnexus.base.errors import Failed
from gitnexus.runs.workflow.backend_state import describe_backend, describe_model
from gitnexus.runs.workflow.routing import workflow_settings
from gitnexus.state import State
from gitnexus.workflow.definition import SPECIALISTS, NodeType, Specialist
from gitnexus.workflow.run_definition import EMBEDDED
from gitnexus.workflow.specialist import FUNCTIONS


class SpecialistBackend(NamedTuple):
    """One specialist: its backend, its purpose, and what keeps it from working, "" if nothing does."""

    specialist: Specialist
    by: str
    work: tuple[NodeType, ...]
    detail: str
    missing: str = ""


def list_specialist_backends(state: State) -> list[SpecialistBackend]:
    """Return the backends of each specialist, in the order of its list; starts and calls nothing. Raises: Invalid."""
    settings = workflow_settings(state)
    found = []
    for name in dict.fromkeys(SPECIALISTS.values()):
        work = tuple(kind for kind, who in SPECIALISTS.items() if who == name and kind in FUNCTIONS)
        several = [one.agent for one in settings.lists.get(name, ())]
        for by in several or [settings.specialists.get(name) or EMBEDDED]:
            detail, missing = describe_backend(state, by, work)
            found.append(SpecialistBackend(name, by, work, detail, missing))
    return found


def refuse_missing_model(state: State, types: Iterable[NodeType]) -> None:
    """Raise an error if a node needs a model that is not configured. Raises: Failed."""
    work = tuple(kind for kind in types if kind in FUNCTIONS)
    _, missing = describe_model(state, work) if work else ("", "")
    if missing:
        raise Failed(missing, hint="git nexus workflow specialists shows what is missing; embedded needs no model")
