"""Programs that call us while an agent works in them: what their hooks tell, and what we answer.

So far one of the eight events of the contract: after a tool was used, for the reads of notes.
"""
