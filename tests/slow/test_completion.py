"""TAB in the shells that people use, and `git help nexus`, all from what the wheel installs."""

import os
from pathlib import Path

import pytest

from tests.slow.calls import Terminal, must
from tests.slow.peers import Unpacked

pytestmark = pytest.mark.slow

_OFFERS = {
    "git nexus st": ["status"],
    "git nexus hooks ": ["install", "uninstall", "status"],
    "git nexus init --na": ["--name"],
}
_PROMPT = "what now? "


@pytest.fixture
def shell_env(installed: Path) -> dict[str, str]:
    """The environment of a person who has that virtual environment on PATH and its share/ among the others."""
    return {
        **os.environ,
        "PATH": f"{installed / 'bin'}:{os.environ['PATH']}",
        "XDG_DATA_DIRS": f"{installed / 'share'}:/usr/local/share:/usr/share",
    }


@pytest.fixture(params=list(_OFFERS.items()), ids=list(_OFFERS))
def offer(request: pytest.FixtureRequest) -> tuple[str, list[str]]:
    """What is typed before TAB, and what must be offered."""
    found: tuple[str, list[str]] = request.param
    return found


def shown_by(
    shell: list[str | Path], place: Path, env: dict[str, str], setup: str, offer: tuple[str, list[str]]
) -> str:
    """Start an interactive shell, set it up, type and press TAB twice; return once everything was offered."""
    line, words = offer
    (place / "setup").write_text(f"{setup}\nPS1='{_PROMPT}'\n")
    terminal = Terminal([*shell, "-i"], place, env)
    try:
        terminal.type(". ./setup\n")
        terminal.read_until(_PROMPT)
        terminal.type(f"{line}\t\t")
        return terminal.read_until(*words)
    finally:
        terminal.close()


def test_bash_with_bash_completion(
    shell_env: dict[str, str],
    bash_completion: Path,
    git_completion: Path,
    tmp_path: Path,
    offer: tuple[str, list[str]],
) -> None:
    shown_by(["bash", "--norc", "--noprofile"], tmp_path, shell_env, f". '{bash_completion}'", offer)


def test_bash_with_what_the_command_prints(
    shell_env: dict[str, str], git_completion: Path, tmp_path: Path, offer: tuple[str, list[str]]
) -> None:
    setup = f". '{git_completion}'\neval \"$(git nexus completion bash)\""

    shown_by(["bash", "--norc", "--noprofile"], tmp_path, shell_env, setup, offer)


def test_zsh(
    shell_env: dict[str, str], installed: Path, zsh: Unpacked, tmp_path: Path, offer: tuple[str, list[str]]
) -> None:
    ours = f"fpath=('{installed}/share/zsh/site-functions' $fpath)"
    setup = "\n".join([*own_folders(zsh), ours, "autoload -Uz compinit", "compinit -u -D"])

    shown_by([zsh.program, "-f"], tmp_path, shell_env, setup, offer)


def own_folders(zsh: Unpacked) -> list[str]:
    """Return the lines by which a zsh that was only unpacked finds its modules and functions."""
    if zsh.root == Path("/"):
        return []
    return [
        f"module_path=('{zsh.root}'/usr/lib/*/zsh/*(N))",
        f"fpath=('{zsh.root}'/usr/share/zsh/functions/**/*(N/))",
    ]


def test_fish(shell_env: dict[str, str], fish: Unpacked, tmp_path: Path, offer: tuple[str, list[str]]) -> None:
    line, words = offer
    shown = must([fish.program, "--private", "-c", f"complete -C '{line}'"], tmp_path, shell_env)

    assert sorted(row.split("\t")[0] for row in shown.splitlines()) == sorted(words)


def test_git_help_shows_the_man_page(shell_env: dict[str, str], tmp_path: Path) -> None:
    env = {name: value for name, value in shell_env.items() if name != "MANPATH"}
    shown = must(["git", "help", "nexus"], tmp_path, {**env, "MANPAGER": "cat", "GIT_PAGER": "cat", "PAGER": "cat"})

    assert "GIT-NEXUS(1)" in shown
    assert "git-nexus - " in shown
