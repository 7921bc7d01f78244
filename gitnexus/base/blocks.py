"""A marked block of ours in a text file that belongs to somebody else."""

BEGIN = "# >>> git nexus >>>"
END = "# <<< git nexus <<<"


def wrapped(body: str) -> str:
    """Return `body` between our marks."""
    return f"{BEGIN}\n{body}{END}\n"


def found(text: str) -> str | None:
    """Return our block in `text` with its marks, or None."""
    start = text.find(BEGIN)
    end = text.find(END, start)
    if start < 0 or end < 0:
        return None
    end += len(END)
    return text[start : end + 1] if text[end : end + 1] == "\n" else text[start:end]


def without(text: str) -> str:
    """Return `text` as it was before our block came in."""
    block = found(text)
    return text if block is None else text.replace(block, "", 1)


def with_block(text: str, body: str, after_first_line: bool) -> str:
    """Return `text` with our block at its top, or below its first line; an older block is replaced."""
    rest = without(text)
    if not after_first_line:
        return wrapped(body) + rest
    first, newline, tail = rest.partition("\n")
    return f"{first}\n{wrapped(body)}{tail if newline else ''}"
