"""Tells whether a file would make git treat a folder as a repository, run a hook or obey a config: by name and content.

Every folder that git treats as a repository has a HEAD of a known form, so that alone is refused, wherever it is. A
config file is parsed as git parses it, to the last byte, because git ignores one with a syntax error; what counts is a
key that names a program or another file. Hooks call this before every write, so patterns are compiled only when needed.
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
    """Return why git would treat a file as part of a repository, or None. `text` is None if unknown."""
    name = _git_file_name(path)
    if name == "head" and link_target.startswith("refs/"):
        return "git treats a folder with such a HEAD as a repository"
    if name in PIECES and (text is None or (re.match(_HEAD, text) if name == "head" else name != "packed-refs")):
        return f"git treats a folder with such a {path.rpartition('/')[2]} as a repository"
    if text is None:
        return None
    if text.lstrip()[:7].lower() == "gitdir:":
        return "git treats such a file as a link to a repository"
    if is_risky_config(text):
        return "git treats such a file as a config that names programs or other files"
    return None


def why_git_may_obey(path: str, text: str | None) -> str | None:
    """Return the same for a file that will be written; a config with unknown content counts as one git obeys."""
    if text is None and _git_file_name(path) == "config":
        return "git treats a file of this name as a config, and its later content is unknown"
    return why_git_obeys(path, text)


def is_git_name(path: str) -> bool:
    """Return True for a name that git looks for in a repository; the content of such a file must be known exactly."""
    name = _git_file_name(path)
    return name in PIECES or name == "config"


def is_risky_config(text: str) -> bool:
    """Return True for a text that git parses as a config without error and that makes git run or read something."""
    if "[" not in text or not _begins_as_config(text):
        return False
    found = False
    for section, key in _iterate_config_keys(text.lstrip("\ufeff")):
        if key is None:
            return False
        found = found or section in _ALL_RUN or (section is not None and key in _OBEYED_KEYS)
    return found


def _begins_as_config(text: str) -> bool:
    """Return False for most texts, judged by their first line."""
    for line in text.lstrip("\ufeff").split("\n"):
        first = line.strip(" \t\r")
        if first and first[0] not in "#;":
            key = first.partition("=")[0].rstrip(" \t")
            return first[0] == "[" or (key.isascii() and key.replace("-", "a").isalnum())
    return False


def _iterate_config_keys(text: str) -> Iterator[tuple[str | None, str | None]]:
    """Yield each key with its section (None before the first); at a syntax error yield a key of None and stop."""
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


def _git_file_name(path: str) -> str:
    return path.rpartition("/")[2].lower().rstrip(". ")


def folder_of_hook(path: str) -> str:
    """Return the folder for which a file would be a hook, empty for any other file."""
    folder, _, name = path.rpartition("/")
    above, _, last = folder.rpartition("/")
    return above or "." if last.lower() == "hooks" and name.lower() in HOOKS else ""
