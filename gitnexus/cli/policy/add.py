"""`git nexus policy`: what agents may do here, and why."""

from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.errors import NexusError
from gitnexus.base.text import one_line
from gitnexus.ui.commands import NexusGroup, invocation
from gitnexus.ui.output import answer, columns, note, start_folder, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus
    from gitnexus.app.policy import PolicyHere
    from gitnexus.policy.rules import Rule

_MODES = click.Choice(["default", "acceptEdits", "autopilot", "bypass"])
_USER = click.option(
    "--user", "user", is_flag=True, help="Your own policy, for all projects, instead of the project's."
)
_COLOURS = {"allow": "green", "ask": "yellow", "deny": "red"}


@click.group("policy", cls=NexusGroup)
def policy() -> None:
    """What agents may do here: rules, modes, and which of them decides.

    Rules stand in the front matter of .nexus/policy.md and of your own policy.md in $NEXUS_HOME. Deny goes over ask,
    ask over allow; what no rule speaks about is asked.
    """


@policy.command("show")
@with_nexus
def show(nexus: "Nexus") -> None:
    """Show the rules in force, the mode, the way agents work and the sandbox."""
    from gitnexus.app.policy import policy_here

    here = policy_here(nexus.state)
    law = here.law
    payload = {
        "mode": law.mode,
        "way": law.way,
        "sandbox": {"level": law.level, "minimum": law.minimum},
        "approval": law.approval,
        "signin": law.signin,
        "rules": [_row(rule) for rule in law.rules],
        "ignored": [_row(rule) for rule in here.ignored],
        "project": {"exists": here.has_project, "trusted": here.trusted},
        "budget": law.budget.plain(),
    }
    answer(payload, lambda: _screen(here), nexus.described)


@policy.command("explain", context_settings={"allow_interspersed_args": False})
@click.option("--patch", "file", type=click.File("rb"), metavar="FILE", help="A patch to HEAD, or - (stdin).")
@click.option("--mode", type=_MODES, help="As if this mode were on.")
@click.option("--role", default="", metavar="ROLE", help="As if this role asked.")
@click.option("--network", type=click.Choice(["none", "loopback", "full"]), default="none", show_default=True,
              help="The network that the command would get.")  # fmt: skip
@click.option("--sandbox", type=click.Choice(["L0", "L1", "L2", "L3"]), default="L1", show_default=True,
              help="The sandbox that it would run in.")  # fmt: skip
@click.argument("argv", nargs=-1, type=click.UNPROCESSED)
@with_nexus
def explain(nexus: "Nexus", /, file: Any, argv: tuple[str, ...], **asked: Any) -> None:
    """Say what the gate would answer to a command or a patch, which rule decides, and what would change it.

    The command stands after --. Nothing is run and nothing is changed.
    """
    from gitnexus.app.policy import Asked, explained, policy_here

    here = policy_here(nexus.state)
    given = Asked(argv=argv, patch=file.read() if file else None, **asked)
    answered = explained(nexus, here, given, start_folder(invocation(click.get_current_context())))
    found, mode = answered.decision, given.mode or here.law.mode
    payload = {**found.plain(), "kind": answered.kind, "mode": mode, "request": answered.digest}
    rows = [
        ["rule", found.rule],
        ["why", found.why],
        ["risk", f"{found.risk} of 4"],
        ["tags", ", ".join(found.tags) or "none"],
        ["mode", _mode(mode)],
        ["to change it", found.instead or "nothing"],
    ]
    answer(payload, f"{_verdict(found.verdict)}\n{columns(rows)}", nexus.described)


@policy.command("add")
@click.argument("verdict", type=click.Choice(["allow", "ask", "deny"]))
@click.option("--read", multiple=True, metavar="PATH", help="Paths that are read; only to deny.")
@click.option("--write", multiple=True, metavar="PATH", help="Paths that are written, as in 'src/**'.")
@click.option("--host", "hosts", multiple=True, metavar="HOST", help="Hosts that are reached, as in pypi.org:443.")
@click.option("--handoff", nargs=2, metavar="FROM TO", help="Control that goes from a role to another.")
@click.option("--kind", metavar="KIND", help="Only requests of this kind.")
@click.option("--role", metavar="ROLE", help="Only requests of this role.")
@click.option("--network", type=click.Choice(["loopback", "full"]), help="What network the command may have.")
@click.option("--unconfined", is_flag=True, help="Also where no sandbox holds it, as in the shell of Claude Code.")
@click.option("--name", metavar="NAME", help="A name for the rule.")
@click.option("--why", metavar="TEXT", help="Why it is there; shown when it decides.")
@_USER
@click.argument("argv", nargs=-1, type=click.UNPROCESSED)
@with_nexus
def add(nexus: "Nexus", /, verdict: Any, user: bool, argv: tuple[str, ...], **words: Any) -> None:
    """Add a rule. The rest of the file stays as it is, byte for byte.

    A command is given word by word after --, with *, {path}, {int}, {name} or {text} for what may differ.
    """
    from gitnexus.app.policy import add_rule

    row = {key: value for key, value in {**words, "run": argv}.items() if value}
    row = {key: list(value) if isinstance(value, tuple) else value for key, value in row.items()}
    rule = add_rule(nexus, "user" if user else "project", verdict, row)
    _signed(nexus, rule.layer)
    answer({"rule": _row(rule)}, f"Added {rule.id}: {one_line(rule.shown)}", nexus.described)


@policy.command("remove")
@click.argument("rule_id", metavar="RULE")
@with_nexus
def remove(nexus: "Nexus", rule_id: str) -> None:
    """Remove a rule by the name or number that `policy show` gives it."""
    from gitnexus.app.policy import remove_rule

    rule = remove_rule(nexus, rule_id)
    _signed(nexus, rule.layer)
    answer({"rule": _row(rule)}, f"Removed {rule.id}: {one_line(rule.shown)}", nexus.described)


@policy.command("edit")
@_USER
@with_nexus
def edit(nexus: "Nexus", user: bool) -> None:
    """Open the policy in your editor; what does not hold together is not taken."""
    from gitnexus.app.policy import replace_text, text_of
    from gitnexus.policy.rules import STARTER

    layer: Any = "user" if user else "project"
    before = text_of(nexus, layer)
    typed = click.edit((before or STARTER).decode("utf-8"), extension=".md")
    changed = typed is not None and typed.encode() != before
    if changed:
        replace_text(nexus, layer, before, str(typed).encode())
        _signed(nexus, layer)
    answer({"changed": changed, "layer": layer}, "Saved." if changed else "Nothing changed.",
           nexus.described)  # fmt: skip


@policy.command("mode")
@click.argument("mode", type=_MODES, required=False)
@_USER
@with_nexus
def mode_command(nexus: "Nexus", mode: Any, user: bool) -> None:
    """Show the mode, or set it in the project's policy (or with --user in yours)."""
    from gitnexus.app.policy import policy_here, set_mode

    layer: Any = "user" if user else "project"
    if mode is not None:
        set_mode(nexus, layer, mode)
        _signed(nexus, layer)
    here = policy_here(nexus.state)
    answer({"mode": here.law.mode, "user": here.user.mode, "project": here.project.mode, "trusted": here.trusted},
           f"The mode in force is {_mode(here.law.mode)}.", nexus.described)  # fmt: skip


@policy.command("trust")
@click.option("--confirm", metavar="DIGEST", multiple=True,
              help="Sign exactly this content without being asked; once for each file.")  # fmt: skip
@with_nexus
def trust_command(nexus: "Nexus", confirm: tuple[str, ...]) -> None:
    """Sign policy, settings, words of prompts and permissions between projects as they are now.

    Shows what changed since they were last signed, and asks. Where nobody can be asked, --confirm names what is to be
    signed: sha256: and what sha256sum prints for the file. It takes the private key of an approver.
    """
    from gitnexus.app import homeseal
    from gitnexus.app.trust import trust, waiting
    from gitnexus.ui.trust import confirmed, showed

    ours, at_home = waiting(nexus.state), homeseal.waiting()
    files = [*ours, *at_home]
    if not files:
        answer({"signed": []}, "All that must be signed is signed.", nexus.described)
        return
    for file in files:
        showed(file)
        note(f"{file.path}: {file.why}")
    confirmed("Sign this?", [file.digest for file in files], confirm)
    keys = {trust(nexus.state, ours)} if ours else set()
    keys |= {homeseal.trust(file) for file in at_home}
    key = ", ".join(sorted(keys))
    rows = [{"path": file.path, "digest": file.digest} for file in files]
    names = ", ".join(file.path for file in files)
    answer({"signed": rows, "key": key}, f"Signed {names} with {one_line(key)}.", nexus.described)


def _row(rule: "Rule") -> dict[str, Any]:
    return {key: value for key, value in rule.plain().items() if value not in ("", [])}


def _verdict(word: str) -> str:
    return click.style(word, fg=_COLOURS[word], bold=True)


def _mode(mode: str) -> str:
    return click.style(mode, fg="red", bold=True) if mode == "bypass" else mode


def _signed(nexus: "Nexus", layer: str) -> None:
    """Offer to sign a change of the project's policy; elsewhere, or at a no, say what is still to do."""
    if layer != "project":
        return
    from gitnexus.app.trust import trust, waiting
    from gitnexus.ui.trust import can_ask, said_yes

    files = waiting(nexus.state)
    if not files:
        return
    try:
        if can_ask() and said_yes(files):
            trust(nexus.state, files)
            return
    except NexusError as exc:  # the change itself is made
        note(f"it was not signed: {exc.message}")
    note("what it allows counts once an approver has signed it: git nexus policy trust")


def _screen(here: "PolicyHere") -> str:
    law = here.law
    head = [
        ["mode", _mode(law.mode)],
        ["way", law.way],
        ["sandbox", f"{law.level}, at least {law.minimum}"],
        ["approval", law.approval],
        ["sign-in", law.signin],
        ["project policy", _standing(here)],
    ]
    rows = [[rule.id, one_line(rule.shown, 100), one_line(rule.why, 60)] for rule in law.rules]
    ignored = [[rule.id, one_line(rule.shown, 100), "ignored: not trusted"] for rule in here.ignored]
    rules = columns(rows + ignored) if rows or ignored else "  none; whatever is not built in is asked"
    return f"{columns(head, indent='')}\n\nRules:\n{rules}\n\nTry one: git nexus policy explain -- git status"


def _standing(here: "PolicyHere") -> str:
    if not here.has_project:
        return "none"
    return "trusted" if here.trusted else "not trusted: only what it denies and asks about counts"
