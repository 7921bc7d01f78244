"""The gate of programs that ask us before each tool: one answer for every call, at once if the same was judged before.

Outside of a project of ours a hook that is installed for all repositories has no opinion, for it must not stop other
work; one that came with a repository refuses, for somebody counts on it. Two things hold everywhere: the canary is
refused, and so is what reaches into the user's home of git nexus, for the key of an approver lies there.
"""

import os
from typing import Any

from gitnexus.app.gatememo import Known, Memo, Place, home, place_of
from gitnexus.git.shape import is_git_name, why_git_may_obey
from gitnexus.harness.calls import (
    Call,
    Harmless,
    Mcp,
    Network,
    Patched,
    Question,
    Reads,
    Shell,
    Subagent,
    Writes,
    call_of,
)
from gitnexus.harness.canary import REASON, is_canary
from gitnexus.harness.model import Answer, Happening

# Below our home, and yet where runs work.
WORKTREES = "worktrees"
_LARGEST_TEXT = 1024 * 1024


def judged(told: Happening) -> Answer:
    """Return the answer to a tool call. Raises: whatever goes wrong, and whoever called keeps the gate shut then."""
    cwd = os.path.realpath(told.cwd or os.getcwd())
    call = call_of(told.harness, told.tool, told.given, cwd)
    if is_canary(call):
        return Answer(verdict="deny", reason=REASON)
    paths = paths_of(call)
    if reached := _in_our_home(paths, call):
        return Answer(verdict="deny", reason=f"git nexus: {reached} holds the keys of approvers: no tool goes there")
    place = place_of(cwd) or next((found for path in paths if (found := place_of(os.path.dirname(path)))), None)
    place = place or _began_in()
    if place is None:
        return _lawless(told, cwd)
    memo, key = Memo(place.common), _key(told, call, paths, place)
    # In a run's worktree nothing is taken in by noticing it.
    law = memo.law() if key and (place.run or memo.is_settled(place.top)) else None
    if law is not None:
        known = memo.found(law, key) or memo.waits(law, asking(told, call, key))
        known = known or _plainly(told, call, place, law.get("plain"))
        if known is not None:
            return no_opinion(told) if known.verdict == "" else _answer(known.verdict, known.reason)
    from gitnexus.app.harnessjudge import answered  # the gate itself: all that the lines above are there to spare

    return answered(told, call, place, memo, key)


def _began_in() -> Place | None:
    """Return the project in which the session began, where the program tells: to leave it is no way out of its law."""
    began = os.environ.get("CLAUDE_PROJECT_DIR") or os.environ.get("GEMINI_PROJECT_DIR") or ""
    return place_of(began) if os.path.isabs(began) else None


def _lawless(told: Happening, cwd: str) -> Answer:
    """Return the answer outside of every project: no opinion, but where somebody counts on the gate."""
    from gitnexus.app.gateready import why_shut  # in a project nobody asks

    reason = why_shut(told.harness, cwd)
    return Answer(verdict="deny", reason=reason) if reason else no_opinion(told)


def _plainly(told: Happening, call: Call, place: Place, plain: dict[str, Any] | None) -> Known | None:
    """Return the answer to a call that the part of the law for plain ones tells, None for all others."""
    if told.agent or place.run or not plain or not isinstance(call, (Reads, Writes, Shell)):
        return None
    from gitnexus.app.plaincalls import answered  # what was judged before needs no expressions

    return answered(call, place, plain)


def below(place: Place, path: str) -> str | None:
    """Return a real path from the top of the worktree, None for one outside."""
    top = place.top.rstrip("/") + "/"
    return path[len(top) :] if path.startswith(top) else "" if path + "/" == top else None


def new_text(call: Writes) -> str:
    """Return all that a call says of what the file will hold."""
    return call.content if call.content is not None else "".join(edit.new for edit in call.edits)


def text_after(call: Writes, path: str) -> str | None:
    """Return what a file will hold after a call; None where that is not told, or not exactly and git would look."""
    if call.content is not None or not call.edits:
        return call.content
    before, exactly = file_text(path), is_git_name(path)
    if exactly and before is None and os.path.lexists(path):
        return None
    text = before or ""
    for edit in call.edits:
        # A program may take what is only alike for what it is to replace.
        if exactly and (text.count(edit.old) != 1 if edit.old else text):
            return None
        text = text.replace(edit.old, edit.new) if edit.old and edit.old in text else f"{text}\n{edit.new}"
    return text


def file_text(path: str) -> str | None:
    """Return what a file holds now, None for one that is not there, is no plain one, or is too large to look at."""
    if not os.path.isfile(path) or os.path.getsize(path) > _LARGEST_TEXT:
        return None
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
        return file.read()


def no_opinion(told: Happening) -> Answer:
    """Return an answer that leaves it to the program's own rules. Our plug-in in OpenCode takes only a plain yes."""
    return Answer(verdict="allow") if told.harness == "opencode" else Answer()


def _answer(verdict: str, reason: str) -> Answer:
    said = {"allow": "allow", "ask": "ask", "defer": "defer"}.get(verdict, "deny")
    return Answer(verdict=said, reason=reason)  # type: ignore[arg-type]  # one of the four


def asking(told: Happening, call: Call, key: str) -> str:
    """Return all that the answer to a question depends on besides the law: who asks, and the call to its last word."""
    return repr((key, told.session, told.headless, os.environ.get("CLAUDE_CODE_ENTRYPOINT"), call))


def meant(path: str) -> str:
    """Return the file that a path leads to, links followed; `~` is the home."""
    return os.path.realpath(os.path.expanduser(path))


def read_paths(call: Reads) -> tuple[str, ...]:
    """Return the files that a call reads. For some programs `..` is the folder above by name, not by link."""
    spelled = (os.path.normpath(os.path.expanduser(path)) for path in call.paths)
    return tuple(dict.fromkeys((*map(meant, call.paths), *map(meant, spelled))))


def paths_of(call: Call) -> tuple[str, ...]:
    """Return the files that a call names, as they lie on the disk."""
    if isinstance(call, Writes):
        return (meant(call.path),)
    if isinstance(call, Reads):
        return read_paths(call)
    return tuple(meant(row.path) for row in call.files) if isinstance(call, Patched) else ()


def _in_our_home(paths: tuple[str, ...], call: Call) -> str:
    """Return the path by which a call reaches into our home, empty if it does not. Of a shell only the text is seen."""
    ours = os.path.realpath(home())
    for path in paths:
        if f"{path}/".startswith(f"{ours}/") and not f"{path}/".startswith(f"{ours}/{WORKTREES}/"):
            return path
    text = (call.text or " ".join(call.argv)) if isinstance(call, Shell) else ""
    for one in {ours, home()}:
        if one in text.replace(f"{one}/{WORKTREES}/", ""):
            return one
    return ""


def _key(told: Happening, call: Call, paths: tuple[str, ...], place: Place) -> str:
    """Return all that an answer depends on besides the law; empty for a call whose answer is never kept."""
    subject: tuple[object, ...]
    if isinstance(call, Writes):
        shape = why_git_may_obey(paths[0], text_after(call, paths[0]))
        subject = ("write", paths, mode_of(paths[0]), "\0" in new_text(call), shape)
    elif isinstance(call, Reads):
        subject = ("read", paths, call.patterns)
    elif isinstance(call, Shell):
        how = (call.dialect, call.typed, os.environ.get("PATH"))
        subject = ("shell", call.text, call.argv, os.path.realpath(call.cwd), *how)
    elif isinstance(call, Mcp):
        subject = ("mcp", call.server, call.tool, os.environ.get("CLAUDE_PLUGIN_ROOT"))
    elif isinstance(call, Network):
        subject = ("network", call.hosts)
    elif isinstance(call, (Subagent, Question, Harmless)):
        subject = (repr(call),)
    else:
        return ""
    open_work = tuple(
        os.path.exists(os.path.join(place.top, ".nexus", "state", one)) for one in ("plan.json", "tasks.json")
    )
    return repr((told.harness, told.tool, told.agent, place, open_work, subject))


def mode_of(path: str) -> int:
    """Return what `lstat` says of the kind of a file, 0 if there is none."""
    try:
        return os.lstat(path).st_mode
    except OSError:
        return 0
