"""`git nexus run`: run a workflow, or an agent, in a worktree of its own, on the branch nexus/RUN, sandboxed."""

from typing import TYPE_CHECKING, Any

import click

from gitnexus.adapters.protocol import hosts_of_address
from gitnexus.adapters.table import find_adapter
from gitnexus.base.errors import Invalid
from gitnexus.cli.run.interruption import interruptible_run
from gitnexus.cli.run.options import queue_option
from gitnexus.cli.run.questions import ask_person
from gitnexus.git import remotes
from gitnexus.runs.agent.run import refuse_unaskable_agent
from gitnexus.runs.background import start_background_driver
from gitnexus.runs.drive import drive_run
from gitnexus.runs.preflight import allowed_way
from gitnexus.runs.start import RunRequest
from gitnexus.ui.approval_prompt import is_person_at_terminal
from gitnexus.ui.commands import NexusCommand, current_invocation
from gitnexus.ui.output import print_answer, print_note, start_folder, with_nexus
from gitnexus.ui.runs import exit_with_run_status, format_run_summary, print_agent_message, review_action, run_as_json
from gitnexus.workflow.run_definition import RunBudgets, RunDefinition, definition_from_command, definition_from_prompt

if TYPE_CHECKING:
    from gitnexus.app import Nexus
    from gitnexus.events.view import RunView
    from gitnexus.policy.model import Way
    from gitnexus.runs.open_run import OpenRun

_COMMAND = "gitnexus.run.command"
_MODES = click.Choice(["default", "acceptEdits", "autopilot", "bypass"])
_BUDGETS = ("seconds", "tokens", "cents")


class _RunCommand(NexusCommand):
    """Counts the words after `--`, because click forgets that there was one."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_COMMAND] = len(args) - args.index("--") - 1 if "--" in args else None
        return super().parse_args(ctx, args)


@click.command("run", cls=_RunCommand, context_settings={"allow_interspersed_args": True})
@click.option("--agent", metavar="NAME", help="Which agent: claude, codex, gemini, opencode, aider, scripted.")
@click.option("--role", default="", metavar="ROLE", help="The role it works as, of git nexus agents.")
@click.option("--model", default="", metavar="MODEL", help="The model that the agent uses.")
@click.option("--model-url", default=None, metavar="URL", help="Where the model is served, if not by its maker.")
@click.option("--sign-in", is_flag=True, default=None, help="Give it your own sign-in until it ends.")
@click.option("--live", is_flag=True, default=None, help="Ask before each call that it makes.")
@click.option(
    "--way",
    type=click.Choice(["contained", "proposer"]),
    help="It edits its own worktree, or may only propose. Default: what the policy says.",
)
@click.option("--base", default="HEAD", show_default=True, metavar="REV", help="The commit to start from.")
@click.option("--mode", type=_MODES, help="How often you are asked. Default: the mode of the policy.")
@click.option("--task", default="", metavar="REF", help="The task that it works on: T12, or name:T12.")
@click.option("--title", default="", metavar="TEXT", help="Its title. Default: the prompt or the command.")
@click.option("--network", type=click.Choice(["none", "loopback", "full"]), help="What the agent may reach.")
@click.option(
    "--seconds",
    type=click.IntRange(1, 86_400),
    default=3600,
    show_default=True,
    help="Stop it after this many seconds.",
)
@click.option("--tokens", type=click.IntRange(1), metavar="N", help="Stop it when it has used more tokens than this.")
@click.option(
    "--cents", type=click.IntRange(1), metavar="N", help="Stop it when it has cost more than this, in US cents."
)
@queue_option("Queue it on a server, for a worker. Default: origin.")
@click.option("--labels", default="", metavar="A,B", help="With --queue: what the worker must have.")
@click.option("--workflow", default="", metavar="FILE", help="Use the workflow in this file; - reads stdin.")
@click.option("--cycle", is_flag=True, help="Do the open tasks of this cycle, in parallel where possible.")
@click.option("--parallel", type=click.IntRange(1, 32), help="How many nodes of a workflow run in parallel.")
@click.option("--drop", multiple=True, metavar="NODE", help="Leave this node of the workflow out.")
@click.option("--order", default="", metavar="NODE,NODE,…", help="Change the order of the nodes of a chain.")
@click.option("--give", multiple=True, metavar="NODE=AGENT", help="Who does the node: embedded, model, or an agent.")
@click.option("--yes", is_flag=True, help="Start the workflow without asking about it first.")
@click.option("--detach", is_flag=True, help="Continue in the background; git nexus runs shows its progress.")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[PROMPT] [-- CMD…]")
@with_nexus
def run_agent_or_workflow(
    nexus: "Nexus", /, words: tuple[str, ...], detach: bool, network: Any, server: str | None, labels: str, **asked: Any
) -> None:
    """Run a workflow, or an agent, in a worktree of its own, on the branch nexus/RUN, sandboxed.

    A PROMPT alone becomes a workflow: git nexus route shows which one. With --agent, that agent gets the prompt. After
    --, any command is the agent, and a PROMPT before it is its input. Changes are proposed as a patch; an approved
    patch becomes a commit on that branch, with trailers that prove the approval. Your own checkout is not touched.
    """
    asked["queued"] = server is not None
    if reply := _small_talk_reply(words, asked):
        print_answer({"run": None, "reply": reply}, reply, nexus.described)
        return
    if server is not None:
        _queue_run(nexus, words, asked, server, labels, network)
        return
    wish = _build_request(nexus, words, asked)
    run = _begin_run(nexus, wish) if wish is not None else None
    if run is None:
        print_note("nothing was started")
        print_answer({"run": None}, "", nexus.described)
        return
    print_note(f"{run.record.id} works in {run.worktree_path}")
    if run.mode == "bypass":
        click.secho("mode bypass: nobody is asked", fg="red", bold=True, err=True)
    if detach:
        start_background_driver(run, network)
        print_answer(
            run_as_json(run, run.view()),
            f"{run.record.id} continues in the background: git nexus runs",
            nexus.described,
        )
        return
    with interruptible_run(run):
        view = drive_run(
            run,
            print_agent_message,
            review_action if is_person_at_terminal() else None,
            network,
            ask_person if is_person_at_terminal() else None,
        )
    _print_result(nexus, run, view)
    exit_with_run_status(view)


def _print_result(nexus: "Nexus", run: "OpenRun", view: "RunView") -> None:
    """Print the status of the run; for one that only answered a question, the answer, and the status as a note."""
    if view.status == "completed" and not view.actions and run.workflow() is not None:
        from gitnexus.runs.workflow.answer import answer_of_run
        from gitnexus.ui.workflow import format_research_answer

        if (bundle := answer_of_run(run)) is not None:
            for line in click.unstyle(format_run_summary(run, view)).split("\n"):
                print_note(line)
            payload = {**run_as_json(run, view), "answer": bundle.plain()}
            print_answer(payload, lambda: format_research_answer(bundle), nexus.described)
            return
    print_answer(run_as_json(run, view), lambda: format_run_summary(run, view), nexus.described)


def _small_talk_reply(words: tuple[str, ...], asked: dict[str, Any]) -> str:
    """Return the reply to a prompt that asks for no work; empty for anything else."""
    command = click.get_current_context().meta[_COMMAND] is not None
    if command or not words or any(asked[name] for name in ("agent", "workflow", "cycle", "queued", "task", "give")):
        return ""
    from gitnexus.workflow.small_talk import reply_to_small_talk

    return reply_to_small_talk(" ".join(words))


def _queue_run(
    nexus: "Nexus", words: tuple[str, ...], asked: dict[str, Any], server: str, labels: str, network: str | None
) -> None:
    from gitnexus.sync.remote import resolve_remote
    from gitnexus.sync.remote_refs import resolve_state_branch
    from gitnexus.workers.queue import enqueue_run

    if server and _is_prompt_text(nexus, server, alone=not words):
        server, words = "", (server, *words)
    remote = resolve_state_branch(nexus.state.repo, resolve_remote(nexus.state, server or None))
    wish = _build_request(nexus, words, asked)
    if wish is None:
        print_answer({"run": None}, "Nothing was queued.", nexus.described)
        return
    order = enqueue_run(nexus.state, remote, wish, tuple(labels.replace(",", " ").split()), network or "")
    text = f"{order.id} waits on {remote.shown} for a worker: git nexus queue"
    told = {"id": order.id, "status": "queued", "branch": f"nexus/{order.id}", "base": order.base, "head": order.base}
    print_answer({"run": told, "actions": [], "labels": list(order.labels)}, text, nexus.described)


def _is_prompt_text(nexus: "Nexus", text: str, *, alone: bool) -> bool:
    """Return True if the value of --queue is not a remote but the prompt; `alone`: no other word can be the prompt."""
    if text in remotes.remote_names(nexus.repo) or (nexus.repo.folder / text).exists():
        return False
    return len(text.split()) > 1 or (alone and not any(mark in text for mark in "/:"))


def _begin_run(nexus: "Nexus", wish: "RunRequest") -> "OpenRun":
    """Start the requested run. Raises: NexusError, before anything is created."""
    if isinstance(wish.definition, RunDefinition):
        from gitnexus.runs.preflight import require_startable_agents
        from gitnexus.runs.start import start_run

        require_startable_agents(nexus.state, wish.definition)
        return start_run(nexus.state, wish)
    from gitnexus.runs.workflow.start import start_workflow

    return start_workflow(nexus.state, wish.definition, wish.title, base=wish.base, mode=wish.mode, task=wish.task)


def _build_request(nexus: "Nexus", words: tuple[str, ...], asked: dict[str, Any]) -> "RunRequest | None":
    """Return the requested definition; None if the user declined the proposed workflow. Raises: NexusError."""
    ctx = click.get_current_context()
    if asked["workflow"] or asked["cycle"] or (words and asked["agent"] is None and ctx.meta[_COMMAND] is None):
        return _build_workflow_request(nexus, words, asked, ctx)
    for name in ("drop", "order", "give", "parallel"):
        if asked[name]:
            raise click.UsageError(f"--{name} is for a workflow, and this is one agent.")
    if not words and asked["agent"] is None:
        raise Invalid(
            "there is nothing to run: give a prompt or a command",
            hint='git nexus run "fix the parser", or git nexus run -- CMD',
        )
    _check_agent_options(nexus, asked)
    definition, title = _define_run(words, asked, allowed_way(nexus.state, asked.pop("way")))
    task = _resolve_task(nexus, asked["task"])
    return RunRequest(definition, asked["title"] or title, asked["base"], asked["mode"], task)


def _build_workflow_request(
    nexus: "Nexus", words: tuple[str, ...], asked: dict[str, Any], ctx: click.Context
) -> "RunRequest | None":
    from gitnexus.cli.run.workflow_choice import choose_workflow
    from gitnexus.runs.workflow.start import workflow_request

    if ctx.meta[_COMMAND] is not None:
        raise click.UsageError("A command after -- is a run of its own, without --workflow.")
    if asked["cycle"] and (asked["workflow"] or words):
        raise click.UsageError("--cycle takes the work from the tasks, not from a prompt or a file.")
    for name in ("agent", "role", "model", "model_url", "sign_in", "live", "way"):
        if asked[name] and not (name == "agent" and asked["cycle"]):
            option = name.replace("_", "-")
            raise click.UsageError(
                f"--{option} is for one agent; --give NODE=AGENT says who does a node of a workflow."
            )
    definition = choose_workflow(nexus, words, asked, start_folder(current_invocation(ctx)))
    if definition is None:
        return None
    if ctx.get_parameter_source("seconds") is click.core.ParameterSource.DEFAULT:
        asked["seconds"] = None
    said = {name: asked[name] for name in _BUDGETS if asked[name]}
    if said:
        definition = definition.changed(budgets=definition.budgets.changed(**said))
    task = _resolve_task(nexus, asked["task"])
    return workflow_request(definition, asked["title"], base=asked["base"], mode=asked["mode"], task=task)


def _resolve_task(nexus: "Nexus", ref: str) -> str:
    if not ref:
        return ""
    from gitnexus.projects.open_backlog import task_of_a_run  # most runs are for no task

    return task_of_a_run(nexus.repo.folder, ref)


def _define_run(words: tuple[str, ...], asked: dict[str, Any], way: "Way") -> "tuple[RunDefinition, str]":
    agent, budgets = asked.pop("agent"), RunBudgets(**{name: asked.pop(name) or 0 for name in _BUDGETS})
    role, model = asked.pop("role"), asked.pop("model")
    more = {"address": asked.pop("model_url"), "sign_in": asked.pop("sign_in"), "live": asked.pop("live")}
    _check_way(agent or "command", way)
    if more["address"]:
        hosts_of_address(more["address"])
    if more["live"] and way == "contained":
        refuse_unaskable_agent(agent or "command")
    if agent is None or agent == "command":
        after = click.get_current_context().meta[_COMMAND]
        first = len(words) - after if after is not None else 0
        prompt, argv = " ".join(words[:first]), words[first:]
        return definition_from_command(argv, prompt=prompt, budgets=budgets), prompt or " ".join(argv)
    # The scripted agent is told its file first; the prompt after it is for the story alone.
    argv = words[:1] if agent == "scripted" else ()
    prompt = " ".join(words[len(argv) :] or words)
    definition = definition_from_prompt(prompt, agent, role=role, way=way, model=model, argv=argv, budgets=budgets)
    return definition.changed(nodes=(definition.nodes[0].changed(**more),)), prompt


def _check_agent_options(nexus: "Nexus", asked: dict[str, Any]) -> None:
    """Refuse an unknown role, and options that a command would ignore. Raises: NotFound, BadUsage."""
    if asked["agent"] in (None, "command"):
        for name in ("role", "model", "model_url", "sign_in"):
            if asked[name]:
                raise click.UsageError(f"--{name.replace('_', '-')} is for an agent, not for a command.")
    elif asked["role"]:
        from gitnexus.runs.steps import refuse_unknown_role

        refuse_unknown_role(nexus.state, asked["role"])


def _check_way(agent: str, way: str) -> None:
    """Refuse a way of working that the agent does not support, before anything is created. Raises: Invalid."""
    ways = find_adapter(agent).ways
    if way not in ways:
        raise Invalid(
            f"{agent} cannot work as {way}",
            hint=f"it supports {' or '.join(ways)}; git nexus policy show shows the way",
        )
