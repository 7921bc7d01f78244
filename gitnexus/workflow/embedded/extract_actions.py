"""Extracts the patches and commands that a text contains, in their order. Pure."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gitnexus.base.errors import Invalid
from gitnexus.gateway.dialects import is_exact_diff, parse_sections
from gitnexus.git.patchtext import why_patch_refused
from gitnexus.prompts.model import Argv, PlanStep, StepCall
from gitnexus.workflow.embedded.argv import DIFFS, SHELLS, commands_in_blocks, commands_in_sentence
from gitnexus.workflow.embedded.outline import CodeBlock, ListRow

# Where a step keeps its patches: inputs of the call that carries it out, `diff`, `diff2` and so on.
DIFF = re.compile(r"diff(\d{0,3})")
_TARGET = re.compile(r"^(?:\+\+\+ (\"?)b/|--- (\"?)a/|rename (?:to|from) (\"?))([^\t\n]+)", re.MULTILINE)
_ESCAPED = re.compile(rb"\\([0-7]{3}|.)")
_ESCAPES = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}
_SHAPE = re.compile(r"^(?:diff --git |--- .*\n\+\+\+ )", re.MULTILINE)
# A hunk as git writes it, or what git alone reads: binary parts and new modes.
_GITS_OWN = re.compile(r"@@ -|^(?:rename|new file|deleted file|old mode|GIT binary)", re.MULTILINE)
# The other forms in which models write a change; in a search/replace block, the line above names the file.
_OTHER_FORM = re.compile(r"^(?:\*\*\* Begin Patch[ \t]*$|(?:[^\s<].*\n)?<{5,9} ?(?:SEARCH|ORIGINAL)\b)", re.MULTILINE)
EXEC = "ExecStep"


class FoundWork(NamedTuple):
    """What can be done as it is, and why something that looks like it cannot."""

    diffs: tuple[str, ...] = ()
    commands: tuple[Argv, ...] = ()
    refused: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.diffs or self.commands)


def is_work(code: CodeBlock) -> bool:
    """Return True for a code block that is meant to be applied or run."""
    return code.language in SHELLS or _is_patch(code)


def _is_patch(code: CodeBlock) -> bool:
    if code.language in DIFFS or _OTHER_FORM.search(code.text):
        return True
    return not code.language and _SHAPE.search(code.text) is not None


def bare_patch(text: str) -> str:
    """Return the patch in a text without code blocks, from where it begins; empty if there is none."""
    begun = None if "```" in text or "~~~" in text else _SHAPE.search(text) or _OTHER_FORM.search(text)
    return f"{text[begun.start() :].rstrip()}\n" if begun else ""


def work_in_stages(blocks: Sequence[CodeBlock], said: str = "") -> list[FoundWork]:
    """Return the work of some blocks in stages: patches, then commands; a patch after a command starts a new stage.

    Commands in the sentence above the blocks belong to the last stage, which they verify.
    """
    found: list[list[CodeBlock]] = [[]]
    for block in filter(is_work, blocks):
        if _is_patch(block) and not all(_is_patch(one) for one in found[-1]):
            found.append([])
        found[-1].append(block)
    works = [_work_of_blocks(group) for group in found]
    told = commands_in_sentence(said)
    new = tuple(one for one in told.commands if one not in works[-1].commands)
    works[-1] = works[-1]._replace(commands=(*works[-1].commands, *new), refused=(*works[-1].refused, *told.refused))
    return [one for one in works if one or one.refused]


def blocks_below(row: ListRow) -> Iterator[CodeBlock]:
    """Yield the code blocks of a row and of all rows below it."""
    yield from row.code
    for one in row.more:
        yield from blocks_below(one)


def changed_paths(diffs: Sequence[str]) -> list[str]:
    """Return the files that diffs name. Only a hint for a plan: what a patch changes is decided by its tree."""
    found: list[str] = []
    for diff in diffs:
        named = [_unquote_git_path(name) if any(quotes) else name.strip() for *quotes, name in _TARGET.findall(diff)]
        found += named or _paths_of_sections(diff)
    return list(dict.fromkeys(found))


def _paths_of_sections(diff: str) -> list[str]:
    try:
        return [path for section in parse_sections(diff) for path in (section.source, section.target) if path]
    except Invalid:
        return []


def _unquote_git_path(quoted: str) -> str:
    """Return the real name of a path that git quoted because of special characters."""
    raw = quoted.strip().removesuffix('"').encode("utf-8", "surrogatepass")
    plain = _ESCAPED.sub(
        lambda it: bytes([int(it[1], 8) & 255]) if len(it[1]) == 3 else _ESCAPES.get(it[1], it[1]), raw
    )
    return plain.decode("utf-8", "replace")


def call_with_diffs(diffs: Sequence[str]) -> StepCall:
    """Return the call that carries out a step, with its patches."""
    return StepCall(fn=EXEC, inputs={f"diff{at if at > 1 else ''}": diff for at, diff in enumerate(diffs, 1)})


def diffs_of_step(step: PlanStep) -> list[str]:
    """Return the patches of a step in order."""
    given = step.baml.inputs if step.baml else {}
    named = sorted((int(found[1] or 1), key) for key in given if (found := DIFF.fullmatch(key)))
    return [given[key] for _, key in named]


def why_no_patch(diff: str) -> str:
    """Return why a text is not tried as a patch, empty if it is."""
    if is_exact_diff(diff) and _GITS_OWN.search(diff) and not why_patch_refused(diff.encode("utf-8", "surrogatepass")):
        return ""
    try:
        sections = parse_sections(diff)
    except Invalid as exc:
        return exc.message
    says_something = any(one.hunks or one.content is not None or one.source != one.target for one in sections)
    return "" if says_something else "it has no hunk"


def _work_of_blocks(blocks: Sequence[CodeBlock]) -> FoundWork:
    diffs = [one.text if one.text.endswith("\n") else f"{one.text}\n" for one in blocks if _is_patch(one)]
    wrong = [f"a patch cannot be used: {why}" for diff in diffs if (why := why_no_patch(diff))]
    run = commands_in_blocks([one for one in blocks if not _is_patch(one)])
    good = tuple(diff for diff in diffs if not why_no_patch(diff))
    return FoundWork(good, run.commands, (*wrong, *run.refused))
