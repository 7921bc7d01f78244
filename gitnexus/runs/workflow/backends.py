"""Lists the backend of each specialist in a project, where it is configured, and whether it can work here."""

import os
from collections.abc import Iterable
from typing import NamedTuple

from gitnexus.adapters.installed import find_program
from gitnexus.adapters.table import ADAPTERS
from gitnexus.base.errors import Failed
from gitnexus.base.text import one_line
from gitnexus.prompts.in_project import read_prompt_settings
from gitnexus.runs.workflow.routing import workflow_settings
from gitnexus.state import State
from gitnexus.workflow.definition import EMBEDDED, MODEL, SPECIALISTS, NodeType, Specialist
from gitnexus.workflow.specialist import FUNCTIONS


class SpecialistBackend(NamedTuple):
    """One specialist: its backend, its purpose, and what keeps it from working, "" if nothing does."""

    specialist: Specialist
    by: str
    work: tuple[NodeType, ...]
    detail: str
    missing: str = ""


def list_specialist_backends(state: State) -> list[SpecialistBackend]:
    """Return the backend of each specialist; starts nothing and makes no calls. Raises: Invalid."""
    set_ = workflow_settings(state).specialist_adapters()
    found = []
    for name in dict.fromkeys(SPECIALISTS.values()):
        work = tuple(kind for kind, who in SPECIALISTS.items() if who == name and kind in FUNCTIONS)
        by = set_.get(name, EMBEDDED)
        detail, missing = _describe_backend(state, by, work)
        found.append(SpecialistBackend(name, by, work, detail, missing))
    return found


def refuse_missing_model(state: State, types: Iterable[NodeType]) -> None:
    """Raise an error if a node needs a model that is not configured. Raises: Failed."""
    work = tuple(kind for kind in types if kind in FUNCTIONS)
    _, missing = _describe_model(state, work) if work else ("", "")
    if missing:
        raise Failed(missing, hint="git nexus workflow specialists tells what is missing; embedded needs no model")


def _describe_backend(state: State, by: str, work: tuple[NodeType, ...]) -> tuple[str, str]:
    if by == EMBEDDED:
        return "rules, no model and no network", ""
    if by == MODEL:
        return _describe_model(state, work)
    program = ADAPTERS[by].program
    if not program:
        return "a script", ""
    there = find_program(program, os.environ.get("PATH", ""))
    return (f"{there.path} {there.version}".strip(), "") if there else (program, f"{program} is not on PATH")


def _describe_model(state: State, work: tuple[NodeType, ...]) -> tuple[str, str]:
    settings = read_prompt_settings(state)
    try:
        ends = [settings.endpoint_of(FUNCTIONS[kind]) for kind in work]
        for end in ends:
            end.key()
    except Failed as exc:
        return f"through {settings.via}", exc.message
    names = dict.fromkeys(f"{one_line(end.model, 60)} at {one_line(end.url, 100)}" for end in ends)
    return f"{', '.join(names)}, through {settings.via}", ""
