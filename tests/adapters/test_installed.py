"""Which program is installed: asked far from the repository, once for each file."""

import os
from pathlib import Path

import pytest

from gitnexus.adapters.installed import find_program


def program(folder: Path, body: str, name: str = "agent") -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)
    return file


def path_with(folder: Path) -> str:
    return f"{folder}:/usr/bin:/bin"


def test_it_is_asked_in_the_root_with_nothing_of_our_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.chdir(tmp_path)
    file = program(tmp_path / "bin", f"(pwd; env) > '{tmp_path}/seen'; echo agent 1.2.3-beta")

    answer = find_program("agent", path_with(tmp_path / "bin"))

    assert answer is not None
    assert (answer.path, answer.version) == (str(file), "1.2.3-beta")
    seen = (tmp_path / "seen").read_text()
    assert seen.startswith("/\n")
    assert "secret" not in seen
    assert os.environ["HOME"] not in seen


def test_the_answer_is_kept_until_the_file_changes(tmp_path: Path) -> None:
    cache, path = tmp_path / "cache.json", path_with(tmp_path / "bin")
    body = f"echo x >> '{tmp_path}/asked'; echo"
    program(tmp_path / "bin", f"{body} 1.0.0")
    first = [find_program("agent", path, cache) for _ in range(3)]
    program(tmp_path / "bin", f"{body} 2.0.00")

    second = find_program("agent", path, cache)

    assert [one.version if one else None for one in (*first, second)] == ["1.0.0", "1.0.0", "1.0.0", "2.0.00"]
    assert (tmp_path / "asked").read_text() == "x\nx\n"
    assert "2.0.00" in cache.read_text()


def test_a_damaged_cache_is_made_anew(tmp_path: Path) -> None:
    cache = tmp_path / "cache.json"
    cache.write_text("{[")
    program(tmp_path / "bin", "echo 1.0.0")

    answer = find_program("agent", path_with(tmp_path / "bin"), cache)

    assert answer is not None
    assert "1.0.0" in cache.read_text()


@pytest.mark.parametrize("body", ["exit 1", "echo no version", "printf '\\377\\000'", "kill -9 $$"])
def test_a_program_that_does_not_say_its_version_is_there_all_the_same(body: str, tmp_path: Path) -> None:
    program(tmp_path / "bin", body)

    answer = find_program("agent", path_with(tmp_path / "bin"))

    assert answer is not None
    assert answer.version == ""


def test_a_folder_relative_to_where_we_stand_is_not_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "echo 6.6.6")
    monkeypatch.chdir(tmp_path)

    assert [
        find_program(name, path) for name, path in (("agent", ".:"), ("agent", ""), ("./agent", "/"), ("", "/bin"))
    ] == [None] * 4
