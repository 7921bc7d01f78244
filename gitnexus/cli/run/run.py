"""`git nexus run` and `resume`: an agent works in a worktree of its own, and what it did is proposed."""

import contextlib
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import click

from gitnexus.ui.agreeing import agree_first
from gitnexus.ui.asking import can_ask
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import answer, note, with_nexus
from gitnexus.ui.runs import leave, reviewed, shown, summary, told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitnexus.app import Nexus
    from gitnexus.app.rundesk import RunDesk
    from gitnexus.app.running import Wish
    from gitnexus.policy.model import Way
    from gitnexus.runs.definition import Definition

_COMMAND = "gitnexus.run.command"
_MODES = click.Choice(["default", "acceptEdits", "autopilot", "bypass"])
_BUDGETS = ("seconds", "tokens", "cents")


class _RunCommand(NexusCommand):
    """Knows whether a command stands after `--`: click forgets that."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_COMMAND] = "--" in args
        return super().parse_args(ctx, args)


@click.command("run", cls=_RunCommand, context_settings={"allow_interspersed_args": True})
@click.option("--agent", metavar="NAME", help="Which agent: claude, codex, gemini, opencode, aider, scripted.")
@click.option("--role", default="", metavar="ROLE", help="The role it works as, of git nexus agents.")
@click.option("--model", default="", metavar="MODEL", help="The model that the agent is to use.")
@click.option("--model-url", default=None, metavar="URL", help="Where the model is served, if not by its maker.")
@click.option("--sign-in", is_flag=True, default=None, help="Lend it your own sign-in until it ends.")
@click.option("--live", is_flag=True, default=None, help="Ask about each of its calls before it is made.")
@click.option("--way", type=click.Choice(["contained", "proposer"]),
              help="It edits its own worktree, or may only propose; the policy's way if not said.")  # fmt: skip
@click.option("--base", default="HEAD", show_default=True, metavar="REV", help="The commit to begin at.")
@click.option("--mode", type=_MODES, help="How much is asked; the policy's mode if not said.")
@click.option("--task", default="", metavar="REF", help="The task that this is for: T12, or name:T12.")
@click.option("--title", default="", metavar="TEXT", help="What to call it; the prompt or the command if not said.")
@click.option("--network", type=click.Choice(["none", "loopback", "full"]), help="What the agent may reach.")
@click.option("--seconds", type=click.IntRange(1, 86_400), default=3600, show_default=True, help="When to end it.")
@click.option("--tokens", type=click.IntRange(1), metavar="N", help="End it when it took more of them.")
@click.option("--cents", type=click.IntRange(1), metavar="N", help="End it when it cost more, in cents of a dollar.")
@click.option("--queue", "server", is_flag=False, flag_value="", default=None, metavar="[REMOTE]",
              help="Put it into the queue of a server, for a worker; origin if not said.")  # fmt: skip
@click.option("--labels", default="", metavar="A,B", help="With --queue: what the worker must have.")
@click.option("--workflow", default="", metavar="FILE", help="Take the workflow in a file; - is what is piped in.")
@click.option("--cycle", is_flag=True, help="Carry out the open tasks of this cycle, as many side by side as may be.")
@click.option("--parallel", type=click.IntRange(1, 32), help="How many nodes of a workflow work side by side.")
@click.option("--drop", multiple=True, metavar="NODE", help="Leave a node of the workflow out.")
@click.option("--order", default="", metavar="NODE,NODE,…", help="Put the nodes of a chain in another order.")
@click.option(
    "--give", multiple=True, metavar="NODE=AGENT", help="Let another one do a node: embedded, model, or an agent."
)
@click.option("--yes", is_flag=True, help="Start the workflow without asking about it first.")
@click.option("--detach", is_flag=True, help="Go on in the background; git nexus runs shows how far it is.")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[PROMPT] [-- CMD…]")
@with_nexus
def run(
    nexus: "Nexus", /, words: tuple[str, ...], detach: bool, network: Any, server: str | None, labels: str, **asked: Any
) -> None:
    """Run a workflow, or an agent, in a worktree of its own, on the branch nexus/RUN, sandboxed.

    A PROMPT alone becomes a workflow: git nexus route shows which one. With --agent it is given to that agent; after --
    any command is the agent. What is to change is proposed as a patch; approved, it becomes a commit on that branch
    whose trailers prove the approval. Your own checkout is not touched.
    """
    from gitnexus.app.running import driven
    from gitnexus.cli.runflow import asks

    if server is not None:
        _queued(nexus, words, asked, server, labels, network)
        return
    wish = _wish(nexus, words, asked)
    desk = _begun(nexus, wish) if wish is not None else None
    if desk is None:
        note("nothing was started")
        answer({"run": None}, "", nexus.described)
        return
    note(f"{desk.run.id} works in {desk.place}")
    if desk.mode == "bypass":
        click.secho("mode bypass: nobody is asked", fg="red", bold=True, err=True)
    if detach:
        _detached(desk, network)
        answer(told(desk, desk.view()), f"{desk.run.id} goes on in the background: git nexus runs", nexus.described)
        return
    with _interruptible(desk):
        view = driven(desk, shown, reviewed if can_ask() else None, network, asks if can_ask() else None)
    answer(told(desk, view), lambda: summary(desk, view), nexus.described)
    leave(view)


def _queued(
    nexus: "Nexus", words: tuple[str, ...], asked: dict[str, Any], server: str, labels: str, network: str | None
) -> None:
    from gitnexus.app.across import settled
    from gitnexus.app.queue import queued
    from gitnexus.app.wire import wire_to

    wire = settled(nexus.state.repo, wire_to(nexus.state, server or None))
    wish = _wish(nexus, words, asked)
    if wish is None:
        answer({"run": None}, "Nothing was put into the queue.", nexus.described)
        return
    order = queued(nexus.state, wire, wish, tuple(labels.replace(",", " ").split()), network or "")
    text = f"{order.id} waits on {wire.shown} for a worker: git nexus queue"
    told = {"id": order.id, "status": "queued", "branch": f"nexus/{order.id}", "base": order.base, "head": order.base}
    answer({"run": told, "actions": [], "labels": list(order.labels)}, text, nexus.described)


def handed(nexus: "Nexus", desk: "RunDesk", server: str, labels: str = "", network: str | None = None) -> None:
    """Give a run to whichever worker is free, and say so."""
    from gitnexus.app.across import settled
    from gitnexus.app.handback import handed_back
    from gitnexus.app.wire import wire_to

    wire = settled(nexus.state.repo, wire_to(nexus.state, server or None))
    order = handed_back(desk, wire, tuple(labels.replace(",", " ").split()), network or "")
    text = f"{order.id} waits on {wire.shown} for a worker to go on with it: git nexus queue"
    answer({**told(desk, desk.view()), "labels": list(order.labels)}, text, nexus.described)


@click.command("resume", cls=NexusCommand)
@click.argument("run_id", metavar="RUN")
@click.option("--network", type=click.Choice(["none", "loopback", "full"]), help="What the agent may reach.")
@click.option("--unattended", is_flag=True, help="Ask nobody: what needs an answer is left waiting.")
@click.option("--queue", "server", is_flag=False, flag_value="", default=None, metavar="[REMOTE]",
              help="Let a worker go on with it: put it into the queue of a server.")  # fmt: skip
@click.option("--labels", default="", metavar="A,B", help="With --queue: what the worker must have.")
@click.option(
    "--agree",
    default="",
    metavar="HASH",
    help="Agree to what a run of somebody else is to do, and at which commit: the hash that is shown.",
)
@with_nexus
def resume(
    nexus: "Nexus", run_id: str, network: Any, unattended: bool, server: str | None, labels: str, agree: str
) -> None:
    """Go on with a run at its first step that is not complete.

    What is done is never done again: neither a completed step nor an action that was carried out. What somebody else
    began shows its definition and the commit of its branch first and asks; off a terminal --agree says yes to exactly
    that, and a branch that moved since asks again. It goes on under the policy, the mode, the providers and the keys
    of this machine.
    """
    from gitnexus.app.rundesk import open_run
    from gitnexus.app.running import driven
    from gitnexus.cli.runflow import asks

    desk = open_run(nexus.state, run_id)
    there = can_ask() and not unattended
    agree_first(desk, agree, asks=there)
    if server is not None:
        handed(nexus, desk, server, labels, network)
        return
    with _interruptible(desk):
        view = driven(desk, shown, reviewed if there else None, network, asks if there else None)
    answer(told(desk, view), lambda: summary(desk, view), nexus.described)
    leave(view)


def _begun(nexus: "Nexus", wish: "Wish") -> "RunDesk":
    """Begin here what was asked for. Raises: NexusError, before anything is made."""
    from gitnexus.runs.definition import Definition

    if isinstance(wish.definition, Definition):
        from gitnexus.app.running import started
        from gitnexus.app.runready import refuse_unready

        refuse_unready(nexus.state, wish.definition)
        return started(nexus.state, wish)
    from gitnexus.app.flowing import begun

    return begun(nexus.state, wish.definition, wish.title, base=wish.base, mode=wish.mode, task=wish.task)


def _wish(nexus: "Nexus", words: tuple[str, ...], asked: dict[str, Any]) -> "Wish | None":
    """Return what was asked for; None if the person looked at the workflow and left it. Raises: NexusError."""
    from gitnexus.app.running import Wish
    from gitnexus.app.runready import way_of
    from gitnexus.base.errors import Invalid

    ctx = click.get_current_context()
    if asked["workflow"] or asked["cycle"] or (words and asked["agent"] is None and not ctx.meta[_COMMAND]):
        return _workflow_wish(nexus, words, asked, ctx)
    for name in ("drop", "order", "give", "parallel"):
        if asked[name]:
            raise click.UsageError(f"--{name} is for a workflow, and this is one agent.")
    if not words and asked["agent"] is None:
        raise Invalid("say what is to be done", hint='git nexus run "fix the parser", or git nexus run -- CMD')
    _check_agent_options(nexus, asked)
    definition, title = _wanted(words, asked, way_of(nexus.state, asked.pop("way")))
    task = _task(nexus, asked["task"])
    return Wish(definition, asked["title"] or title, asked["base"], asked["mode"], task)


def _workflow_wish(nexus: "Nexus", words: tuple[str, ...], asked: dict[str, Any], ctx: click.Context) -> "Wish | None":
    from gitnexus.app.flowing import wish_of
    from gitnexus.cli.runflow import chosen
    from gitnexus.ui.commands import invocation
    from gitnexus.ui.output import start_folder

    if ctx.meta[_COMMAND]:
        raise click.UsageError("A command after -- is a run of its own, without --workflow.")
    if asked["cycle"] and (asked["workflow"] or words):
        raise click.UsageError("--cycle takes what is to be done from the tasks, not from a prompt or a file.")
    for name in ("agent", "role", "model", "model_url", "sign_in", "live", "way"):
        if asked[name] and not (name == "agent" and asked["cycle"]):
            option = name.replace("_", "-")
            raise click.UsageError(
                f"--{option} is for one agent; --give NODE=AGENT says who does a node of a workflow."
            )
    definition = chosen(nexus, words, asked, start_folder(invocation(ctx)))
    if definition is None:
        return None
    if ctx.get_parameter_source("seconds") is click.core.ParameterSource.DEFAULT:
        asked["seconds"] = None
    said = {name: asked[name] for name in _BUDGETS if asked[name]}
    if said:
        definition = definition.changed(budgets=definition.budgets.changed(**said))
    task = _task(nexus, asked["task"])
    return wish_of(definition, asked["title"], base=asked["base"], mode=asked["mode"], task=task)


def _task(nexus: "Nexus", ref: str) -> str:
    if not ref:
        return ""
    from gitnexus.app.reach import task_of_a_run  # most runs are for no task

    return task_of_a_run(nexus.repo.place, ref)


@contextlib.contextmanager
def _interruptible(desk: "RunDesk") -> "Iterator[None]":
    """Say to who interrupts a run what becomes of it."""
    try:
        yield
    except KeyboardInterrupt:
        run = desk.run.id
        note(f"{run} stopped: git nexus resume {run} goes on with it, git nexus cancel {run} ends it")
        raise


def _wanted(words: tuple[str, ...], asked: dict[str, Any], way: "Way") -> "tuple[Definition, str]":
    from gitnexus.adapters.protocol import hosts_of
    from gitnexus.app.runagent import refuse_unasked
    from gitnexus.runs.definition import Budgets, of_command, of_prompt

    agent, budgets = asked.pop("agent"), Budgets(**{name: asked.pop(name) or 0 for name in _BUDGETS})
    role, model = asked.pop("role"), asked.pop("model")
    more = {"address": asked.pop("model_url"), "sign_in": asked.pop("sign_in"), "live": asked.pop("live")}
    _check_way(agent or "command", way)
    if more["address"]:
        hosts_of(more["address"])
    if more["live"] and way == "contained":
        refuse_unasked(agent or "command")
    if agent is None or agent == "command":
        return of_command(words, budgets=budgets), " ".join(words)
    # The scripted agent is told its file first; the prompt after it is for the story alone.
    argv = words[:1] if agent == "scripted" else ()
    prompt = " ".join(words[len(argv) :] or words)
    definition = of_prompt(prompt, agent, role=role, way=way, model=model, argv=argv, budgets=budgets)
    return definition.changed(nodes=(definition.nodes[0].changed(**more),)), prompt


def _check_agent_options(nexus: "Nexus", asked: dict[str, Any]) -> None:
    """Refuse a role that is none, and what a command would not take notice of. Raises: NotFound, BadUsage."""
    if asked["agent"] in (None, "command"):
        for name in ("role", "model", "model_url", "sign_in"):
            if asked[name]:
                raise click.UsageError(f"--{name.replace('_', '-')} is for an agent, and a command is none.")
    elif asked["role"]:
        from gitnexus.app.runsteps import refuse_unknown_role

        refuse_unknown_role(nexus.state, asked["role"])


def _check_way(agent: str, way: str) -> None:
    """Refuse before anything is made what the agent cannot do. Raises: Invalid."""
    from gitnexus.adapters.table import adapter_named
    from gitnexus.base.errors import Invalid

    ways = adapter_named(agent).ways
    if way not in ways:
        raise Invalid(
            f"{agent} cannot work as {way}",
            hint=f"it can as {' or '.join(ways)}; git nexus policy show tells the way",
        )


def _detached(desk: "RunDesk", network: str | None) -> None:
    argv = [sys.executable, "-m", "gitnexus", "-C", str(desk.repo.place), "resume", desk.run.id, "--unattended"]
    argv += ["--network", network] if network else []
    with (desk.folder / "driver.log").open("ab") as log:
        subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd="/")
