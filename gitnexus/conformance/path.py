"""The JSONPath subset of fixtures: `$.a.b`, `$[0]`, `$.a[-1].b` and `.length`, chained; nothing else."""

import re
from dataclasses import dataclass
from typing import Any, Final

from gitnexus.base.errors import Invalid

_SEGMENT = re.compile(r"\.(?P<name>[A-Za-z_][A-Za-z0-9_-]*)|\[(?P<index>-?(?:0|[1-9][0-9]*))\]")


class MissingValue:
    """The result of a path that leads to nothing, as opposed to null."""

    def __repr__(self) -> str:
        return "nothing"


MISSING: Final = MissingValue()


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A path that was understood."""

    text: str
    segments: tuple[str | int, ...]

    def find(self, value: Any) -> Any:
        """Return the value at the path, MISSING if there is none."""
        for segment in self.segments:
            value = _follow_segment(value, segment)
            if value is MISSING:
                return MISSING
        return value

    @property
    def field(self) -> str:
        """The path as coverage names it: `tasks[].id`, whatever the index; a length is about the list itself."""
        words = "".join("[]" if isinstance(segment, int) else f".{segment}" for segment in self.segments)
        return words.removesuffix(".length").lstrip(".")


def parse_json_path(text: str) -> JsonPath:
    """Return the path in `text`. Raises: Invalid for all that is not in the subset."""
    if not text.startswith("$"):
        raise Invalid(f"the path {text!r} does not begin with $")
    segments: list[str | int] = []
    at = 1
    while at < len(text):
        found = _SEGMENT.match(text, at)
        if found is None:
            raise Invalid(f"the path {text!r} has a part that is not understood: {text[at:]!r}")
        index = found["index"]
        segments.append(found["name"] if index is None else int(index))
        at = found.end()
    return JsonPath(text, tuple(segments))


def _follow_segment(value: Any, segment: str | int) -> Any:
    if isinstance(segment, int):
        inside = isinstance(value, list) and -len(value) <= segment < len(value)
        return value[segment] if inside else MISSING
    if isinstance(value, dict):
        return value.get(segment, MISSING)
    return len(value) if segment == "length" and isinstance(value, list) else MISSING
