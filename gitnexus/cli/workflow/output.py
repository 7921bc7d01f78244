"""Macros that are wrong, as JSON."""


def wrong_macros_as_json(wrong: dict[str, str]) -> list[dict[str, str]]:
    """Return the macros that are wrong, by path, as JSON."""
    return [{"path": path, "why": why} for path, why in wrong.items()]
