"""A run's life: its id, its definition and record, its worktree, and what becomes of its branch."""
