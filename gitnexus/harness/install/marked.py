"""Adds and removes a marked block at the end of a text we do not own: Markdown, TOML or an ignore file."""

import re
import tomllib

from gitnexus.base.errors import Invalid

_MARKS = {
    "markdown": ("<!-- >>> git nexus >>> -->", "<!-- <<< git nexus <<< -->"),
    "toml": ("# >>> git nexus >>>", "# <<< git nexus <<<"),
    "ignore": ("# >>> git nexus >>>", "# <<< git nexus <<<"),
}


def place_marked_block(text: str, body: str, kind: str) -> tuple[int, str]:
    """Return where to insert a block and its text: always at the end, so that nothing of the user's moves."""
    newline = "\r\n" if "\r\n" in text else "\n"
    begin, end = _MARKS[kind]
    block = newline.join([begin, *body.rstrip("\n").split("\n"), end, ""])
    if not text.strip("\ufeff \t\r\n"):
        return len(text), block
    gap = newline if text.endswith("\n") else newline * 2
    return len(text), gap + block


def without_marked_block(text: str, kind: str) -> str:
    """Return a text without our block, wherever it was moved; a block without its end mark stays."""
    begin, end = _MARKS[kind]
    form = re.compile(
        rf"(?:(?<=\n)\r?\n)?^{re.escape(begin)}[ \t]*\r?\n.*?^{re.escape(end)}[ \t]*(?:\r?\n|\Z)", re.M | re.S
    )
    return form.sub("", text, count=1)


def find_marked_block(text: str, kind: str) -> str | None:
    """Return the text between our marks, None if there are none."""
    begin, end = _MARKS[kind]
    found = re.search(rf"^{re.escape(begin)}[ \t]*\r?\n(.*?)^{re.escape(end)}", text, re.M | re.S)
    return found[1].replace("\r\n", "\n") if found else None


def parse_toml_text(text: str, where: str) -> dict[str, object]:
    """Return the value of a TOML text. Raises: Invalid, with line and column."""
    try:
        # A mark at the start of the file is no part of TOML for this reader, and is for the programs.
        return tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as exc:
        place = re.search(r"at line (\d+), column (\d+)", str(exc))
        lines = text.split("\n")  # without a place it is the end that comes too early
        line, column = (int(place[1]), int(place[2])) if place else (len(lines), len(lines[-1]) + 1)
        why = re.sub(r"\s*\(at .*\)$", "", str(exc))
        raise Invalid(
            f"{where} is not TOML: line {line}, column {column}: {why[0].lower()}{why[1:]}",
            hint="nothing was changed; correct the file, then try again",
            context={"file": where, "line": line, "column": column},
        ) from exc
