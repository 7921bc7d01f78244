"""Runs the project's configured checks in a sandbox on the exact tree that would land, and logs the results."""

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from gitnexus.base.errors import Failed, Invalid, NexusError
from gitnexus.base.text import visible_bytes
from gitnexus.events.kinds import shorten_text
from gitnexus.gateway.assemble import AskPerson
from gitnexus.gateway.card import Card, build_card
from gitnexus.git.private import PrivateGit
from gitnexus.policy.word_paths import assumed_program_path
from gitnexus.redaction.result import Reveal
from gitnexus.runs.command_rules import command_request, judge_named_command, refuse_ruled_command
from gitnexus.runs.model import Run
from gitnexus.runs.open_run import OpenRun
from gitnexus.sandbox.environment import command_environment
from gitnexus.sandbox.levels import best_level
from gitnexus.sandbox.program import resolve_program
from gitnexus.sandbox.run import run_in_sandbox
from gitnexus.sandbox.spec import SandboxSpec
from gitnexus.state import State
from gitnexus.state.format import project_id_of
from gitnexus.state.settings import settings_section

# Runs one check on a tree. Raises: Failed if the check fails.
Check = Callable[[PrivateGit, str, tuple[str, ...]], None]
_LINES = 20


def configured_checks(state: State) -> list[tuple[str, ...]]:
    """Return the checks in `runs.checks`; a project's settings count only if signed. Raises: Invalid."""
    found: Any = settings_section(state.required(), "runs", state.trusts).get("checks", [])
    if not isinstance(found, list) or not all(_is_word_list(row) for row in found):
        raise Invalid("settings.json: runs.checks should be a list of commands, each a list of words")
    return [tuple(row) for row in found]


def run_check_sandboxed(git: PrivateGit, tree: str, argv: tuple[str, ...]) -> None:
    """Check out a tree into a temporary folder and run a check there without network.

    Raises: Failed, DeniedByPolicy.
    """
    with tempfile.TemporaryDirectory(prefix="git-nexus-check-") as name:
        place = str(Path(name).resolve())
        git.must("read-tree", tree)
        git.must(f"--work-tree={place}", "checkout-index", "--all", "--force")
        env = command_environment({}, os.environ)
        program = resolve_program(argv[0], env["PATH"], place, place)
        done = run_in_sandbox(
            SandboxSpec(argv=argv, program=program.path, cwd=place, root=place, env=env, level=best_level("L1"))
        )
    if done.status != 0:
        said = visible_bytes((done.stdout.data + done.stderr.data)[-8000:]).strip().split("\n")[-_LINES:]
        how = f"status {done.status}" if done.status is not None else f"signal {done.signal}"
        raise Failed(
            f"the check {' '.join(argv)} failed with {how}; nothing was landed",
            hint="its last lines:\n" + "\n".join(f"  {line}" for line in said) if any(said) else "it printed nothing",
            context={"argv": list(argv), "output": "\n".join(said)},
        )


def refuse_ruled_check(run: OpenRun, argv: tuple[str, ...], ask: AskPerson | None) -> None:
    """Raise an error if a rule denies the check, or asks about it and nobody confirms. Raises: DeniedByPolicy, …."""
    gatekeeper, place = run.make_gatekeeper(), str(run.repo.folder)
    project = project_id_of(run.state.snapshot) or "unknown"
    request = command_request(project, run.record.id, argv, place, assumed_program_path(argv[0]), "none", "L3")

    def confirm(words: str) -> bool:
        decision = judge_named_command(request, gatekeeper.here.compiled, gatekeeper.mode, gatekeeper.around)

        def card(reveal: Reveal | None = None) -> Card:
            made = build_card(run.repo, request, decision, gatekeeper.mode, words, gatekeeper.around, reveal)
            # Asked at every landing: no answer is remembered.
            return replace(made, offers=tuple(one for one in made.offers if one.scope == "once"))

        def shown(reason: str) -> Card:
            run.make_recorder(gatekeeper, "user").log_secret_reveal(run.state.author.name, reason)
            return card(Reveal(reason))

        return ask is not None and ask(card(), shown) is not None

    refuse_ruled_command(gatekeeper, request, "the check", confirm if ask else None)


@contextlib.contextmanager
def logged_check(state: State, run: Run, tree: str, argv: tuple[str, ...]) -> Iterator[None]:
    """Context manager: log how a check ended if the run's log is local; landing does not depend on that."""
    try:
        yield
    except Failed:
        _log_check_result(state, run, tree, argv, ok=False)
        raise
    _log_check_result(state, run, tree, argv, ok=True)


def _log_check_result(state: State, run: Run, tree: str, argv: tuple[str, ...], *, ok: bool) -> None:
    open_run = OpenRun(state, run)
    if open_run.log.path.exists():
        words = [shorten_text(word, 1000) for word in argv[:100]]
        with contextlib.suppress(NexusError):
            open_run.log.append("checks.ran", "nexus", {"argv": words, "ok": ok, "tree": tree})
            open_run.write_checkpoint()


def _is_word_list(row: object) -> bool:
    return isinstance(row, list) and bool(row) and all(isinstance(word, str) and word for word in row)
