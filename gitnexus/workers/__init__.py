"""The queue of runs on a git remote, and the workers that execute them."""
