"""What is found about files that a call reads or writes: by their names, by rules, and by where they lie."""

import os
import posixpath
from collections.abc import Iterable, Iterator
from pathlib import Path

from gitnexus.app.court import Court, Finding
from gitnexus.app.harnessgate import file_text, meant, new_text, read_paths, text_after
from gitnexus.app.judgefolder import is_repository
from gitnexus.app.judgereads import Reach, words_of
from gitnexus.base.text import one_line
from gitnexus.git.shape import hook_of, why_git_may_obey, why_git_obeys
from gitnexus.harness.calls import Patched, Reads, Writes
from gitnexus.harness.patchform import added_text, sections, updated_text
from gitnexus.policy.builtin import secret_by
from gitnexus.policy.law import why_unreadable
from gitnexus.policy.model import Change, PatchRequest
from gitnexus.policy.paths import enters_git, why_odd
from gitnexus.policy.words import ANY_FILE


def reading(court: Court, call: Reads) -> Iterator[Finding]:
    """Yield a no for each file or pattern of files that is not read for an agent."""
    for path in read_paths(call):
        court.facts.append(("real", path, path))
        inside = court.below(path)
        # Outside of the worktree what is secret by its name is secret still.
        secret = secret_by(path.lstrip("/")) if inside is None else inside and _unreadable(court, inside)
        if secret:
            yield Finding("deny", f"{one_line(path, 120)} is not read for an agent ({secret})", secret)
    reach = Reach(court.here.law, court.place.top)
    for path in read_paths(call):
        if (call.patterns or Path(path).is_dir()) and (found := reach.by_search(path, call.patterns)) is not None:
            yield Finding("deny", words_of(found, court.place.top), found.rule)
    court.look_at(reach.looked_at)
    for pattern in call.patterns:
        for name in _spelled(pattern):
            if rule := why_unreadable(court.here.law, name) if why_odd(name) is None else None:
                yield Finding("deny", f"{one_line(pattern, 120)} finds what is not read for an agent ({rule})", rule)


def _unreadable(court: Court, path: str) -> str | None:
    """Return the rule that keeps agents from a file, or from all that lies in a folder."""
    law = court.here.law
    found = why_unreadable(law, path)
    return found or (why_unreadable(law, f"{path}/{ANY_FILE}") if Path(court.place.top, path).is_dir() else None)


def _changes(court: Court, call: Writes | Patched) -> Iterator[Change]:
    rows = [(call.path, "update")] if isinstance(call, Writes) else [(row.path, row.what) for row in call.files]
    moved = isinstance(call, Patched) and any(row.what == "move" for row in call.files)
    seen = set()
    text = "" if isinstance(call, Patched) else new_text(call)
    for path, what in rows:
        place = court.below(meant(path))
        if not place or place in seen:
            continue
        seen.add(place)
        old = _mode(meant(path))
        gone = what == "delete"
        new = "" if gone else old or "100644"
        yield Change(path=place, old_mode=old or ("100644" if gone or moved else ""), new_mode=new, binary="\0" in text)


def patch_of(court: Court, call: Writes | Patched) -> PatchRequest:
    """Return the files of the worktree that a call writes, as the rows of a patch without its trees."""
    changes = tuple(sorted(_changes(court, call), key=lambda row: os.fsencode(row.path)))
    return PatchRequest(**court.common(), base="", base_tree="", result_tree="", changes=changes)


def shaped(court: Court, call: Writes | Patched) -> Iterator[Finding]:
    """Yield a no for each file by which git would take a folder for a repository, a hook or a config: inside or out."""
    rows = [(call.path, text_after(call, meant(call.path)))] if isinstance(call, Writes) else texts_after(call)
    for path, text in rows:
        real = meant(path)
        why = why_git_may_obey(path, text) or why_git_may_obey(real, text)
        folder = hook_of(real)
        if why is None and folder and is_repository(Path(folder)):
            why = "it is a hook of a folder that git takes for a repository"
        if why is not None:
            yield Finding("deny", f"{one_line(path, 120)}: {why}", "builtin.git-shape")


def texts_after(call: Patched) -> Iterator[tuple[str, str | None]]:
    """Yield each file that a patch leaves with what it will hold, None where that cannot be told."""
    found = sections(call.text) or ()
    known: dict[str, str | None] = {}  # what an earlier part of the same patch made of a file
    source = ""
    for at, (row, section) in enumerate(zip(call.files, found, strict=True)):
        real = meant(row.path)
        if row.what == "delete":
            known[real] = None
            continue
        before = source if row.what == "move" else real
        source = real
        if row.what == "update" and found[at + 1 : at + 2] and found[at + 1].what == "move":
            continue  # what it holds is judged under its new name
        if row.what == "add":
            known[real] = added_text(section)
        else:
            known[real] = updated_text(section, known[before] if before in known else file_text(before))
        yield row.path, known[real]


def writing(court: Court, request: PatchRequest) -> Iterator[Finding]:
    """Yield what the gate says to such a patch, nothing for an empty one."""
    if request.changes:
        yield court.decided(request)


def outside(court: Court, call: Writes | Patched) -> Iterator[Finding]:
    """Yield what is found about each file that a call writes outside of the worktree."""
    for path in [call.path] if isinstance(call, Writes) else [row.path for row in call.files]:
        real = meant(path)
        if court.below(real) is None:
            yield _elsewhere(real)


def _elsewhere(real: str) -> Finding:
    shown = one_line(real, 120)
    secret = secret_by(real.lstrip("/"))
    if secret:
        return Finding("deny", f"{shown}: {secret} holds secrets", "builtin.secret")
    if enters_git(real.lstrip("/")):
        return Finding("deny", f"{shown}: nothing of an agent's goes into .git", "builtin.git")
    return Finding("ask", f"{shown} lies outside of the project", "harness.outside")


def unplanned(court: Court) -> Iterator[Finding]:
    """Yield a no where edits need an open task and there is none."""
    folder = Path(court.place.top, ".nexus", "state")
    wanted = court.here.law.unplanned
    if wanted is None:
        wanted = "require-task" if court.place.run and (folder / "plan.json").exists() else "free"
    if wanted == "require-task" and not (folder / "tasks.json").exists():
        why = "edits need a task here, and none is open: nx_task_add adds one (the policy says edits: require-task)"
        yield Finding("deny", why, "edits.require-task")


def written(court: Court, path: str, cwd: str) -> Finding:
    """Return what is found about a file that a command writes: a no or a question."""
    real = meant(posixpath.join(cwd, path) if not path.startswith("~") else path)
    place = court.below(real)
    if why := why_git_obeys(real, None):
        return Finding("deny", f"{one_line(path, 120)}: {why}", "builtin.git-shape")
    if place is None:
        return _elsewhere(real)
    if not place:
        return Finding("ask", "it writes to the top of the worktree", "harness.shell")
    old = _mode(real)
    change = Change(path=place, old_mode=old, new_mode=old or "100644")
    found = court.decided(PatchRequest(**court.common(), base="", base_tree="", result_tree="", changes=(change,)))
    # A path that may be written does not make the command one that may be run.
    return found if found.verdict == "deny" else Finding("ask", found.why, found.rule)


def _mode(path: str) -> str:
    """Return the kind of a file as git has it, empty if there is none."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return ""
    return "100755" if mode & 0o111 else "100644"


def _spelled(pattern: str) -> Iterable[str]:
    """Return names that a pattern of names may find: what it would with nothing or one letter for each wildcard."""
    if pattern.startswith("!"):
        return ()
    names = {pattern.translate({ord(mark): letter for mark in "*?"}) for letter in ("", "x")}
    parts = {name.strip("/") for name in names} | {name.rpartition("/")[2] for name in names}
    braces = {part.replace("{", "").replace("}", "").split(",")[0] for part in parts} if "{" in pattern else set()
    return [name.replace("//", "/") for name in parts | braces if name.strip("./")]
