"""The chat: one conversation in which a person asks, sees what runs do, and decides.

What it thinks (`Chat` and the pure modules beside it) knows no screen. Two faces show it: `lines` prints lines, and
`screen` with its widgets is the Textual application, the only part that imports Textual.
"""
