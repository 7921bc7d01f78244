"""The commands about tasks of all projects and what ties them: `git nexus deps`, `search` and so on, a file each."""
