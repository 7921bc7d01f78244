"""Finds what a card should warn about: unusual characters, and new names that look like existing ones."""

from collections.abc import Mapping, Sequence

from gitnexus.base.homoglyphs import Suspicion, lookalike_names, suspicious_words
from gitnexus.base.text import one_line
from gitnexus.git import Repo
from gitnexus.git.private import PrivateGit, private_git
from gitnexus.policy.model import CommandRequest, PatchRequest, Request

# The display shows the first ones and folds the rest; those beyond this limit are counted.
_MOST_SUSPICIONS = 2000
_AT_ONCE = 200
# With more folders than this, listing the whole tree is faster.
_MOST_FOLDERS = 1000


def format_warnings(doubts: Sequence[Suspicion]) -> tuple[str, ...]:
    """Return the warnings, one per line, and the number of those left out."""
    rows = [f"{one_line(one.word, 200)}: {one_line(one.reason, 2000)}" for one in doubts[:_MOST_SUSPICIONS]]
    more = len(doubts) - len(rows)
    return (*rows, f"{more} more like these, which do not fit here") if more else tuple(rows)


def find_suspicions(
    repo: Repo, request: Request, summary: str, difference: bytes, inputs: Mapping[str, bytes]
) -> list[Suspicion]:
    """Return the warnings about a request: names first, then its texts. Raises: GitFailed.

    `difference` is the diff of a patch; `inputs` are texts by digest.
    """
    if isinstance(request, PatchRequest):
        return [
            *find_lookalikes(repo, request),
            *suspicious_words(f"{summary}\n{_lines_added(_decode_text(difference))}"),
        ]
    texts = [summary]
    if isinstance(request, CommandRequest):
        texts += [*request.argv, *request.env, *request.env.values(), request.cwd, request.program]
        texts.append(_decode_text(inputs.get(request.stdin_digest, b"")))
    return suspicious_words("\n".join(texts))


def find_lookalikes(repo: Repo, request: PatchRequest) -> list[Suspicion]:
    """Return new files and folders whose names look like others next to them. Raises: GitFailed."""
    new = [change.path for change in request.changes if change.new_mode and not change.old_mode]
    if not new:
        return []
    with private_git(repo) as git:
        return lookalike_names(new, _names_beside(git, request.result_tree, new))


def _names_beside(git: PrivateGit, tree: str, new: Sequence[str]) -> list[str]:
    """Return the entries of the folders on the way to the new paths."""
    folders: set[str] = set()
    for path in new:
        folder = path.rpartition("/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    if len(folders) > _MOST_FOLDERS:
        return _list_tree_names(git, "-r", "-t", tree)
    present, below = _list_tree_names(git, tree), [f"{folder}/" for folder in sorted(folders)]
    for at in range(0, len(below), _AT_ONCE):
        present += _list_tree_names(git, tree, "--", *below[at : at + _AT_ONCE])
    return present


def _list_tree_names(git: PrivateGit, *words: str) -> list[str]:
    raw = git.must("ls-tree", "-z", "--full-tree", "--name-only", *words)
    return [name.decode("utf-8", "surrogateescape") for name in raw.split(b"\0")[:-1]]


def _lines_added(diff: str) -> str:
    return "\n".join(line[1:] for line in diff.split("\n") if line.startswith("+") and not line.startswith("+++"))


def _decode_text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
