"""Returns the files that this version keeps on the state ref for people and programs: schemas, built-in workflows.

They are data of the package, written from the models and macros by `make docs`; `git nexus init` puts them on the ref.
Nothing of ours reads them there, so whoever changes one changes nothing but that file.
"""

import json
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gitnexus.workflow.macros import Macro

SCHEMAS, BUILTINS, CUSTOM = "schemas", "commands/builtins", "commands/custom"
# The folder of this package with the data, by the folder of the state.
_FOLDERS = {SCHEMAS: ("schemas", ".schema.json"), BUILTINS: ("builtins", ".md")}
_HEAD = """# A built-in workflow of git nexus, written by git nexus init. For one of your own, copy this file to
# .nexus/commands/custom/ under another name, and change it there."""


def generated_state_files() -> dict[str, bytes]:
    """Return the files by their paths on the state ref."""
    found: dict[str, bytes] = {}
    for folder, (name, ending) in _FOLDERS.items():
        rows = [one for one in files("gitnexus.workflow").joinpath(name).iterdir() if one.name.endswith(ending)]
        found |= {f"{folder}/{one.name}": one.read_bytes() for one in sorted(rows, key=lambda one: one.name)}
    return found


def is_generated_file(path: str) -> bool:
    """Return True for a path on the state ref that belongs to these files."""
    return any(path.startswith(f"{folder}/") for folder in _FOLDERS)


def render_macro(macro: "Macro") -> str:
    """Return a built-in workflow as the file of a macro that does the same."""
    lines = ["---", _HEAD, "version: 1", f"about: {json.dumps(macro.about, ensure_ascii=False)}", "nodes:"]
    for part in macro.parts:
        fields = {"id": part.id, "type": part.type, "agent": part.adapter, "prompt": part.prompt}
        told = ", ".join(
            f"{key}: {value if key in ('id', 'type') else json.dumps(value, ensure_ascii=False)}"
            for key, value in fields.items()
            if value
        )
        lines.append(f"  - {{{told}}}")
    return "\n".join([*lines, "---", ""])
