"""What runs in the launcher, a small process of its own: standard library only, and little of that."""
