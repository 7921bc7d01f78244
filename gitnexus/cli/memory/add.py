"""`git nexus memory`: what was learned, for people."""

import shlex
import sys
from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.text import one_line, visible
from gitnexus.ui.commands import NexusGroup, invocation
from gitnexus.ui.output import answer, columns, counted, note, start_folder, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus
    from gitnexus.memory import Notes
    from gitnexus.memory.gc import Pair
    from gitnexus.memory.signals import Standing


@click.group("memory", cls=NexusGroup)
def memory() -> None:
    """What was learned here: notes that agents and people keep.

    A note is a Markdown file in .nexus/memory/. Agents use the same through the tools memory_…. Forgetting is always a
    commit that can be undone.
    """


@memory.command("add")
@click.argument("name")
@click.argument("text", required=False)
@click.option("--category", metavar="C", help="empirical, external, pattern, or one that settings.json adds.")
@click.option("--file", "source", metavar="FILE", help="Take the text from a file, or - (stdin).")
@click.option("--new", is_flag=True, help="Make a new note even if one is about the same.")
@click.option("--here", is_flag=True, help="Keep it as a note even if it reads like a rule or like context.")
@with_nexus
def add(
    nexus: "Nexus", name: str, text: str | None, category: str | None, source: str | None, new: bool, here: bool
) -> None:
    """Keep TEXT as the note NAME, or extend the note that is about the same.

    NAME is the topic in two to four words with dashes. Without TEXT it is read from stdin.
    """
    from gitnexus.base.errors import BadUsage
    from gitnexus.memory.add import Draft, add

    if not name.strip():
        raise BadUsage("the note needs a name", hint="say the topic in two to four words with dashes")
    kept = add(_notes(nexus), Draft(_given(text, source), name, category, new, here))
    undo = f"git nexus memory restore {kept.note.name} --from {(kept.before or '')[:12]}"
    said = {
        "created": f"Kept as {kept.note.name}.",
        "extended": f"Extended {kept.note.name}: it is about the same.\n"
        f"Undo: {undo}  (then --new makes a note of its own)",
        "known": f"{kept.note.name} says that already; nothing changed.",
    }
    payload = {"action": kept.action, "note": {"name": kept.note.name, "path": kept.note.path, "size": kept.note.size}}
    answer(payload, said[kept.action], nexus.described)


@memory.command("list")
@with_nexus
def list_command(nexus: "Nexus") -> None:
    """List the notes; that counts as no read."""
    from gitnexus.memory.notes import notes_in

    found = notes_in(nexus.state.latest())
    rows = [[note.name, f"{note.size} B", one_line(_first_words(note.text), 70)] for note in found]
    payload = {"notes": [{"name": note.name, "path": note.path, "size": note.size} for note in found]}
    answer(payload, columns(rows, indent="") if rows else _NONE, nexus.described)


@memory.command("show")
@click.argument("name")
@with_nexus
def show(nexus: "Nexus", name: str) -> None:
    """Read one note; the read is counted."""
    from gitnexus.memory.access import count_read
    from gitnexus.memory.notes import note_in, readable

    notes = _notes(nexus)
    found = note_in(notes.latest(), name)
    missed = count_read(notes, found.name)
    if missed:
        note(f"the read was not counted: {missed}")
    payload = {"note": {"name": found.name, "path": found.path, "size": found.size, "text": readable(found.text)}}
    answer(payload, visible(found.text).rstrip("\n"), nexus.described)


@memory.command("search")
@click.argument("words", nargs=-1, required=True)
@click.option("-n", "--limit", type=click.IntRange(1, 1000), default=10, show_default=True, help="How many at most.")
@with_nexus
def search_command(nexus: "Nexus", words: tuple[str, ...], limit: int) -> None:
    """Find notes, rules, context and closed cycles by WORDS, the best first; that counts as no read."""
    from gitnexus.memory.everything import texts
    from gitnexus.memory.search import search

    notes = _notes(nexus)
    hits = search(" ".join(words), texts(nexus.state.latest(), notes.closed()), limit)
    rows = [f"{h.text.kind}  {one_line(h.text.name, 60)}\n    {one_line(h.excerpt, 110)}" for h in hits]
    found = [{"kind": h.text.kind, "name": h.text.name, "score": h.score, "excerpt": h.excerpt} for h in hits]
    answer({"results": found, "total": len(found)}, "\n".join(rows) or "Nothing holds these words.", nexus.described)


@memory.command("stats")
@with_nexus
def stats(nexus: "Nexus") -> None:
    """Show age, size and use of every note, and what could be forgotten and why."""
    from gitnexus.memory.gc import survey
    from gitnexus.memory.view import standing_row

    found = survey(_notes(nexus))
    rows = [["NOTE", "SIZE", "UNUSED", "READ", "LAST BY", ""]] if found else []
    rows += [_stat(row) for row in found]
    could = sum(row.is_candidate for row in found)
    tail = f"\n{counted(could, 'note')} could be forgotten: git nexus memory gc" if could else ""
    payload = {"notes": [standing_row(row) for row in found], "candidates": could}
    answer(payload, columns(rows, indent="") + tail if rows else _NONE, nexus.described)


@memory.command("log")
@click.argument("name")
@with_nexus
def log(nexus: "Nexus", name: str) -> None:
    """Show the life of a note: created, changed, forgotten, brought back."""
    from gitnexus.memory.life import life_of
    from gitnexus.memory.view import step_row

    steps = [step_row(step) for step in life_of(nexus.state, nexus.state.latest(), name)]
    rows = [
        [row["commit"][:9], row["at"][:10], row["what"], one_line(row["author"], 24), one_line(row["why"], 120)]
        for row in steps
    ]
    answer({"name": name, "steps": steps}, columns(rows, indent=""), nexus.described)


@memory.command("merge")
@click.argument("into")
@click.argument("other")
@with_nexus
def merge_command(nexus: "Nexus", into: str, other: str) -> None:
    """Put the note OTHER into the note INTO; nothing of either is dropped."""
    from gitnexus.memory.merge import merge

    before = (nexus.state.latest().commit or "")[:12]
    both = merge(_notes(nexus), into, other)
    undo = " && ".join(f"git nexus memory restore {shlex.quote(name)} --from {before}" for name in (both.name, other))
    answer({"note": {"name": both.name, "path": both.path, "size": both.size}},
           f"{both.name} now says both.\nUndo: {one_line(undo, 400)}", nexus.described)  # fmt: skip


@memory.command("gc")
@click.argument("names", nargs=-1, metavar="[NAME…]")
@click.option("--dry-run", is_flag=True, help="Only show what could be forgotten.")
@click.option("--merge", is_flag=True, help="Also merge notes that are about the same.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_nexus
def gc(nexus: "Nexus", names: tuple[str, ...], dry_run: bool, merge: bool, yes: bool) -> None:
    """Forget notes that nobody uses, after asking, as one commit that can be undone.

    NAME… limits it to these candidates. Nothing is ever forgotten because of one signal alone.
    """
    from gitnexus.memory.gc import Forgotten, forget, still
    from gitnexus.memory.view import pair_row, standing_row

    notes = _notes(nexus)
    rows, pairs = _going(notes, names, merge)
    payload = {"candidates": [standing_row(row) for row in rows], "duplicates": [pair_row(pair) for pair in pairs]}
    did = Forgotten(None)
    said = _proposal(rows, pairs) or "Nothing to forget."
    if (rows or pairs) and not dry_run:
        if not _agreed(said, len(rows), len(pairs), yes, payload):
            said = "Nothing was forgotten."
        elif not (going := still(notes, rows)) and not pairs:
            said = "Nothing was forgotten: they were read or changed meanwhile."
        else:
            did = forget(notes, [(row.note.name, row.why) for row in going], pairs)
            said = (
                f"Forgot {counted(len(did.deleted) + len(did.merged), 'note')} in one commit.\n"
                f"Undo: git nexus memory restore --from {(did.commit or '')[:12]}"
            )
    done = {"deleted": list(did.deleted), "merged": [list(pair) for pair in did.merged], "commit": did.commit}
    answer({**payload, **done}, said, nexus.described)


@memory.command("restore")
@click.argument("name", required=False)
@click.option("--from", "commit", metavar="COMMIT", help="A commit of the state: as it was then, or all it deleted.")
@with_nexus
def restore_command(nexus: "Nexus", name: str | None, commit: str | None) -> None:
    """Bring back the note NAME as it was before it was forgotten."""
    from gitnexus.memory.restore import restore

    back = restore(_notes(nexus), name, commit)
    text = f"Back from {back.source[:12]}: {', '.join(back.names[:20])}{' …' if len(back.names) > 20 else ''}"
    answer({"restored": list(back.names), "from": back.source}, text, nexus.described)


@memory.command("prime")
@click.option("--budget", default="4k", show_default=True, metavar="TOKENS", help="How much a model may be given.")
@with_nexus
def prime_command(nexus: "Nexus", budget: str) -> None:
    """Print the most useful notes within a budget, fenced and labelled, for the start of a session."""
    from gitnexus.memory.prime import budget as parsed
    from gitnexus.memory.prime import prime, tokens

    text, chosen, left = prime(_notes(nexus), parsed(budget))
    if not chosen:
        note(f"the budget holds none of the {counted(len(left), 'note')}" if left else "there are no notes yet")
    answer({"text": text, "tokens": tokens(text), "notes": chosen, "leftOut": left}, text.rstrip("\n"), nexus.described)


_NONE = "No notes yet.\nNext: git nexus memory add NAME TEXT"


def _notes(nexus: "Nexus") -> "Notes":
    from gitnexus.app.notes import notes_of

    return notes_of(nexus.state)


def _given(text: str | None, source: str | None) -> str:
    from gitnexus.base.errors import BadUsage, NotFound

    if text is not None and source is not None:
        raise BadUsage("say the text or --file, not both")
    if text is not None and text != "-":
        return text
    if source is None and sys.stdin.isatty():
        click.echo("Type the note, then Ctrl-D.", err=True)
    raw: bytes
    if source in (None, "-"):
        raw = sys.stdin.buffer.read(1024 * 1024)
    else:
        path = start_folder(invocation(click.get_current_context())) / str(source)
        try:
            raw = path.read_bytes()
        except OSError as exc:
            raise NotFound(f"{path} cannot be read: {exc.strerror or exc}") from exc
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise BadUsage("the text is not UTF-8") from exc


def _first_words(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return lines[0].strip() if lines else ""


def _stat(row: "Standing") -> list[str]:
    mark = click.style(row.why, fg="yellow") if row.is_candidate else ""
    reader = one_line(row.use.reader, 24) if row.use.reader else "-"
    return [row.note.name, f"{row.note.size} B", f"{row.days} d", f"{row.use.count}x", reader, mark]


def _going(notes: "Notes", names: tuple[str, ...], merge: bool) -> "tuple[list[Standing], list[Pair]]":
    from gitnexus.base.errors import Invalid
    from gitnexus.memory.gc import duplicates, survey

    rows = [row for row in survey(notes) if row.is_candidate]
    wanted = {name.removesuffix(".md") for name in names}
    pairs = duplicates(notes, [row.note.name for row in rows if not wanted or row.note.name in wanted]) if merge else []
    strange = sorted(wanted - {row.note.name for row in rows} - {pair.other.name for pair in pairs})
    if strange:
        raise Invalid(
            f"not among what could be forgotten: {', '.join(strange)}", hint="git nexus memory stats tells why"
        )
    chosen = [row for row in rows if not wanted or row.note.name in wanted]
    return chosen, [pair for pair in pairs if not wanted or pair.other.name in wanted]


def _proposal(rows: "list[Standing]", pairs: "list[Pair]") -> str:
    lines = [f"forget  {row.note.name}: {row.why}" for row in rows]
    return "\n".join(
        lines + [f"merge   {pair.other.name} into {pair.into.name} ({pair.score:.0%} alike)" for pair in pairs]
    )


def _agreed(said: str, going: int, merging: int, yes: bool, payload: dict[str, Any]) -> bool:
    from gitnexus.base.errors import Failed

    if yes:
        return True
    as_json = invocation(click.get_current_context()).as_json
    if as_json or not sys.stdin.isatty():
        raise Failed(
            f"nothing was forgotten: {counted(going + merging, 'note')} could be, and nobody can be asked here",
            hint="look with --dry-run, then say --yes",
            fix="git nexus memory gc --dry-run",
            context=payload,
        )
    click.echo(said, err=True)
    words = [counted(going, "note")] if going else []
    words += [f"merge {counted(merging, 'pair')}"] if merging else []
    return click.confirm(f"Forget {' and '.join(words)}?" if going else f"{words[0].capitalize()}?", err=True)
