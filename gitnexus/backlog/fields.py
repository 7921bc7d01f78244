"""Validates the field values that a user gives for a task before anything is decided."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from gitnexus.backlog.elsewhere import ForeignTasks
from gitnexus.backlog.model import LONGEST_TITLE, Kind, Priority, Status
from gitnexus.backlog.reference import parse_single_reference
from gitnexus.backlog.tasks import Tasks
from gitnexus.base.errors import Invalid
from gitnexus.base.text import make_visible


class TaskFields(NamedTuple):
    """The given fields of a task; None and an empty list mean that a field is not given."""

    title: str | None = None
    description: str | None = None
    labels: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    acceptance: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    depends: tuple[str, ...] = ()
    parent: str | None = None
    priority: Priority | None = None
    type: Kind | None = None
    status: Status | None = None
    blocked_by: str | None = None
    phase: str | None = None
    size: str | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "TaskFields":
        """Return the fields from given values by name; lists become tuples, None counts as not given."""
        found: dict[str, Any] = {name: given[name] for name in cls._fields if given.get(name) is not None}
        found |= {name: tuple(value) for name, value in found.items() if isinstance(value, list)}
        return cls(**found)


def require_title(given: str | None) -> str:
    """Return a title: one line of at most 120 characters that is not blank. Raises: Invalid."""
    title = (given or "").strip()
    if not title:
        raise Invalid("a task needs a title that is not empty")
    if len(title) > LONGEST_TITLE:
        raise Invalid(
            f"the title has {len(title)} characters, {LONGEST_TITLE} are the most",
            hint="put the details into --description",
        )
    if make_visible(title, keep="") != title:
        raise Invalid("the title holds control or invisible characters", hint="a title is one plain line")
    return title


def edit_list_items(what: str, before: Iterable[str], more: Iterable[str], less: Iterable[str] = ()) -> tuple[str, ...]:
    """Return a list with items added, each once, and others removed. Raises: Invalid for an empty item."""
    added = [item.strip() for item in more]
    if not all(added):
        raise Invalid(f"{what} should not be empty")
    gone = {item.strip() for item in less}
    return tuple(item for item in dict.fromkeys([*before, *added]) if item not in gone)


def resolve_dependencies(given: Iterable[str], tasks: Tasks, elsewhere: ForeignTasks) -> tuple[str, ...]:
    """Return references in their stored form; tasks of this project must exist.

    Raises: BadReference, Invalid, NotFound.
    """
    found = []
    for text in given:
        reference = parse_single_reference(text)
        if reference.project is None or elsewhere.own(reference.project):
            found.append(tasks.task(reference.task).id)
        else:
            found.append(elsewhere.admit_reference(reference))
    return tuple(found)


def admit_foreign_references(given: Iterable[str], elsewhere: ForeignTasks) -> None:
    """Check references to other projects. This reads and writes in those, so it must not run inside a transaction.

    Raises: BadReference, Invalid, and the error that forbids a reference.
    """
    for reference in map(parse_single_reference, given):
        if reference.project is not None and not elsewhere.own(reference.project):
            elsewhere.admit_reference(reference)


def stored_reference(text: str, elsewhere: ForeignTasks) -> str:
    """Return the stored form of a reference, whether or not its task exists. Raises: BadReference, Invalid."""
    reference = parse_single_reference(text)
    return reference.task if reference.project is None or elsewhere.own(reference.project) else str(reference)
