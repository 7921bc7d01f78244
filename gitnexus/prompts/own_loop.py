"""Runs a coroutine of pydantic-ai to its end in a thread of its own, and returns its result or raises our error."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from gitnexus.base.errors import Failed, NexusError
from gitnexus.base.text import one_line

T = TypeVar("T")


def run_in_own_loop(begin: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Return what the coroutine that `begin` returns comes to. Raises: NexusError as it does, Failed for other errors.

    The caller may be in an event loop of its own (a server, a screen), where a second one cannot run.
    """
    box: list[T | NexusError | RuntimeError] = []

    def work() -> None:
        try:
            box.append(asyncio.run(begin()))
        except (NexusError, RuntimeError) as exc:
            box.append(exc)

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    worker.join()
    if not box:
        raise Failed("pydantic-ai ended without an answer")
    answer = box[0]
    if isinstance(answer, NexusError):
        raise answer
    if isinstance(answer, RuntimeError):
        raise Failed(f"pydantic-ai failed: {one_line(str(answer), 200)}") from answer
    return answer
