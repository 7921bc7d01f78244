"""Confinement of what is run: limits, a clean environment, and what the kernel will not let a child reach."""
