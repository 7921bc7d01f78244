"""`git nexus harness doctor`: checks that our hooks are installed, loaded by the program, and really stop a call."""

import contextlib
import json
import os
import selectors
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gitnexus.app.doctor_finding import DoctorFinding
from gitnexus.app.harness_install import (
    BEGIN,
    LAWLESS,
    InstallLocation,
    InstallStatus,
    install_location,
    install_statuses,
    wanted_files,
)
from gitnexus.base.text import one_line
from gitnexus.git.child import clean_environment
from gitnexus.harness.install.context import GATE_SECONDS, hook_shell_line
from gitnexus.harness.install.model import Append, WantedFile
from gitnexus.harness.install.programs.opencode import PLUGIN
from gitnexus.harness.install.programs.table import ROWS, HarnessProgram, find_harness_program
from gitnexus.harness.install.signature import is_our_hook
from gitnexus.harness.install.trust import read_json_or_none
from gitnexus.harness.protocols.table import load_harness_protocol

# Our own hook always refuses a call that carries it, whatever the policy says.
CANARY = "git-nexus-canary"
# How each program can be asked, without a model, whether it knows our server; what its answer must hold.
_ASKED = {
    "claude-code": ["mcp", "get", "nexus"],
    "codex": ["mcp", "get", "nexus"],
    "gemini-cli": ["mcp", "list"],
    "opencode": ["--pure", "debug", "config"],  # so no plugin is run: it also names them
}
_PLUGIN_CALL = """
const plugin = await import(process.argv[1])
const hooks = await plugin.GitNexus({ directory: process.cwd() })
try {
  const call = { tool: "bash", sessionID: "canary", callID: "canary" }
  await hooks["tool.execute.before"](call, JSON.parse(process.argv[2]))
  console.log(JSON.stringify({ ran: true }))
} catch (error) {
  console.log(JSON.stringify({ thrown: error.message }))
}
"""


def examine_harness(start: Path, name: str) -> list[DoctorFinding]:
    """Return one finding per check, for every scope in which the program is installed."""
    row = find_harness_program(name)
    found: list[DoctorFinding] = []
    for standing in install_statuses(start, [name]):
        if standing.installed:
            place = install_location(start, standing.scope)
            found += [*_check_files(standing), *_check_project(standing), *_check_trust(standing)]
            if row.has_gate:
                found += list(_check_gate(place, row))
            found += list(_check_loaded(place, row))
    if not found:
        found.append(
            DoctorFinding("installed", "problem", f"{row.name}: not installed", f"git nexus harness install {name}")
        )
    return [*found, *(DoctorFinding("limits", "ok", f"not protected: {words}") for words in row.unprotected)]


def summarize_harnesses(start: Path) -> Iterator[DoctorFinding]:
    """Yield a finding for each program that is installed here, for `git nexus doctor`."""
    for standing in install_statuses(start, list(ROWS)):
        if not standing.installed:
            continue
        # What waits for a yes in the program is the person's to say: no fault of the project.
        waits = [DoctorFinding("harness", "warning", finding.words) for finding in _check_trust(standing)]
        wrong = [
            finding for finding in (*_check_files(standing), *_check_project(standing), *waits) if finding.state != "ok"
        ]
        worst = next((finding for finding in wrong if finding.state == "problem"), wrong[0] if wrong else None)
        if worst is None:
            yield DoctorFinding("harness", "ok", f"{standing.row.name}: installed, {standing.scope} scope")
        else:
            hint = worst.hint or f"git nexus harness doctor {standing.row.id}"
            yield DoctorFinding(
                "harness", worst.state, f"{standing.row.name} ({standing.scope} scope): {worst.words}", hint
            )


def _check_files(status: InstallStatus) -> Iterator[DoctorFinding]:
    again = f"git nexus harness install {status.row.id}" + (" --scope user" if status.scope == "user" else "")
    if status.how == "half":
        yield DoctorFinding("files", "problem", "an installation was interrupted; some files are missing", again)
    elif status.how == "unrecorded":
        yield DoctorFinding("files", "ok", "installed by the person who committed the files")
    for file in status.files:
        if file.state in ("missing", "without ours", "does not parse"):
            yield DoctorFinding("files", "problem", f"{file.path}: {file.state}", again)
    if status.stale:
        yield DoctorFinding("files", "warning", f"installed by another version or catalog ({status.version})", again)
    if status.how == "yes" and not status.stale:
        yield DoctorFinding("files", "ok", f"{len(status.files)} files, {status.scope} scope")


def _check_project(status: InstallStatus) -> Iterator[DoctorFinding]:
    if status.lawless:
        yield DoctorFinding("project", "problem", LAWLESS, BEGIN)


def _check_trust(status: InstallStatus) -> Iterator[DoctorFinding]:
    # OpenCode loads our plugin all the same, only later: what it waits for leaves nothing unprotected.
    late = status.row.id == "opencode"
    for words in status.waits:
        yield DoctorFinding("network" if late else "trust", "warning" if late else "problem", words)


def _check_gate(location: InstallLocation, row: HarnessProgram) -> Iterator[DoctorFinding]:
    """Call the installed hook like the program, with a call that must be denied."""
    wants = wanted_files(location, row)
    if row.id == "opencode":
        yield _check_plugin_gate(location, next(want.path for want in wants if want.path.name == PLUGIN))
        return
    event = load_harness_protocol(row.id).events["pre_tool_use"][0]
    file, lines = _installed_lines(wants, row, event)
    if not lines:
        again = f"git nexus harness install {row.id}"
        yield DoctorFinding(
            "canary", "problem", f"{file} does not have our hook for {event}: nothing is blocked", again
        )
    payload = {
        "session_id": CANARY,
        "cwd": str(_working_folder(location)),
        "hook_event_name": event,
        "tool_name": "run_shell_command" if row.id == "gemini-cli" else "Bash",
        "tool_input": {"command": CANARY},
        "tool_use_id": CANARY,
    }
    for line in lines:
        yield _judge_canary_answer(
            row, *_run_program(["sh", "-c", line], json.dumps(payload), _working_folder(location))
        )


def _judge_canary_answer(row: HarnessProgram, status: int | None, out: str, err: str) -> DoctorFinding:
    """Return the finding for a hook's answer: the program accepts only some forms of denial."""
    if status is None:
        return DoctorFinding("canary", "problem", f"the hook did not answer within {GATE_SECONDS} seconds")
    try:
        said = json.loads(out) if out.strip() else {}
    except ValueError:
        said = {}
    own = said.get("hookSpecificOutput", {}) if isinstance(said, dict) else {}
    denied = {
        "claude-code": isinstance(own, dict) and own.get("permissionDecision") == "deny",
        "gemini-cli": isinstance(said, dict) and said.get("decision") in ("deny", "block"),
    }
    words = err.strip() if status == 2 else json.dumps(said)
    if not (status == 2 and words) and not (status == 0 and denied.get(row.id)):
        told = one_line(words or err.strip(), 200)
        return DoctorFinding(
            "canary", "problem", f"the hook did not refuse a call that it must refuse (status {status}): {told}"
        )
    return _finding_for_refusal(words)


def _finding_for_refusal(words: str) -> DoctorFinding:
    if "canary" in words:
        return DoctorFinding("canary", "ok", "a call that must be refused was refused by the installed hook")
    return DoctorFinding(
        "canary", "problem", f"the hook refuses everything: {one_line(words, 200)}", "git nexus doctor"
    )


def _check_plugin_gate(location: InstallLocation, plugin: Path) -> DoctorFinding:
    """Load the installed plugin and send it a test call; without node, run only the command that it would run."""
    if not plugin.is_file():
        return DoctorFinding(
            "canary", "problem", f"{plugin} is missing: nothing is blocked", "git nexus harness install opencode"
        )
    node = shutil.which("node")
    if node is None:
        payload = {"event": "tool.execute.before", "tool": "bash", "args": {"command": CANARY}}
        line = hook_shell_line(("git", "nexus"), "opencode", "pre_tool_use")
        status, out, err = _run_program(["sh", "-c", line], json.dumps(payload), _working_folder(location))
        if status == 0 and '"allow"' in out:
            return DoctorFinding("canary", "problem", "the hook did not refuse a call that it must refuse")
        return _finding_for_refusal(out + err)
    argv = [node, "--input-type=module", "-e", _PLUGIN_CALL, plugin.as_uri(), json.dumps({"args": {"command": CANARY}})]
    status, out, err = _run_program(argv, "", _working_folder(location))
    try:
        said = json.loads(out)
    except ValueError:
        return DoctorFinding("canary", "problem", f"the plugin does not load: {one_line(err, 200)}")
    return (
        _finding_for_refusal(said["thrown"])
        if "thrown" in said
        else DoctorFinding("canary", "problem", "the plugin allowed the call")
    )


def _check_loaded(location: InstallLocation, row: HarnessProgram) -> Iterator[DoctorFinding]:
    """Ask the program itself, if it is on PATH and can answer without a model."""
    program = shutil.which(row.program) if row.program else None
    if program is None or row.id not in _ASKED:
        if row.id in _ASKED:
            yield DoctorFinding("program", "warning", f"{row.program} is not on PATH, so it cannot be asked")
        return
    status, out, err = _run_program([program, *_ASKED[row.id]], "", _working_folder(location), os.environ)
    if status is None:
        yield DoctorFinding("program", "warning", f"{row.program} did not answer in time (it may need the network)")
    elif status == 0 and (told := _lines_with("nexus", out + err)):  # Gemini CLI tells it on stderr
        if told.endswith((" - Blocked", " - Disabled")):
            yield DoctorFinding("program", "problem", f"{row.program} has the server nexus switched off")
        elif told.endswith(" - Disconnected"):
            again = "it waits 5 seconds for a server: try again"
            yield DoctorFinding(
                "program", "warning", f"{row.program} knows the server nexus, and did not reach it", again
            )
        else:
            yield DoctorFinding("program", "ok", f"{row.program} knows the server nexus")
    else:
        told = one_line((err or out).strip(), 160)
        yield DoctorFinding("program", "problem", f"{row.program} does not know the server nexus: {told}", row.needs)
    if row.id == "codex":
        yield from _check_codex_hooks(program, _working_folder(location))
    if row.id == "opencode" and status == 0:
        yield _check_opencode_plugin(out)


def _lines_with(word: str, text: str) -> str:
    return "\n".join(line for line in text.splitlines() if word in line)


def _check_opencode_plugin(out: str) -> DoctorFinding:
    """Return whether OpenCode would load our plugin."""
    if os.environ.get("OPENCODE_PURE", "").lower() in ("1", "true"):
        return DoctorFinding(
            "program", "problem", "OPENCODE_PURE is set: opencode loads no plugin, and nothing is blocked"
        )
    try:
        plugins = json.loads(out).get("plugin", [])
    except (ValueError, AttributeError):
        return DoctorFinding("program", "warning", "opencode did not report which plugins it loads")
    if any(str(one).endswith(f"/{PLUGIN}") for one in plugins):
        return DoctorFinding("program", "ok", "opencode loads the plugin")
    return DoctorFinding("program", "problem", "opencode does not load the plugin: nothing is blocked")


def _check_codex_hooks(program: str, folder: Path) -> Iterator[DoctorFinding]:
    """Ask Codex which of our hooks it would run."""
    asked = [
        {"method": "initialize", "id": 1, "params": {"clientInfo": {"name": "git-nexus", "version": "1"}}},
        {"method": "initialized"},
        {"method": "hooks/list", "id": 2, "params": {"cwds": [str(folder)]}},
    ]
    hooks = _list_codex_hooks([program, "app-server"], "".join(json.dumps(line) + "\n" for line in asked), folder)
    if hooks is None:
        yield DoctorFinding("program", "warning", "codex app-server did not report which hooks it runs")
        return
    ours = [hook for hook in hooks if is_our_hook(hook.get("command", ""), "codex")]
    open_ = [hook for hook in ours if hook.get("trustStatus") not in ("trusted", "managed") or not hook.get("enabled")]
    if not ours:
        yield DoctorFinding(
            "program", "problem", "codex loads none of our hooks", "is the project trusted? start codex in it"
        )
    elif open_:
        yield DoctorFinding(
            "program", "problem", f"codex skips {len(open_)} of {len(ours)} hooks", "start codex, open /hooks"
        )
    else:
        yield DoctorFinding("program", "ok", f"codex runs all {len(ours)} hooks")


def _list_codex_hooks(argv: list[str], asked: str, folder: Path) -> list[dict[str, Any]] | None:
    """Return the hooks that Codex's app-server lists. Keeps stdin open until it has answered."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    null = subprocess.DEVNULL
    server = subprocess.Popen(argv, cwd=folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=null)
    if server.stdin is None or server.stdout is None:
        return None
    try:
        server.stdin.write(asked.encode())
        server.stdin.flush()
        return _read_hooks_answer(server.stdout.fileno())
    except OSError:
        return None
    finally:
        server.kill()
        server.wait()
        for pipe in (server.stdin, server.stdout):
            with contextlib.suppress(OSError):
                pipe.close()


def _read_hooks_answer(fd: int) -> list[dict[str, Any]] | None:
    """Return the answer in the lines of a pipe, None if it ends or takes too long without one."""
    end, text = time.monotonic() + GATE_SECONDS, b""
    with selectors.DefaultSelector() as waiting:
        waiting.register(fd, selectors.EVENT_READ)
        while time.monotonic() < end and waiting.select(end - time.monotonic()):
            piece = os.read(fd, 65536)
            *lines, text = (text + piece).split(b"\n")
            found = next((one for one in map(_parse_hooks_answer, lines) if one is not None), None)
            if found is not None or not piece:
                return found
    return None


def _parse_hooks_answer(line: bytes) -> list[dict[str, Any]] | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    if not isinstance(value, dict) or value.get("id") != 2:
        return None
    rows = value.get("result", {}).get("data", []) if isinstance(value.get("result"), dict) else []
    return [hook for row in rows for hook in row.get("hooks", [])]


def _installed_lines(wants: list[WantedFile], row: HarnessProgram, event: str) -> tuple[Path, list[str]]:
    """Return the file with the hooks, and our present shell lines for an event in it."""
    file = next(want.path for want in wants if any(isinstance(piece, Append) for piece in want.pieces))
    value = read_json_or_none(file)
    groups = value.get("hooks", {}).get(event, []) if isinstance(value, dict) else []
    hooks = [hook for group in groups if isinstance(group, dict) for hook in group.get("hooks", [])]
    return file, [hook["command"] for hook in hooks if isinstance(hook, dict) and is_our_hook(hook, row.id)]


def _working_folder(location: InstallLocation) -> Path:
    return location.root if location.scope == "project" else location.start


def _run_program(
    argv: list[str], stdin: str, folder: Path, env: Mapping[str, str] | None = None
) -> tuple[int | None, str, str]:
    """Run a program to its end; the status is None on a timeout."""
    inherited = clean_environment() if env is None else {k: v for k, v in env.items() if not k.startswith("GIT_")}
    # Into a file: OpenCode leaves before a pipe has taken all that it said.
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as out:
        try:
            done = subprocess.run(
                argv,
                cwd=folder,
                env={**inherited, "PWD": str(folder)},  # OpenCode believes it more than where it is
                input=stdin,
                stdout=out,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                timeout=GATE_SECONDS + 5,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None, "", ""
        except OSError as exc:
            return 127, "", str(exc)
        out.seek(0)
        return done.returncode, out.read(), done.stderr
