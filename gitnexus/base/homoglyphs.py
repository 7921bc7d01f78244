"""Finds misleading words in a text: mixed scripts, host names in look-alike letters, invisible characters. Pure."""

import re
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

from gitnexus.base.text import make_visible

_WORD = re.compile(r"\w+")
_NAME_WORD = re.compile(r"[^\W_]+")
_CHUNK = re.compile(r"[^ \t\n]+")
_HOST = re.compile(r"(?:[\w-]+\.)+[\w-]{2,}")
# Endings of files that no host can have: none of them is a top-level domain. `.md`, `.py`, `.rs`, `.sh` are.
_FILES = frozenset(
    "adoc cfg conf cpp css csv docx gif hpp htm html ini ipynb jpeg jpg js json jsx lock log odt pdf png pyi rst scss "
    "sql svg tex toml tsv tsx txt xlsx xml yaml yml".split()
)
# Scripts with letters that are drawn like Latin ones.
_ALIKE = frozenset(
    {"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU", "FULLWIDTH", "MATHEMATICAL", "DESERET", "GEORGIAN"}
)


class Suspicion(NamedTuple):
    """A word in visible form, and the reason to look at it twice."""

    word: str
    reason: str


def suspicious_words(text: str) -> list[Suspicion]:
    """Return the words that could be mistaken for others, each once, in order."""
    if text.isascii() and "xn--" not in text.lower() and make_visible(text) == text:
        return []
    found = [*_invisible_words(text), *_mixed_script_words(text), *_suspicious_hosts(text)]
    return list(dict.fromkeys(found))


def _invisible_words(text: str) -> list[Suspicion]:
    found = []
    for chunk in _CHUNK.findall(text):
        shown = make_visible(chunk, keep="")
        if shown != chunk:
            found.append(Suspicion(shown, "has invisible characters"))
        elif any(unicodedata.category(ch) == "Zs" for ch in chunk):
            found.append(Suspicion(_spell_spaces(chunk), "has a blank that is not a space"))
    return found


def _mixed_script_words(text: str) -> list[Suspicion]:
    found = ((word, _why_mixed(word)) for word in _WORD.findall(text))
    return [Suspicion(word, why) for word, why in found if why]


def _why_mixed(word: str) -> str:
    """Return which scripts a word mixes that have letters in common to the eye, "" if none."""
    if word.isascii():
        return ""
    scripts = {unicodedata.name(ch, "").split(" ")[0] for ch in word if ch.isalpha()}
    others = sorted(scripts & _ALIKE)
    if "LATIN" not in scripts or not others:
        return ""
    return f"mixes Latin and {' and '.join(name.capitalize() for name in others)} letters"


def _suspicious_hosts(text: str) -> list[Suspicion]:
    found = []
    for host in _HOST.findall(text):
        if not host.isascii() and host.rpartition(".")[2] not in _FILES:
            found.append(Suspicion(make_visible(host), f"is the host {_encode_punycode(host)}"))
        elif "xn--" in host.lower():
            found.append(Suspicion(host, f"is shown by browsers as {make_visible(_decode_host(host))}"))
    return found


def _encode_punycode(host: str) -> str:
    labels = (
        label if label.isascii() else "xn--" + label.casefold().encode("punycode").decode() for label in host.split(".")
    )
    return ".".join(labels)


def _decode_host(host: str) -> str:
    return ".".join(_decode_label(label) for label in host.split("."))


def _decode_label(label: str) -> str:
    if not label.lower().startswith("xn--"):
        return label
    try:
        return label[4:].encode("ascii").decode("punycode")
    except UnicodeError:
        return label


def _spell_spaces(chunk: str) -> str:
    return "".join(f"\\u{ord(ch):04x}" if unicodedata.category(ch) == "Zs" else ch for ch in chunk)


def _map_letters(letters: str, ascii_letters: str) -> dict[str, str]:
    return dict(zip(letters, ascii_letters, strict=True))


# Letters of other scripts, and signs, that are drawn like one of ASCII; what NFKC knows is not repeated here.
_DRAWN_AS = str.maketrans(
    {
        **_map_letters("аеорсухіјѕһԁԛԝѵгпк", "aeopcyxijshdqwvrnk"),
        **_map_letters("АВЕКМНОРСТХУІЈЅ", "ABEKMHOPCTXYlJS"),
        **_map_letters("οανρυικ", "oavpuik"),
        **_map_letters("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ABEZHlKMNOPTYX"),
        **_map_letters("օսɑɡıǀ", "ouagil"),
        **_map_letters("‐‑‒–—−⁃", "-------"),
        **_map_letters("∕⁄", "//"),
        **_map_letters("|1I0", "lllO"),
    }
)
_PAIRS = (("rn", "m"), ("vv", "w"))
# Drawn like the sign between two folders.
_SLASHES = frozenset("\u2044\u2215\u29f8\uff0f\u2571")
_MOST_IN_A_GROUP = 30


def lookalike_names(new: Iterable[str], present: Iterable[str]) -> list[Suspicion]:
    """Return a line for each group of names in one folder that look alike, if a new path has one of them.

    Each other new name with a word of mixed scripts gets a line as well. `present` has the paths of
    files and folders beside the new ones and beside their folders. In a group, new names come first; groups that
    include an existing name come first of all.
    """
    added = dict.fromkeys(step for path in new for step in _path_prefixes(path))
    drawn: dict[tuple[str, str], dict[str, None]] = {}
    for path in (*added, *present):
        folder, _, name = path.rpartition("/")
        drawn.setdefault((folder, _drawn_form(name)), {})[path] = None
    groups = [list(group) for group in drawn.values() if len(group) > 1 and next(iter(group)) in added]
    groups.sort(key=lambda group: all(path in added for path in group))
    slashes = [path for path in added if not _SLASHES.isdisjoint(path.rpartition("/")[2])]
    return [
        *(Suspicion(_visible_path(path), "has a character that looks like a slash") for path in slashes),
        *map(_describe_group, groups),
        *_mixed_script_names(set(added).difference(*groups)),
    ]


def _mixed_script_names(paths: Iterable[str]) -> list[Suspicion]:
    # Here an underscore separates words: a name may well have one part in each script.
    parts = ((path, part) for path in sorted(paths) for part in _NAME_WORD.findall(path.rpartition("/")[2]))
    found = {path: why for path, part in parts if (why := _why_mixed(part))}
    return [Suspicion(_visible_path(path), why) for path, why in found.items()]


def _path_prefixes(path: str) -> list[str]:
    """Return a path and the folders above it."""
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts) + 1)]


def _describe_group(paths: list[str]) -> Suspicion:
    others = ", ".join(map(_visible_path, paths[1:_MOST_IN_A_GROUP]))
    rest = len(paths) - _MOST_IN_A_GROUP
    more = f" and {rest} more" if rest > 0 else ""
    count = f", {len(paths)} names that look alike" if len(paths) > 2 else ""
    return Suspicion(_visible_path(paths[0]), f"looks like {others}{more} beside it{count}")


def _visible_path(path: str) -> str:
    return make_visible(path, keep="")


def _drawn_form(path: str) -> str:
    seen = "".join(ch for ch in unicodedata.normalize("NFKC", path) if unicodedata.category(ch) != "Cf")
    drawn = seen.translate(_DRAWN_AS).casefold()
    for pair, letter in _PAIRS:
        drawn = drawn.replace(pair, letter)
    return drawn
