"""Builds the environment of a command from an explicit list of variable names. Nothing is inherited by default."""

import re
from collections.abc import Mapping

from gitnexus.base.errors import DeniedByPolicy, Invalid
from gitnexus.base.text import one_line

# The system's own; never a folder of the worktree, where an agent could put a `git` of its own.
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

FIXED: Mapping[str, str] = {
    "PATH": PATH,
    "TERM": "dumb",
    "PAGER": "cat",
    "MANPAGER": "cat",
    "EDITOR": "false",
    "VISUAL": "false",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "false",
    "GIT_SEQUENCE_EDITOR": "false",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "NO_COLOR": "1",
}

# Inherited from our own environment, if well formed; a request may set them, too.
INHERITED = (
    "LANG", "LANGUAGE", "TZ", "LC_ALL", "LC_CTYPE", "LC_COLLATE", "LC_MESSAGES", "LC_MONETARY", "LC_NUMERIC", "LC_TIME",
)  # fmt: skip

# A request may set these; nobody's are inherited. None of them names a file that is executed or loaded.
ALLOWED = frozenset(
    (
        *INHERITED,
        *("CI", "DEBUG", "VERBOSE", "COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "CLICOLOR", "SOURCE_DATE_EPOCH"),
        *("PYTHONHASHSEED", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "PYTHONUTF8", "PYTHONDEVMODE"),
        *("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "HYPOTHESIS_PROFILE", "COVERAGE_CORE"),
        *("NODE_ENV", "NPM_CONFIG_OFFLINE", "NPM_CONFIG_IGNORE_SCRIPTS", "NPM_CONFIG_AUDIT", "NPM_CONFIG_FUND"),
        *("RUST_BACKTRACE", "RUST_LOG", "CARGO_NET_OFFLINE", "CARGO_TERM_COLOR", "CARGO_INCREMENTAL"),
        *("GOOS", "GOARCH", "GOMAXPROCS", "CGO_ENABLED", "GO111MODULE", "RAILS_ENV", "RACK_ENV", "APP_ENV"),
        *("FLASK_ENV", "OMP_NUM_THREADS"),
    )
)

# Created for each run, see run.py.
PRIVATE = ("HOME", "TMPDIR", "TMP", "TEMP", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")

# What these would do, for the refusal; any other name that is not allowed is refused as well.
_LOADS = {
    "LD_": "it makes the loader take other libraries",
    "DYLD_": "it makes the loader take other libraries",
    "GIT_": "it makes git look elsewhere or run a program",
    "PYTHON": "it makes Python load or run other code",
    "PERL": "it makes Perl load other code",
    "RUBY": "it makes Ruby load other code",
    "NODE_": "it makes Node load other code",
    "NPM_CONFIG_": "it makes npm run or fetch other code",
    "JAVA_": "it makes Java load other code",
    "BASH": "it makes a shell run other code",
    "SSH_": "it leads to keys or runs a program",
    "NEXUS_": "it is ours",
}
_LOADS_EXACTLY = {
    "PATH": "it decides which programs are found",
    **dict.fromkeys(
        ("ENV", "SHELLOPTS", "PROMPT_COMMAND", "PS4", "IFS", "CDPATH", "ZDOTDIR"), "it changes what a shell runs"
    ),
    **dict.fromkeys(("EDITOR", "VISUAL", "PAGER", "MANPAGER", "BROWSER", "SHELL"), "it names a program to run"),
    **dict.fromkeys(PRIVATE, "it is made for each run"),
}

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
# A language or a time zone; never a path of one's own, which the C library would read.
_PLACE = re.compile(r"[A-Za-z0-9_+-]+([./@:,][A-Za-z0-9_+-]+){0,9}|")
_LONGEST = 4096
_MOST = 64


def command_environment(
    wanted: Mapping[str, str], inherited: Mapping[str, str], folders: tuple[str, ...] = ()
) -> dict[str, str]:
    """Return the whole environment of a command except HOME and similar variables.

    `wanted` are the requested variables, `inherited` our own, of which a few are copied. `folders` come before the
    system's on PATH; the caller takes them from the policy, never from a request, and only the user can write to them.
    Raises: Invalid for a malformed name, DeniedByPolicy for a name that is not on the list.
    """
    if len(wanted) > _MOST:
        raise Invalid(f"a command can set at most {_MOST} variables")
    seen: dict[str, str] = {}
    for name, value in wanted.items():
        _check_name(name)
        if seen.setdefault(name.upper(), name) != name:
            raise Invalid(f"the variable {name} is given twice, in other letters")
        _check_allowed(name)
        _check_value(name, value)
    taken = {name: inherited[name] for name in INHERITED if _PLACE.fullmatch(inherited.get(name, "\0"))}
    path = ":".join((*_check_path_folders(folders), PATH))
    made = {"LANG": "C.UTF-8", **taken, **FIXED, "PATH": path, **wanted}
    return dict(sorted(made.items()))


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise Invalid(f"not a name of a variable: {one_line(str(name), 60)}")


def _check_allowed(name: str) -> None:
    if name in ALLOWED:
        return
    upper = name.upper()
    why = _LOADS_EXACTLY.get(upper) or next((words for start, words in _LOADS.items() if upper.startswith(start)), "")
    raise DeniedByPolicy(
        f"a command may not set {name}: {why or 'it is not on the list of harmless names'}",
        hint="pass it as an argument, or in a file of the worktree",
    )


def _check_value(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise Invalid(f"the value of {name} should be text")
    if not _is_well_formed(value):
        raise Invalid(f"the value of {name} is too long, or has characters that cannot be seen")
    if name in INHERITED and not _PLACE.fullmatch(value):
        raise Invalid(f"the value of {name} is not a language or time zone")


def _is_well_formed(value: str) -> bool:
    return len(value) <= _LONGEST and value.isprintable()


def _check_path_folders(folders: tuple[str, ...]) -> tuple[str, ...]:
    for folder in folders:
        if not folder.startswith("/") or ":" in folder or not folder.isprintable():
            raise Invalid(f"not a folder for PATH: {one_line(folder)}")
    return folders
