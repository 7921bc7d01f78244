"""Which room merges which files of the state when two clones meet: the one table."""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial

from gitnexus.app.origin import is_kept_here
from gitnexus.app.trust import signer_of
from gitnexus.backlog import meet as backlog
from gitnexus.backlog.store import id_at
from gitnexus.base.errors import NexusError
from gitnexus.cycle import meet as cycle
from gitnexus.cycle.session import HISTORY
from gitnexus.git import Repo
from gitnexus.memory import meet as memory
from gitnexus.policy import meet as policy
from gitnexus.policy.approvers import Approvers
from gitnexus.policy.keys import Signer
from gitnexus.runs import meet as runs
from gitnexus.state.join import Mergers
from gitnexus.state.layout import FORMAT_FILE, IGNORE_FILE

_NOTES = ("memory/", "rules/", "context/")


def mergers(repo: Repo, now: datetime, resigned: Callable[[Approvers], None], *, adopt: bool) -> Mergers:
    """Return the table. Tasks come first: whoever refers to them learns their new numbers. The rest merges plainly."""

    def signer() -> Signer | None:
        try:
            return signer_of(repo)
        except NexusError:
            return None

    court = policy.Court(signer, now, resigned, adopt)
    return (
        (lambda path: id_at(path) is not None, partial(backlog.met, now=now)),
        (lambda path: path in policy.PATHS, partial(policy.met, court=court)),
        (lambda path: path == HISTORY, cycle.met),
        (lambda path: path.startswith("runs/"), partial(runs.met, is_ours=partial(is_kept_here, repo.common_dir))),
        (lambda path: path.startswith(_NOTES), memory.met),
    )


def in_words(paths: Sequence[str]) -> list[str]:
    """Return what changed files are, counted: 3 tasks, 1 memory note, 2 runs."""
    counts: dict[str, int] = {}
    for path in paths:
        word = _word(path)
        counts[word] = counts.get(word, 0) + 1
    order = [*_ORDER, *sorted(counts.keys() - set(_ORDER))]
    return [_counted(counts[word], word) for word in order if word in counts]


_ORDER = ("task", "memory note", "rule", "context file", "history", "run")
_NAMED = ("history", "the format", "the policy", "the approvers", "the settings", "signatures")
_WORDS = {
    "memory/": "memory note", "rules/": "rule", "context/": "context file", "runs/": "run", "plans/": "plan",
    "research/": "research file", "commands/": "workflow",
}  # fmt: skip
_FILES = {
    FORMAT_FILE: "the format", IGNORE_FILE: "the format", HISTORY: "history",
    "policy.md": "the policy", "approvers": "the approvers", "settings.json": "the settings",
    "policy/signatures.json": "signatures",
}  # fmt: skip


def _word(path: str) -> str:
    if id_at(path) is not None:
        return "task"
    return _FILES.get(path) or next((word for prefix, word in _WORDS.items() if path.startswith(prefix)), "other file")


def _counted(number: int, word: str) -> str:
    if word in _NAMED:
        return word
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
