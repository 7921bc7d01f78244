"""Finds, adds and removes a block between marker lines in the text of a file that git nexus does not own. Pure."""

BEGIN = "# >>> git nexus >>>"
END = "# <<< git nexus <<<"


def wrap_block(body: str) -> str:
    """Return `body` between our markers."""
    return f"{BEGIN}\n{body}{END}\n"


def find_block(text: str) -> str | None:
    """Return our block in `text` with its markers, or None."""
    start = text.find(BEGIN)
    end = text.find(END, start)
    if start < 0 or end < 0:
        return None
    end += len(END)
    return text[start : end + 1] if text[end : end + 1] == "\n" else text[start:end]


def without_block(text: str) -> str:
    """Return `text` as it was before our block was added."""
    block = find_block(text)
    return text if block is None else text.replace(block, "", 1)


def with_block(text: str, body: str, after_first_line: bool) -> str:
    """Return `text` with our block at its top, or below its first line; an older block is replaced."""
    rest = without_block(text)
    if not after_first_line:
        return wrap_block(body) + rest
    first, newline, tail = rest.partition("\n")
    return f"{first}\n{wrap_block(body)}{tail if newline else ''}"
