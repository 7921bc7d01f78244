"""Finds which agent programs are installed and their versions; run outside any repository, cached by file stamps."""

import json
import os
import re
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from gitnexus.adapters.lines import as_mapping
from gitnexus.base.canonical import parse_json
from gitnexus.base.errors import Invalid
from gitnexus.base.files import replace_file
from gitnexus.base.record import Record

_SECONDS = 20
_VERSION = re.compile(r"\d+(?:\.\d+){1,3}(?:[-+.][0-9A-Za-z.-]{1,40})?")
_asked: dict[str, str] = {}


class InstalledProgram(Record):
    """A program by its file; `version` is "" if it reports none."""

    path: str
    version: str


def find_program(name: str, path: str, cache: Path | None = None) -> InstalledProgram | None:
    """Return the program of that name on `path` (as in $PATH), or None.

    Its version is read in /, with an empty home and without our environment. The result is cached in this process and
    in `cache` until the program's file changes.
    """
    # A relative folder would be resolved in the current folder, which may be a repository.
    folders = [folder for folder in path.split(os.pathsep) if folder.startswith("/")]
    file = shutil.which(name, path=os.pathsep.join(folders)) if folders and "/" not in name and name else None
    if file is None:
        return None
    try:
        seen = os.stat(file)
    except OSError:
        return None
    key = f"{file}:{seen.st_dev}:{seen.st_ino}:{seen.st_size}:{seen.st_mtime_ns}"
    if key not in _asked:
        kept = _read_version_cache(cache)
        if key not in kept:
            kept[key] = _ask_version(file, folders)
            if cache is not None:
                # Only the last few programs: keys of files that were replaced would pile up.
                replace_file(cache, json.dumps(dict(list(kept.items())[-50:])).encode(), durable=False)
        _asked[key] = kept[key]
    return InstalledProgram(path=file, version=_asked[key])


def _ask_version(file: str, folders: list[str]) -> str:
    with TemporaryDirectory(prefix="nexus-version-") as home:
        env = {"PATH": os.pathsep.join(folders), "HOME": home, "LC_ALL": "C.UTF-8"}
        try:
            done = subprocess.run(
                [file, "--version"],
                cwd="/",
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return ""
    match = _VERSION.search(done.stdout[:2000].decode("utf-8", "replace")) if done.returncode == 0 else None
    return match[0] if match else ""


def _read_version_cache(cache: Path | None) -> dict[str, str]:
    kept = {}
    if cache is not None:
        with suppress(OSError, Invalid):
            kept = as_mapping(parse_json(cache.read_bytes()))
    return {key: value for key, value in kept.items() if isinstance(value, str)}
