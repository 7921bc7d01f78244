"""Turns rows of a list into plan steps: the files each touches, its acceptance check and its risk. Pure."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gitnexus.base.text import one_line
from gitnexus.prompts.model import PlanStep, StepContext
from gitnexus.workflow.embedded.extract_actions import (
    FoundWork,
    blocks_below,
    call_with_diffs,
    changed_paths,
    work_in_stages,
)
from gitnexus.workflow.embedded.outline import ListRow
from gitnexus.workflow.embedded.question import named_paths, parse_question

LONGEST_TITLE = 200
MOST_STEPS = 200
_SPAN = re.compile(r"`[^`\n]*`")
_AFTER = re.compile(
    r"\b(?:after|depends on|needs|requires|nach|wartet auf)\s+([\w.#-]+(?:(?:\s*,\s*|\s+and\s+|\s+und\s+)[\w.#-]+)*)",
    re.I,
)
# What cannot be taken back, and what many other things hang on. Words, so that a person can foresee it.
_DESTROYS = re.compile(
    r"\b(?:delete|drop|purge|wipe|erase|truncate|force[- ]push|rewrite history|reset --hard|rm -r|rm -rf|git push|"
    r"publish|deploy|lösche|löschen|verwerfe)\w*\b",
    re.I,
)
_DELICATE = re.compile(
    r"\b(?:migrat|schema|auth|password|credential|secret|permission|security|crypt|token|payment|production|release|"
    r"rename|remove|replace|upgrade|dependency|dependencies)\w*\b",
    re.I,
)
_DELICATE_PATH = re.compile(
    r"(?:^|/)(?:\.github|\.gitlab|\.ci|migrations?|Dockerfile|docker-compose|pyproject\.toml|package\.json|Cargo\.toml|"
    r"go\.mod|setup\.py|requirements[^/]*\.txt|Makefile)"
)
_TEXT = (".md", ".rst", ".txt", ".adoc")


class StepSource(NamedTuple):
    """A list that steps are made from: its description, a reference to it, and the files it is about."""

    what: str
    ref: str
    rows: tuple[ListRow, ...]
    files: tuple[str, ...] = ()
    # The rows are conditions, each of which must hold in the end, and not things to do.
    criteria: bool = False


@dataclass(slots=True)
class StepBuilder:
    """Collects steps, and notes about them for the user."""

    known: Collection[str]
    steps: list[PlanStep] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)

    def add(self, source: StepSource) -> list[str]:
        """Add the open rows of a source, and return the ids of their steps."""
        return self._add_rows(source, source.rows)

    def _add_rows(self, source: StepSource, rows: Sequence[ListRow]) -> list[str]:
        ids: list[str] = []
        for row in rows:
            if row.done is True or not row.text.strip() or len(self.steps) >= MOST_STEPS:
                continue
            open_below = [one for one in row.more if one.done is False]
            below = self._add_rows(source, open_below)
            if below and not any(blocks_below(ListRow(row.text, code=row.code))):
                ids += below
                continue
            before = below or (ids[-1:] if row.ordered else [])
            ids += [*below, *self._add_stages(source, row, before)]
        return ids

    def _add_stages(self, source: StepSource, row: ListRow, before: Sequence[str]) -> list[str]:
        """Add one step for each stage of a row's work; a row with only a goal becomes one step without work."""
        rest = [one for one in row.more if one.done is None]
        below = [code for one in rest for code in blocks_below(one)]
        told = "\n".join([row.text, *row.notes, *_texts_of_rows(rest)])
        works = work_in_stages([*row.code, *below], told) or [FoundWork()]
        ids: list[str] = []
        for at, work in enumerate(works, 1):
            depends = dict.fromkeys([*before, *ids[-1:], *self._steps_waited_for(told)])
            id_ = self._take_id(row.id if at == 1 else "")
            title = one_line(row.text, LONGEST_TITLE - 10) + (f" ({at} of {len(works)})" if len(works) > 1 else "")
            last = at == len(works)
            step = make_step(id_, title, told, work, source, self.known)
            accept = _acceptance_of_row(source, row, rest) if last else ()
            self.steps.append(step.changed(depends=tuple(depends), accept=accept))
            self.questions += [f"{id_}: {one_line(why, 300)}" for why in work.refused]
            ids.append(id_)
        return ids

    def _steps_waited_for(self, told: str) -> Iterator[str]:
        for found in _AFTER.finditer(told):
            yield from (word for word in re.split(r"[\s,#]+", found[1]) if word in self.taken)

    def _take_id(self, wanted: str) -> str:
        id_ = wanted
        number = len(self.steps) + 1
        while not id_ or id_ in self.taken:
            id_ = f"S{number}"
            number += 1
        self.taken.add(id_)
        return id_


def make_step(id_: str, title: str, told: str, work: FoundWork, source: StepSource, known: Collection[str]) -> PlanStep:
    """Return a step; its files come from its text and patches, else from its source."""
    prose = _SPAN.sub(lambda found: found[0] if "/" in found[0] or "." in found[0] else " ", told)
    commands = {word for argv in work.commands for word in argv}
    named = [path for path in named_paths(prose, known) if path not in commands]
    files = list(dict.fromkeys([*changed_paths(work.diffs), *named])) or list(source.files)
    return PlanStep(
        id=id_,
        title=title,
        files=tuple(files),
        commands=work.commands,
        risk=estimate_risk(told, files, work),
        ctx=StepContext(
            docs=(source.ref,) if source.ref else (),
            paths=tuple(path for path in files if path in known),
            grep=tuple(one for one in parse_question(told, known).literals if " " not in one and "/" not in one)[:3],
        ),
        baml=call_with_diffs(work.diffs),
    )


def estimate_risk(told: str, files: Sequence[str], work: FoundWork) -> int:
    """Return the risk by rule: 3 destructive or external, 2 shared files, 1 changes code, 0 changes nothing."""
    spelled = "\n".join([told, *(" ".join(argv) for argv in work.commands)])
    deletes = any(re.search(r"^deleted file mode", diff, re.MULTILINE) for diff in work.diffs)
    if _DESTROYS.search(spelled):
        return 3
    if deletes or _DELICATE.search(told) or any(_DELICATE_PATH.search(path) for path in files):
        return 2
    if any(not path.endswith(_TEXT) for path in files):
        return 1
    return 0


def _acceptance_of_row(source: StepSource, row: ListRow, rest: Sequence[ListRow]) -> tuple[str, ...]:
    """Return the acceptance criteria of a step: the rows below it; in a list of criteria also the row itself."""
    below = [one_line(one.text, 400) for one in rest if one.text]
    return tuple(dict.fromkeys([one_line(row.text, 400), *below] if source.criteria or not below else below))


def _texts_of_rows(rows: Sequence[ListRow]) -> Iterator[str]:
    for row in rows:
        yield from (row.text, *row.notes, *_texts_of_rows(row.more))
