"""What has to be there before a run begins: its agents and their programs. A run that cannot start makes nothing."""

import os

from gitnexus.adapters.installed import found
from gitnexus.adapters.protocol import Adapter
from gitnexus.adapters.table import adapter_named
from gitnexus.app.commandrules import command_request
from gitnexus.app.gatememo import nowhere
from gitnexus.app.policy import policy_here
from gitnexus.base.errors import DeniedByPolicy, Invalid, NotFound
from gitnexus.base.text import one_line
from gitnexus.policy.gate import World, rule_about
from gitnexus.policy.model import Way
from gitnexus.runs.definition import Definition, Node
from gitnexus.sandbox.program import resolved
from gitnexus.state import State
from gitnexus.state.format import id_of
from gitnexus.state.home import home_folder
from gitnexus.workflow.definition import BACKINGS


def way_of(state: State, wanted: Way | None) -> Way:
    """Return how agents work here: as somebody wants it, unless the policy is stricter. Raises: DeniedByPolicy."""
    held = policy_here(state).law.way
    if wanted == "contained" and held == "proposer":
        raise DeniedByPolicy(
            "the policy has agents work as proposer, and --way can only be stricter",
            hint="git nexus policy show; without --way the policy's own way is taken",
        )
    return wanted or held


def refuse_unready(state: State, definition: Definition) -> None:
    """Refuse a definition whose agents cannot be started here. Raises: NotFound, Invalid, DeniedByPolicy."""
    # In a bare repository there is no worktree that a program must not come from.
    top = os.path.realpath(state.repo.worktree or state.repo.common_dir)
    for node in definition.nodes:
        if node.adapter in BACKINGS:
            continue  # it is no program
        adapter = adapter_named(node.adapter)
        if node.way not in adapter.ways:
            raise Invalid(f"{adapter.name} cannot work as {node.way}", hint=f"it can as {' or '.join(adapter.ways)}")
        path = os.environ.get("PATH", os.defpath)
        _refuse_denied(state, node, adapter, top)
        if adapter.name == "command" and "/" not in node.argv[0]:
            _refuse_missing(node.argv[0], path, top)
        elif adapter.program and found(adapter.program, path, home_folder() / "cache" / "programs.json") is None:
            raise NotFound(
                f"the program {adapter.program} is not installed, and {adapter.name} needs it",
                hint="docs/how-to/run-an-agent.md tells where it comes from",
            )


def _refuse_denied(state: State, node: Node, adapter: Adapter, top: str) -> None:
    """Refuse what a rule denies before anything is made; it is judged again where it would start."""
    law = policy_here(state).law
    argv = node.argv if adapter.name == "command" else (adapter.program,)
    if law.deny.is_empty or not argv or not argv[0]:
        return
    project = id_of(state.snapshot) or "unknown"
    request = command_request(project, "run", argv, top, nowhere(argv[0]), "none", "L3", node.role)
    found = rule_about(request, law, world=World(worktree=top))
    if found.verdict == "deny":
        words = one_line(" ".join(argv), 200)
        raise DeniedByPolicy(f"{found.rule} denies {words}: {found.why}", hint=found.instead or None)


def _refuse_missing(name: str, path: str, top: str) -> None:
    try:
        resolved(name, path, top, top)
    except NotFound as exc:
        raise NotFound(
            f"there is no program {one_line(name, 80)}",
            hint="is it on your PATH? after -- stands a command, not a shell line",
        ) from exc
