"""repo.apply_patch, cmd.run, tests.run and artifact.write: the tools with an effect."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gitnexus.base.errors import Invalid, NotFound
from gitnexus.base.text import one_line
from gitnexus.gateway import artifacts
from gitnexus.gateway.commanding import CommandAction, worktree_head
from gitnexus.gateway.execute import execute_through_gate, mask_value
from gitnexus.gateway.patching import PatchAction
from gitnexus.gateway.paths import why_unwritable
from gitnexus.gateway.testrun.protocol import Runner, TestReport
from gitnexus.gateway.tool_context import ToolContext

_DEEPEST = 3
_MOST_NAMES = 10_000


def apply_patch(context: ToolContext, params: Mapping[str, Any]) -> dict[str, Any]:
    """Apply a unified diff, all of it or nothing."""
    # A patch from JSON text may carry non-UTF-8 bytes as surrogates.
    patch = _encode_text(params["patch"], "patch")
    return execute_through_gate(
        context.gate, PatchAction(context, patch, params.get("summary", "")), params.get("approval", "")
    )


def run_program(context: ToolContext, params: Mapping[str, Any]) -> dict[str, Any]:
    """Run one program in the sandbox."""
    return execute_through_gate(
        context.gate, _command_action(context, params["argv"], params), params.get("approval", "")
    )


def run_tests(context: ToolContext, params: Mapping[str, Any]) -> dict[str, Any]:
    """Run tests and return their counts; a run without a test is not a success."""
    runner: Runner | None = None
    if argv := params.get("argv"):
        name = ""
    else:
        name, runner, argv = _plan_tests(
            context, params.get("runner", ""), [_safe_operand(one) for one in params.get("files", ())]
        )
    done = execute_through_gate(context.gate, _command_action(context, list(argv), params), params.get("approval", ""))
    answer = {**done, "runner": name, "argv": list(argv)}
    status = done.get("status")
    if runner is None:
        return _log_test_counts(context, {**answer, "ok": status == 0})
    report = runner.parse(done["output"].encode(), -1 if status is None else status)
    ok = status == 0 and report.passed > 0 and report.failed == 0
    return _log_test_counts(context, {**answer, **_report_counts(report), "ok": ok})


def _log_test_counts(context: ToolContext, answer: dict[str, Any]) -> dict[str, Any]:
    """Log the test results with folder and commit, for landing and review; return them."""
    told = {
        key: answer[key] for key in ("argv", "runner", "status", "ok", "passed", "failed", "skipped") if key in answer
    }
    where = {"worktree": str(context.worktree), "base": worktree_head(context)}
    context.gate.note("tests.counted", mask_value(context.gate.mask, {**told, **where}))
    return answer


def write_artifact(context: ToolContext, params: Mapping[str, Any]) -> dict[str, Any]:
    """Keep a text, secrets hidden, named by its content."""
    name = params["filename"]
    if reason := why_unwritable(name):
        raise Invalid(f"filename {one_line(name, 80)!r} is refused: {reason}")
    _encode_text(params["content"], "content")  # refused before masking
    data = mask_value(context.gate.mask, params["content"]).encode()
    answer = {"filename": name, "digest": artifacts.store_artifact(context.artifacts, data), "size": len(data)}
    context.gate.note("artifact.written", answer)
    return answer


def _command_action(context: ToolContext, argv: Sequence[str], params: Mapping[str, Any]) -> CommandAction:
    return CommandAction(
        context,
        argv,
        params.get("summary", ""),
        cwd=params.get("cwd", ""),
        env=params.get("env", {}),
        stdin=_encode_text(params.get("stdin", ""), "stdin"),
        limits={"seconds": params["seconds"]} if "seconds" in params else {},
        network=params.get("network", "none"),
    )


def _plan_tests(context: ToolContext, wanted: str, files: list[str]) -> tuple[str, Runner, Sequence[str]]:
    present = _list_top_files(context.worktree)
    if wanted and wanted not in context.runners:
        raise Invalid(f"there is no runner {one_line(wanted, 40)!r}", hint=f"there are: {', '.join(context.runners)}")
    missing: NotFound | None = None
    for name, runner in context.runners.items():
        argv = runner.plan(present, tuple(files)) if wanted in ("", name) else None
        if argv is None:
            continue
        try:
            context.confine.resolved(argv[0], context.worktree)
        except NotFound as exc:
            missing = missing or exc  # another runner may support these tests
            continue
        return name, runner, argv
    if missing is not None:
        raise missing
    raise NotFound("no runner knows how tests are run here", hint="give argv; then only the exit status counts")


def _list_top_files(worktree: Path) -> frozenset[str]:
    """Return the names of files near the top, by which a runner recognizes a project."""
    found: list[str] = []
    for folder, names, files in os.walk(worktree):
        below = Path(folder).relative_to(worktree)
        names[:] = [name for name in names if not name.startswith(".") and name != "node_modules"]
        if len(below.parts) >= _DEEPEST or len(found) > _MOST_NAMES:
            names.clear()
        found += [str(below / name) for name in files]
    return frozenset(found[:_MOST_NAMES])


def _safe_operand(path: str) -> str:
    """Return a path that no program takes for an option. Raises: Invalid."""
    if reason := why_unwritable(path.partition("::")[0]):
        raise Invalid(f"{one_line(path, 80)!r} is refused: {reason}")
    return f"./{path}" if path.startswith("-") else path


def _report_counts(report: TestReport) -> dict[str, Any]:
    failures = [{"name": one.name, "where": one.where, "message": one.message} for one in report.failures]
    return {
        "ran": report.ran,
        "passed": report.passed,
        "failed": report.failed,
        "skipped": report.skipped,
        "failures": failures,
    }


def _encode_text(text: str, name: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as exc:
        raise Invalid(f"{name} holds an unpaired surrogate") from exc
