"""Formats invalid macros as JSON."""


def wrong_macros_as_json(wrong: dict[str, str]) -> list[dict[str, str]]:
    """Return the invalid macros, by path, as JSON."""
    return [{"path": path, "why": why} for path, why in wrong.items()]
