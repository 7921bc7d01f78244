"""repo.apply_patch, cmd.run, tests.run and artifact.write: the tools with an effect."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gitnexus.base.errors import Invalid, NotFound
from gitnexus.base.text import one_line
from gitnexus.gateway import artifacts
from gitnexus.gateway.bench import Bench
from gitnexus.gateway.commanding import CommandDeed, base_of
from gitnexus.gateway.door import masked, passed
from gitnexus.gateway.patching import PatchDeed
from gitnexus.gateway.paths import why_unwritable
from gitnexus.gateway.testrun.protocol import Runner, TestReport

_DEEPEST = 3
_MOST_NAMES = 10_000


def apply_patch(bench: Bench, params: Mapping[str, Any]) -> dict[str, Any]:
    """Apply a unified diff, all of it or nothing."""
    # A patch that came as JSON text may carry bytes that are no UTF-8 the way Python does.
    patch = _bytes(params["patch"], "patch")
    return passed(bench.door, PatchDeed(bench, patch, params.get("summary", "")), params.get("approval", ""))


def run(bench: Bench, params: Mapping[str, Any]) -> dict[str, Any]:
    """Run one program in the sandbox."""
    return passed(bench.door, _command(bench, params["argv"], params), params.get("approval", ""))


def run_tests(bench: Bench, params: Mapping[str, Any]) -> dict[str, Any]:
    """Run tests and say in numbers what came of it: a run without a test is not a success."""
    runner: Runner | None = None
    if argv := params.get("argv"):
        name = ""
    else:
        name, runner, argv = _planned(
            bench, params.get("runner", ""), [_operand(one) for one in params.get("files", ())]
        )
    done = passed(bench.door, _command(bench, list(argv), params), params.get("approval", ""))
    answer = {**done, "runner": name, "argv": list(argv)}
    status = done.get("status")
    if runner is None:
        return _noted(bench, {**answer, "ok": status == 0})
    report = runner.parse(done["output"].encode(), -1 if status is None else status)
    ok = status == 0 and report.passed > 0 and report.failed == 0
    return _noted(bench, {**answer, **_counts(report), "ok": ok})


def _noted(bench: Bench, answer: dict[str, Any]) -> dict[str, Any]:
    """Tell the log what came of tests, where and on which commit: whoever lands or reviews wants to know."""
    told = {
        key: answer[key] for key in ("argv", "runner", "status", "ok", "passed", "failed", "skipped") if key in answer
    }
    where = {"worktree": str(bench.worktree), "base": base_of(bench)}
    bench.door.note("tests.counted", masked(bench.door.mask, {**told, **where}))
    return answer


def write_artifact(bench: Bench, params: Mapping[str, Any]) -> dict[str, Any]:
    """Keep a text, secrets hidden, named by its content."""
    name = params["filename"]
    if reason := why_unwritable(name):
        raise Invalid(f"filename {one_line(name, 80)!r} is refused: {reason}")
    _bytes(params["content"], "content")  # refused before the mask sees it
    data = masked(bench.door.mask, params["content"]).encode()
    answer = {"filename": name, "digest": artifacts.kept(bench.artifacts, data), "size": len(data)}
    bench.door.note("artifact.written", answer)
    return answer


def _command(bench: Bench, argv: Sequence[str], params: Mapping[str, Any]) -> CommandDeed:
    return CommandDeed(
        bench,
        argv,
        params.get("summary", ""),
        cwd=params.get("cwd", ""),
        env=params.get("env", {}),
        stdin=_bytes(params.get("stdin", ""), "stdin"),
        limits={"seconds": params["seconds"]} if "seconds" in params else {},
        network=params.get("network", "none"),
    )


def _planned(bench: Bench, wanted: str, files: list[str]) -> tuple[str, Runner, Sequence[str]]:
    present = _present(bench.worktree)
    if wanted and wanted not in bench.runners:
        raise Invalid(f"there is no runner {one_line(wanted, 40)!r}", hint=f"there are: {', '.join(bench.runners)}")
    missing: NotFound | None = None
    for name, runner in bench.runners.items():
        argv = runner.plan(present, tuple(files)) if wanted in ("", name) else None
        if argv is None:
            continue
        try:
            bench.confine.resolved(argv[0], bench.worktree)
        except NotFound as exc:
            missing = missing or exc  # another runner may know these tests, too
            continue
        return name, runner, argv
    if missing is not None:
        raise missing
    raise NotFound("no runner knows how tests are run here", hint="give argv; then only the exit status counts")


def _present(worktree: Path) -> frozenset[str]:
    """Return the names of files near the top, by which a runner knows a project."""
    found: list[str] = []
    for folder, names, files in os.walk(worktree):
        below = Path(folder).relative_to(worktree)
        names[:] = [name for name in names if not name.startswith(".") and name != "node_modules"]
        if len(below.parts) >= _DEEPEST or len(found) > _MOST_NAMES:
            names.clear()
        found += [str(below / name) for name in files]
    return frozenset(found[:_MOST_NAMES])


def _operand(path: str) -> str:
    """Return a path that no program takes for an option. Raises: Invalid."""
    if reason := why_unwritable(path.partition("::")[0]):
        raise Invalid(f"{one_line(path, 80)!r} is refused: {reason}")
    return f"./{path}" if path.startswith("-") else path


def _counts(report: TestReport) -> dict[str, Any]:
    failures = [{"name": one.name, "where": one.where, "message": one.message} for one in report.failures]
    return {"ran": report.ran, "passed": report.passed, "failed": report.failed, "skipped": report.skipped,
            "failures": failures}  # fmt: skip


def _bytes(text: str, name: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as exc:
        raise Invalid(f"{name} holds half of a surrogate pair") from exc
