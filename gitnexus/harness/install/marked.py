"""A block of ours between marks, at the end of a text that belongs to somebody else: Markdown, TOML, ignore files."""

import re
import tomllib

from gitnexus.base.errors import Invalid

_MARKS = {
    "markdown": ("<!-- >>> git nexus >>> -->", "<!-- <<< git nexus <<< -->"),
    "toml": ("# >>> git nexus >>>", "# <<< git nexus <<<"),
    "ignore": ("# >>> git nexus >>>", "# <<< git nexus <<<"),
}


def with_block(text: str, body: str, kind: str) -> tuple[int, str]:
    """Return where a block goes into a text, and what: always at the end, so that nothing of theirs moves."""
    newline = "\r\n" if "\r\n" in text else "\n"
    begin, end = _MARKS[kind]
    block = newline.join([begin, *body.rstrip("\n").split("\n"), end, ""])
    if not text.strip("\ufeff \t\r\n"):
        return len(text), block
    gap = newline if text.endswith("\n") else newline * 2
    return len(text), gap + block


def without_block(text: str, kind: str) -> str:
    """Return a text without our block, wherever it was moved to; a block whose end is lost stays."""
    begin, end = _MARKS[kind]
    form = re.compile(
        rf"(?:(?<=\n)\r?\n)?^{re.escape(begin)}[ \t]*\r?\n.*?^{re.escape(end)}[ \t]*(?:\r?\n|\Z)", re.M | re.S
    )
    return form.sub("", text, count=1)


def block_in(text: str, kind: str) -> str | None:
    """Return what stands between our marks, None where there are none."""
    begin, end = _MARKS[kind]
    found = re.search(rf"^{re.escape(begin)}[ \t]*\r?\n(.*?)^{re.escape(end)}", text, re.M | re.S)
    return found[1].replace("\r\n", "\n") if found else None


def toml_value(text: str, where: str) -> dict[str, object]:
    """Return what a TOML text says. Raises: Invalid, by line and column."""
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
            hint="nothing was changed; mend the file, then try again",
            context={"file": where, "line": line, "column": column},
        ) from exc
