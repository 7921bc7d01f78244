"""Reads the prompt files of a project, and prints a note for each that does not count."""

from typing import TYPE_CHECKING, Any

from gitnexus.prompts.in_project import read_prompt_files, unsigned_prompt_keys
from gitnexus.ui.output import print_note

if TYPE_CHECKING:
    from gitnexus.app import Nexus


def read_words(nexus: "Nexus") -> Any:
    """Return the prompt files of this project; print a note for each that does not count."""
    words = read_prompt_files(nexus.state)
    for name, why in words.ignored.items():
        print_note(f".nexus/baml/{name} does not count: {why}")
    for key in unsigned_prompt_keys(nexus.state):
        print_note(f"{key} of the project's settings does not count before git nexus policy trust")
    return words
