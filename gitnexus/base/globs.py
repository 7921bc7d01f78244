"""Path patterns in gitignore form (pathspec), compiled once."""

from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pathspec


def deciding(patterns: tuple[str, ...], path: str) -> str | None:
    """Return the pattern that matches `path`, whatever the letter case, or None; `!pattern` takes back."""
    result = _compiled(patterns).check_file(path.casefold())
    return patterns[result.index] if result.include and result.index is not None else None


@lru_cache(maxsize=32)
def _compiled(patterns: tuple[str, ...]) -> "pathspec.PathSpec[Any]":
    import pathspec  # 40 ms: only who matches paths pays

    return pathspec.PathSpec.from_lines("gitignore", [pattern.casefold() for pattern in patterns])
