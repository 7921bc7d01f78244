"""Reviews by rule: compares the lines that patches add with the plan and a list of common mistakes. Form only."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gitnexus.base.text import one_line
from gitnexus.prompts.model import Blocked, Claim, ExecResult, Plan, ResearchBundle
from gitnexus.redaction.hide import redact
from gitnexus.workflow.budget import files_matching
from gitnexus.workflow.embedded.extract_actions import changed_paths
from gitnexus.workflow.specialist import WorkOrder

MOST_CLAIMS = 60
_FILE = re.compile(r"^\+\+\+ (?:b/)?([^\t\n]+)")
_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_TEST = re.compile(r"(?:^|/)(?:tests?|spec|__tests__)/|(?:^|/)test_[^/]*$|[._](?:test|spec)\.[a-z]+$|_test\.go$")
_CODE = re.compile(r"\.(?:py|js|ts|tsx|jsx|rs|go|java|kt|rb|php|c|cc|cpp|h|hpp|cs|swift|scala|sh)$")
_LARGE = 400
# What is looked for in lines that a patch adds: how sure, what it is, how it looks.
_SLIPS: tuple[tuple[int, str, re.Pattern[str]], ...] = (
    (95, "a mark of a merge that is not finished", re.compile(r"^(?:<{7}|>{7}|={7})(?: |$)")),
    (80, "a stop for a debugger", re.compile(r"\b(?:breakpoint\(\)|pdb\.set_trace\(\)|debugger;|binding\.pry)")),
    (75, "a failure that is caught and dropped",
     re.compile(r"^\s*except(?:\s+\w+)?:\s*pass\s*$|catch\s*\([^)]*\)\s*\{\s*\}")),
    (60, "postponed work", re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b")),
    (60, "a check that is switched off",
     re.compile(r"#\s*(?:type:\s*ignore|noqa|nosec)|eslint-disable|@ts-ignore|@pytest\.mark\.skip")),
    (50, "blanks at the end of a line", re.compile(r"[ \t]+$")),
)  # fmt: skip


class AddedLine(NamedTuple):
    """One line that a patch adds."""

    path: str
    line: int
    text: str


def review_by_rule(order: WorkOrder) -> ResearchBundle | Blocked:
    """Return findings on the work of the nodes before; Blocked if there is no work to review."""
    results = [one for one in order.inputs.values() if isinstance(one, ExecResult)]
    if not results:
        return Blocked(
            kind="needs_user_input", question="What should be reviewed? No node before this one did any work."
        )
    plan = order.plan or next((one for one in order.inputs.values() if isinstance(one, Plan)), None)
    diffs = [action.diff for one in results for action in one.actions if action.kind == "patch"]
    lines = [line for diff in diffs for line in added_lines(diff)]
    claims = [*_claims_about_slips(lines), *_claims_about_shape(diffs, lines), *_claims_outside_plan(plan, diffs)]
    return ResearchBundle(
        question=one_line(order.prompt or order.goal, 2000) or "Is the work as it should be?",
        summary=_summarize_review(results, diffs, lines, claims),
        claims=tuple(claims[:MOST_CLAIMS]),
        constraints=tuple(claim.text for claim in claims if claim.confidence >= 75)[:20],
        unresolved=tuple(_unproved_work(results, plan)),
    )


def added_lines(diff: str) -> Iterator[AddedLine]:
    """Yield the lines that a patch adds, each with its file and its number after the patch."""
    path, number = "", 0
    for line in diff.split("\n"):
        if found := _HUNK.match(line):
            number = int(found[1])
        elif found := _FILE.match(line):
            path, number = found[1].strip(), 0
        elif line.startswith("diff --git "):
            number = 0
        elif number and line.startswith("+"):
            yield AddedLine(path, number, line[1:])
            number += 1
        elif number and not line.startswith(("-", "\\")):
            number += 1


def _claims_about_slips(lines: Sequence[AddedLine]) -> Iterator[Claim]:
    for one in lines:
        for sure, what, pattern in _SLIPS:
            if pattern.search(one.text):
                yield _claim_about_line(one, f"{what}: “{one_line(' '.join(one.text.split()), 160)}”", sure)
        if redact(one.text).count:
            yield _claim_about_line(one, "what looks like a secret", 90)


def _claim_about_line(one: AddedLine, what: str, sure: int) -> Claim:
    where = one_line(one.path, 200)
    return Claim(
        text=f"{where}, line {one.line} adds {what}", citations=(f"file:{one.path}#L{one.line}",), confidence=sure
    )


def _claims_about_shape(diffs: Sequence[str], lines: Sequence[AddedLine]) -> Iterator[Claim]:
    paths = changed_paths(diffs)
    code = [path for path in paths if _CODE.search(path) and not _TEST.search(path)]
    if code and not any(_TEST.search(path) for path in paths):
        yield Claim(
            text=f"{', '.join(code[:5])} changed, and no test did", citations=(f"file:{code[0]}",), confidence=70
        )
    if len(lines) > _LARGE:
        text = f"{len(lines)} lines are added: more than a person reads in one go"
        yield Claim(text=text, citations=(f"file:{lines[0].path}",), confidence=60)


def _claims_outside_plan(plan: Plan | None, diffs: Sequence[str]) -> Iterator[Claim]:
    """Yield findings for changed files that no step of the plan names."""
    named = [path for step in plan.steps for path in step.files] if plan else []
    if not named:
        return
    for path in changed_paths(diffs):
        if path not in files_matching(named, {path: 0}):
            text = f"{one_line(path, 200)} changed, and no step of the plan names it"
            yield Claim(text=text, citations=(f"file:{path}",), confidence=80)


def _unproved_work(results: Sequence[ExecResult], plan: Plan | None) -> Iterator[str]:
    for one in results:
        if one.blocked is not None:
            yield f"Work is blocked: {one_line(one.blocked.question, 300)}"
    run = {argv for one in results for action in one.actions if action.kind == "command" for argv in (action.argv,)}
    for step in plan.steps if plan else ():
        missing = [" ".join(argv) for argv in step.commands if argv not in run]
        if missing:
            yield f"{step.id} is to be proved by {one_line(', '.join(missing), 200)}, which nobody proposed to run."
        elif step.accept and not step.commands:
            yield f"Does it hold after {step.id}: {one_line('; '.join(step.accept), 300)}? No command proves it."


def _summarize_review(
    results: Sequence[ExecResult], diffs: Sequence[str], lines: Sequence[AddedLine], claims: Sequence[Claim]
) -> str:
    commands = sum(action.kind == "command" for one in results for action in one.actions)
    added = _format_count(len(lines), "added line", "added lines")
    said = f"Looked at {_format_count(len(diffs), 'patch', 'patches')} with {added}"
    said += f" and {_format_count(commands, 'command', 'commands')}."
    grave = sum(claim.confidence >= 75 for claim in claims)
    found = (
        f"{_format_count(len(claims), 'remark', 'remarks')}, {grave} of them grave."
        if claims
        else "No rule found a slip."
    )
    return f"{said} {found} Rules look at form and at the plan; whether it makes sense is for a person to say."


def _format_count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
