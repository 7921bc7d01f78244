"""Table of the functions that merge the files of two states, by path."""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial

from gitnexus.backlog import merge_clones as backlog
from gitnexus.backlog.store import task_id_at
from gitnexus.base.errors import NexusError
from gitnexus.cycle import merge_clones as cycle
from gitnexus.cycle.session import HISTORY
from gitnexus.git import Repo
from gitnexus.memory import merge_clones as memory
from gitnexus.policy import merge_clones as policy
from gitnexus.policy.approvers import Approvers
from gitnexus.policy.keys import Signer
from gitnexus.policy.trust import signer_for_repo
from gitnexus.runs import merge_clones as runs
from gitnexus.runs.origin import is_begun_here
from gitnexus.state.join import Mergers
from gitnexus.state.layout import FORMAT_FILE, IGNORE_FILE
from gitnexus.workflow import merge_clones as workflow
from gitnexus.workflow.state_files import is_generated_file

_NOTES = ("memory/", "rules/", "context/")


def merger_table(repo: Repo, now: datetime, resigned: Callable[[Approvers], None], *, adopt: bool) -> Mergers:
    """Return the table. Tasks come first, so that references get their new numbers. Other files merge as text."""

    def signer() -> Signer | None:
        try:
            return signer_for_repo(repo)
        except NexusError:
            return None

    context = policy.SigningContext(signer, now, resigned, adopt)
    return (
        (lambda path: task_id_at(path) is not None, partial(backlog.merge_backlogs, now=now)),
        (lambda path: path in policy.PATHS, partial(policy.merge_signed_files, context=context)),
        (lambda path: path == HISTORY, cycle.merge_histories),
        (
            lambda path: path.startswith("runs/"),
            partial(runs.merge_run_records, is_ours=partial(is_begun_here, repo.common_dir)),
        ),
        (lambda path: path.startswith(_NOTES), memory.merge_note_files),
        (is_generated_file, workflow.merge_generated_files),
    )


def describe_changed_files(paths: Sequence[str]) -> list[str]:
    """Return counts of changed files by kind: 3 tasks, 1 memory note, 2 runs."""
    counts: dict[str, int] = {}
    for path in paths:
        word = _kind_of_file(path)
        counts[word] = counts.get(word, 0) + 1
    order = [*_ORDER, *sorted(counts.keys() - set(_ORDER))]
    return [_format_count(counts[word], word) for word in order if word in counts]


_ORDER = ("task", "memory note", "rule", "context file", "history", "run")
_NAMED = ("history", "the format", "the policy", "the approvers", "the settings", "the tools", "signatures")
_WORDS = {
    "memory/": "memory note", "rules/": "rule", "context/": "context file", "runs/": "run", "plans/": "plan",
    "research/": "research file", "commands/builtins/": "built-in workflow", "commands/": "workflow",
    "schemas/": "schema",
}  # fmt: skip
_FILES = {
    FORMAT_FILE: "the format", IGNORE_FILE: "the format", HISTORY: "history",
    "policy.md": "the policy", "approvers": "the approvers", "settings.json": "the settings",
    "policy/signatures.json": "signatures", "tools.json": "the tools",
}  # fmt: skip


def _kind_of_file(path: str) -> str:
    if task_id_at(path) is not None:
        return "task"
    return _FILES.get(path) or next((word for prefix, word in _WORDS.items() if path.startswith(prefix)), "other file")


def _format_count(number: int, word: str) -> str:
    if word in _NAMED:
        return word
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
