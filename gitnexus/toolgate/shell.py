"""Judges a shell script in a tool call: each command, the files it reads and writes, and what cannot be parsed."""

import os
import posixpath
from collections.abc import Iterator

from gitnexus.harness.call_files import resolve_path
from gitnexus.harness.calls import ReadCall, ShellCall
from gitnexus.harness.patchform import BEGIN, list_patched_files
from gitnexus.harness.writers import files_written_by_command
from gitnexus.policy import shell
from gitnexus.policy.denied_reads import DeniedReads, describe_denied_file
from gitnexus.policy.gate import unread
from gitnexus.policy.linked_programs import find_linked_denial
from gitnexus.policy.model import CommandRequest, Request
from gitnexus.policy.parts import CommandPart, folder_words, parts_of_text
from gitnexus.policy.programs import inner_text, only_looks
from gitnexus.policy.searches import looks_no_deeper
from gitnexus.policy.word_paths import assumed_program_path
from gitnexus.toolgate.cache import resolve_command_word
from gitnexus.toolgate.context import CallFinding, JudgeContext
from gitnexus.toolgate.files import judge_command_write, judge_missing_task, judge_reads

# Control keys in typed input, such as Ctrl-C before a command: each ends the input before it.
_KEYS = dict.fromkeys((*range(9), *range(11, 32), 127), "\n")
# Shell built-ins: no program runs and nothing is reached.
_MOVES = frozenset(("cd", "chdir", "pushd", "popd"))


def judge_shell_call(context: JudgeContext, call: ShellCall) -> tuple[list[CallFinding], Request]:
    """Return all findings about a shell call, and the command that a person would approve."""
    cwd = os.path.realpath(call.cwd)
    whole = _command_request(
        context, call.argv or (("write_stdin", call.text) if call.typed else ("sh", "-c", call.text)), cwd
    )
    if call.dialect != "sh":
        return [CallFinding("ask", f"commands for {call.dialect} are not examined here", "harness.shell")], whole
    text = inner_text(call.argv) if call.argv else _text_of_call(call)
    try:
        script = shell.parse_shell_text(text) if text is not None else shell.script_of_command(call.argv)
    except shell.TooMuch:
        return [CallFinding("deny", "it is too long or too deep to be examined", "harness.shell")], whole
    try:
        parts = parts_of_text(script.commands, cwd)
        hidden = unread(whole, context.here.compiled, parts) if context.here.compiled.mode != "bypass" else None
    except shell.TooMuch:
        return [CallFinding("deny", "it changes its folder too often to be followed", "harness.shell")], whole
    findings = [CallFinding("ask", hidden.why, hidden.rule)] if hidden is not None else []
    findings += [one for part in parts for folder in part.folders for one in _judge_command(context, part, folder)]
    reach = DeniedReads(context.here.compiled, context.location.top)
    if (reached := reach.find_in_commands(parts)) is not None:
        findings.append(CallFinding("deny", describe_denied_file(reached, context.location.top), reached.rule))
    context.rest_on(reach)
    findings += _judge_linked_programs(context, whole, parts)
    if writes_files(call):
        findings += judge_missing_task(context)
    if text is not None and BEGIN in text:
        findings += _judge_hidden_patch(context, text, cwd)
    if call.argv and text is not None:
        findings += [context.decide_request(_command_request(context, call.argv, cwd))]
    if call.typed:
        # The receiver may be a shell, a database or another machine, and the next line may complete a word.
        findings.append(CallFinding("ask", "it is input to a command that is already running", "harness.input"))
    if not script.is_exact or not findings:
        findings.append(
            CallFinding("ask", script.why or "it writes to a file, or is not a plain list of commands", "harness.shell")
        )
    single = script.commands[0] if script.is_exact and len(script.commands) == 1 else None
    return findings, _command_request(context, single.argv, cwd) if single else whole


def _text_of_call(call: ShellCall) -> str:
    return call.text.translate(_KEYS) if call.typed else call.text


def _judge_command(context: JudgeContext, command: CommandPart, cwd: str) -> Iterator[CallFinding]:
    """Yield the findings about one command: the command itself, its reads and its writes."""
    if command.argv and command.argv[0]:
        yield context.decide_request(_command_request(context, command.argv, cwd))
        for word in folder_words(command.argv):
            yield from _judge_linked_file(context, word, cwd, is_deep=not looks_no_deeper(command.argv))
    effects = files_written_by_command(command.argv) if command.argv else files_written_by_command(())
    for path in (*effects.paths, *command.writes):
        yield judge_command_write(context, path, cwd)
    if effects.anything:
        yield CallFinding("ask", "it writes files that its words do not name", "harness.shell")
    for path in command.reads:
        if path in command.filled:
            continue  # its value is unknown
        real = resolve_path(posixpath.join(cwd, path))
        yield from judge_reads(context, ReadCall((real,)))


def _judge_linked_file(context: JudgeContext, word: str, cwd: str, *, is_deep: bool) -> Iterator[CallFinding]:
    """Yield a denial for a word that names a link to an unreadable file, or with `is_deep` a folder above one."""
    if word.startswith("-") or "\0" in word or len(word) > 1000:
        return
    path = posixpath.join(cwd, word)
    real = os.path.realpath(path)
    context.facts.append(("real", path, real))
    if os.path.lexists(path):
        yield from judge_reads(context, ReadCall((real,)), is_deep=is_deep)


def _judge_linked_programs(
    context: JudgeContext, whole: CommandRequest, parts: list[CommandPart]
) -> Iterator[CallFinding]:
    """Yield a denial for a program that leads to a denied one, behind a wrapper too."""

    def note(path: str, real: str) -> None:
        context.facts.append(("real" if "/" in path else "program", path, real))

    if (linked := find_linked_denial(whole, context.here.compiled, parts, note)) is not None:
        yield CallFinding("deny", linked[0], linked[1].id)


def _judge_hidden_patch(context: JudgeContext, text: str, cwd: str) -> Iterator[CallFinding]:
    rows = list_patched_files(text)
    for row in rows or ():
        yield judge_command_write(context, row.path, cwd)
    if rows is None:
        yield CallFinding("ask", "it contains a patch in an unknown form", "harness.shell")


def _command_request(context: JudgeContext, argv: tuple[str, ...], cwd: str) -> CommandRequest:
    program = resolve_command_word(argv[0], cwd) if argv[0] != "." else ""
    if "/" not in argv[0]:
        context.facts.append(("program", argv[0], program))
    return CommandRequest(
        **context.common(),
        files=None,
        reads=None,
        writes=None,
        argv=argv,
        program=program or assumed_program_path("source" if argv[0] == "." else argv[0]),
        # Another program runs the file later, so binding its present content is useless.
        program_digest="",
        cwd=cwd,
        base="",
        env={},
        limits={},
        network="none" if argv[0] in _MOVES or (program and only_looks(argv)) else "full",
        sandbox="L0",
    )


def writes_files(call: ShellCall) -> bool:
    """True if a shell call writes files, as far as can be determined."""
    text = inner_text(call.argv) if call.argv else call.text
    try:
        commands = shell.parse_shell_text(text).commands if text is not None else (shell.ShellCommand(call.argv, True),)
    except shell.TooMuch:
        return True
    found = [files_written_by_command(one.argv) for one in commands if one.argv]
    return any(one.paths or one.anything for one in found) or any(one.writes for one in commands)
