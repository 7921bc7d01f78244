"""Returns the path of the hook shim in the installed package. Imports almost nothing, because every hook loads it."""

import os.path


def shim_source_path() -> str:
    """Return the path of the shim: beside the git room in a wheel, in githooks/ in a checkout."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - pathlib costs 5 ms
    packed = os.path.join(package, "git", "nexus-hook")  # noqa: PTH118
    return packed if os.path.exists(packed) else os.path.join(package, "..", "githooks", "nexus-hook")  # noqa: PTH110, PTH118
