"""A call that is refused wherever our hook is asked: who makes it learns whether the hook really blocks."""

from gitnexus.harness.calls import Call, Patched, Reads, Shell, Writes

COMMAND = "git-nexus-canary"
FILE = ".git-nexus-canary"
REASON = "git nexus canary: refused, as this call always is; the hook is loaded, and it blocks"


def is_canary(call: Call) -> bool:
    """True for the command of that name alone, and for a file of that name in any folder."""
    if isinstance(call, Shell):
        return call.text.strip() == COMMAND or call.argv == (COMMAND,)
    if isinstance(call, Writes):
        return _named(call.path)
    if isinstance(call, Reads):
        return any(map(_named, call.paths))
    return isinstance(call, Patched) and any(_named(row.path) for row in call.files)


def _named(path: str) -> bool:
    return path.rpartition("/")[2] == FILE
