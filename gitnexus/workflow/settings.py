"""Parses the `workflow` section of the settings: specialists, the router's small model, weights and limits."""

import os
import re
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field

from gitnexus.adapters.table import ADAPTERS
from gitnexus.base.document import Document
from gitnexus.base.errors import Invalid
from gitnexus.workflow.budget import CostWeights
from gitnexus.workflow.choosing import AgentCandidate
from gitnexus.workflow.definition import Specialist, WorkflowBudgets
from gitnexus.workflow.run_definition import BACKINGS

SECTION = "workflow"
_MOST_AGENTS = 10
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{0,99}")


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
                raise Invalid(f"{where}: specialists: {name}: {one[:40]!r} cannot back one",
                              hint=f"there are {', '.join(there)}")  # fmt: skip
    _check_router_settings(found.router, f"{where}: router")
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
            raise Invalid(f"{place}: each agent stands in the list once, by its name")
        firsts[name] = found[0].agent
        if len(found) > 1:
            lists[name] = tuple(found)
    return {**value, "specialists": firsts}, lists


def _check_router_settings(router: RouterSettings, where: str) -> None:
    if not router.url:
        return
    try:
        url = urlsplit(router.url)
        port = url.port
    except ValueError as exc:
        raise Invalid(f"{where}: url: {exc}") from exc
    if url.scheme not in ("http", "https") or not url.hostname or port == 0:
        raise Invalid(f"{where}: url should begin with http:// or https://, and name a host")
    if url.username is not None or url.password is not None or url.query or url.fragment:
        raise Invalid(f"{where}: url should hold no name, password, ? or #", hint="keyEnv names the variable of a key")
    if url.scheme == "http" and url.hostname not in _LOOPBACK:
        raise Invalid(f"{where}: without https only this machine is asked", hint="prompts would go out in the clear")
    if not router.model or len(router.model) > 200 or not router.model.isprintable():
        raise Invalid(f"{where}: model should name a model")
    if router.key_env and not _VARIABLE.fullmatch(router.key_env):
        raise Invalid(f"{where}: keyEnv should be the name of a variable, as in OPENAI_API_KEY",
                      hint="the key itself is never stored in a file")  # fmt: skip


def is_loopback_url(url: str) -> bool:
    """Return True if a URL points to this machine."""
    return urlsplit(url).hostname in _LOOPBACK


def router_key(router: RouterSettings) -> str:
    """Return the key from the environment variable that the settings name, empty if there is none."""
    return os.environ.get(router.key_env, "").strip() if router.key_env else ""
