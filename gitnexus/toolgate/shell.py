"""What is found about a text for a shell: each of its commands, what they read and write, what is not understood."""

import os
import posixpath
from collections.abc import Iterator

from gitnexus.app.court import Court, Finding
from gitnexus.app.gatememo import nowhere, program_of
from gitnexus.app.harnessgate import meant
from gitnexus.app.judgefiles import reading, unplanned, written
from gitnexus.app.judgereads import Reach, words_of
from gitnexus.harness.calls import Reads, Shell
from gitnexus.harness.patchform import BEGIN, touched
from gitnexus.harness.writers import effect
from gitnexus.policy import shell
from gitnexus.policy.model import CommandRequest, Request
from gitnexus.policy.parts import Part, folder_words, placed_commands
from gitnexus.policy.programs import only_looks


def commanded(court: Court, call: Shell) -> tuple[list[Finding], Request]:
    """Return all that is found about a call of a shell, and the command that a person would approve."""
    cwd = os.path.realpath(call.cwd)
    whole = _command(court, call.argv or (("write_stdin", call.text) if call.typed else ("sh", "-c", call.text)), cwd)
    if call.dialect != "sh":
        return [Finding("ask", f"a text for {call.dialect} is not read here", "harness.shell")], whole
    text = shell.inner_text(call.argv) if call.argv else call.text
    try:
        script = shell.read(text) if text is not None else shell.Script((shell.Command(call.argv, True),))
    except shell.TooMuch:
        return [Finding("deny", "it is too long or too deep to be looked at", "harness.shell")], whole
    try:
        parts = list(placed_commands(script.commands, cwd))
    except shell.TooMuch:
        return [Finding("deny", "it changes its folder too often to be followed", "harness.shell")], whole
    findings = [one for part in parts for folder in part.folders for one in _part(court, part, folder)]
    reach = Reach(court.here.law, court.place.top)
    if (reached := reach.by_commands(parts)) is not None:
        findings.append(Finding("deny", words_of(reached, court.place.top), reached.rule))
    court.look_at(reach.looked_at)
    if writes_files(call):
        findings += unplanned(court)
    if text is not None and BEGIN in text:
        findings += _hidden_patch(court, text, cwd)
    if call.argv and text is not None:
        findings += [court.decided(_command(court, call.argv, cwd))]
    if call.typed:
        # Who gets it may be a shell, a database or another machine; and the next line may be the other half of a word.
        findings.append(Finding("ask", "it is typed into a command that runs already", "harness.input"))
    if not script.is_exact or not findings:
        findings.append(Finding("ask", script.why or "it writes to a file, or sets more than words", "harness.shell"))
    single = script.commands[0] if script.is_exact and len(script.commands) == 1 else None
    return findings, _command(court, single.argv, cwd) if single else whole


def _part(court: Court, command: Part, cwd: str) -> Iterator[Finding]:
    """Yield what is found about one command of a text: itself, what it reads and what it writes."""
    if command.argv and command.argv[0]:
        yield court.decided(_command(court, command.argv, cwd))
        for word in folder_words(command.argv):
            yield from _linked(court, word, cwd)
    effects = effect(command.argv) if command.argv else effect(())
    for path in (*effects.paths, *command.writes):
        yield written(court, path, cwd)
    if effects.anything:
        yield Finding("ask", "it writes files that its words do not name", "harness.shell")
    for path in command.reads:
        real = meant(posixpath.join(cwd, path))
        yield from reading(court, Reads((real,)))


def _linked(court: Court, word: str, cwd: str) -> Iterator[Finding]:
    """Yield a no for a word that is the name of a link to what is not read."""
    if word.startswith("-") or "\0" in word or len(word) > 1000:
        return
    path = posixpath.join(cwd, word)
    real = os.path.realpath(path)
    court.facts.append(("real", path, real))
    if os.path.lexists(path):
        yield from reading(court, Reads((real,)))


def _hidden_patch(court: Court, text: str, cwd: str) -> Iterator[Finding]:
    rows = touched(text)
    for row in rows or ():
        yield written(court, row.path, cwd)
    if rows is None:
        yield Finding("ask", "it holds a patch of a form that is not known here", "harness.shell")


def _command(court: Court, argv: tuple[str, ...], cwd: str) -> CommandRequest:
    program = program_of(argv[0], cwd)
    if "/" not in argv[0]:
        court.facts.append(("program", argv[0], program))
    return CommandRequest(
        **court.common(),
        files=None,
        argv=argv,
        program=program or nowhere(argv[0]),
        # Whoever runs it is another program: what the file held when it was asked about binds nobody.
        program_digest="",
        cwd=cwd,
        base="",
        env={},
        limits={},
        network="none" if program and only_looks(argv) else "full",
        sandbox="L0",
    )


def writes_files(call: Shell) -> bool:
    """True if a shell call writes files, as far as it can be told."""
    text = shell.inner_text(call.argv) if call.argv else call.text
    try:
        commands = shell.read(text).commands if text is not None else (shell.Command(call.argv, True),)
    except shell.TooMuch:
        return True
    found = [effect(one.argv) for one in commands if one.argv]
    return any(one.paths or one.anything for one in found) or any(one.writes for one in commands)
