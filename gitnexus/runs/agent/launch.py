"""Builds the sandbox specification of an agent's program: its file, environment, readable folders and hosts."""

import os
import sys
from pathlib import Path

import gitnexus
from gitnexus.adapters.protocol import AgentLaunch
from gitnexus.base.errors import DeniedByPolicy, NotFound
from gitnexus.gateway.sandboxed import WorktreeSandbox
from gitnexus.policy.model import Network, NetworkRequest
from gitnexus.runs.open_run import OpenRun
from gitnexus.sandbox.environment import command_environment
from gitnexus.sandbox.program import resolve_program
from gitnexus.sandbox.runtime_files import runtime_files_of
from gitnexus.sandbox.spec import SandboxLimits, SandboxSpec
from gitnexus.sandbox.tool_relay import interpreter_libraries
from gitnexus.state.format import project_id_of
from gitnexus.workflow.run_definition import RunDefinition

MOST_OUTPUT = 8 * 1024 * 1024


def sandbox_spec(
    run: OpenRun,
    sandbox: WorktreeSandbox,
    launch: AgentLaunch,
    private: Path,
    definition: RunDefinition,
    network: Network | None,
) -> SandboxSpec:
    """Return the sandbox specification for a program in a run's worktree. Raises: NotFound, Invalid."""
    root, level = str(run.worktree_path), sandbox.level
    program = _resolve_program(launch.argv[0], root, sandbox.search)
    needs = runtime_files_of(program, sandbox.search)
    readable = _readable_folders(program, needs.readable, sandbox.libraries)
    env = command_environment({}, os.environ, (*needs.path, *sandbox.folders)) | dict(launch.env)
    for name in launch.keys:
        if name in os.environ:
            env[name] = os.environ[name]
    place = root
    if launch.start_in == "empty":
        (private / "empty").mkdir(exist_ok=True, mode=0o700)
        place = str(private / "empty")
    seconds = definition.budgets.seconds or SandboxLimits().seconds
    return SandboxSpec(
        argv=launch.argv,
        program=program,
        cwd=place,
        root=root,
        env={name: value for name, value in env.items() if name != "HOME"},
        readable=readable,
        writable=(str(private),),
        hidden=sandbox.hidden(level, private, *map(Path, readable)),
        network=network or launch.network,
        limits=SandboxLimits(seconds=seconds, cpu_seconds=seconds, output=MOST_OUTPUT),
        stdin=launch.stdin,
        level=level,
        home=str(private / "home"),
    )


def _resolve_program(name: str, root: str, search: str) -> str:
    """Return the file of a command on the user's PATH, never in the worktree."""
    try:
        return resolve_program(name, search, root, root).path
    except NotFound as exc:
        raise NotFound(f"there is no program {name[:80]}", hint="is it on your PATH? a path works too") from exc


def _readable_folders(program: str, needs: tuple[str, ...], folders: tuple[str, ...]) -> tuple[str, ...]:
    """Return the folders that must be readable besides the system's."""
    homes = [*needs, *folders]
    if program == os.path.realpath(sys.executable):
        homes += [sys.prefix, str(Path(gitnexus.__file__).resolve().parents[1])]
    homes += interpreter_libraries()  # to reach our tools
    return tuple(dict.fromkeys(os.path.realpath(home) for home in homes if home not in ("", "/")))


def refuse_denied_hosts(run: OpenRun, launch: AgentLaunch, agent: str, network: Network | None, role: str) -> None:
    """Raise an error if the policy denies the hosts of the agent's model. Raises: DeniedByPolicy.

    Starting an agent implies access to its model, so hosts without a rule are not asked about. An ask rule is answered
    by `--network full` for this run.
    """
    if not launch.hosts or (network or launch.network) == "none":
        return
    request = NetworkRequest(
        project=project_id_of(run.state.snapshot) or "unknown",
        run=run.record.id,
        role=role,
        hosts=launch.hosts,
        purpose=f"{agent} asks its model",
    )
    gatekeeper = run.make_gatekeeper()
    found = gatekeeper.decide(request)
    asks = found.verdict == "ask" and any(rule.id == found.rule for rule in gatekeeper.here.compiled.rules)
    if found.verdict == "deny" or (asks and network != "full"):
        raise DeniedByPolicy(
            f"{agent} would talk to {', '.join(launch.hosts)}, which {found.rule} "
            f"{'asks about' if asks else 'denies'}: {found.why}",
            hint="--network full allows it for this run" if asks else found.instead or None,
        )
