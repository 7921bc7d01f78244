"""JSON Schemas of what workflows are made of, as files; tests compare them with the records."""

from importlib.resources import files

WORKFLOW = "router.workflow.schema.json"


def text_of(name: str) -> str:
    """Return a schema as it is written."""
    return files(__name__).joinpath(name).read_text(encoding="utf-8")
