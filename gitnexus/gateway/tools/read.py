"""repo.list_tree, repo.read_file, repo.search: bounded reads of the worktree or of a commit."""

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from gitnexus.base.errors import Invalid
from gitnexus.gateway.source import FileSource, open_source
from gitnexus.gateway.tool_context import ToolContext

MOST_ITEMS = 1000
MOST_LINES = 2000
MOST_BYTES = 256 * 1024
MOST_HITS = 200
LONGEST_HIT = 300
LARGEST_SEARCHED = 2**20
MOST_SEARCHED = 512 * 2**20


def list_tree(context: ToolContext, params: Mapping[str, Any]) -> dict[str, Any]:
    """List the files at or below a path."""
    below, offset = _folder_param(context, params), _offset_param(params, 0)
    limit = _limit_param(params, MOST_ITEMS)
    with open_source(context, params.get("revision", "")) as source:
        rows = list(islice(source.items(below), offset, offset + limit + 1))
        shown = [{"path": row.path, "kind": row.kind, "size": row.size} for row in rows[:limit]]
        answer = {"entries": shown, "more": len(rows) > limit, "hidden": source.hidden.count}
    return context.read("repo.list_tree", answer, path=below, revision=params.get("revision", ""))


def read_file(context: ToolContext, params: Mapping[str, Any]) -> dict[str, Any]:
    """Read some lines of one file."""
    path, start = context.readable(params["path"]), max(_offset_param(params, 1), 1)
    with open_source(context, params.get("revision", "")) as source:
        data = source.read(path)
    answer: dict[str, Any] = {"path": path, "size": len(data), "binary": b"\0" in data[:8000]}
    if not answer["binary"]:
        answer |= _page_of_lines(context, data, start, _limit_param(params, MOST_LINES))
    return context.read("repo.read_file", answer, path=path, revision=params.get("revision", ""))


def search_files(context: ToolContext, params: Mapping[str, Any]) -> dict[str, Any]:
    """Find the lines that hold some words or match a pattern."""
    below, limit = _folder_param(context, params), _limit_param(params, MOST_HITS)
    matches = _make_matcher(params["query"], bool(params.get("regex")), bool(params.get("ignore_case")))
    with open_source(context, params.get("revision", "")) as source:
        hits, complete = _search_hits(context, source, below, matches, limit)
        answer = {"hits": hits, "more": not complete, "hidden": source.hidden.count}
    asked = {"query": params["query"], "path": below, "revision": params.get("revision", "")}
    return context.read("repo.search", answer, **asked)


def _search_hits(
    context: ToolContext, source: FileSource, below: str, matches: Callable[[bytes], bool], limit: int
) -> tuple[list[dict[str, Any]], bool]:
    hits: list[dict[str, Any]] = []
    looked_at = 0
    for path, data in source.texts(below, LARGEST_SEARCHED):
        looked_at += len(data)
        if looked_at > MOST_SEARCHED:
            return hits, False
        if b"\0" in data[:8000] or not matches(data):
            continue
        # Mask the whole text: a line from the middle of a private key does not look like one.
        for number, line in enumerate(_split_lines(context.gate.mask(_decode_text(data))), 1):
            if matches(line.encode("utf-8", "surrogateescape")):
                if len(hits) == limit:
                    return hits, False
                hits.append({"path": path, "line": number, "text": line[:LONGEST_HIT]})
    return hits, True


def _make_matcher(query: str, is_regex: bool, ignore_case: bool) -> Callable[[bytes], bool]:
    if not query or len(query) > 1000 or "\n" in query:
        raise Invalid("query should be 1 to 1000 characters on one line")
    try:
        query.encode()
    except UnicodeEncodeError as exc:
        raise Invalid("query holds an unpaired surrogate") from exc
    if not is_regex and not ignore_case:
        raw = query.encode()
        return lambda data: raw in data
    import re2  # 20 ms: only who searches so pays; no pattern can make it slow, which `re` does not promise

    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not ignore_case
    try:
        pattern = re2.compile("(?m)" + (query if is_regex else re2.escape(query)), options)
    except re2.error as exc:
        raise Invalid(f"query is not a pattern: {exc}", hint="the syntax is that of RE2") from exc
    return lambda data: pattern.search(data) is not None


def _page_of_lines(context: ToolContext, data: bytes, start: int, limit: int) -> dict[str, Any]:
    """Return lines from `start` on, as many as fit; masked before they are split."""
    lines = _split_lines(context.gate.mask(_decode_text(data)))
    shown: list[str] = []
    room = MOST_BYTES
    for line in lines[start - 1 : start - 1 + limit]:
        room -= len(line.encode("utf-8", "surrogatepass")) + 1
        if room < 0:
            if not shown:
                shown.append(line[: MOST_BYTES // 4] + "…")
            break
        shown.append(line)
    return {
        "text": "\n".join(shown),
        "from": start,
        "lines": len(shown),
        "total": len(lines),
        "more": start - 1 + len(shown) < len(lines),
    }


def _split_lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _decode_text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")


def _folder_param(context: ToolContext, params: Mapping[str, Any]) -> str:
    path = str(params.get("path", "")).removesuffix("/")
    return "" if path in ("", ".") else context.readable(path)


def _offset_param(params: Mapping[str, Any], least: int) -> int:
    return max(int(params.get("offset", least)), least)


def _limit_param(params: Mapping[str, Any], most: int) -> int:
    return min(max(int(params.get("limit", most)), 1), most)
