"""Applies the policy to commands that a person named: `run -- CMD`, command nodes, set-up commands and checks.

A person named them on the command line, in a workflow or in signed settings, so a command without a matching rule is
allowed without a question. Deny rules apply as everywhere; ask rules are put to the person present.
"""

from collections.abc import Callable

from gitnexus.base.errors import ApprovalNeeded, DeniedByPolicy, NexusError
from gitnexus.base.text import one_line
from gitnexus.events.kinds import shorten_text
from gitnexus.gateway.sandboxed import WorktreeSandbox
from gitnexus.policy.compiled_rules import CompiledPolicy
from gitnexus.policy.gate import GateContext, judge_user_command
from gitnexus.policy.gatekeeper import Gatekeeper
from gitnexus.policy.linked_programs import deny_linked_program
from gitnexus.policy.model import CommandRequest, GateDecision, Mode, Network
from gitnexus.policy.word_paths import assumed_program_path
from gitnexus.runs.open_run import OpenRun
from gitnexus.sandbox.program import resolve_program
from gitnexus.sandbox.spec import Level
from gitnexus.state.format import project_id_of

# Asks a person to confirm a sentence; True for yes. None if nobody is present.
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
    """Return the request by which the gate judges a command, without surrounding variables."""
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


def judge_named_command(
    request: CommandRequest, policy: CompiledPolicy, mode: Mode | None, world: GateContext
) -> GateDecision:
    """Return the gate's decision on a command that a person named, by its words and by the files it reaches."""
    found = deny_linked_program(request, policy, judge_user_command(request, policy, mode, world=world))
    if found.verdict == "deny" or not policy.deny_reads():
        return found
    from gitnexus.policy.denied_reads import unreached  # only where such a rule is

    return unreached(request, policy, world.worktree, found)


def refuse_ruled_command(gatekeeper: Gatekeeper, request: CommandRequest, what: str, confirm: Confirm | None) -> None:
    """Raise an error if a rule denies the command, or asks about it and nobody confirms.

    `what` names the origin of the command, such as `the set-up`. Raises: DeniedByPolicy, ApprovalNeeded.
    """
    found = judge_named_command(request, gatekeeper.here.compiled, gatekeeper.mode, gatekeeper.around)
    words = one_line(" ".join(request.argv), 200)
    if found.verdict == "deny":
        raise DeniedByPolicy(f"{found.rule} denies {what} {words}: {found.why}", hint=found.instead or None)
    if found.verdict == "allow":
        return
    said = f"{found.rule} asks about {what} {words}: {found.why}"
    if confirm is None:
        raise ApprovalNeeded(said, hint=f"run it where you can be asked, or: {found.instead}")
    if not confirm(said):
        raise DeniedByPolicy(f"{said}; nobody approved it")


def refuse_ruled_program(gatekeeper: Gatekeeper, request: CommandRequest, what: str) -> None:
    """Raise an error if a command rule denies the agent's program. Raises: DeniedByPolicy.

    Only the program is judged: the other words are a prompt or a file that we wrote, not the agent's choice.
    """
    rule = next((rule for _, rule in gatekeeper.here.compiled.deny.runs_for(request)), None)
    if rule is not None:
        hint = f"git nexus policy remove {rule.id}"
        raise DeniedByPolicy(f"{rule.id} denies {what} {request.argv[0]}: {rule.line}", hint=hint)


def refuse_run_command(
    run: OpenRun, argv: tuple[str, ...], network: Network, what: str, *, role: str = "", program_only: bool = False
) -> None:
    """Judge a command that would run in the worktree of a run. Raises: DeniedByPolicy, ApprovalNeeded, Invalid."""
    gatekeeper = run.make_gatekeeper()
    sandbox, place = WorktreeSandbox(run.worktree, gatekeeper.here.compiled), str(run.worktree_path)
    try:
        program = resolve_program(argv[0], sandbox.search, place, place).path
    except NexusError:
        program = assumed_program_path(argv[0])  # the caller that starts it raises the error
    project = project_id_of(run.state.snapshot) or "unknown"
    request = command_request(project, run.record.id, argv, place, program, network, sandbox.level, role)
    if program_only:
        refuse_ruled_program(gatekeeper, request, what)
    else:
        refuse_ruled_command(gatekeeper, request, what, _confirm_with_person(run))


def _confirm_with_person(run: OpenRun) -> Confirm | None:
    ask = run.asker
    if ask is None:
        return None

    def confirm(words: str) -> bool:
        yes = ask(run, "policy", f"{words}. Run it? Type yes, or anything else for no").strip().lower() in _YES
        text = f"{words}: {run.state.author.name} said {'yes' if yes else 'no'}"
        run.log.append("agent.progress", "nexus", {"text": shorten_text(text, 1000)})
        return yes

    return confirm
