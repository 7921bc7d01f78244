"""What a card asks to look at twice: odd words, and new files or folders whose names look like others beside them."""

from collections.abc import Mapping, Sequence

from gitnexus.base.lookalike import Suspicion, lookalike_names, suspicious
from gitnexus.base.text import one_line
from gitnexus.git import Repo
from gitnexus.git.private import PrivateGit, private
from gitnexus.policy.model import CommandRequest, PatchRequest, Request

# A face shows the first of them and folds the rest; what is more than these is counted.
_MOST_SUSPICIONS = 2000
_AT_ONCE = 200
# For more folders than that it is quicker to list the whole tree.
_MOST_FOLDERS = 1000


def warnings_of(doubts: Sequence[Suspicion]) -> tuple[str, ...]:
    """Return what to look at twice, a line each, and how much more of it there is than anybody would read."""
    rows = [f"{one_line(one.word, 200)}: {one_line(one.reason, 2000)}" for one in doubts[:_MOST_SUSPICIONS]]
    more = len(doubts) - len(rows)
    return (*rows, f"{more} more like these, which do not fit here") if more else tuple(rows)


def doubts_of(
    repo: Repo, request: Request, summary: str, difference: bytes, inputs: Mapping[str, bytes]
) -> list[Suspicion]:
    """Return what to look at twice in a request: names first, then words of what it says and does. Raises: GitFailed.

    `difference` is that of a patch; `inputs` are texts by the digest that names them.
    """
    if isinstance(request, PatchRequest):
        return [*lookalikes(repo, request), *suspicious(f"{summary}\n{_added(_text(difference))}")]
    texts = [summary]
    if isinstance(request, CommandRequest):
        texts += [*request.argv, *request.env, *request.env.values(), request.cwd, request.program]
        texts.append(_text(inputs.get(request.stdin_digest, b"")))
    return suspicious("\n".join(texts))


def lookalikes(repo: Repo, request: PatchRequest) -> list[Suspicion]:
    """Return the new files and folders whose names are drawn like others beside them. Raises: GitFailed."""
    new = [change.path for change in request.changes if change.new_mode and not change.old_mode]
    if not new:
        return []
    with private(repo) as git:
        return lookalike_names(new, _beside(git, request.result_tree, new))


def _beside(git: PrivateGit, tree: str, new: Sequence[str]) -> list[str]:
    """Return what lies in the folders that the new paths go through."""
    folders: set[str] = set()
    for path in new:
        folder = path.rpartition("/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    if len(folders) > _MOST_FOLDERS:
        return _names(git, "-r", "-t", tree)
    present, below = _names(git, tree), [f"{folder}/" for folder in sorted(folders)]
    for at in range(0, len(below), _AT_ONCE):
        present += _names(git, tree, "--", *below[at : at + _AT_ONCE])
    return present


def _names(git: PrivateGit, *words: str) -> list[str]:
    raw = git.must("ls-tree", "-z", "--full-tree", "--name-only", *words)
    return [name.decode("utf-8", "surrogateescape") for name in raw.split(b"\0")[:-1]]


def _added(diff: str) -> str:
    return "\n".join(line[1:] for line in diff.split("\n") if line.startswith("+") and not line.startswith("+++"))


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
