"""Handles hook events of the programs that run agents: what they report, what is stored of it, and what is answered.

`model` defines one form of event and answer, `speech` translates each program's own form. Data is stored in
`.nexus/state/<harness>/`, in files of that harness alone (`session_files`). `calls` parses what a tool call is about
to do, `install` writes our entries into the programs' configuration files.
"""
