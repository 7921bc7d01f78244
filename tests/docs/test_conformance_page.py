"""The fixture that the page about conformance shows is one, and passes."""

import os
import re
import sys
from pathlib import Path

import pytest

from tests.conftest import Nexus

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "check-conformance.md"


@pytest.mark.slow
def test_the_fixture_on_the_page_passes(nexus: Nexus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    blocks = re.findall(r"^```json\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    file = tmp_path / "fixture.json"
    file.write_text(blocks[0], encoding="utf-8")

    told = nexus.ok("conformance", str(file), "--transport", "both")

    assert len(blocks) == 1
    assert "2 passed, 0 failed, 0 skipped" in told
