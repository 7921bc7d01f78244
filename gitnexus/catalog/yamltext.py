"""Parses untrusted YAML into plain JSON values. Imports PyYAML on first use."""

import math
from functools import cache
from typing import Any

from gitnexus.base.errors import Invalid

# Far above any real file of a catalog; PyYAML takes about a second for it.
LARGEST = 128 * 1024


def parse_yaml(raw: bytes) -> Any:
    """Return the value of a YAML text, refusing what JSON has no word for. Raises: Invalid."""
    import yaml  # 35 ms: only for a catalog of somebody's own, and for who makes one

    if len(raw) > LARGEST:
        raise Invalid(f"it is larger than {LARGEST // 1024} KiB")
    try:
        value = yaml.load(raw.decode("utf-8"), _plain_yaml_loader())  # noqa: S506 - a SafeLoader, and less
    except UnicodeDecodeError as exc:
        raise Invalid(f"byte {exc.start} is not UTF-8") from exc
    except (yaml.YAMLError, RecursionError, ValueError, TypeError) as exc:
        raise Invalid(f"it is not valid YAML: {_reason_of_error(exc)}") from exc
    _refuse_non_json(value)
    return value


@cache
def _plain_yaml_loader() -> Any:
    """Return the safe loader without aliases (nine of them make a gigabyte), double keys and dates."""
    import yaml

    class Plain(yaml.SafeLoader):
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                raise yaml.YAMLError("it uses an alias (*name)")
            return super().compose_node(parent, index)

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            seen = set()
            for key, _ in node.value:
                if (name := self.construct_object(key, deep=True)) in seen:
                    raise yaml.YAMLError(f"the key {name!r} occurs twice")
                seen.add(name)
            return super().construct_mapping(node, deep)

    Plain.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in rows if not tag.endswith((":timestamp", ":merge", ":value"))]
        for first, rows in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    return Plain


def _reason_of_error(exc: Exception) -> str:
    if isinstance(exc, RecursionError):
        return "it is nested too deeply"
    return " ".join(str(exc).split())[:200]


def _refuse_non_json(value: Any) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise Invalid(f"the key {key!r} should be text")
            _refuse_non_json(item)
    elif isinstance(value, list):
        for item in value:
            _refuse_non_json(item)
    elif isinstance(value, float) and not math.isfinite(value):
        raise Invalid(f"{value} is not a JSON number")
    elif not (value is None or isinstance(value, (str, bool, int, float))):
        raise Invalid(f"a {type(value).__name__} is none of text, number, true, false, list or object")
