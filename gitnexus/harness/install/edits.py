"""One file: what we want put into its text, and taken out again. Pure: texts in, texts out."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from gitnexus.base.errors import Invalid
from gitnexus.harness.install import ours
from gitnexus.harness.install.jsonedit import Insertion, JsonText, without, without_empty
from gitnexus.harness.install.jsontext import parsed
from gitnexus.harness.install.marked import block_in, toml_value, with_block, without_block
from gitnexus.harness.install.model import Append, Block, Held, Keys, Kind, Piece, Put, Whole

_MARKED = ("markdown", "toml", "ignore")


@dataclass(slots=True)
class Edited:
    """A text with what we wanted in it. `kept` says what was left because somebody else's stands there."""

    text: str
    inserted: list[Insertion] = field(default_factory=list)
    made: list[Keys] = field(default_factory=list)
    puts: list[Keys] = field(default_factory=list)
    appends: list[Keys] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    whole: bool = False

    @property
    def has_ours(self) -> bool:
        """True if anything in it is ours."""
        return bool(self.whole or self.inserted or self.puts or self.appends)


def digest(text: str | None) -> str | None:
    """Return the digest of a text, none for a file that is not there."""
    return None if text is None else hashlib.sha256(text.encode()).hexdigest()


def applied(where: str, old: str | None, kind: Kind, pieces: Sequence[Piece]) -> Edited:
    """Return a file's text with our pieces. Raises: Invalid for a text that is not what its name says."""
    if kind == "whole":
        return _whole(where, old, pieces)
    if kind == "json":
        return _json(where, old, pieces)
    return _blocks(where, old or "", kind, pieces)


def undone(where: str, held: Held, now: str | None) -> tuple[str | None, str | None]:
    """Return a file's text without what we put in, None if it goes; and a word about what stays.

    To the byte if nobody touched the file since; else by what we put in; else by what it means. Raises: Invalid.
    """
    if now is None:
        return None, None
    if digest(now) == held.after:
        for at, text in reversed(held.inserted):
            now = now[:at] + now[at + len(text) :]
        return (None if held.before is None else now), None
    if held.kind == "whole":
        return now, f"{where} was changed since, so it stays"
    rest = _lifted(where, held, now)
    if rest is None:
        rest = stripped(where, now, held.kind, held.puts, held.appends, held.made, held.owners, every=True)
    empty = rest.strip("\ufeff \t\r\n") in ("", "{}")
    return (None if held.before is None and empty else rest), None


def stripped(
    where: str,
    text: str,
    kind: Kind,
    puts: Iterable[Keys],
    appends: Iterable[Keys],
    made: Iterable[Keys],
    harnesses: Iterable[str],
    *,
    every: bool,
) -> str:
    """Return a text without what is ours by its meaning; `every` member named is, else only those we know again."""
    if kind in _MARKED:
        return without_block(text, kind)
    if kind == "whole":
        return text
    for keys in puts:
        text = without(text, where, keys, lambda value: every or ours.is_our_server(value))
    names = list(harnesses)
    for keys in appends:
        text = without(text, where, keys, lambda value: any(ours.is_our_hook(value, name) for name in names))
    for keys in sorted(made, key=len, reverse=True):
        text = without_empty(text, where, keys)
    return text


def present(text: str | None, kind: Kind, pieces: Sequence[Piece], harness: str) -> bool:
    """True if something of ours is in a file that nobody wrote down: a hook, a block, or a file with our mark."""
    if text is None:
        return False
    if kind == "whole":
        return ours.is_untouched(text)
    if kind in _MARKED:
        return block_in(text, kind) is not None
    try:
        document = JsonText(text, "")
    except Invalid:
        return False
    lists = [node for piece in pieces if isinstance(piece, Append) and (node := document.at(piece.keys))]
    return any(ours.is_our_hook(item.value, harness) for node in lists for item in node.children)


def _lifted(where: str, held: Held, now: str) -> str | None:
    """Return a text from which each insertion was cut out as it went in, None where one is not found just once."""
    rest = now
    for _, text in reversed(held.inserted):
        if rest.count(text) != 1:
            return None
        rest = rest.replace(text, "", 1)
    try:
        if held.kind == "json":
            parsed(rest, where)
        elif held.kind == "toml":
            toml_value(rest, where)
    except Invalid:
        return None
    return rest


def _whole(where: str, old: str | None, pieces: Sequence[Piece]) -> Edited:
    text = next(piece.text for piece in pieces if isinstance(piece, Whole))
    if old is None or old == text or ours.is_untouched(old):
        return Edited(text, whole=True)
    return Edited(old, kept=[f"{where} is not ours, so it stays as it is"])


def _json(where: str, old: str | None, pieces: Sequence[Piece]) -> Edited:
    document = JsonText(old or "", where)
    edited = Edited("")
    for piece in pieces:
        if isinstance(piece, Put):
            if piece.only_new and old is not None:
                continue
            if document.at(piece.keys) is not None:
                edited.kept.append(f"{where} has {'.'.join(piece.keys)} already, so that stays as it is")
                continue
            document.put(piece.keys, piece.value)
            edited.puts.append(piece.keys)
        elif isinstance(piece, Append):
            document.append(piece.keys, piece.value)
            if piece.keys not in edited.appends:
                edited.appends.append(piece.keys)
    edited.text, edited.inserted, edited.made = document.text, document.inserted, document.made
    return edited


def _blocks(where: str, old: str, kind: Kind, pieces: Sequence[Piece]) -> Edited:
    edited = Edited(old)
    before = toml_value(old, where) if kind == "toml" else {}
    for piece in pieces:
        if not isinstance(piece, Block):
            continue
        if _at(before, piece.table) is not None:
            edited.kept.append(f"{where} has {'.'.join(piece.table)} already, so that stays as it is")
            continue
        at, text = with_block(edited.text, piece.body, kind)
        edited.text = edited.text[:at] + text + edited.text[at:]
        edited.inserted.append((at, text))
    if kind == "toml" and edited.inserted:
        try:
            toml_value(edited.text, where)
        except Invalid as exc:
            raise Invalid(
                f"{where}: our table does not go beside what is there: {exc.message}",
                hint="a table that is written in one line, { … }, cannot be added to; write it as [table]",
            ) from exc
    return edited


def _at(value: object, keys: Keys) -> object | None:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if keys else None
