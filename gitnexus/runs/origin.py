"""Records in the user's home where a run comes from: begun here or by somebody else, and whether the user agreed to it.

Reads and writes `$NEXUS_HOME/runs/<project>/<run>.place` and `<run>.agreed`. No agent can reach them, and no sync
copies them: whatever a repository says about a run, it is foreign unless this home knows better.
"""

from pathlib import Path
from typing import Literal, NamedTuple

from gitnexus.base.files import replace_file
from gitnexus.events.log import FILE
from gitnexus.gateway.recorder import run_folder
from gitnexus.policy.repo_key import repository_key
from gitnexus.state.home import home_folder

# Who agreed: `own` is the person who wrote the definition here, `person` one who read it, `order` an approver's order.
By = Literal["own", "person", "order"]


class Agreement(NamedTuple):
    """The hash that somebody agreed to: of a definition or, with `person`, of definition, base and commit."""

    hash: str
    by: By


def origin_file(folder: Path, run: str) -> Path:
    """Return the file that names the clone in which a run began."""
    return folder / f"{run}.place"


def origin_clone_mark(folder: Path, run: str) -> str:
    """Return the mark of the clone in which this home began a run, "" if it did not."""
    try:
        return origin_file(folder, run).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def mark_log_signed(folder: Path, run: str) -> None:
    """Record that a version that signs logs began the run: unsigned parts of its log are not ours."""
    replace_file(folder / f"{run}.signs", b"1\n", 0o600)


def signs_log(folder: Path, run: str) -> bool:
    """True if this home signs everything it writes to the run's log."""
    return (folder / f"{run}.signs").exists()


def read_agreement(folder: Path, run: str) -> Agreement | None:
    """Return the recorded agreement for a run, None if there is none."""
    try:
        words = (folder / f"{run}.agreed").read_text(encoding="ascii").split()
    except (OSError, UnicodeDecodeError):
        return None
    kinds: dict[str, By] = {"own": "own", "person": "person", "order": "order"}
    return Agreement(words[0], kinds[words[1]]) if len(words) == 2 and words[1] in kinds else None


def write_agreement(folder: Path, run: str, hash_: str, by: By) -> None:
    """Record an agreement; the agreement of the definition's own author is never overwritten."""
    known = read_agreement(folder, run)
    if known is not None and (known.by == "own" or known == Agreement(hash_, by)):
        return
    replace_file(folder / f"{run}.agreed", f"{hash_} {by}\n".encode(), 0o600)


def executed_orders(folder: Path, run: str) -> frozenset[str]:
    """Return the digests of the orders for a run that this home has executed."""
    try:
        return frozenset((folder / f"{run}.orders").read_text(encoding="ascii").split())
    except (OSError, UnicodeDecodeError):
        return frozenset()


def record_executed_order(folder: Path, run: str, order: str) -> None:
    """Record that an order was executed, so that it is not executed twice."""
    done = sorted({*executed_orders(folder, run), order})
    replace_file(folder / f"{run}.orders", "".join(f"{one}\n" for one in done).encode(), 0o600)


def is_begun_here(common_dir: Path, run: str) -> bool:
    """True for a run that began in this clone and whose log is still stored here."""
    notes = home_folder() / "runs"
    if not (run_folder(common_dir, run) / FILE).exists() or not notes.is_dir():
        return False
    return any(
        origin_clone_mark(place.parent, run) == repository_key(common_dir) for place in notes.glob(f"*/{run}.place")
    )


def is_foreign(folder: Path, run: str, here: str) -> bool:
    """True for a run neither begun nor ordered from this home; `here` is the mark of the clone."""
    known = read_agreement(folder, run)
    if known is not None:
        return known.by != "own"
    if origin_clone_mark(folder, run):
        return False
    # The project may have got another id since, as `sync --adopt` gives it.
    others = folder.parent.glob(f"*/{run}.place") if folder.parent.is_dir() else ()
    return not any(origin_clone_mark(other.parent, run) == here for other in others)
