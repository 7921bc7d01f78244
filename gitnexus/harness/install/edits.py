"""Inserts our pieces into the text of one file and removes them again. Pure: texts in, texts out."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from gitnexus.base.errors import Invalid
from gitnexus.harness.install import signature
from gitnexus.harness.install.jsonedit import Insertion, JsonText, without_empty_container, without_our_value
from gitnexus.harness.install.jsontext import parse_json_text
from gitnexus.harness.install.marked import find_marked_block, parse_toml_text, place_marked_block, without_marked_block
from gitnexus.harness.install.model import Append, Block, HeldFile, Keys, Kind, Piece, Put, Whole

_MARKED = ("markdown", "toml", "ignore")


@dataclass(slots=True)
class EditedText:
    """A text with our pieces in it. `kept` lists what was not added because a user's value is in its place."""

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


def text_digest(text: str | None) -> str | None:
    """Return the digest of a text, empty for a missing file."""
    return None if text is None else hashlib.sha256(text.encode()).hexdigest()


def apply_pieces(where: str, old: str | None, kind: Kind, pieces: Sequence[Piece]) -> EditedText:
    """Return a file's text with our pieces added. Raises: Invalid for a text that its file type does not allow."""
    if kind == "whole":
        return _replace_whole_text(where, old, pieces)
    if kind == "json":
        return _edit_json_text(where, old, pieces)
    return _insert_marked_blocks(where, old or "", kind, pieces)


def undo_insertions(where: str, held: HeldFile, now: str | None) -> tuple[str | None, str | None]:
    """Return a file's text without our pieces (None: delete the file), and a note about what stays.

    Exact to the byte if the file is unchanged since; else by the text of our pieces; else by their meaning. Raises:
    Invalid.
    """
    if now is None:
        return None, None
    if text_digest(now) == held.after:
        for at, text in reversed(held.inserted):
            now = now[:at] + now[at + len(text) :]
        return (None if held.before is None else now), None
    if held.kind == "whole":
        return now, f"{where} was changed since, so it stays"
    rest = _cut_insertions(where, held, now)
    if rest is None:
        rest = strip_our_parts(where, now, held.kind, held.puts, held.appends, held.made, held.owners, every=True)
    empty = rest.strip("\ufeff \t\r\n") in ("", "{}")
    return (None if held.before is None and empty else rest), None


def strip_our_parts(
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
    """Return a text without our parts, found by meaning; with `every`, all named members, else only recognised ones."""
    if kind in _MARKED:
        return without_marked_block(text, kind)
    if kind == "whole":
        return text
    for keys in puts:
        text = without_our_value(text, where, keys, lambda value: every or signature.is_our_server(value))
    names = list(harnesses)
    for keys in appends:
        text = without_our_value(
            text, where, keys, lambda value: any(signature.is_our_hook(value, name) for name in names)
        )
    for keys in sorted(made, key=len, reverse=True):
        text = without_empty_container(text, where, keys)
    return text


def has_our_parts(text: str | None, kind: Kind, pieces: Sequence[Piece], harness: str) -> bool:
    """Return True if an unrecorded file contains something of ours: a hook, a block, or our signature."""
    if text is None:
        return False
    if kind == "whole":
        return signature.is_unchanged_own_file(text)
    if kind in _MARKED:
        return find_marked_block(text, kind) is not None
    try:
        document = JsonText(text, "")
    except Invalid:
        return False
    lists = [node for piece in pieces if isinstance(piece, Append) and (node := document.at(piece.keys))]
    return any(signature.is_our_hook(item.value, harness) for node in lists for item in node.children)


def _cut_insertions(where: str, held: HeldFile, now: str) -> str | None:
    """Return a text with each insertion cut out; None if one of them is not found exactly once."""
    rest = now
    for _, text in reversed(held.inserted):
        if rest.count(text) != 1:
            return None
        rest = rest.replace(text, "", 1)
    try:
        if held.kind == "json":
            parse_json_text(rest, where)
        elif held.kind == "toml":
            parse_toml_text(rest, where)
    except Invalid:
        return None
    return rest


def _replace_whole_text(where: str, old: str | None, pieces: Sequence[Piece]) -> EditedText:
    text = next(piece.text for piece in pieces if isinstance(piece, Whole))
    if old is None or old == text or signature.is_unchanged_own_file(old):
        return EditedText(text, whole=True)
    return EditedText(old, kept=[f"{where} is not ours, so it stays as it is"])


def _edit_json_text(where: str, old: str | None, pieces: Sequence[Piece]) -> EditedText:
    document = JsonText(old or "", where)
    edited = EditedText("")
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


def _insert_marked_blocks(where: str, old: str, kind: Kind, pieces: Sequence[Piece]) -> EditedText:
    edited = EditedText(old)
    before = parse_toml_text(old, where) if kind == "toml" else {}
    for piece in pieces:
        if not isinstance(piece, Block):
            continue
        if _value_at_keys(before, piece.table) is not None:
            edited.kept.append(f"{where} has {'.'.join(piece.table)} already, so that stays as it is")
            continue
        at, text = place_marked_block(edited.text, piece.body, kind)
        edited.text = edited.text[:at] + text + edited.text[at:]
        edited.inserted.append((at, text))
    if kind == "toml" and edited.inserted:
        try:
            parse_toml_text(edited.text, where)
        except Invalid as exc:
            raise Invalid(
                f"{where}: our table does not go beside what is there: {exc.message}",
                hint="a table that is written in one line, { … }, cannot be added to; write it as [table]",
            ) from exc
    return edited


def _value_at_keys(value: object, keys: Keys) -> object | None:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if keys else None
