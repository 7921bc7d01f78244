"""Answers simple commands from the precomputed fast rules (`fast_policy`), where the answer is certain. Pure.

Two answers are certain: a denial by a rule, and an allow rule for a program that only reads, or that the rule leaves
unconfined. Questions are never answered here. A property test compares it with the gate.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gitnexus.policy.fast_paths import is_unread, is_usual
from gitnexus.policy.programs import executes_by_option, only_looks, program_name, unknown_places, unwrap_command
from gitnexus.policy.word_paths import ANY_FILE, paths_from_top, paths_in_word

_MOST_WORDS = 256
_LONGEST_NAME = 60


def quick_command_answer(
    written: Mapping[str, Any], argv: Sequence[str], program: str, cwd: str, top: str
) -> tuple[str, str] | None:
    """Return allow or deny with its reason, None if the gate must decide. `program` is the file, "" if none.

    It covers the command itself; the caller checks where its words lead on the disk.
    """
    runs = written["runs"]
    if runs is None or not _is_plain(written, argv, program, cwd, top):
        return None
    lines = [*unwrap_command(argv)]
    lines += [(program_name(line[0]), *line[1:]) for line in lines] + [(program_name(program or argv[0]), *argv[1:])]
    denied = next(_matching_rules(runs["deny"], lines), None)
    if denied is not None:
        return "deny", f"{denied['program'] or argv[0]}: {denied['words']}"
    names_secrets = any(
        is_unread(written, one) or is_unread(written, f"{one}/{ANY_FILE}")
        for one in (
            *_folder_below(cwd, top),
            *(seen for path in _paths_of_words(argv) for seen in paths_from_top(cwd, top, path)),
        )
    )
    if names_secrets or next(_matching_rules(runs["ask"], lines), None) is not None:
        return None
    return _allow_by_rule(runs["allow"], argv) if program and not program.startswith(f"{top}/") else None


def _is_plain(written: Mapping[str, Any], argv: Sequence[str], program: str, cwd: str, top: str) -> bool:
    """True for a command that no built-in refusal applies to."""
    name = argv[0]
    return (
        len(argv) <= _MOST_WORDS
        and len(name) <= _LONGEST_NAME
        and is_usual(written, name.removeprefix("/"))
        and all(word.isascii() and word.isprintable() for word in argv)
        and "\n" not in program + cwd
        and top not in ("", "/")
        and executes_by_option(argv) is None
        and not any(is_unread(written, path) for path in _paths_of_words(argv))
    )


def _folder_below(cwd: str, top: str) -> Iterator[str]:
    """Yield the command's folder relative to the top, nothing for the top itself."""
    if cwd.startswith(f"{top}/"):
        yield cwd.removeprefix(f"{top}/")


def _paths_of_words(argv: Sequence[str]) -> Iterator[str]:
    for word in argv[1:]:
        yield from paths_in_word(word)


def _matching_rules(rows: Sequence[Mapping[str, Any]], lines: Sequence[Sequence[str]]) -> Iterator[Mapping[str, Any]]:
    """Yield the matching deny and ask rules: by any path to the program, and for what a wrapper would run."""
    for line in lines:
        for row in _rows_for_program(rows, program_name(line[0])):
            if _row_matches(row, line) or (
                row["program"] is not None and _row_matches(row, (row["program"], *line[1:]))
            ):
                yield row


def _allow_by_rule(rows: Sequence[Mapping[str, Any]], argv: Sequence[str]) -> tuple[str, str] | None:
    """Return allow with the first rule that spells out every word not known to be harmless.

    Nothing confines the command, so the rule must name what does more than read.
    """
    places, looks = unknown_places(argv), only_looks(argv)
    for row in _rows_for_program(rows, argv[0]):
        spelled = {at for at, is_spelled in enumerate(row["spelled"]) if is_spelled}
        if _row_matches(row, argv) and not places.keys() - spelled and (looks or row["unconfined"]):
            return "allow", f"allowed: {row['words']}"
    return None


def _rows_for_program(rows: Sequence[Mapping[str, Any]], name: str) -> list[Mapping[str, Any]]:
    return [row for row in rows if row["key"] == name] + [row for row in rows if not row["key"]]


def _row_matches(row: Mapping[str, Any], line: Sequence[str]) -> bool:
    tokens = row["tokens"]
    if len(line) < len(tokens) or (len(line) > len(tokens) and not row["open"]):
        return False
    return all(
        not token or (word == token[1] if token[0] == "word" else re.fullmatch(token[1], word) is not None)
        for token, word in zip(tokens, line, strict=False)
    )
