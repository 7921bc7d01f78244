"""Path patterns in gitignore form (pathspec), compiled once."""

from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pathspec


def deciding(patterns: tuple[str, ...], path: str) -> str | None:
    """Return the pattern that matches `path`, whatever the letter case, or None; `!pattern` takes back."""
    result = _compiled(patterns).check_file(as_text(path).casefold())
    return patterns[result.index] if result.include and result.index is not None else None


def as_text(path: str) -> str:
    """Return `path` with a sign for each byte that is no UTF-8: the engine behind pathspec refuses surrogates."""
    return path if path.isascii() else path.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


@lru_cache(maxsize=32)
def _compiled(patterns: tuple[str, ...]) -> "pathspec.PathSpec[Any]":
    import pathspec  # 40 ms: only who matches paths pays

    return pathspec.PathSpec.from_lines("gitignore", [pattern.casefold() for pattern in patterns])
