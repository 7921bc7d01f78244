"""Lists the child and descendant processes of a process, read from /proc."""

import os


def child_processes(pid: int) -> list[int]:
    """Return the processes whose parent is `pid`; none without /proc."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children") as file:
                found += map(int, file.read().split())
    except FileNotFoundError:
        return found or _search_children(pid)
    except (ProcessLookupError, PermissionError):
        return found
    return found


def descendant_processes(pid: int) -> list[tuple[int, int]]:
    """Return all descendants of `pid` with the number of generations between them, parents first."""
    found: list[tuple[int, int]] = []
    known = {pid}
    row = [pid]
    depth = 0
    while row:
        row = [child for parent in row for child in child_processes(parent) if child not in known]
        known.update(row)
        found += ((child, depth) for child in row)
        depth += 1
    return found


def _search_children(pid: int) -> list[int]:
    """Ask every process for its parent: for kernels that keep no list of children."""
    if not os.path.isdir(f"/proc/{pid}"):
        return []
    found = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                if int(file.read().rpartition(b")")[2].split()[1]) == pid:
                    found.append(int(name))
        except OSError:
            continue
    return found
