"""Conformance: fixtures of the tool contract, and a strict runner that sees only what any client sees.

Knows nothing of our tools: it starts `git nexus` as a process and judges by answers and files.
"""
