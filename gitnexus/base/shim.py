"""Where the hook shim came with the package. Imports next to nothing: it stands on the way of every hook."""

import os.path


def source() -> str:
    """Return its path: beside the git room in a wheel, in githooks/ in a checkout."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - pathlib costs 5 ms
    packed = os.path.join(package, "git", "nexus-hook")  # noqa: PTH118
    return packed if os.path.exists(packed) else os.path.join(package, "..", "githooks", "nexus-hook")  # noqa: PTH110, PTH118
