"""Lists the paths and links that no patch may create, whatever the policy says, because they are deceptive."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping

from gitnexus.base.text import is_utf8_name, one_line
from gitnexus.git.private import PrivateGit
from gitnexus.git.shape import PIECES, why_git_may_obey, why_git_obeys
from gitnexus.git.tree_diff import LINK, TreeChange, object_sizes, read_blob
from gitnexus.policy.facts import SUBMODULE

# Characters that HFS+ drops from a name, so that `.g\u200cit` is `.git` there.
_DROPPED = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
_SHORT_GIT = re.compile(r"\.git|git~\d+")
_RESERVED = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?", re.IGNORECASE)
# Joiners that honest words of some scripts need between their letters; everything else of its kind is there to be
# overlooked.
_JOINERS = "\u200c\u200d"
_ODD_JOINER = re.compile(f"(?:^|[\\0-\x7f])[{_JOINERS}]|[{_JOINERS}](?:$|[\\0-\x7f])")
_MOST_STEPS = 40
_LARGEST_SHAPE = 256 * 1024


def is_git_part(part: str) -> bool:
    """True if some file system treats this path component as `.git`."""
    plain = _DROPPED.sub("", part).partition(":")[0].rstrip(". ").casefold()
    return _SHORT_GIT.fullmatch(plain) is not None


def path_as_opened(path: str) -> str:
    """Return the path that some file system opens for this one: `.env` for `.env::$DATA`, `.env.` and `.e\\u200cnv`."""
    parts = _DROPPED.sub("", path).replace("\\", "/").split("/")
    return "/".join(part.partition(":")[0].rstrip(". ") or part for part in parts)


def why_unreachable(path: str) -> str | None:
    """Return why no tool may access `path`, not even to read; None if tools may."""
    if not path or path.startswith("/"):
        return "it is not a path from the top of the repository"
    if "\0" in path:
        return "it holds a NUL"
    if any("\ud800" <= ch < "\udc80" or "\udcff" < ch <= "\udfff" for ch in path):
        return "it holds an unpaired surrogate"
    if len(path.encode("utf-8", "surrogatepass")) > 4096:
        return "it is longer than 4096 bytes"
    for part in path.split("/"):
        if part in ("", ".", ".."):
            return "it has an empty, '.' or '..' part"
        if is_git_part(part):
            return "a part of it is a spelling of .git"
    return None


def why_unwritable(path: str) -> str | None:
    """Return why no file of this name may be written; None if it may."""
    if reason := why_unreachable(path):
        return reason
    if not is_utf8_name(path):
        return "it is not UTF-8"
    if any(unicodedata.category(ch) in ("Cc", "Cf", "Zl", "Zp") and ch not in _JOINERS for ch in path):
        return "it holds control or invisible characters"
    if _ODD_JOINER.search(path):
        return "it holds a joiner where there is nothing to join"
    if "\\" in path or ":" in path:
        return "it holds a backslash or a colon, which part a path on Windows"
    for part in path.split("/"):
        if part[-1] in ". ":
            return "a part of it ends in a dot or a blank, which Windows drops"
        if len(part.encode()) > 255:
            return "a part of it is longer than 255 bytes"
    return None


def is_reserved(path: str) -> bool:
    """True if a path component is a device name on Windows: flagged, not refused."""
    return any(_RESERVED.fullmatch(part.rstrip(" ")) for part in path.split("/"))


def patch_refusals(
    changes: Iterable[TreeChange], result: Iterable[str], links: Mapping[str, str]
) -> Iterator[tuple[str, str, str]]:
    """Yield each path that a patch may not touch, with the built-in rule and the reason.

    `result` lists all paths of the resulting tree, `links` its links with their targets.
    """
    rows = list(changes)
    for row in rows:
        # A file with an odd name may be deleted, if a request can represent the name.
        odd = why_unreachable(row.path) if is_utf8_name(row.path) else "it is not UTF-8"
        reason = why_unwritable(row.path) if row.new_mode else odd
        if reason:
            yield row.path, "builtin.path", reason
        elif row.new_mode == LINK and (reason := why_link_astray(row.path, links)):
            yield row.path, "builtin.link", reason
    added = [row.path for row in rows if row.new_mode and not row.old_mode]
    for path, reason in _path_collisions(added, result) if added else ():
        yield path, "builtin.collision", reason


def repository_refusals(git: PrivateGit, changes: Iterable[TreeChange]) -> Iterator[tuple[str, str, str]]:
    """Yield each file that makes git see a repository in a folder of the tree, or obey a config."""
    for row in changes:
        name = row.path.rpartition("/")[2].lower()
        if not row.new_mode or not (name in PIECES or "config" in name):
            continue
        text: str | None = None
        if row.new_mode not in (LINK, SUBMODULE) and 0 <= object_sizes(git, [row.new_blob])[0] <= _LARGEST_SHAPE:
            text = read_blob(git, row.new_blob).decode("utf-8", "replace")
        if row.new_mode in (LINK, SUBMODULE):
            why = why_git_obeys(row.path, "" if row.new_mode == LINK else None, row.link_target)
        else:
            why = why_git_may_obey(row.path, text)
        if why:
            yield row.path, "builtin.git-shape", why


def why_link_astray(link: str, links: Mapping[str, str]) -> str | None:
    """Return why a link's target is not allowed, following other links; None if it is allowed."""
    *here, name = link.split("/")
    pending, steps = [name], 0
    while pending:
        part = pending.pop()
        if part == "..":
            if not here:
                return "it is a link that leads out of the repository"
            here.pop()
            continue
        if is_git_part(part):
            return "it is a link into .git"
        target = links.get("/".join([*here, part]))
        if target is None:
            here.append(part)
            continue
        steps += 1
        if reason := _why_bad_target(target, steps):
            return reason
        pending += [step for step in reversed(target.split("/")) if step not in ("", ".")]
    return None


def _why_bad_target(target: str, steps: int) -> str | None:
    if steps > _MOST_STEPS:
        return "it is a link that leads in a circle"
    if not target or len(target) > 4096:
        return "it is a link to no possible path"
    if target.startswith("/") or "\\" in target or ":" in target:
        return f"it is a link to an absolute path, {one_line(target, 60)}"
    if not is_utf8_name(target) or any(unicodedata.category(ch) in ("Cc", "Cf", "Zl", "Zp") for ch in target):
        return "it is a link whose target holds control or invisible characters"
    return None


def _path_collisions(added: Iterable[str], result: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield new paths that some file system cannot distinguish from another, folder by folder."""
    mine = {_fold_case(prefix): prefix for path in added for prefix in _with_folders(path)}
    told = set()
    for path in result:
        for prefix in _with_folders(path):
            own = mine.get(_fold_case(prefix))
            if own is not None and own != prefix and own not in told:
                told.add(own)
                yield own, f"where case or accents are not told apart it is the same as {one_line(prefix, 80)}"


def _fold_case(path: str) -> str:
    if path.isascii():
        return path.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def _with_folders(path: str) -> Iterator[str]:
    at = path.find("/")
    while at >= 0:
        yield path[:at]
        at = path.find("/", at + 1)
    yield path
