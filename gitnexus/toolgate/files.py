"""Judges the files that a tool call reads or writes: by name, by policy rules and by location."""

import os
import posixpath
from collections.abc import Iterable, Iterator
from pathlib import Path

from gitnexus.base.text import one_line
from gitnexus.git.shape import folder_of_hook, why_git_may_obey, why_git_obeys
from gitnexus.harness.call_files import file_text, new_text, read_paths, resolve_path, text_after
from gitnexus.harness.calls import PatchCall, ReadCall, WriteCall
from gitnexus.harness.patchform import parse_patch_sections, text_after_hunks, text_of_added_file
from gitnexus.policy.builtin import secret_pattern_for
from gitnexus.policy.command_folder import is_repository
from gitnexus.policy.compiled_rules import why_unreadable
from gitnexus.policy.denied_reads import DeniedReads, describe_denied_file
from gitnexus.policy.model import PatchRequest, PatchRow
from gitnexus.policy.paths import enters_git, why_path_odd
from gitnexus.policy.word_paths import ANY_FILE
from gitnexus.toolgate.context import CallFinding, JudgeContext


def judge_reads(context: JudgeContext, call: ReadCall, *, is_deep: bool = True) -> Iterator[CallFinding]:
    """Yield a denial for each file or file pattern that agents may not read; with `is_deep` also below folders."""
    for path in read_paths(call):
        context.facts.append(("real", path, path))
        inside = context.relative_path(path)
        # Files with secret names stay secret outside the worktree.
        secret = (
            secret_pattern_for(path.lstrip("/")) if inside is None else inside and _unreadable_by_rule(context, inside)
        )
        if secret:
            yield CallFinding("deny", f"agents may not read {one_line(path, 120)} ({secret})", secret)
    reach = DeniedReads(context.here.compiled, context.location.top)
    for path in read_paths(call):
        if context.relative_path(path) is None and (found := reach.by_path(path)) is not None:
            yield CallFinding("deny", describe_denied_file(found, context.location.top), found.rule)
        is_searched = call.patterns or (is_deep and Path(path).is_dir())
        if is_searched and (found := reach.find_in_search(path, call.patterns)) is not None:
            yield CallFinding("deny", describe_denied_file(found, context.location.top), found.rule)
    context.rest_on(reach)
    for pattern in call.patterns:
        for name in _names_matching_pattern(pattern):
            if rule := why_unreadable(context.here.compiled, name) if why_path_odd(name) is None else None:
                yield CallFinding(
                    "deny", f"{one_line(pattern, 120)} matches files that agents may not read ({rule})", rule
                )


def _unreadable_by_rule(context: JudgeContext, path: str) -> str | None:
    """Return the rule that denies agents a file, or everything in a folder."""
    policy = context.here.compiled
    found = why_unreadable(policy, path)
    return found or (
        why_unreadable(policy, f"{path}/{ANY_FILE}") if Path(context.location.top, path).is_dir() else None
    )


def _written_changes(context: JudgeContext, call: WriteCall | PatchCall) -> Iterator[PatchRow]:
    rows = [(call.path, "update")] if isinstance(call, WriteCall) else [(row.path, row.what) for row in call.files]
    moved = isinstance(call, PatchCall) and any(row.what == "move" for row in call.files)
    seen = set()
    text = "" if isinstance(call, PatchCall) else new_text(call)
    for path, what in rows:
        place = context.relative_path(resolve_path(path))
        if not place or place in seen:
            continue
        seen.add(place)
        old = _git_mode(resolve_path(path))
        gone = what == "delete"
        new = "" if gone else old or "100644"
        yield PatchRow(
            path=place, old_mode=old or ("100644" if gone or moved else ""), new_mode=new, binary="\0" in text
        )


def patch_request_from_call(context: JudgeContext, call: WriteCall | PatchCall) -> PatchRequest:
    """Return the worktree files that a call writes as a patch request without trees."""
    changes = tuple(sorted(_written_changes(context, call), key=lambda row: os.fsencode(row.path)))
    return PatchRequest(**context.common(), base="", base_tree="", result_tree="", changes=changes)


def judge_git_shapes(context: JudgeContext, call: WriteCall | PatchCall) -> Iterator[CallFinding]:
    """Yield a denial for each file that makes git see a repository, hook or config, inside or outside the worktree."""
    rows = (
        [(call.path, text_after(call, resolve_path(call.path)))] if isinstance(call, WriteCall) else texts_after(call)
    )
    for path, text in rows:
        real = resolve_path(path)
        why = why_git_may_obey(path, text) or why_git_may_obey(real, text)
        folder = folder_of_hook(real)
        if why is None and folder and is_repository(Path(folder)):
            why = "it is a hook of a folder that git treats as a repository"
        if why is not None:
            yield CallFinding("deny", f"{one_line(path, 120)}: {why}", "builtin.git-shape")


def texts_after(call: PatchCall) -> Iterator[tuple[str, str | None]]:
    """Yield each file that a patch writes with its new content, None if that is unknown."""
    found = parse_patch_sections(call.text) or ()
    known: dict[str, str | None] = {}  # the result of an earlier part of the same patch
    source = ""
    for at, (row, section) in enumerate(zip(call.files, found, strict=True)):
        real = resolve_path(row.path)
        if row.what == "delete":
            known[real] = None
            continue
        before = source if row.what == "move" else real
        source = real
        if row.what == "update" and found[at + 1 : at + 2] and found[at + 1].what == "move":
            continue  # its content is judged under its new name
        if row.what == "add":
            known[real] = text_of_added_file(section)
        else:
            known[real] = text_after_hunks(section, known[before] if before in known else file_text(before))
        yield row.path, known[real]


def judge_patch(context: JudgeContext, request: PatchRequest) -> Iterator[CallFinding]:
    """Yield the gate's findings on a patch request, nothing for an empty one."""
    if request.changes:
        yield context.decide_request(request)


def judge_outside_writes(context: JudgeContext, call: WriteCall | PatchCall) -> Iterator[CallFinding]:
    """Yield a finding for each file that a call writes outside the worktree."""
    for path in [call.path] if isinstance(call, WriteCall) else [row.path for row in call.files]:
        real = resolve_path(path)
        if context.relative_path(real) is None:
            yield _judge_outside_file(real)


def _judge_outside_file(real: str) -> CallFinding:
    shown = one_line(real, 120)
    secret = secret_pattern_for(real.lstrip("/"))
    if secret:
        return CallFinding("deny", f"{shown}: {secret} holds secrets", "builtin.secret")
    if enters_git(real.lstrip("/")):
        return CallFinding("deny", f"{shown}: agents must not write into .git", "builtin.git")
    return CallFinding("ask", f"{shown} lies outside of the project", "harness.outside")


def judge_missing_task(context: JudgeContext) -> Iterator[CallFinding]:
    """Yield a denial if edits require an open task and there is none."""
    folder = Path(context.location.top, ".nexus", "state")
    wanted = context.here.compiled.unplanned
    if wanted is None:
        wanted = "require-task" if context.location.run and (folder / "plan.json").exists() else "free"
    if wanted == "require-task" and not (folder / "tasks.json").exists():
        why = "edits need a task here, and none is open: nx_task_add adds one (the policy says edits: require-task)"
        yield CallFinding("deny", why, "edits.require-task")


def judge_command_write(context: JudgeContext, path: str, cwd: str) -> CallFinding:
    """Return the finding about a file that a command writes: a denial or a question."""
    real = resolve_path(posixpath.join(cwd, path) if not path.startswith("~") else path)
    place = context.relative_path(real)
    if why := why_git_obeys(real, None):
        return CallFinding("deny", f"{one_line(path, 120)}: {why}", "builtin.git-shape")
    if place is None:
        return _judge_outside_file(real)
    if not place:
        return CallFinding("ask", "it writes to the top of the worktree", "harness.shell")
    old = _git_mode(real)
    change = PatchRow(path=place, old_mode=old, new_mode=old or "100644")
    found = context.decide_request(
        PatchRequest(**context.common(), base="", base_tree="", result_tree="", changes=(change,))
    )
    # A writable path does not make the command itself allowed.
    return found if found.verdict == "deny" else CallFinding("ask", found.why, found.rule)


def _git_mode(path: str) -> str:
    """Return the git file mode of a file, "" if it does not exist."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return ""
    return "100755" if mode & 0o111 else "100644"


def _names_matching_pattern(pattern: str) -> Iterable[str]:
    """Return names that a glob may match: the pattern with zero or one letter for each wildcard."""
    if pattern.startswith("!"):
        return ()
    names = {pattern.translate({ord(mark): letter for mark in "*?"}) for letter in ("", "x")}
    parts = {name.strip("/") for name in names} | {name.rpartition("/")[2] for name in names}
    braces = {part.replace("{", "").replace("}", "").split(",")[0] for part in parts} if "{" in pattern else set()
    return [name.replace("//", "/") for name in parts | braces if name.strip("./")]
