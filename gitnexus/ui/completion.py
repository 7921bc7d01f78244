"""Returns the shell completion scripts that come with the package."""

from pathlib import Path

_FILES = {"bash": "git-nexus.bash", "zsh": "_git-nexus", "fish": "git-nexus.fish"}


def completion_script(shell: str) -> str:
    """Return the script for bash, zsh or fish."""
    return (Path(__file__).parent / "completions" / _FILES[shell]).read_text(encoding="utf-8")
