"""Answers of a researcher, as a server gives them."""

from typing import Any


def claim(text: str, *citations: str) -> dict[str, Any]:
    """Return a claim that cites."""
    return {"text": text, "citations": list(citations), "confidence": 90}


def research(summary: str, *claims: dict[str, Any]) -> dict[str, Any]:
    """Return a bundle with some claims."""
    return {"question": "q", "summary": summary, "claims": list(claims)}
