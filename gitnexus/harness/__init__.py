"""Programs that call us while an agent works in them: what their hooks tell, what we keep of it, and what we answer.

`model` is the one form of an event and of an answer, `speech` how each program spells them. What is kept lies in
`.nexus/state/<harness>/`, in files of that harness alone (`shelf`). `calls` and `shell` read what a tool is about
to do, `install` puts all of it into the programs' files. Events that need other rooms are joined in `app`.
"""
