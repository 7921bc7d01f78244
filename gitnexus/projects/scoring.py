"""Scores how related two tasks are, as the cross-project specification defines. Pure."""

import re
from collections.abc import Mapping, Set
from dataclasses import dataclass

SIBLING, COUSIN = 0.15, 0.08
# In the order in which they win a tie.
BASES = ("labels", "description", "files")
# What an ancestor's words count with --context, by how far up it is.
DECAY = (1.0, 0.5, 0.25)
_WORD = re.compile(r"[a-z0-9]+")
STOP_WORDS = frozenset(
    "a an the and or but in on at to for of with by from as is was are were be been being have has had do does did "
    "will would could should may might must shall can this that these those i you he she it we they what which who "
    "when where why how all each every both few more most other some such no nor not only own same so than too very "
    "just also now then here there if else any".split()
)


@dataclass(frozen=True, slots=True)
class Scores:
    """Every score of a pair of tasks, and the boost for a shared hierarchy."""

    labels: float = 0.0
    description: float = 0.0
    files: float = 0.0
    boost: float = 0.0

    def best_base(self) -> str:
        """Return the method with the highest score; on a tie labels, then description, then files."""
        return max(BASES, key=lambda name: (getattr(self, name), -BASES.index(name)))

    def by(self, method: str) -> float:
        """Return the score of a method."""
        if method == "auto":
            return min(1.0, max(self.labels, self.description, self.files) + self.boost)
        if method == "hierarchy":
            return self.boost
        found: float = getattr(self, method)
        return found

    def plain(self) -> dict[str, float]:
        """Return the scores, rounded to two decimals."""
        return {
            "labels": round(self.labels, 2),
            "description": round(self.description, 2),
            "files": round(self.files, 2),
            "hierarchyBoost": round(self.boost, 2),
        }


def telling_words(title: str, description: str) -> frozenset[str]:
    """Return the words of a task without stop words; non-ASCII letters separate words."""
    return frozenset(_WORD.findall(f"{title} {description}".lower())) - STOP_WORDS


def jaccard_similarity(one: Set[str], other: Set[str]) -> float:
    """Return the shared part of the union of two sets, 0 if both are empty."""
    together = len(one | other)
    return len(one & other) / together if together else 0.0


def similarity_by_weight(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """Return the shared part of the union by the weights of the words."""
    keys = one.keys() | other.keys()
    most = sum(max(one.get(key, 0.0), other.get(key, 0.0)) for key in keys)
    return sum(min(one.get(key, 0.0), other.get(key, 0.0)) for key in keys) / most if most else 0.0


def hierarchy_boost(mine: tuple[str, ...], theirs: tuple[str, ...], *, one_project: bool) -> float:
    """Return the boost for shared ancestors; `mine` and `theirs` list the ancestors, the parent first."""
    if not one_project or not mine or not theirs:
        return 0.0
    if mine[0] == theirs[0]:
        return SIBLING
    return COUSIN if len(mine) > 1 and len(theirs) > 1 and mine[1] == theirs[1] else 0.0
