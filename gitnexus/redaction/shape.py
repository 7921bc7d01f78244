"""Compiles the notation of the rules: `gh<p|o>_{w36-255}` becomes a pattern, its first words and an example."""

import re
from functools import cache
from itertools import cycle, islice, product

# One letter for each alphabet that tokens are made of; the second value is what examples are spun from, so that no
# file of ours holds anything that a scanner would take for a leak.
ALPHABETS = {
    "w": ("A-Za-z0-9", "a1B2c3D4e5F6g7H8i9J0kLmN"),
    "l": ("a-z0-9", "a1b2c3d4e5f6g7h8i9j0kmnp"),
    "U": ("A-Z0-9", "A1B2C3D4E5F6G7H8I9J0KMNP"),
    "A": ("A-Z2-7", "QXZ7ABC2DEF3GHI4"),
    "d": ("0-9", "1234567890"),
    "x": ("0-9a-f", "0a1b2c3d4e5f6789"),
    "X": ("0-9A-Fa-f", "0A1b2C3d4E5f6789"),
    "b": ("A-Za-z0-9_-", "a1B2c3D4e5F6g7H8_9J0k-mN"),
    "t": ("A-Za-z0-9_.~-", "a1B2c3D4e5F6g7H8.9J0k_mN"),
    "s": ("A-Za-z0-9+/", "a1B2c3D4e5F6g7H8/9J0k+mN"),
    "S": ("A-Za-z0-9+/=_-", "a1B2c3D4e5F6g7H8i9J0kLmN"),
}
_UUID = "{x8}-{x4}-{x4}-{x4}-{x12}"


@cache
def _part_regex() -> re.Pattern[str]:
    # Half a millisecond that a git hook waits for, and needs only where a text holds the word of a rule.
    return re.compile(r"\{(?P<letter>[a-zA-Z])(?P<low>\d+)(?:-(?P<high>\d+)|(?P<more>\+))?\}|<(?P<either>[^>]+)>")


def pattern_of_shape(shape: str) -> str:
    """Return the pattern of a shape, which `re` and `re2` interpret alike."""
    shape = shape.replace("{uuid}", _UUID)
    made, at = [], 0
    for part in _part_regex().finditer(shape):
        made += [re.escape(shape[at : part.start()]), _part_pattern(part)]
        at = part.end()
    return "".join([*made, re.escape(shape[at:])])


def beginning_of_shape(shape: str, enough: int = 10) -> str:
    """Return a pattern for the first letters of the shape: long enough to be rare, short enough to be fast."""
    shape = shape.replace("{uuid}", _UUID)
    made, at, length = "", 0, 0
    for part in _part_regex().finditer(shape):
        made += re.escape(shape[at : part.start()])
        at = part.end()
        if part["letter"]:
            count = min(int(part["low"]), enough - length)
            length += count
            made += f"[{ALPHABETS[part['letter']][0]}]{{{count}}}"
            # What follows a run of unknown length would need all of it.
            if length >= enough or part["high"] or part["more"]:
                return made
        else:
            made += _part_pattern(part)
    return made + re.escape(shape[at:])


def end_of_shape(shape: str) -> str:
    """Return a pattern for the end of the shape: no character that could continue it."""
    letters = [part["letter"] for part in _part_regex().finditer(shape) if part["letter"]]
    last = ALPHABETS[letters[-1]][0] if letters and shape.endswith("}") and not shape.endswith("{uuid}") else ""
    return f"(?:[^A-Za-z0-9{last.replace('A-Za-z0-9', '')}]|$)"


def example_of_shape(shape: str) -> str:
    """Return an invented text of this shape."""
    return _part_regex().sub(_part_example, shape.replace("{uuid}", _UUID))


def words_of_shape(shape: str) -> tuple[str, ...]:
    """Return the lower-case words of which every text of this shape begins with one."""
    head = shape.split("{", maxsplit=1)[0]
    if "<" not in head:
        return (head.lower(),)
    pieces = re.split(r"<([^>]+)>", head)
    choices = [piece.split("|") if number % 2 else [piece] for number, piece in enumerate(pieces)]
    return tuple(dict.fromkeys("".join(words).lower() for words in product(*choices)))


def _part_pattern(part: re.Match[str]) -> str:
    if part["either"]:
        return "(?:" + "|".join(re.escape(word) for word in part["either"].split("|")) + ")"
    count = f"{part['low']},{part['high'] or ''}" if part["high"] or part["more"] else part["low"]
    return f"[{ALPHABETS[part['letter']][0]}]{{{count}}}"


def _part_example(part: re.Match[str]) -> str:
    if part["either"]:
        return str(part["either"].split("|")[0])
    return "".join(islice(cycle(ALPHABETS[part["letter"]][1]), int(part["low"])))
