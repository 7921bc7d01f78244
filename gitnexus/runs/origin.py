"""Where a run comes from, as the user's home notes it: begun here, or by somebody else, and whether that was agreed to.

Reads and writes `$NEXUS_HOME/runs/<project>/<run>.place` and `<run>.agreed`. No agent can reach them, and no sync
brings them: whatever a repository says of a run, it is foreign unless this home knows better.
"""

from pathlib import Path
from typing import Literal, NamedTuple

from gitnexus.app.recorder import folder_of
from gitnexus.base.files import replace
from gitnexus.events.log import FILE
from gitnexus.policy.place import mark
from gitnexus.state.home import home_folder

# Who agreed: `own` is the person who wrote the definition here, `person` one who read it, `order` an approver's order.
By = Literal["own", "person", "order"]


class Agreement(NamedTuple):
    """What somebody agreed to, by its hash: of a definition, or with `person` of definition, base and commit."""

    hash: str
    by: By


def place_file(folder: Path, run: str) -> Path:
    """Return the file that says in which clone a run was begun."""
    return folder / f"{run}.place"


def begun_in(folder: Path, run: str) -> str:
    """Return the mark of the clone in which this home began a run, nothing if it did not."""
    try:
        return place_file(folder, run).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def note_signs(folder: Path, run: str) -> None:
    """Write down that a run is begun by a version that signs its log: what is not signed in it is not ours."""
    replace(folder / f"{run}.signs", b"1\n", 0o600)


def signs(folder: Path, run: str) -> bool:
    """True if this home signs all that it writes into a run's log."""
    return (folder / f"{run}.signs").exists()


def agreement(folder: Path, run: str) -> Agreement | None:
    """Return what was agreed to for a run, None if nothing was."""
    try:
        words = (folder / f"{run}.agreed").read_text(encoding="ascii").split()
    except (OSError, UnicodeDecodeError):
        return None
    kinds: dict[str, By] = {"own": "own", "person": "person", "order": "order"}
    return Agreement(words[0], kinds[words[1]]) if len(words) == 2 and words[1] in kinds else None


def keep_agreement(folder: Path, run: str, hash_: str, by: By) -> None:
    """Write down what was agreed to; what its own author wrote down stays."""
    known = agreement(folder, run)
    if known is not None and (known.by == "own" or known == Agreement(hash_, by)):
        return
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    replace(folder / f"{run}.agreed", f"{hash_} {by}\n".encode(), 0o600)


def orders_done(folder: Path, run: str) -> frozenset[str]:
    """Return the orders for a run that this home has carried out, by their digests."""
    try:
        return frozenset((folder / f"{run}.orders").read_text(encoding="ascii").split())
    except (OSError, UnicodeDecodeError):
        return frozenset()


def keep_order_done(folder: Path, run: str, order: str) -> None:
    """Write down that an order was carried out: it is not done twice."""
    done = sorted({*orders_done(folder, run), order})
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    replace(folder / f"{run}.orders", "".join(f"{one}\n" for one in done).encode(), 0o600)


def is_kept_here(common_dir: Path, run: str) -> bool:
    """True for a run that was begun in this very clone and whose log is still kept here."""
    notes = home_folder() / "runs"
    if not (folder_of(common_dir, run) / FILE).exists() or not notes.is_dir():
        return False
    return any(begun_in(place.parent, run) == mark(common_dir) for place in notes.glob(f"*/{run}.place"))


def is_foreign(folder: Path, run: str, here: str) -> bool:
    """True for a run that nobody began or ordered from this home; `here` is the mark of the clone."""
    known = agreement(folder, run)
    if known is not None:
        return known.by != "own"
    if begun_in(folder, run):
        return False
    # The project may have got another id since, as `sync --adopt` gives it.
    others = folder.parent.glob(f"*/{run}.place") if folder.parent.is_dir() else ()
    return not any(begun_in(other.parent, run) == here for other in others)
