"""What the tools of the gateway really answer fits their result classes, and made wrong it does not."""

from pathlib import Path

import pytest

from gitnexus.gateway.table import TOOLS, call_tool
from tests.gateway.scene import Law, bench_at
from tests.wrong_answers import require_right_and_refuse_wrong

PATCH = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
CALLS = (
    ("repo.list_tree", {}),
    ("repo.search", {"query": "two"}),
    ("repo.read_file", {"path": "a.txt"}),
    ("repo.read_file", {"path": "data.bin"}),
    ("repo.apply_patch", {"patch": PATCH}),
    ("cmd.run", {"argv": ["echo", "hello"]}),
    ("cmd.run", {"argv": ["sh", "-c", "kill -9 $$"]}),
    ("tests.run", {"argv": ["true"]}),
    ("artifact.write", {"filename": "a", "content": "b"}),
    ("git.status", {}),
    ("git.diff", {}),
)


@pytest.mark.parametrize(("name", "given"), CALLS, ids=lambda one: one if isinstance(one, str) else "")
def test_each_answer_fits_and_none_fits_that_is_wrong(
    place: Path, law: Law, name: str, given: dict[str, object]
) -> None:
    (place / "new.txt").write_text("new\n")

    answer = call_tool(bench_at(place, law), name, given)

    assert require_right_and_refuse_wrong(TOOLS[name], answer) > len(answer)


def test_every_tool_is_among_the_calls() -> None:
    assert {name for name, _ in CALLS} == set(TOOLS)
