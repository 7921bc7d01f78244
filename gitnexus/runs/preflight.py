"""Checks before a run starts that its agents and their programs exist and the policy allows them; writes nothing."""

import os

from gitnexus.adapters.installed import find_program
from gitnexus.adapters.protocol import Adapter
from gitnexus.adapters.table import find_adapter
from gitnexus.base.errors import DeniedByPolicy, Invalid, NotFound
from gitnexus.base.text import one_line
from gitnexus.policy.gate import GateContext
from gitnexus.policy.in_force import read_policy_in_force
from gitnexus.policy.model import Way
from gitnexus.policy.word_paths import assumed_program_path
from gitnexus.runs.command_rules import command_request, judge_named_command
from gitnexus.sandbox.program import resolve_program
from gitnexus.state import State
from gitnexus.state.format import project_id_of
from gitnexus.state.home import home_folder
from gitnexus.workflow.run_definition import BACKINGS, RunDefinition, RunNode


def allowed_way(state: State, wanted: Way | None) -> Way:
    """Return the requested way of working, or raise an error if the policy is stricter. Raises: DeniedByPolicy."""
    held = read_policy_in_force(state).compiled.way
    if wanted == "contained" and held == "proposer":
        raise DeniedByPolicy(
            "the policy has agents work as proposer, and --way can only be stricter",
            hint="git nexus policy show; without --way the policy's own way applies",
        )
    return wanted or held


def require_startable_agents(state: State, definition: RunDefinition) -> None:
    """Raise an error if an agent of the definition cannot start here. Raises: NotFound, Invalid, DeniedByPolicy."""
    # A bare repository has no worktree from which a program could be taken.
    top = os.path.realpath(state.repo.worktree or state.repo.common_dir)
    for node in definition.nodes:
        if node.adapter in BACKINGS:
            continue  # not an agent with a program
        adapter = find_adapter(node.adapter)
        if node.way not in adapter.ways:
            raise Invalid(f"{adapter.name} cannot work as {node.way}", hint=f"it supports {' or '.join(adapter.ways)}")
        path = os.environ.get("PATH", os.defpath)
        _refuse_denied_program(state, node, adapter, top)
        if adapter.name == "command" and "/" not in node.argv[0]:
            _refuse_missing_program(node.argv[0], path, top)
        elif adapter.program and find_program(adapter.program, path, home_folder() / "cache" / "programs.json") is None:
            raise NotFound(
                f"the agent {adapter.name} needs the program {adapter.program}, which is not installed",
                hint="install it, or choose another agent; docs/how-to/run-an-agent.md lists the packages",
            )


def _refuse_denied_program(state: State, node: RunNode, adapter: Adapter, top: str) -> None:
    """Raise an error if a rule denies the agent's program; it is judged again when it starts."""
    policy = read_policy_in_force(state).compiled
    argv = node.argv if adapter.name == "command" else (adapter.program,)
    if policy.deny.is_empty or not argv or not argv[0]:
        return
    project = project_id_of(state.snapshot) or "unknown"
    request = command_request(project, "run", argv, top, assumed_program_path(argv[0]), "none", "L3", node.role)
    found = judge_named_command(request, policy, None, GateContext(worktree=top))
    if found.verdict == "deny":
        words = one_line(" ".join(argv), 200)
        raise DeniedByPolicy(f"{found.rule} denies {words}: {found.why}", hint=found.instead or None)


def _refuse_missing_program(name: str, path: str, top: str) -> None:
    try:
        resolve_program(name, path, top, top)
    except NotFound as exc:
        raise NotFound(
            f"there is no program {one_line(name, 80)}",
            hint="is it on your PATH? after -- write a command, not a shell line",
        ) from exc
