"""The commands about tasks of all projects and their links: `git nexus deps`, `search` and others, one file each."""
