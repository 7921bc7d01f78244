"""How a program is started in the worktree of a run: which file it is, what it needs around it, what it may reach."""

import os
import sys
from pathlib import Path

from gitnexus.adapters.protocol import Launch
from gitnexus.app.confine import Sandbox
from gitnexus.app.rundesk import RunDesk
from gitnexus.base.errors import DeniedByPolicy, NotFound
from gitnexus.policy.model import Network, NetworkRequest
from gitnexus.runs.definition import Definition
from gitnexus.sandbox.around import around
from gitnexus.sandbox.environment import environment
from gitnexus.sandbox.hatch import libraries
from gitnexus.sandbox.program import resolved
from gitnexus.sandbox.spec import Limits, Spec
from gitnexus.state.format import id_of

MOST_OUTPUT = 8 * 1024 * 1024


def spec_of(
    desk: RunDesk, sandbox: Sandbox, launch: Launch, private: Path, definition: Definition, network: Network | None
) -> Spec:
    """Return how a program runs in the worktree of a run. Raises: NotFound, Invalid."""
    root, level = str(desk.place), sandbox.level
    program = _program(launch.argv[0], root, sandbox.search)
    needs = around(program, sandbox.search)
    readable = _readable(program, needs.readable, sandbox.libraries)
    env = environment({}, os.environ, (*needs.path, *sandbox.folders)) | dict(launch.env)
    for name in launch.keys:
        if name in os.environ:
            env[name] = os.environ[name]
    place = root
    if launch.place == "empty":
        (private / "empty").mkdir(exist_ok=True, mode=0o700)
        place = str(private / "empty")
    seconds = definition.budgets.seconds or Limits().seconds
    return Spec(
        argv=launch.argv,
        program=program,
        cwd=place,
        root=root,
        env={name: value for name, value in env.items() if name != "HOME"},
        readable=readable,
        writable=(str(private),),
        hidden=sandbox.hidden(level, private, *map(Path, readable)),
        network=network or launch.network,
        limits=Limits(seconds=seconds, cpu_seconds=seconds, output=MOST_OUTPUT),
        stdin=launch.stdin,
        level=level,
        home=str(private / "home"),
    )


def _program(name: str, root: str, search: str) -> str:
    """Return the file that the user's own command means: looked up on their PATH, never in the worktree."""
    try:
        return resolved(name, search, root, root).path
    except NotFound as exc:
        raise NotFound(f"there is no program {name[:80]}", hint="is it on your PATH? a path works too") from exc


def _readable(program: str, needs: tuple[str, ...], folders: tuple[str, ...]) -> tuple[str, ...]:
    """Return what has to be within reach beside the system's folders."""
    homes = [*needs, *folders]
    if program == os.path.realpath(sys.executable):
        homes += [sys.prefix, str(Path(__file__).resolve().parents[2])]
    homes += libraries()  # for the way to our tools
    return tuple(dict.fromkeys(os.path.realpath(home) for home in homes if home not in ("", "/")))


def refuse_hosts(desk: RunDesk, launch: Launch, agent: str, network: Network | None, role: str) -> None:
    """Refuse an agent whose model may not be reached. Raises: DeniedByPolicy.

    Whoever starts an agent means it to reach its model, so what no rule speaks about is not asked again. A rule that
    asks is answered by `--network full`, said for this run.
    """
    if not launch.hosts or (network or launch.network) == "none":
        return
    request = NetworkRequest(
        project=id_of(desk.state.snapshot) or "unknown",
        run=desk.run.id,
        role=role,
        hosts=launch.hosts,
        purpose=f"{agent} asks its model",
    )
    keeper = desk.keeper()
    found = keeper.decide(request)
    asks = found.verdict == "ask" and any(rule.id == found.rule for rule in keeper.here.law.rules)
    if found.verdict == "deny" or (asks and network != "full"):
        raise DeniedByPolicy(
            f"{agent} would talk to {', '.join(launch.hosts)}, which {found.rule} "
            f"{'asks about' if asks else 'denies'}: {found.why}",
            hint="--network full says yes to it for this run" if asks else found.instead or None,
        )
