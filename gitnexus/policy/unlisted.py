"""Finds what a program may run by its words, and copies of a program that a rule denies. Pure.

Nobody knows what a program in no table does: any of its words may be a command that it runs, as with `env` or `watch`.
Of package managers, network programs and the like, an option's value or a part of a word may be one (`EXEC:id`). That
is a question, not a denial, since the same words may be names or messages.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from gitnexus.base.text import one_line
from gitnexus.policy.compiled_rules import Rules
from gitnexus.policy.model import CommandRequest
from gitnexus.policy.parts import CommandPart, parts_of_command
from gitnexus.policy.programs import is_unlisted, may_run_by_words, program_name, programs_copied
from gitnexus.policy.programtable import PROGRAMS
from gitnexus.policy.rules import PolicyRule
from gitnexus.policy.texts import SHELL_MARKS

# More words than this that name a denied program, or that may be scripts, are not examined one by one.
_MOST_TRIES = 20
# What stands before the name of a program within a word: `EXEC:id`, `--under=id`, `!id`, `run("id")`.
_MARKS = re.compile(r"[=:!,;'\"()]+")
# Options whose value is a text for people or a pattern.
_SAYS = frozenset(
    "-m --message --title --body --subject --description --reason --comment --notes --name --label --format --template "
    "--grep --filter -k -t -F --author --date --query --jq --sql".split()
)


def why_may_run_denied(request: CommandRequest, deny: Rules, parts: Sequence[CommandPart] = ()) -> str:
    """Return what denied program a command may run or copy by its words, and by which rule; empty if none.

    `parts` are the command's parts, if they differ from its own words. Raises: TooMuch.
    """
    if not deny.has_run_rules:
        return ""
    for part in parts or parts_of_command(request.argv, request.cwd):
        if not part.argv or not part.argv[0]:
            continue
        if is_unlisted(part.argv):
            found = _named_in(request, deny, part.argv, words=True) or _named_in_texts(request, deny, part)
        elif may_run_by_words(part.argv):
            found = _named_in(request, deny, part.argv, words=False) or _copied(request, deny, part.argv)
        else:
            found = _copied(request, deny, part.argv)
        if found is not None:
            program, rule = found
            shown = one_line(" ".join(part.argv), 80)
            return f"`{shown}` may run or copy {one_line(program, 80)}, which {rule.id} denies ({rule.line})"
    return ""


def may_be_script(argv: tuple[str, ...], cwd: str) -> bool:
    """True if a program in no table is given a text that runs commands we know. Raises: TooMuch."""
    for text in _texts(argv):
        for part in parts_of_command(("sh", "-c", text), cwd)[1:]:
            if len(part.argv) > 1 and (part.argv[0] == "cd" or program_name(part.argv[0]) in PROGRAMS):
                return True
    return False


def _named_in(
    request: CommandRequest, deny: Rules, argv: tuple[str, ...], *, words: bool
) -> tuple[str, PolicyRule] | None:
    tries = 0
    for at, value in _names_in(argv, words=words):
        if (rule := deny.rule_about_program(request, value)) is None:
            continue
        tries += 1
        if tries > _MOST_TRIES:
            return value, rule
        for _, rule in deny.runs_for(request, (value, *argv[at + 1 :])):
            return value, rule
    return None


@lru_cache(maxsize=4096)
def _names_in(argv: tuple[str, ...], *, words: bool) -> tuple[tuple[int, str], ...]:
    """Return what may be a program in a command line, each with its place: with `words` whole words, else pieces."""
    find_names = _words_and_pieces if words else _pieces
    return tuple((at, name) for at, word in enumerate(argv) if at for name in find_names(word) if name)


def _named_in_texts(request: CommandRequest, deny: Rules, part: CommandPart) -> tuple[str, PolicyRule] | None:
    for text in _texts(part.argv):
        for inner in parts_of_command(("sh", "-c", text), part.folders[0])[1:]:
            for _, rule in deny.runs_for(request, inner.argv) if inner.argv and inner.argv[0] else ():
                return inner.argv[0], rule
    return None


def _copied(request: CommandRequest, deny: Rules, argv: tuple[str, ...]) -> tuple[str, PolicyRule] | None:
    for path in programs_copied(argv):
        if (rule := deny.rule_about_program(request, path)) is not None:
            return path, rule
    return None


def _words_and_pieces(word: str) -> Sequence[str]:
    """Return a word, or the value of an option, and the pieces of it that may be programs."""
    return (_value(word), *_pieces(word))


def _pieces(word: str) -> Sequence[str]:
    """Return what may be a program within a word: what is joined to an option, or stands behind a mark.

    Only up to the first blank: what follows is the words of a command, or of a sentence.
    """
    if not word or word[0].isspace() or "://" in word:
        return ()
    begin = word.split(maxsplit=1)[0]
    joined = [begin[2:]] if begin.startswith("-") and not begin.startswith("--") else []
    return (*joined, *(piece for piece in _MARKS.split(begin)[1:] if piece))


def _value(word: str) -> str:
    """Return a word, or the value of an option."""
    return word.partition("=")[2] if word.startswith("-") else word


def _texts(argv: Sequence[str]) -> Iterator[str]:
    """Yield the first words that may be scripts for a shell."""
    left = _MOST_TRIES
    for before, word in pairwise(argv):
        option = word.partition("=")[0] if word.startswith("-") else before
        value = _value(word)
        if SHELL_MARKS.isdisjoint(value) or option in _SAYS:
            continue
        if left == 0:
            return
        left -= 1
        yield value
