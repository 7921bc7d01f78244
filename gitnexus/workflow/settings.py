"""Parses the `workflow` section of the settings: specialists, the router's small model, weights and limits."""

import os
from typing import Annotated, Any, Literal

from pydantic import Field

from gitnexus.adapters.table import ADAPTERS
from gitnexus.base.document import Document
from gitnexus.base.errors import Invalid
from gitnexus.base.spelling import suggest_word
from gitnexus.prompts.address import check_key_variable, check_model_address
from gitnexus.workflow.budget import CostWeights
from gitnexus.workflow.choosing import AgentCandidate
from gitnexus.workflow.definition import Specialist, WorkflowBudgets
from gitnexus.workflow.run_definition import BACKINGS

SECTION = "workflow"
_MOST_AGENTS = 10


class RouterSettings(Document):
    """The address of the small model; empty `url` disables it. `key_env` names a variable and is not a key."""

    url: str = ""
    kind: Literal["openai", "ollama"] = "openai"
    model: str = ""
    key_env: str = ""
    seconds: Annotated[int, Field(ge=1, le=120)] = 10


class WorkflowSettings(Document):
    """The `workflow` section of the settings."""

    router: RouterSettings = RouterSettings()
    specialists: dict[Specialist, str] = Field(default_factory=dict)
    weights: CostWeights = CostWeights()
    budgets: WorkflowBudgets = WorkflowBudgets()
    # Whether research that was kept answers the same question again.
    reuse_research: bool = True
    # Not a key of the file: the whole list of a role for which several agents are set; `specialists` has the first.
    lists: dict[Specialist, tuple[AgentCandidate, ...]] = Field(default_factory=dict, exclude=True)

    def specialist_adapters(self) -> dict[Specialist, str]:
        """Return the adapter of each specialist that has exactly one; of several one is chosen for each node."""
        return {name: adapter for name, adapter in self.specialists.items() if adapter and name not in self.lists}


def parse_workflow_settings(value: Any) -> WorkflowSettings:
    """Return the validated settings. Raises: Invalid, naming the error."""
    where = f"settings.json: {SECTION}"
    value, lists = _split_agent_lists(value, where)
    found = WorkflowSettings.from_value(value, where).changed(lists=lists)
    for name, adapter in found.specialists.items():
        there = (*BACKINGS, *(one for one in ADAPTERS if one != "command"))
        for one in [adapter, *(candidate.agent for candidate in lists.get(name, ()))]:
            if one and one not in there:
                raise Invalid(
                    f"{where}: specialists: {name}: {one[:40]!r} cannot back one", hint=suggest_word(one, there)
                )
    if found.router.url:
        check_model_address(found.router.url, found.router.model, f"{where}: router")
        check_key_variable(found.router.key_env, f"{where}: router")
    return found


def _split_agent_lists(value: Any, where: str) -> tuple[Any, dict[str, tuple[AgentCandidate, ...]]]:
    """Return the section with the first agent in place of each list, and the lists. Raises: Invalid."""
    given = value.get("specialists") if isinstance(value, dict) else None
    if isinstance(value, dict) and "lists" in value:
        raise Invalid(f"{where}: lists is not known", hint="write a list of agents under specialists")
    if not isinstance(given, dict):
        return value, {}
    firsts, lists = dict(given), {}
    for name, rows in given.items():
        if not isinstance(rows, list):
            continue
        place = f"{where}: specialists: {name}"
        if not 0 < len(rows) <= _MOST_AGENTS:
            raise Invalid(f"{place}: a list has 1 to {_MOST_AGENTS} agents")
        found = [
            AgentCandidate.from_value({"agent": row} if isinstance(row, str) else row, f"{place}[{at}]")
            for at, row in enumerate(rows)
        ]
        if len({one.agent for one in found}) < len(found) or not all(one.agent for one in found):
            raise Invalid(f"{place}: each agent must be in the list once, by its name")
        firsts[name] = found[0].agent
        if len(found) > 1:
            lists[name] = tuple(found)
    return {**value, "specialists": firsts}, lists


def router_key(router: RouterSettings) -> str:
    """Return the key from the environment variable that the settings name, empty if there is none."""
    return os.environ.get(router.key_env, "").strip() if router.key_env else ""
