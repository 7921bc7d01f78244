"""Recognises a test call that our hook always refuses, which shows whether a harness really obeys the hook."""

from gitnexus.harness.calls import Call, PatchCall, ReadCall, ShellCall, WriteCall

COMMAND = "git-nexus-canary"
FILE = ".git-nexus-canary"
REASON = "git nexus canary: refused, as this call always is; the hook is loaded, and it blocks"


def is_canary_call(call: Call) -> bool:
    """Return True for a command of exactly that name, and for a file of that name in any folder."""
    if isinstance(call, ShellCall):
        return call.text.strip() == COMMAND or call.argv == (COMMAND,)
    if isinstance(call, WriteCall):
        return _is_canary_file(call.path)
    if isinstance(call, ReadCall):
        return any(map(_is_canary_file, call.paths))
    return isinstance(call, PatchCall) and any(_is_canary_file(row.path) for row in call.files)


def _is_canary_file(path: str) -> bool:
    return path.rpartition("/")[2] == FILE
