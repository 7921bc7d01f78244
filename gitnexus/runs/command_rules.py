"""What the policy says to a command that no agent proposes: of `run -- CMD`, a command node, set-up, or a check.

A person named these commands, on the command line, in a workflow or in signed settings: so what no rule speaks about is
not asked. A rule that denies one holds as everywhere, and one that asks is put to the person who is there.
"""

from collections.abc import Callable

from gitnexus.app.confine import Sandbox
from gitnexus.app.gatekeeper import Gatekeeper
from gitnexus.app.gatememo import nowhere
from gitnexus.app.rundesk import RunDesk
from gitnexus.base.errors import ApprovalNeeded, DeniedByPolicy, NexusError
from gitnexus.base.text import one_line
from gitnexus.events.kinds import short
from gitnexus.policy.gate import rule_about
from gitnexus.policy.model import CommandRequest, Network
from gitnexus.sandbox.program import resolved
from gitnexus.sandbox.spec import Level
from gitnexus.state.format import id_of

# Puts a sentence to a person; True for a yes. None where nobody is there.
Confirm = Callable[[str], bool]
_YES = ("y", "yes")


def command_request(
    project: str,
    run: str,
    argv: tuple[str, ...],
    cwd: str,
    program: str,
    network: Network,
    level: Level,
    role: str = "",
) -> CommandRequest:
    """Return a command as the gate judges it, with nothing set around it."""
    return CommandRequest(
        project=project,
        run=run,
        role=role,
        argv=argv,
        program=program,
        program_digest="",
        cwd=cwd,
        base="",
        env={},
        limits={},
        network=network,
        sandbox=level,
    )


def refuse_ruled_command(keeper: Gatekeeper, request: CommandRequest, what: str, confirm: Confirm | None) -> None:
    """Refuse a command that a rule denies, or that one asks about and nobody allows.

    `what` says where the command comes from, such as `the set-up`. Raises: DeniedByPolicy, ApprovalNeeded.
    """
    found = rule_about(request, keeper.here.law, keeper.mode, world=keeper.around)
    words = one_line(" ".join(request.argv), 200)
    if found.verdict == "deny":
        raise DeniedByPolicy(f"{found.rule} denies {what} {words}: {found.why}", hint=found.instead or None)
    if found.verdict == "allow":
        return
    said = f"{found.rule} asks about {what} {words}: {found.why}"
    if confirm is None:
        raise ApprovalNeeded(said, hint=f"run it where you can be asked, or: {found.instead}")
    if not confirm(said):
        raise DeniedByPolicy(f"{said}; nobody said yes")


def refuse_ruled_program(keeper: Gatekeeper, request: CommandRequest, what: str) -> None:
    """Refuse an agent's program that a rule about commands denies. Raises: DeniedByPolicy.

    Its other words are ours: a prompt, or a file that we wrote; they name nothing that the agent chose.
    """
    rule = next((rule for _, rule in keeper.here.law.deny.runs_for(request)), None)
    if rule is not None:
        hint = f"git nexus policy remove {rule.id}"
        raise DeniedByPolicy(f"{rule.id} denies {what} {request.argv[0]}: {rule.line}", hint=hint)


def refuse_run_command(
    desk: RunDesk, argv: tuple[str, ...], network: Network, what: str, *, role: str = "", program_only: bool = False
) -> None:
    """Judge a command that would run in the worktree of a run. Raises: DeniedByPolicy, ApprovalNeeded, Invalid."""
    keeper = desk.keeper()
    sandbox, place = Sandbox(desk.worktree, keeper.here.law), str(desk.place)
    try:
        program = resolved(argv[0], sandbox.search, place, place).path
    except NexusError:
        program = nowhere(argv[0])  # told by who starts it
    project = id_of(desk.state.snapshot) or "unknown"
    request = command_request(project, desk.run.id, argv, place, program, network, sandbox.level, role)
    if program_only:
        refuse_ruled_program(keeper, request, what)
    else:
        refuse_ruled_command(keeper, request, what, _confirm(desk))


def _confirm(desk: RunDesk) -> Confirm | None:
    ask = desk.asker
    if ask is None:
        return None

    def confirm(words: str) -> bool:
        yes = ask(desk, "policy", f"{words}. Run it? Type yes, or anything else for no").strip().lower() in _YES
        text = f"{words}: {desk.state.author.name} said {'yes' if yes else 'no'}"
        desk.log.append("agent.progress", "nexus", {"text": short(text, 1000)})
        return yes

    return confirm
