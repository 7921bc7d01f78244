"""Parses the script file of a scripted agent; all steps are validated before the first one runs."""

from pathlib import Path
from typing import Any, Literal

from gitnexus.base.canonical import parse_json
from gitnexus.base.errors import Invalid, NotFound
from gitnexus.base.record import Record


class WriteStep(Record):
    """Write a file below the folder; `text` None deletes it."""

    do: Literal["write"]
    path: str
    text: str | None = None


class RunStep(Record):
    """Run a command in the folder; it must exit with `status`."""

    do: Literal["run"]
    argv: tuple[str, ...]
    status: int = 0


class ProposeStep(Record):
    """Call a tool of the job's server; `refused` says that the tool must refuse it."""

    do: Literal["propose"]
    tool: str
    input: dict[str, Any]
    refused: bool = False


class SayStep(Record):
    """Print a message; the last one is the message of the run."""

    do: Literal["say"]
    text: str


class FailStep(Record):
    """Exit with this status."""

    do: Literal["fail"]
    text: str = "told to fail"
    status: int = 1


class WaitStep(Record):
    """Sleep until a file exists, at most so many seconds."""

    do: Literal["wait"]
    path: str
    seconds: float = 60


Step = WriteStep | RunStep | ProposeStep | SayStep | FailStep | WaitStep
STEPS: dict[str, type[Step]] = {
    "write": WriteStep,
    "run": RunStep,
    "propose": ProposeStep,
    "say": SayStep,
    "fail": FailStep,
    "wait": WaitStep,
}


def read_script_steps(path: Path) -> tuple[Step, ...]:
    """Return the steps of a file: TOML if its name says so, else JSON. Raises: NotFound, Invalid."""
    import tomllib

    try:
        raw = path.read_bytes()
        value = tomllib.loads(raw.decode()) if path.suffix == ".toml" else parse_json(raw)
    except Invalid as exc:
        raise Invalid(f"{path} is {exc.message}", hint="see docs/reference/adapters.md for the form") from exc
    except OSError as exc:
        raise NotFound(f"{path} cannot be read: {exc.strerror}", hint="name a file with the steps") from exc
    except ValueError as exc:
        raise Invalid(f"{path} is not TOML: {exc}", hint="see docs/reference/adapters.md for the form") from exc
    steps = value.get("steps") if isinstance(value, dict) and set(value) <= {"steps"} else None
    if not isinstance(steps, list):
        raise Invalid(f"{path} should hold steps, a list, and nothing else")
    return tuple(_parse_step(step, f"{path}: step {at}") for at, step in enumerate(steps, 1))


def _parse_step(value: Any, where: str) -> Step:
    kind = value.get("do") if isinstance(value, dict) else None
    if not isinstance(kind, str) or kind not in STEPS:
        raise Invalid(f"{where}: do should be one of {', '.join(STEPS)}")
    return STEPS[kind].from_value(value, where)
