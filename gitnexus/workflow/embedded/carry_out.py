"""Turns simple requests into work for the executor: one patch for edits that follow each other, then commands."""

from collections.abc import Sequence
from typing import NamedTuple

from gitnexus.base.errors import Invalid
from gitnexus.packs.tree import BaseTree
from gitnexus.workflow.embedded.extract_actions import FoundWork, why_no_patch
from gitnexus.workflow.embedded.file_edits import FileEdits
from gitnexus.workflow.embedded.simple_requests import (
    RunCommandRequest,
    RunTestsRequest,
    SimpleRequest,
    WordReplacement,
    parse_simple_requests,
)
from gitnexus.workflow.embedded.tests_command import find_test_command, with_test_paths


class SimpleWork(NamedTuple):
    """What simple requests come to: work in stages, or why it cannot be done. Both empty if there are none."""

    works: tuple[FoundWork, ...] = ()
    why_not: str = ""


def work_of_simple_requests(text: str, base: BaseTree | None) -> SimpleWork:
    """Return the work that a text asks for, if rules understand all of it."""
    if base is None:
        return SimpleWork()
    return work_of_requests(parse_simple_requests(text, frozenset(base.paths())), base)


def work_of_requests(requests: Sequence[SimpleRequest], base: BaseTree) -> SimpleWork:
    """Return some requests as work. Edits count on each other; all of them are made before the first command."""
    edits, edited, commands = FileEdits(base), False, []
    for request in requests:
        try:
            if isinstance(request, RunCommandRequest | RunTestsRequest):
                commands.append(_argv_of_request(request, base))
            elif commands:
                return SimpleWork(
                    why_not="a change after a command counts on what the command did: ask for it on its own"
                )
            else:
                edits.apply(request)
                edited = True
        except Invalid as exc:
            unsure = isinstance(request, WordReplacement) and not request.sure
            return SimpleWork() if unsure else SimpleWork(why_not=exc.message)
    diff = ""
    if edited:
        try:
            diff = edits.diff()
        except Invalid as exc:
            return SimpleWork(why_not=exc.message)
        if why := why_no_patch(diff):
            return SimpleWork(why_not=f"the edits take each other back: {why}")
    work = FoundWork((diff,) if diff else (), tuple(commands))
    return SimpleWork((work,) if work else ())


def _argv_of_request(request: RunCommandRequest | RunTestsRequest, base: BaseTree) -> tuple[str, ...]:
    if isinstance(request, RunCommandRequest):
        return request.argv
    argv = with_test_paths(find_test_command(base), request.paths, base)
    if not argv:
        raise Invalid("no file here shows which command runs the tests; write it in backticks, as in run `make test`")
    return argv
