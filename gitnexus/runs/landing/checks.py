"""Runs the project's configured checks in a sandbox on the exact tree that would land, and logs the results."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from gitnexus.base.errors import Failed, Invalid, NexusError
from gitnexus.events.kinds import shorten_text
from gitnexus.gateway.assemble import AskPerson
from gitnexus.gateway.card import Card, build_card
from gitnexus.git.private import PrivateGit
from gitnexus.policy.word_paths import assumed_program_path
from gitnexus.redaction.result import Reveal
from gitnexus.runs.command_rules import command_request, judge_named_command, refuse_ruled_command
from gitnexus.runs.model import Run
from gitnexus.runs.open_run import OpenRun
from gitnexus.state import State
from gitnexus.state.format import project_id_of
from gitnexus.state.settings import settings_section

# Runs one check of a run on a tree. Raises: Failed if the check fails.
Check = Callable[[OpenRun, PrivateGit, str, tuple[str, ...]], None]


def configured_checks(state: State) -> list[tuple[str, ...]]:
    """Return the checks in `runs.checks`; a project's settings count only if signed. Raises: Invalid."""
    found: Any = settings_section(state.required(), "runs", state.trusts).get("checks", [])
    if not isinstance(found, list) or not all(_is_word_list(row) for row in found):
        raise Invalid("settings.json: runs.checks should be a list of commands, each a list of words")
    return [tuple(row) for row in found]


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
