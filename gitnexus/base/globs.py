"""Matches paths against patterns in gitignore syntax (pathspec). Compiled patterns are cached."""

from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pathspec


def matching_pattern(patterns: tuple[str, ...], path: str) -> str | None:
    """Return the pattern that matches `path`, ignoring case, or None; `!pattern` excludes."""
    result = _compile_patterns(patterns).check_file(path_as_text(path).casefold())
    return patterns[result.index] if result.include and result.index is not None else None


def path_as_text(path: str) -> str:
    """Return `path` with each byte that is not UTF-8 replaced: the engine behind pathspec refuses surrogates."""
    return path if path.isascii() else path.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


@lru_cache(maxsize=32)
def _compile_patterns(patterns: tuple[str, ...]) -> "pathspec.PathSpec[Any]":
    import pathspec  # 40 ms: only who matches paths pays

    return pathspec.PathSpec.from_lines("gitignore", [pattern.casefold() for pattern in patterns])
