"""What a project has learned: notes that agents write (`memory/`), rules its people set, context that explains it.

Owns `memory/`, `rules/` and `context/` on the state ref, and `<harness>/memory-access.jsonl` in each worktree.
Notes can be forgotten, always by a commit that says how to bring them back; rules and context never are.
"""

from gitnexus.memory.notes import Notes

__all__ = ["Notes"]
