"""Collects values known to be secret, from the environment and from the text of credential files."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from gitnexus.redaction.credentials import secret_assigned_values, secrets_in_file

_SHORTEST = 8
# Paths, switches, numbers and short words: hiding them would hide half of every log.
_ORDINARY = r"(?i)(?:[/~.][\w./ ~-]*|[a-z]:\\.*|true|false|yes|no|none|null|on|off|-?[0-9.]{1,11}|[a-z]{1,11})"

# By the set that they were made of: the same few are sought in every text of a run.
_FORMS: dict[frozenset[str], frozenset[bytes]] = {}


@dataclass(frozen=True, slots=True)
class Values:
    """A set of known secrets. Its text form shows the number, not the values."""

    _values: frozenset[str] = field(default=frozenset(), repr=False)

    @classmethod
    def of(cls, values: Iterable[str]) -> "Values":
        """Return the values that are long and unusual enough to search for without masking ordinary words.

        Each line of a value counts separately: it may be printed without the others.
        """
        stripped = (each.strip() for value in values for each in (value, *value.splitlines()))
        return cls(frozenset(each for each in stripped if len(each) >= _SHORTEST and not _is_ordinary_value(each)))

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Values":
        """Return the values of variables with a secret-looking name, and passwords in URLs under any name."""
        return cls.of(secret_assigned_values(environment.items()))

    @classmethod
    def from_file(cls, name: str, text: str) -> "Values":
        """Return the secrets of a credential file: netrc, .env, ini, npmrc, pgpass, addresses, JSON, YAML, keys."""
        return cls.of(secrets_in_file(name, text))

    def __or__(self, other: "Values") -> "Values":
        return Values(self._values | other._values)

    def __bool__(self) -> bool:
        return bool(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def forms(self) -> frozenset[bytes]:
        """Return all values in all forms."""
        from gitnexus.redaction.forms import forms_of_secret  # as above

        made = _FORMS.get(self._values)
        if made is None:
            made = _FORMS[self._values] = frozenset(form for value in self._values for form in forms_of_secret(value))
        return made


def _is_ordinary_value(value: str) -> bool:
    return re.fullmatch(_ORDINARY, value) is not None
