"""Shows phases and written files for the commands of `git nexus agenda`."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gitnexus.docgraph.model import Doc

STATUS_COLOURS = {"active": "green", "blocked": "yellow", "dropped": "bright_black"}


def phase_as_json(doc: "Doc") -> dict[str, Any]:
    """Return a phase as JSON."""
    return {
        "id": doc.id,
        "status": doc.status,
        "title": doc.title,
        "path": doc.path,
        "blob": doc.blob,
        "steps": len(doc.steps),
        "stepsDone": sum(bool(one.done) for one in doc.steps),
    }


def format_written_paths(paths: list[str]) -> str:
    """Return the list of written files; the user commits them."""
    return "\n".join(f"Wrote {path}." for path in paths) if paths else "Nothing to change."
