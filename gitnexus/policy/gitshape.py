"""Whether a file would make git take a folder for a repository, run a hook or obey a config: by name and content.

Every folder that git takes for a repository has a HEAD of a known form, so that alone is refused, wherever it lies. A
config is known by its lines: sections and keys to the last one, and among them a key that names a program or another
file. Hooks ask this before every write, so expressions are compiled only for what looks suspicious.
"""

import re

# A folder with these is a repository, or a worktree of one, for git.
PIECES = frozenset(("head", "commondir", "gitdir", "config.worktree", "packed-refs"))
HOOKS = frozenset(
    "applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg "
    "post-commit pre-rebase post-checkout post-merge pre-push pre-receive update proc-receive post-receive post-update "
    "reference-transaction push-to-checkout pre-auto-gc post-rewrite sendemail-validate fsmonitor-watchman "
    "p4-changelist p4-prepare-changelist p4-post-changelist p4-pre-submit post-index-change".split()
)
_HEAD = r"(?i)\s*(?:ref:\s*refs/|[0-9a-f]{40}(?:[0-9a-f]{24})?\s*\Z)"
_SECTION = r'\[[A-Za-z0-9.-]+(?:\s+"(?:[^"\\\n]|\\.)*")?\]'
_KEY = r"[A-Za-z][A-Za-z0-9-]*\s*(?:=.*)?"
_OBEYS = (
    r"(?im)^\s*(?:\[[^\]\n]*\]\s*)?(?:fsmonitor|hookspath|sshcommand|gitproxy|pager|editor|sequence\.editor|askpass"
    r"|attributesfile|excludesfile|worktree|textconv|external|command|cmd|driver|clean|smudge|process|helper|program"
    r"|path|uploadpack|receivepack|packobjectshook|alternaterefscommand|browser|trustexitcode|proxy|url|insteadof"
    r"|pushinsteadof|update|recentobjectshook|sendpack|tool|guitool|tocmd|cccmd|smtpserver|defaulthookspath)\s*="
)
_ALIAS = r"(?im)^\s*\[alias\]"


def why_git_obeys(path: str, text: str | None, link_target: str = "") -> str | None:
    """Return why git would take a file for a part of a repository, or None. `text` is None where nobody knows it."""
    name = path.rpartition("/")[2].lower().rstrip(". ")
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


def is_config(text: str) -> bool:
    """True for a text that is a git config from its first line to its last, and makes git run or read something."""
    first = next(
        (line for line in text.lstrip("\ufeff").splitlines() if line.strip() and line.strip()[0] not in "#;"), ""
    )
    if not first.lstrip().startswith("["):
        return False
    if not re.search(_OBEYS, text) and not re.search(_ALIAS, text):
        return False
    begun = False
    for line in text.lstrip("\ufeff").replace("\\\n", "").splitlines():
        rest = line.strip()
        if not rest or rest[0] in "#;":
            continue
        section = re.match(_SECTION, rest)
        if section is not None:
            begun, rest = True, rest[section.end() :].strip()
        if rest and rest[0] not in "#;" and (not begun or not re.fullmatch(_KEY, rest)):
            return False
    return begun


def hook_of(path: str) -> str:
    """Return the folder whose hook a file would be, empty for any other file."""
    folder, _, name = path.rpartition("/")
    above, _, last = folder.rpartition("/")
    return above or "." if last.lower() == "hooks" and name.lower() in HOOKS else ""
