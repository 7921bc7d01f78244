"""One repository for each test of this room."""

from pathlib import Path

import pytest

from tests.conftest import Templates, copy_tree
from tests.gateway.scene import Law, repository_at


@pytest.fixture
def place(tmp_path: Path, templates: Templates) -> Path:
    return copy_tree(templates.get("gateway", repository_at), tmp_path / "mein Büro")


@pytest.fixture
def law() -> Law:
    return Law()
