"""What a program of the user's own takes with it into the sandbox, and what stays behind."""

from pathlib import Path

import pytest

from gitnexus.sandbox.runtime_files import runtime_files_in_folder, runtime_files_of


def script(file: Path, first: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{first}\n")
    file.chmod(0o755)
    return file


@pytest.fixture
def home(tmp_path: Path) -> Path:
    found = tmp_path.resolve() / "home"
    (found / ".local" / "bin").mkdir(parents=True)
    return found


def test_a_package_of_npm_brings_all_modules_and_the_folder_of_its_node(home: Path) -> None:
    node = script(home / ".nvm" / "v20" / "bin" / "node", "")
    (home / ".nvm" / "v20" / "lib").mkdir()
    modules = home / ".npm-global" / "lib" / "node_modules"
    script(modules / "@maker" / "agent" / "cli.js", "#!/usr/bin/env -S node --no-warnings")
    (home / ".npm-global" / "bin").mkdir()
    link = home / ".npm-global" / "bin" / "agent"
    link.symlink_to("../lib/node_modules/@maker/agent/cli.js")

    found = runtime_files_of(str(link), f"{node.parent}:/usr/bin", home)

    assert str(modules) in found.readable
    assert str(home / ".nvm" / "v20") in found.readable
    assert found.path == (str(node.parent),)


def test_a_virtual_environment_brings_itself_and_the_python_below_it(home: Path) -> None:
    base = script(home / ".pyenv" / "versions" / "3.12" / "bin" / "python3.12", "")
    (home / ".pyenv" / "versions" / "3.12" / "lib").mkdir()
    venv = home / ".local" / "share" / "pipx" / "venvs" / "agent"
    (venv / "bin").mkdir(parents=True)
    (venv / "pyvenv.cfg").touch()
    (venv / "bin" / "python").symlink_to(base)
    script(venv / "bin" / "agent", f"#!{venv}/bin/python")
    link = home / ".local" / "bin" / "agent"
    link.symlink_to(venv / "bin" / "agent")

    found = runtime_files_of(str(link), "/usr/bin", home)

    assert set(found.readable) == {str(link), str(venv), str(home / ".pyenv" / "versions" / "3.12")}
    assert found.path == ()


@pytest.mark.parametrize("copies", [False, True])
def test_the_folder_of_a_virtual_environment_brings_the_python_below_it(home: Path, copies: bool) -> None:
    base = script(home / ".pyenv" / "versions" / "3.12" / "bin" / "python3.12", "")
    (home / ".pyenv" / "versions" / "3.12" / "lib").mkdir()
    venv = home / "work" / ".venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "pyvenv.cfg").write_text(f"home = {base.parent}\nversion = 3.12\n" if copies else "")
    if copies:
        script(venv / "bin" / "python", "")
    else:
        (venv / "bin" / "python").symlink_to(base)

    found = runtime_files_in_folder(str(venv / "bin"), "/usr/bin", home)

    assert set(found) == {str(venv), str(home / ".pyenv" / "versions" / "3.12")}
    assert set(runtime_files_of(str(venv / "bin" / "python"), "/usr/bin", home).readable) == set(found)


@pytest.mark.parametrize("folder", [".local/bin", "bin"])
def test_what_lies_beside_a_program_in_the_home_stays_behind(home: Path, folder: str) -> None:
    (home / ".local" / "share").mkdir()
    (home / ".local" / "lib").mkdir()
    (home / "lib").mkdir()
    file = script(home / folder / "agent", "#!/bin/sh")

    assert runtime_files_of(str(file), "/usr/bin", home).readable == (str(file),)


def test_a_folder_of_the_home_is_taken_program_by_program(home: Path) -> None:
    whole = script(home / ".local" / "share" / "maker" / "versions" / "1.2", "")
    (home / ".local" / "bin" / "agent").symlink_to(whole)
    (home / ".local" / "share" / "keys").touch()

    found = runtime_files_in_folder(str(home / ".local" / "bin"), "/usr/bin", home)

    assert set(found) == {str(home / ".local" / "bin"), str(home / ".local" / "bin" / "agent"), str(whole)}


def test_the_home_itself_is_never_taken_whole(home: Path) -> None:
    tool = script(home / "tool", "#!/bin/sh")

    assert runtime_files_in_folder(str(home), "/usr/bin", home) == (str(tool),)
    assert runtime_files_in_folder(str(home.parent), "/usr/bin", home) == ()


def test_an_installation_is_taken_whole(home: Path) -> None:
    (home / ".tools" / "lib").mkdir(parents=True)
    (home / ".tools" / "bin").mkdir()

    assert runtime_files_in_folder(str(home / ".tools" / "bin"), "/usr/bin", home) == (str(home / ".tools"),)


def test_a_script_whose_interpreter_is_itself_ends(home: Path) -> None:
    file = home / "agent"
    script(file, f"#!{file}")
    loop = home / "loop"
    loop.symlink_to(loop)

    assert runtime_files_of(str(file), "/usr/bin", home).readable == (str(file),)
    assert runtime_files_of(str(loop), "/usr/bin", home).readable == (str(loop),)
    assert runtime_files_of(str(home / "none"), "/usr/bin", home).readable == (str(home / "none"),)
