"""What a card asks to look at twice: odd words, and new files whose names look like others beside them."""

from collections.abc import Sequence

from gitnexus.base.lookalike import Suspicion, lookalike_names
from gitnexus.base.text import one_line
from gitnexus.git import Repo
from gitnexus.git.private import PrivateGit, private
from gitnexus.policy.model import PatchRequest

_MOST_SUSPICIONS = 10
_MOST_LETTERS = 2000
_AT_ONCE = 200


def warnings_of(doubts: Sequence[Suspicion]) -> tuple[str, ...]:
    """Return what to look at twice, and how much more of it there is than a screen can name."""
    rows = [f"{one_line(one.word, 200)}: {one.reason}" for one in doubts[:_MOST_SUSPICIONS]]
    more = len(doubts) - len(rows)
    return (*rows, f"{more} more like these: {_more(doubts[_MOST_SUSPICIONS:])}") if more else tuple(rows)


def lookalikes(repo: Repo, request: PatchRequest) -> list[Suspicion]:
    """Return the new files whose names are drawn like that of another one in their folder. Raises: GitFailed."""
    new = [change.path for change in request.changes if change.new_mode and not change.old_mode]
    if not new:
        return []
    folders = sorted({path.rpartition("/")[0] for path in new})
    with private(repo) as git:
        present: list[str] = []
        if "" in folders:
            present += _names(git, request.result_tree)
        below = [f"{folder}/" for folder in folders if folder]
        for at in range(0, len(below), _AT_ONCE):
            present += _names(git, request.result_tree, *below[at : at + _AT_ONCE])
    return lookalike_names(new, present)


def _names(git: PrivateGit, tree: str, *folders: str) -> list[str]:
    words = ("--literal-pathspecs", "ls-tree", "-z", "--full-tree", "--name-only", tree, "--", *folders)
    return [name.decode("utf-8", "surrogateescape") for name in git.must(*words).split(b"\0")[:-1]]


def _more(doubts: Sequence[Suspicion]) -> str:
    words = ", ".join(one_line(one.word, 80) for one in doubts)
    left = words.count(", ") - words[:_MOST_LETTERS].count(", ")
    return words if len(words) <= _MOST_LETTERS else f"{words[:_MOST_LETTERS]}… and {left} that do not fit here"
