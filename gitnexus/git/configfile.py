"""Reads git configuration files without a git child, as long as each line can be understood by itself.

Anything that could be read in two ways (includes, escapes, continued lines, unusual characters) raises `NotPlain`, and
the caller asks git instead.
"""

import os
import re
import sys
from pathlib import Path

_SECTION = re.compile(r'\[([A-Za-z0-9-]+)(?:[ \t]+"([^"\\\n]*)")?\]')
_VARIABLE = re.compile(r'([A-Za-z][A-Za-z0-9-]*)(?:[ \t]*=[ \t]*([^"\\#;\t]*|"[^"\\\t]*"))?')
_INCLUDES = ("include", "includeif")
# Where git looks for the machine's own configuration is compiled into it. Distributions agree on this one.
# Below `git nexus` it is found where git keeps its own programs, which git puts first on PATH.
_OF_DISTRIBUTIONS = ("/usr/bin/git", "/bin/git", "/usr/lib/git-core/git", "/usr/libexec/git-core/git")
_SYSTEM = Path("/etc/gitconfig")

Row = tuple[str, str]


class NotPlain(Exception):
    """A configuration file that only git itself can read reliably."""


def parse_plain_config(text: str) -> list[Row]:
    """Return the keys (as `git config --list` prints them) and values of a configuration file. Raises: NotPlain."""
    if not text.replace("\n", "").replace("\t", "").isprintable():
        raise NotPlain
    rows: list[Row] = []
    prefix = ""
    for line in text.split("\n"):
        plain = line.strip(" \t")
        if not plain or plain[0] in "#;":
            continue
        section, variable = _SECTION.fullmatch(plain), _VARIABLE.fullmatch(plain)
        if section is not None:
            name, below = section[1].lower(), section[2]
            if name in _INCLUDES:
                raise NotPlain
            prefix = f"{name}." if below is None else f"{name}.{below}."
        elif variable is not None and prefix:
            value = variable[2] or ""
            rows.append((prefix + variable[1].lower(), value[1:-1] if value.startswith('"') else value))
        else:
            raise NotPlain
    return rows


def read_plain_config(file: Path) -> list[Row]:
    """Return the rows of a configuration file; empty if the file does not exist. Raises: NotPlain."""
    try:
        return parse_plain_config(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except (OSError, UnicodeDecodeError) as exc:
        raise NotPlain from exc


def read_users_config() -> list[tuple[str, str, str]]:
    """Return scope, key and value of the system's and the user's settings; the last row wins. Raises: NotPlain."""
    home = os.environ.get("HOME")
    if not home or sys.platform != "linux" or _git_on_path() not in _OF_DISTRIBUTIONS:
        raise NotPlain
    xdg = os.environ.get("XDG_CONFIG_HOME") or Path(home, ".config")
    files = (("system", _SYSTEM), ("global", Path(xdg, "git", "config")), ("global", Path(home, ".gitconfig")))
    return [(scope, key, value) for scope, file in files for key, value in read_plain_config(file)]


def _git_on_path() -> str | None:
    """Return the git that is run by name. Unlike shutil, which loads archive formats, this costs no import."""
    files = (Path(folder, "git") for folder in os.environ.get("PATH", os.defpath).split(os.pathsep))
    return next((str(file) for file in files if file.is_file() and os.access(file, os.X_OK)), None)
