"""Computes tags and a risk from 0 to 4 from a request alone, never from the agent's claims. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from gitnexus.policy import builtin, programs
from gitnexus.policy.model import (
    CommandRequest,
    DocumentRequest,
    HandoffRequest,
    MemoryDeleteRequest,
    NetworkRequest,
    PatchRequest,
    PatchRow,
    PolicyRequest,
    Request,
)
from gitnexus.policy.paths import enters_git, is_reserved, resolve_link

SYMLINK, SUBMODULE, EXECUTABLE = "120000", "160000", "100755"
MANY_FILES = 20


@dataclass(frozen=True, slots=True)
class FactTag:
    """The meaning of a tag: its risk, whether it always asks, and its description."""

    risk: int
    asks: bool
    words: str


TAGS: dict[str, FactTag] = {
    "writes_repo": FactTag(1, False, "it changes files of the repository"),
    "many_files": FactTag(2, False, f"it changes more than {MANY_FILES} files"),
    "deletes": FactTag(1, False, "it deletes files"),
    "reserved_name": FactTag(2, True, "a name means a device on Windows"),
    "binary": FactTag(2, True, "it contains bytes that no diff can show"),
    "chmod_x": FactTag(2, True, "it makes a file executable"),
    "executes_later": FactTag(2, True, "it changes a file that tools run by themselves later"),
    "agent_config": FactTag(3, True, "it changes the instructions of agents or what they may start"),
    "attributes": FactTag(3, True, "it changes how git itself treats files"),
    "hooks": FactTag(3, True, "it changes what runs at a commit"),
    "ci": FactTag(3, True, "it changes what runs at the host, with the host's secrets"),
    "deletes_guard": FactTag(3, True, "it deletes a file that protects others"),
    "symlink": FactTag(3, True, "it makes a symbolic link"),
    "submodule": FactTag(3, True, "it changes a submodule"),
    "typechange": FactTag(3, True, "it turns a file into something else, or back"),
    "executes": FactTag(1, False, "it runs a program"),
    "runs_tree": FactTag(2, False, "the program is in the worktree, where agents write"),
    "no_sandbox": FactTag(2, False, "only limits confine it"),
    "unknown_flags": FactTag(3, False, "it has arguments that are not known to be harmless"),
    "escalates": FactTag(3, False, "it can run whatever it is given"),
    "network": FactTag(3, True, "it can reach other machines"),
    "other_user": FactTag(4, False, "it acts as another user"),
    "path_in_worktree": FactTag(3, True, "PATH names a folder where agents write"),
    "handoff": FactTag(1, False, "control goes to another role"),
    "document": FactTag(1, False, "it changes a plan or the agenda"),
    "deletes_memory": FactTag(2, True, "it deletes notes"),
    "changes_policy": FactTag(4, True, "it changes the policy itself"),
}


_ORDER = {tag: at for at, tag in enumerate(TAGS)}


@dataclass(frozen=True, slots=True)
class Facts:
    """The tags in table order, what each was seen at, the risk, and the positions in argv that may do harm."""

    tags: tuple[str, ...]
    seen: dict[str, str]
    risk: int
    places: dict[int, str]

    @property
    def asking(self) -> tuple[str, ...]:
        """The tags that ask even if a wildcard rule allows the request."""
        return tuple(tag for tag in self.tags if TAGS[tag].asks)


def facts_of(request: Request, worktree: str = "") -> Facts:
    """Return the facts of `request`; `worktree` is the folder where agents write, if known."""
    places: dict[int, str] = {}
    if isinstance(request, PatchRequest):
        found = _patch_facts(request)
    elif isinstance(request, CommandRequest):
        places = programs.unknown_places(request.argv)
        found = dict(_command_facts(request, places, worktree or request.cwd))
    else:
        found = _other_facts(request)
    tags = tuple(sorted(found, key=_ORDER.__getitem__))
    return Facts(tags, found, max([TAGS[tag].risk for tag in tags], default=0), places)


def _patch_facts(request: PatchRequest) -> dict[str, str]:
    found = {"writes_repo": request.changes[0].path if request.changes else ""}
    if len(request.changes) > MANY_FILES:
        found["many_files"] = str(len(request.changes))
    for change in request.changes:
        for tag in tags_of(change):
            found.setdefault(tag, change.path)
    return found


def tags_of(change: PatchRow) -> Iterator[str]:
    """Yield the tags of one row of a patch."""
    if not builtin.is_plain(change.path) and (tag := builtin.tag_to_ask(change.path)) is not None:
        yield tag
    if not change.new_mode:
        yield "deletes"
        if builtin.is_guard(change.path):
            yield "deletes_guard"
    elif change.new_mode == EXECUTABLE and change.old_mode != EXECUTABLE:
        yield "chmod_x"
    elif change.new_mode == SYMLINK:
        yield "symlink"
    if SUBMODULE in (change.old_mode, change.new_mode):
        yield "submodule"
    if change.old_mode and change.new_mode and change.old_mode[:3] != change.new_mode[:3]:
        yield "typechange"
    if change.binary:
        yield "binary"
    if is_reserved(change.path):
        yield "reserved_name"


def link_escape(change: PatchRow) -> str | None:
    """Return why the link that a row creates is refused, or None."""
    if change.new_mode != SYMLINK:
        return None
    if not change.link_target:
        return "the target of the link is unknown"
    place = resolve_link(change.path.rpartition("/")[0], change.link_target)
    if place is None:
        return "the link leads out of the repository"
    if enters_git(place) or builtin.is_ours(place):
        return "the link leads into .git or .nexus"
    secret = builtin.secret_pattern_for(place)
    return f"the link leads to a file that {secret} keeps secret" if secret else None


def _command_facts(request: CommandRequest, places: dict[int, str], worktree: str) -> Iterator[tuple[str, str]]:
    argv = request.argv
    name = programs.program_name(argv[0])
    yield "executes", name
    if worktree and request.program.startswith(worktree.rstrip("/") + "/"):
        yield "runs_tree", request.program
    if request.sandbox == "L0":
        yield "no_sandbox", request.sandbox
    if places:
        yield "unknown_flags", next(iter(places.values()))
    row = programs.program_row(argv)
    if row is not None and row.escalates:
        yield "escalates", row.escalates
    if request.network != "none":
        yield "network", request.network
    elif row is not None and row.network:
        yield "network", name
    if name in programs.ROOT:
        yield "other_user", name
    for entry in request.env.get("PATH", "/").split(":"):
        if not entry.startswith("/") or (worktree and f"{entry}/".startswith(worktree.rstrip("/") + "/")):
            yield "path_in_worktree", entry or "an empty entry"


def _other_facts(request: Request) -> dict[str, str]:
    if isinstance(request, HandoffRequest):
        return {"handoff": f"{request.sender} to {request.receiver}"}
    if isinstance(request, PolicyRequest):
        return {"changes_policy": request.path}
    if isinstance(request, DocumentRequest):
        return {"document": request.path}
    if isinstance(request, MemoryDeleteRequest):
        return {"deletes_memory": ", ".join(sorted(request.notes))}
    if isinstance(request, NetworkRequest):
        return {"network": ", ".join(request.hosts)}
    return {}
