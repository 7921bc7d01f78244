"""Exchanges state, run logs and branches with other clones through a git remote or a bundle."""
