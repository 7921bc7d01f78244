"""Runs the steps of a scripted agent, prints one line for each, and stores how many are done for a resume."""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, assert_never

from gitnexus.adapters.call import ToolServer
from gitnexus.adapters.script import (
    FailStep,
    ProposeStep,
    RunStep,
    SayStep,
    Step,
    WaitStep,
    WriteStep,
    read_script_steps,
)
from gitnexus.base.canonical import parse_json
from gitnexus.base.errors import Failed, Invalid, NexusError
from gitnexus.base.files import replace_file

_OUTPUT = 4000


class ScriptPlayer:
    """The context of the steps; `folder` is where the process was started."""

    def __init__(self, folder: Path, server: Sequence[str], way: str) -> None:
        self._folder = folder.resolve()
        self._server = ToolServer(server)
        self._way = way

    def play(self, step: Step) -> None:
        """Carry out one step and print it. Raises: NexusError, OSError."""
        match step:
            case WriteStep():
                self._write_file(step)
            case RunStep():
                self._run_command(step)
            case ProposeStep():
                self._propose_call(step)
            case SayStep():
                _print_event("say", text=step.text)
            case FailStep():
                raise Failed(step.text, context={"status": step.status})
            case WaitStep():
                self._wait_for_file(step)
            case _:
                assert_never(step)

    def close(self) -> None:
        self._server.close()

    def _write_file(self, step: WriteStep) -> None:
        _print_event("call", tool="write", input={"path": step.path})
        path = self._path_in_folder(step.path)
        if self._way == "proposer":
            raise Invalid("a proposer writes nothing itself", hint="use a step that proposes")
        if step.text is None:
            path.unlink(missing_ok=True)
        else:
            replace_file(path, step.text.encode())
        _print_event("result", tool="write", ok=True, text="")

    def _run_command(self, step: RunStep) -> None:
        _print_event("call", tool="run", input={"argv": list(step.argv)})
        if self._way == "proposer":
            raise Invalid("a proposer runs nothing itself", hint="use a step that proposes")
        done = subprocess.run(
            step.argv, cwd=self._folder, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=600
        )
        said = (done.stdout + done.stderr)[:_OUTPUT].decode("utf-8", "replace")
        _print_event("result", tool="run", ok=done.returncode == step.status, text=said)
        if done.returncode != step.status:
            raise Failed(f"{step.argv[0]} exited with status {done.returncode}, not {step.status}")

    def _propose_call(self, step: ProposeStep) -> None:
        _print_event("call", tool=step.tool, input=step.input)
        taken, said = self._server.call(step.tool, step.input)
        _print_event("result", tool=step.tool, ok=taken, text=said[:_OUTPUT])
        if taken == step.refused:
            raise Failed(f"{step.tool} was {'taken' if taken else 'refused'}: {said[:200]}")

    def _wait_for_file(self, step: WaitStep) -> None:
        path, until = self._folder / step.path, time.monotonic() + step.seconds
        while not path.exists():
            if time.monotonic() > until:
                raise Failed(f"{step.path} did not appear within {step.seconds:g} seconds")
            time.sleep(0.02)

    def _path_in_folder(self, name: str) -> Path:
        path = Path(os.path.normpath(self._folder / name))
        # The folder above it is resolved too: a link in the repository may lead out.
        inside = self._folder in path.parents and path.parent.resolve().is_relative_to(self._folder)
        if not inside or ".git" in path.relative_to(self._folder).parts:
            raise Invalid(f"{name[:100]!r} is not a path in the folder")
        return path


def main(argv: Sequence[str]) -> int:
    """Play the file named on the command line; return the exit status."""
    parser = argparse.ArgumentParser(prog="scripted", allow_abbrev=False)
    parser.add_argument("file", type=Path)
    parser.add_argument("--state", type=Path)
    parser.add_argument("--server", default="[]")
    parser.add_argument("--way", choices=("proposer", "contained"), default="contained")
    parser.add_argument("--resume", action="store_true")
    given = parser.parse_args(argv)
    try:
        steps = read_script_steps(given.file)
        begin = _read_steps_done(given.state) if given.resume and given.state else 0
        server = json.loads(given.server)
    except (NexusError, ValueError) as exc:
        _print_event("end", ok=False, text=str(exc), steps=0)
        return 2
    return _play_steps(steps, begin, ScriptPlayer(Path.cwd(), server, given.way), given.state)


def _play_steps(steps: tuple[Step, ...], begin: int, player: ScriptPlayer, state: Path | None) -> int:
    _print_event("start", session="scripted", steps=len(steps), begin=begin)
    at = begin
    try:
        for at, step in enumerate(steps[begin:], begin + 1):
            player.play(step)
            _print_event("used", usage=_pretended_usage(at))
            if state is not None:
                replace_file(state, json.dumps({"done": at}).encode())
    except (NexusError, OSError, subprocess.TimeoutExpired) as exc:
        context = exc.context if isinstance(exc, NexusError) else {}
        _print_event("end", ok=False, text=str(exc), steps=at)
        return int(context.get("status", 1))
    finally:
        player.close()
    _print_event("end", ok=True, steps=at, usage=_pretended_usage(at))
    return 0


def _pretended_usage(steps: int) -> dict[str, int]:
    """Return an invented usage, as a model would report it for that many steps."""
    return {"in": 100 * steps, "out": 20 * steps}


def _read_steps_done(state: Path) -> int:
    if not state.exists():
        return 0
    value = parse_json(state.read_bytes())
    done = value.get("done") if isinstance(value, dict) else None
    if type(done) is not int or done < 0:
        raise Invalid(f"{state} does not say how many steps are done")
    return done


def _print_event(kind: str, **fields: Any) -> None:
    sys.stdout.write(json.dumps({"type": kind, **fields}) + "\n")
    sys.stdout.flush()
