"""`git nexus harness doctor`: whether what was installed is there, loaded by the program, and really stops a call."""

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

from gitnexus.app.doctor import Finding
from gitnexus.app.harness import BEGIN, LAWLESS, Place, Standing, place_of, standings, wants_of
from gitnexus.base.text import one_line
from gitnexus.git.child import clean_environment
from gitnexus.harness.install.kit import GATE_SECONDS, hook_line
from gitnexus.harness.install.model import Append, Want
from gitnexus.harness.install.ours import is_our_hook
from gitnexus.harness.install.programs.opencode import PLUGIN
from gitnexus.harness.install.programs.table import ROWS, Row, row_named
from gitnexus.harness.install.trust import json_at
from gitnexus.harness.speech.table import speech_of

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


def examined(start: Path, name: str) -> list[Finding]:
    """Return one finding a check, for every scope where the program is installed."""
    row = row_named(name)
    found: list[Finding] = []
    for standing in standings(start, [name]):
        if standing.installed:
            place = place_of(start, standing.scope)
            found += [*_files(standing), *_project(standing), *_trust(standing)]
            if row.has_gate:
                found += list(_gate(place, row))
            found += list(_loaded(place, row))
    if not found:
        found.append(Finding("installed", "problem", f"{row.name}: not installed", f"git nexus harness install {name}"))
    return [*found, *(Finding("limits", "ok", f"not protected: {words}") for words in row.unprotected)]


def in_short(start: Path) -> Iterator[Finding]:
    """Yield a finding for each program that is installed here, for `git nexus doctor`."""
    for standing in standings(start, list(ROWS)):
        if not standing.installed:
            continue
        # What waits for a yes in the program is the person's to say: no fault of the project.
        waits = [Finding("harness", "warning", finding.words) for finding in _trust(standing)]
        wrong = [finding for finding in (*_files(standing), *_project(standing), *waits) if finding.state != "ok"]
        worst = next((finding for finding in wrong if finding.state == "problem"), wrong[0] if wrong else None)
        if worst is None:
            yield Finding("harness", "ok", f"{standing.row.name}: installed, {standing.scope} scope")
        else:
            hint = worst.hint or f"git nexus harness doctor {standing.row.id}"
            yield Finding("harness", worst.state, f"{standing.row.name} ({standing.scope} scope): {worst.words}", hint)


def _files(standing: Standing) -> Iterator[Finding]:
    again = f"git nexus harness install {standing.row.id}" + (" --scope user" if standing.scope == "user" else "")
    if standing.how == "half":
        yield Finding("files", "problem", "an installation was interrupted; some files are missing", again)
    elif standing.how == "unrecorded":
        yield Finding("files", "ok", "installed by whoever committed the files")
    for file in standing.files:
        if file.state in ("missing", "without ours", "does not parse"):
            yield Finding("files", "problem", f"{file.path}: {file.state}", again)
    if standing.stale:
        yield Finding("files", "warning", f"installed by another version or catalog ({standing.version})", again)
    if standing.how == "yes" and not standing.stale:
        yield Finding("files", "ok", f"{len(standing.files)} files, {standing.scope} scope")


def _project(standing: Standing) -> Iterator[Finding]:
    if standing.lawless:
        yield Finding("project", "problem", LAWLESS, BEGIN)


def _trust(standing: Standing) -> Iterator[Finding]:
    # OpenCode loads our plugin all the same, only later: what it waits for leaves nothing unprotected.
    late = standing.row.id == "opencode"
    for words in standing.waits:
        yield Finding("network" if late else "trust", "warning" if late else "problem", words)


def _gate(place: Place, row: Row) -> Iterator[Finding]:
    """Call the installed hook as the program would, with a call that must be refused."""
    wants = wants_of(place, row)
    if row.id == "opencode":
        yield _plugin_gate(place, next(want.path for want in wants if want.path.name == PLUGIN))
        return
    event = speech_of(row.id).events["pre_tool_use"][0]
    file, lines = _installed_lines(wants, row, event)
    if not lines:
        again = f"git nexus harness install {row.id}"
        yield Finding("canary", "problem", f"{file} has no hook of ours for {event}: nothing is stopped", again)
    payload = {
        "session_id": CANARY,
        "cwd": str(_folder(place)),
        "hook_event_name": event,
        "tool_name": "run_shell_command" if row.id == "gemini-cli" else "Bash",
        "tool_input": {"command": CANARY},
        "tool_use_id": CANARY,
    }
    for line in lines:
        yield _judged(row, *_ran(["sh", "-c", line], json.dumps(payload), _folder(place)))


def _judged(row: Row, status: int | None, out: str, err: str) -> Finding:
    """Return what an answer means to the program: only some forms of no are one."""
    if status is None:
        return Finding("canary", "problem", f"the hook did not answer within {GATE_SECONDS} seconds")
    try:
        said = json.loads(out) if out.strip() else {}
    except ValueError:
        said = {}
    own = said.get("hookSpecificOutput", {}) if isinstance(said, dict) else {}
    denied = {"claude-code": isinstance(own, dict) and own.get("permissionDecision") == "deny",
              "gemini-cli": isinstance(said, dict) and said.get("decision") in ("deny", "block")}  # fmt: skip
    words = err.strip() if status == 2 else json.dumps(said)
    if not (status == 2 and words) and not (status == 0 and denied.get(row.id)):
        told = one_line(words or err.strip(), 200)
        return Finding(
            "canary", "problem", f"the hook did not refuse a call that it must refuse (status {status}): {told}"
        )
    return _refusal(words)


def _refusal(words: str) -> Finding:
    if "canary" in words:
        return Finding("canary", "ok", "a call that must be refused was refused by the installed hook")
    return Finding("canary", "problem", f"the hook refuses everything: {one_line(words, 200)}", "git nexus doctor")


def _plugin_gate(place: Place, plugin: Path) -> Finding:
    """Load the plugin as it lies there and have it asked; without node only what it would call is asked."""
    if not plugin.is_file():
        return Finding(
            "canary", "problem", f"{plugin} is not there: nothing is stopped", "git nexus harness install opencode"
        )
    node = shutil.which("node")
    if node is None:
        payload = {"event": "tool.execute.before", "tool": "bash", "args": {"command": CANARY}}
        line = hook_line(("git", "nexus"), "opencode", "pre_tool_use")
        status, out, err = _ran(["sh", "-c", line], json.dumps(payload), _folder(place))
        if status == 0 and '"allow"' in out:
            return Finding("canary", "problem", "the hook did not refuse a call that it must refuse")
        return _refusal(out + err)
    argv = [node, "--input-type=module", "-e", _PLUGIN_CALL, plugin.as_uri(), json.dumps({"args": {"command": CANARY}})]
    status, out, err = _ran(argv, "", _folder(place))
    try:
        said = json.loads(out)
    except ValueError:
        return Finding("canary", "problem", f"the plugin does not load: {one_line(err, 200)}")
    return (
        _refusal(said["thrown"]) if "thrown" in said else Finding("canary", "problem", "the plugin let the call pass")
    )


def _loaded(place: Place, row: Row) -> Iterator[Finding]:
    """Ask the program itself, where it is on PATH and can tell without a model."""
    program = shutil.which(row.program) if row.program else None
    if program is None or row.id not in _ASKED:
        if row.id in _ASKED:
            yield Finding("program", "warning", f"{row.program} is not on PATH, so it cannot be asked")
        return
    status, out, err = _ran([program, *_ASKED[row.id]], "", _folder(place), os.environ)
    if status is None:
        yield Finding("program", "warning", f"{row.program} did not answer in time (it may want the network)")
    elif status == 0 and (told := _lines_with("nexus", out + err)):  # Gemini CLI tells it on stderr
        if told.endswith((" - Blocked", " - Disabled")):
            yield Finding("program", "problem", f"{row.program} has the server nexus switched off")
        elif told.endswith(" - Disconnected"):
            again = "it waits 5 seconds for a server: ask once more"
            yield Finding("program", "warning", f"{row.program} knows the server nexus, and did not reach it", again)
        else:
            yield Finding("program", "ok", f"{row.program} knows the server nexus")
    else:
        told = one_line((err or out).strip(), 160)
        yield Finding("program", "problem", f"{row.program} does not know the server nexus: {told}", row.needs)
    if row.id == "codex":
        yield from _codex_says(program, _folder(place))
    if row.id == "opencode" and status == 0:
        yield _opencode_says(out)


def _lines_with(word: str, text: str) -> str:
    return "\n".join(line for line in text.splitlines() if word in line)


def _opencode_says(out: str) -> Finding:
    """Return whether our plugin is among those that OpenCode would load."""
    if os.environ.get("OPENCODE_PURE", "").lower() in ("1", "true"):
        return Finding("program", "problem", "OPENCODE_PURE is set: opencode loads no plugin, and nothing is stopped")
    try:
        plugins = json.loads(out).get("plugin", [])
    except (ValueError, AttributeError):
        return Finding("program", "warning", "opencode did not tell which plugins it loads")
    if any(str(one).endswith(f"/{PLUGIN}") for one in plugins):
        return Finding("program", "ok", "opencode loads the plugin")
    return Finding("program", "problem", "opencode does not load the plugin: nothing is stopped")


def _codex_says(program: str, folder: Path) -> Iterator[Finding]:
    """Ask Codex which of our hooks it would run; what it says itself counts."""
    asked = [
        {"method": "initialize", "id": 1, "params": {"clientInfo": {"name": "git-nexus", "version": "1"}}},
        {"method": "initialized"},
        {"method": "hooks/list", "id": 2, "params": {"cwds": [str(folder)]}},
    ]
    hooks = _codex_hooks([program, "app-server"], "".join(json.dumps(line) + "\n" for line in asked), folder)
    if hooks is None:
        yield Finding("program", "warning", "codex app-server did not tell which hooks it runs")
        return
    ours = [hook for hook in hooks if is_our_hook(hook.get("command", ""), "codex")]
    open_ = [hook for hook in ours if hook.get("trustStatus") not in ("trusted", "managed") or not hook.get("enabled")]
    if not ours:
        yield Finding(
            "program", "problem", "codex loads none of our hooks", "is the project trusted? start codex in it"
        )
    elif open_:
        yield Finding(
            "program", "problem", f"codex skips {len(open_)} of {len(ours)} hooks", "start codex, open /hooks"
        )
    else:
        yield Finding("program", "ok", f"codex runs all {len(ours)} hooks")


def _codex_hooks(argv: list[str], asked: str, folder: Path) -> list[dict[str, Any]] | None:
    """Return what the app-server lists. It ends when its stdin does, so that stays open until it has answered."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    null = subprocess.DEVNULL
    server = subprocess.Popen(argv, cwd=folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=null)
    if server.stdin is None or server.stdout is None:
        return None
    try:
        server.stdin.write(asked.encode())
        server.stdin.flush()
        return _listened(server.stdout.fileno())
    except OSError:
        return None
    finally:
        server.kill()
        server.wait()
        for pipe in (server.stdin, server.stdout):
            with contextlib.suppress(OSError):
                pipe.close()


def _listened(fd: int) -> list[dict[str, Any]] | None:
    """Return the answer in the lines of a pipe, None if it ends or takes too long without one."""
    end, text = time.monotonic() + GATE_SECONDS, b""
    with selectors.DefaultSelector() as waiting:
        waiting.register(fd, selectors.EVENT_READ)
        while time.monotonic() < end and waiting.select(end - time.monotonic()):
            piece = os.read(fd, 65536)
            *lines, text = (text + piece).split(b"\n")
            found = next((one for one in map(_answer, lines) if one is not None), None)
            if found is not None or not piece:
                return found
    return None


def _answer(line: bytes) -> list[dict[str, Any]] | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    if not isinstance(value, dict) or value.get("id") != 2:
        return None
    rows = value.get("result", {}).get("data", []) if isinstance(value.get("result"), dict) else []
    return [hook for row in rows for hook in row.get("hooks", [])]


def _installed_lines(wants: list[Want], row: Row, event: str) -> tuple[Path, list[str]]:
    """Return the file that holds hooks, and our shell lines for an event in it as they stand there now."""
    file = next(want.path for want in wants if any(isinstance(piece, Append) for piece in want.pieces))
    value = json_at(file)
    groups = value.get("hooks", {}).get(event, []) if isinstance(value, dict) else []
    hooks = [hook for group in groups if isinstance(group, dict) for hook in group.get("hooks", [])]
    return file, [hook["command"] for hook in hooks if isinstance(hook, dict) and is_our_hook(hook, row.id)]


def _folder(place: Place) -> Path:
    return place.root if place.scope == "project" else place.start


def _ran(
    argv: list[str], stdin: str, folder: Path, env: Mapping[str, str] | None = None
) -> tuple[int | None, str, str]:
    """Run to the end; the status is None where it took too long."""
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
