"""The chat: one conversation in which the user makes requests, sees what runs do, and decides.

The logic (`Chat` and the pure modules beside it) does not depend on a screen. It has two front ends: `lines` prints
lines, and `screen` with its widgets is the Textual application, the only part that imports Textual.
"""
