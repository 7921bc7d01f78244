"""The project's own checks before a landing: which, and run in a sandbox on exactly what would land."""

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from gitnexus.app.bench import AskPerson
from gitnexus.app.commandrules import command_request, refuse_ruled_command
from gitnexus.app.gatememo import nowhere
from gitnexus.app.rundesk import RunDesk
from gitnexus.base.errors import Failed, Invalid, NexusError
from gitnexus.base.text import visible_bytes
from gitnexus.events.kinds import short
from gitnexus.git.private import PrivateGit
from gitnexus.policy.gate import rule_about
from gitnexus.redaction.result import Reveal
from gitnexus.runs.model import Run
from gitnexus.state import State
from gitnexus.state.format import id_of
from gitnexus.state.settings import section

# Runs one check on a tree. Raises: Failed if it does.
Check = Callable[[PrivateGit, str, tuple[str, ...]], None]
_LINES = 20


def checks_of(state: State) -> list[tuple[str, ...]]:
    """Return `runs.checks` of the settings, as far as they count; a project's only if signed. Raises: Invalid."""
    found: Any = section(state.required(), "runs", state.trusts).get("checks", [])
    if not isinstance(found, list) or not all(_is_argv(row) for row in found):
        raise Invalid("settings.json: runs.checks should be a list of commands, each a list of words")
    return [tuple(row) for row in found]


def in_sandbox(git: PrivateGit, tree: str, argv: tuple[str, ...]) -> None:
    """Lay a tree out in a folder of its own and run a check there, without network. Raises: Failed, DeniedByPolicy."""
    from gitnexus.sandbox.environment import environment  # only who has checks pays
    from gitnexus.sandbox.levels import best
    from gitnexus.sandbox.program import resolved
    from gitnexus.sandbox.run import run
    from gitnexus.sandbox.spec import Spec

    with tempfile.TemporaryDirectory(prefix="git-nexus-check-") as name:
        place = str(Path(name).resolve())
        git.must("read-tree", tree)
        git.must(f"--work-tree={place}", "checkout-index", "--all", "--force")
        env = environment({}, os.environ)
        program = resolved(argv[0], env["PATH"], place, place)
        done = run(Spec(argv=argv, program=program.path, cwd=place, root=place, env=env, level=best("L1")))
    if done.status != 0:
        said = visible_bytes((done.stdout.data + done.stderr.data)[-8000:]).strip().split("\n")[-_LINES:]
        how = f"status {done.status}" if done.status is not None else f"signal {done.signal}"
        raise Failed(
            f"the check {' '.join(argv)} failed with {how}; nothing was landed",
            hint="its last lines:\n" + "\n".join(f"  {line}" for line in said) if any(said) else "it said nothing",
            context={"argv": list(argv), "output": "\n".join(said)},
        )


def refuse_ruled_check(desk: RunDesk, argv: tuple[str, ...], ask: AskPerson | None) -> None:
    """Refuse a check that a rule denies, or that one asks about and nobody allows. Raises: DeniedByPolicy and such."""
    keeper, place = desk.keeper(), str(desk.repo.place)
    project = id_of(desk.state.snapshot) or "unknown"
    request = command_request(project, desk.run.id, argv, place, nowhere(argv[0]), "none", "L3")

    def confirm(words: str) -> bool:
        from gitnexus.app.cards import Card, card_of  # 20 ms: only where somebody is asked

        decision = rule_about(request, keeper.here.law, keeper.mode, world=keeper.around)

        def card(reveal: Reveal | None = None) -> Card:
            made = card_of(desk.repo, request, decision, keeper.mode, words, keeper.around, reveal)
            # It is asked about at every landing: nothing of it stands.
            return replace(made, offers=tuple(one for one in made.offers if one.scope == "once"))

        def shown(reason: str) -> Card:
            desk.recorder(keeper, "user").revealed(desk.state.author.name, reason)
            return card(Reveal(reason))

        return ask is not None and ask(card(), shown) is not None

    refuse_ruled_command(keeper, request, "the check", confirm if ask else None)


@contextlib.contextmanager
def told(state: State, run: Run, tree: str, argv: tuple[str, ...]) -> Iterator[None]:
    """Write down how a check ended, where the log of the run is at hand; landing does not depend on that."""
    try:
        yield
    except Failed:
        _note(state, run, tree, argv, ok=False)
        raise
    _note(state, run, tree, argv, ok=True)


def _note(state: State, run: Run, tree: str, argv: tuple[str, ...], *, ok: bool) -> None:
    desk = RunDesk(state, run)
    if desk.log.path.exists():
        words = [short(word, 1000) for word in argv[:100]]
        with contextlib.suppress(NexusError):
            desk.log.append("checks.ran", "nexus", {"argv": words, "ok": ok, "tree": tree})
            desk.checkpointed()


def _is_argv(row: object) -> bool:
    return isinstance(row, list) and bool(row) and all(isinstance(word, str) and word for word in row)
