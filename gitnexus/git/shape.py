"""Whether a file would make git take a folder for a repository, run a hook or obey a config: by name and content.

Every folder that git takes for a repository has a HEAD of a known form, so that alone is refused, wherever it lies. A
config is read as git reads it, to the last byte, for one with a mistake is obeyed nowhere; what counts is a key that
names a program or another file. Hooks ask this before every write, so expressions are compiled only where they serve.
"""

import re
from collections.abc import Iterator

# A folder with these is a repository, or a worktree of one, for git.
PIECES = frozenset(("head", "commondir", "gitdir", "config.worktree", "packed-refs"))
# All of githooks(5), and the second form of the sample that git brings.
HOOKS = frozenset(
    "applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg "
    "post-commit pre-rebase post-checkout post-merge pre-push pre-receive update proc-receive post-receive post-update "
    "reference-transaction push-to-checkout pre-auto-gc post-rewrite sendemail-validate fsmonitor-watchman "
    "fsmonitor-watchmanv2 p4-changelist p4-prepare-changelist p4-post-changelist p4-pre-submit "
    "post-index-change".split()
)
# Whatever follows the first forty digits, git does not look at it.
_HEAD = r"(?i)\s*(?:ref:\s*refs/|[0-9a-f]{40})"
_NOTHING = r"(?:[ \t\r\n]++|[#;][^\n]*+)*+"
_SECTION = r'\[([A-Za-z0-9.-]*+)(?:[ \t\r]++"(?:[^"\\\n]|\\[^\n])*+")?\]'
_ESCAPE = r'\\(?:\r?\n|[tbn"\\])'
_VALUE = rf'(?:[^"\\\n#;]++|{_ESCAPE}|"(?:[^"\\\n]++|{_ESCAPE})*+")*+(?:[#;][^\n]*+)?'
_KEY = rf"([A-Za-z][A-Za-z0-9-]*+)[ \t]*+\r?(?:=({_VALUE}))?(?:\n|\Z)"
# Sections in which every key is the name of something that is run.
_ALL_RUN = frozenset(("alias", "pager"))
_OBEYED_KEYS = frozenset(
    "fsmonitor hookspath sshcommand gitproxy pager editor askpass attributesfile excludesfile worktree textconv "
    "external command cmd driver clean smudge process helper program path uploadpack receivepack packobjectshook "
    "alternaterefscommand browser trustexitcode proxy url insteadof pushinsteadof update recentobjectshook sendpack "
    "tool guitool tocmd cccmd headercmd sendmailcmd smtpserver defaulthookspath defaultkeycommand difffilter httpd "
    "tunnel vcs templatedir".split()
)


def why_git_obeys(path: str, text: str | None, link_target: str = "") -> str | None:
    """Return why git would take a file for a part of a repository, or None. `text` is None where nobody knows it."""
    name = _name(path)
    if name == "head" and link_target.startswith("refs/"):
        return "git takes a folder with such a HEAD for a repository"
    if name in PIECES and (text is None or (re.match(_HEAD, text) if name == "head" else name != "packed-refs")):
        return f"git takes a folder with such a {path.rpartition('/')[2]} for a repository"
    if text is None:
        return None
    if text.lstrip()[:7].lower() == "gitdir:":
        return "git takes such a file for the way to a repository"
    if is_config(text):
        return "git takes such a file for a config that names programs or other files"
    return None


def why_git_may_obey(path: str, text: str | None) -> str | None:
    """Return the same for a file that will be written, where a config that nobody can tell counts as one."""
    if text is None and _name(path) == "config":
        return "git takes a file of this name for a config, and what it will hold cannot be told"
    return why_git_obeys(path, text)


def is_git_name(path: str) -> bool:
    """True for a name that git looks for in a repository: what such a file holds has to be told exactly."""
    name = _name(path)
    return name in PIECES or name == "config"


def is_config(text: str) -> bool:
    """True for a text that git reads as a config to its end, and that makes it run or read something."""
    if "[" not in text or not _begins_as_config(text):
        return False
    found = False
    for section, key in _keys(text.lstrip("\ufeff")):
        if key is None:
            return False
        found = found or section in _ALL_RUN or (section is not None and key in _OBEYED_KEYS)
    return found


def _begins_as_config(text: str) -> bool:
    """False for most texts, told by their first line."""
    for line in text.lstrip("\ufeff").split("\n"):
        first = line.strip(" \t\r")
        if first and first[0] not in "#;":
            key = first.partition("=")[0].rstrip(" \t")
            return first[0] == "[" or (key.isascii() and key.replace("-", "a").isalnum())
    return False


def _keys(text: str) -> Iterator[tuple[str | None, str | None]]:
    """Yield each key with its section, None before the first one; at a mistake a key of None, and nothing more."""
    space, head, row = re.compile(_NOTHING), re.compile(_SECTION), re.compile(_KEY)
    section: str | None = None
    at = 0
    while True:
        found = space.match(text, at)
        at = found.end() if found is not None else at
        if at >= len(text):
            return
        if (named := head.match(text, at)) is not None:
            section, at = named[1].lower().partition(".")[0], named.end()
        elif (line := row.match(text, at)) is not None:
            yield section, line[1].lower()
            at = line.end()
        else:
            yield section, None
            return


def _name(path: str) -> str:
    return path.rpartition("/")[2].lower().rstrip(". ")


def hook_of(path: str) -> str:
    """Return the folder whose hook a file would be, empty for any other file."""
    folder, _, name = path.rpartition("/")
    above, _, last = folder.rpartition("/")
    return above or "." if last.lower() == "hooks" and name.lower() in HOOKS else ""
