"""Code that runs in the launcher, a small separate process: uses the standard library only, and little of it."""
