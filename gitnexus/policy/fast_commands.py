"""The shortcut for plain commands: the rules of a law about them written out, and the answers that follow for sure.

Two are sure: a no of a rule, and a yes of a rule to a program of the tables that only looks, or to one that the rule
leaves unconfined. What would be a question is never answered here. As `plain` it repeats what the gate says, and a
property test compares the two.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gitnexus.policy.plain import is_unread, is_usual
from gitnexus.policy.programs import executes_by_option, name_of, only_looks, unknown_places, unwrapped
from gitnexus.policy.words import ANY_FILE, paths_in, seen_from

if TYPE_CHECKING:
    from gitnexus.policy.law import Law
    from gitnexus.policy.patterns import Token
    from gitnexus.policy.rules import Rule

_MOST_WORDS = 256
_LONGEST_NAME = 60


def runs_of(law: "Law") -> dict[str, Any]:
    """Return the rules about commands by verdict, those of a role left out where it would be a yes."""
    return {
        verdict: [
            _row(rule)
            for rule in law.rules
            if rule.verdict == verdict
            and rule.subject == "run"
            and rule.kind in ("", "command")
            and not (verdict == "allow" and rule.role)
        ]
        for verdict in ("deny", "ask", "allow")
    }


def _row(rule: "Rule") -> dict[str, Any]:
    from gitnexus.policy.patterns import Argv

    pattern = Argv(rule.patterns, rule.id)
    words = rule.line if rule.verdict == "allow" else f"{rule.line} (rule {rule.id})"
    return {
        # What allows must be called by the very word; what denies is found by any path to the program. Empty: by all.
        "key": (pattern.program or "") if rule.verdict == "allow" else name_of(pattern.program or ""),
        "program": pattern.program,
        "tokens": [_place(token) for token in pattern.tokens],
        "spelled": [token.is_spelled for token in pattern.tokens],
        "open": pattern.open,
        "unconfined": rule.unconfined,
        "words": words,
    }


def _place(token: "Token") -> list[str]:
    """Return one place of a pattern: a word, an expression, or anything."""
    if token.kind == "literal":
        return ["word", token.text]
    return ["like", token.regex.pattern] if token.regex is not None else []


def answer(written: Mapping[str, Any], argv: Sequence[str], program: str, cwd: str, top: str) -> tuple[str, str] | None:
    """Return allow or deny with its reason, None if that is for the gate to say. `program` is the file, empty if none.

    It is the answer to the command itself: where its words lead on the disk, the caller looks.
    """
    runs = written["runs"]
    if runs is None or not _is_plain(written, argv, program, cwd, top):
        return None
    lines = [*unwrapped(argv)]
    lines += [(name_of(line[0]), *line[1:]) for line in lines] + [(name_of(program or argv[0]), *argv[1:])]
    denied = next(_speaking(runs["deny"], lines), None)
    if denied is not None:
        return "deny", f"{argv[0]}: {denied['words']}"
    names_secrets = any(
        is_unread(written, one) or is_unread(written, f"{one}/{ANY_FILE}")
        for one in (*_folder_below(cwd, top), *(seen for path in _named(argv) for seen in seen_from(cwd, top, path)))
    )
    if names_secrets or next(_speaking(runs["ask"], lines), None) is not None:
        return None
    return _allowed(runs["allow"], argv) if program and not program.startswith(f"{top}/") else None


def _is_plain(written: Mapping[str, Any], argv: Sequence[str], program: str, cwd: str, top: str) -> bool:
    """True for a command that is refused for nothing before the rules are asked, whoever it is."""
    name = argv[0]
    return (
        len(argv) <= _MOST_WORDS
        and len(name) <= _LONGEST_NAME
        and is_usual(written, name.removeprefix("/"))
        and all(word.isascii() and word.isprintable() for word in argv)
        and "\n" not in program + cwd
        and top not in ("", "/")
        and executes_by_option(argv) is None
        and not any(is_unread(written, path) for path in _named(argv))
    )


def _folder_below(cwd: str, top: str) -> Iterator[str]:
    """Yield the folder of a command as seen from the top, nothing for the top itself."""
    if cwd.startswith(f"{top}/"):
        yield cwd.removeprefix(f"{top}/")


def _named(argv: Sequence[str]) -> Iterator[str]:
    for word in argv[1:]:
        yield from paths_in(word)


def _speaking(rows: Sequence[Mapping[str, Any]], lines: Sequence[Sequence[str]]) -> Iterator[Mapping[str, Any]]:
    """Yield the rules that deny or ask: by any path to the program, and for what a wrapper would run."""
    for line in lines:
        for row in _keyed(rows, name_of(line[0])):
            if _fits(row, line) or (row["program"] is not None and _fits(row, (row["program"], *line[1:]))):
                yield row


def _allowed(rows: Sequence[Mapping[str, Any]], argv: Sequence[str]) -> tuple[str, str] | None:
    """Return the yes of the first rule that spells out whatever is not known to be harmless.

    Nothing confines the command, so the rule has to say so of one that does more than look.
    """
    places, looks = unknown_places(argv), only_looks(argv)
    for row in _keyed(rows, argv[0]):
        spelled = {at for at, is_spelled in enumerate(row["spelled"]) if is_spelled}
        if _fits(row, argv) and not places.keys() - spelled and (looks or row["unconfined"]):
            return "allow", f"allowed: {row['words']}"
    return None


def _keyed(rows: Sequence[Mapping[str, Any]], name: str) -> list[Mapping[str, Any]]:
    return [row for row in rows if row["key"] == name] + [row for row in rows if not row["key"]]


def _fits(row: Mapping[str, Any], line: Sequence[str]) -> bool:
    tokens = row["tokens"]
    if len(line) < len(tokens) or (len(line) > len(tokens) and not row["open"]):
        return False
    return all(
        not token or (word == token[1] if token[0] == "word" else re.fullmatch(token[1], word) is not None)
        for token, word in zip(tokens, line, strict=False)
    )
