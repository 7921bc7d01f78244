"""A text for a shell, read as far as it can be: to find what to refuse or to ask about, never to be sure of it.

What stands in quotes, substitutions, here-documents, sub-shells and behind `sh -c` is looked into. A word counts as
`exact` only if no shell would make anything else of it. Where something is not understood, `why` says so, and what was
found up to there still counts: it may deny, it cannot allow.
"""

from typing import NamedTuple

LONGEST = 64 * 1024
MOST_COMMANDS = 200
_DEEPEST = 12
_BLANKS = " \t"
_OPERATORS = ("&&", "||", ";;&", ";;", ";&", "|&", "&>>", "&>", "<<<", "<<-", "<<", "<>", "<&", ">>", ">&", ">|",
              ";", "&", "|", "<", ">", "(", ")", "\n")  # fmt: skip
_REDIRECTS = frozenset(("&>>", "&>", "<<<", "<<-", "<<", "<>", "<&", ">>", ">&", ">|", "<", ">"))
_BEFORE = frozenset("if then else elif while until do ! { time coproc".split())
_ALONE = frozenset("} fi done esac in".split())
_STRANGE = frozenset("for case select function [[ ((".split())
_SHELLS = frozenset("sh bash dash zsh ksh ash mksh rbash".split())
# Where output may go without being a write to anything.
_NOWHERE = frozenset(("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"))
_FILLED_IN = frozenset("$`*?[]{}~")


class Word(NamedTuple):
    """One word: its text without quotes, and whether it means exactly that."""

    text: str
    exact: bool


class Command(NamedTuple):
    """One program with its words; `writes` and `reads` are files of redirections, `before` what joins it to the last.

    `exact` is false where a word, an assignment or a redirection makes it more than a list of words.
    """

    argv: tuple[str, ...]
    exact: bool
    writes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    before: str = ""


class Script(NamedTuple):
    """All commands that were found, in the order of the text; `why` is what was not understood, empty if nothing."""

    commands: tuple[Command, ...]
    why: str = ""

    @property
    def is_exact(self) -> bool:
        """True if the text is a row of plain commands and nothing else."""
        return not self.why and bool(self.commands) and all(one.exact for one in self.commands)


class TooMuch(Exception):
    """The text is longer or deeper than anybody should have to look at."""


def read(text: str) -> Script:
    """Return what a shell would run. Raises: TooMuch."""
    if len(text) > LONGEST:
        raise TooMuch
    if "\0" in text:
        return Script((), "it holds a NUL")
    found = _Reader(text, 0)
    found.script("")
    return Script(tuple(found.commands), found.why)


def inner_text(argv: tuple[str, ...]) -> str | None:
    """Return the text behind `sh -c`, `eval` and `trap`, None for any other command."""
    name = argv[0].rpartition("/")[2]
    if name == "eval":
        return " ".join(argv[1:])
    if name == "trap":
        return next((word for word in argv[1:] if not word.startswith("-")), None)
    if name not in _SHELLS:
        return None
    for at, word in enumerate(argv[1:], 1):
        if not word.startswith(("-", "+")):
            return None
        if not word.startswith("--") and "c" in word[1:]:
            rest = [one for one in argv[at + 1 :] if not one.startswith("-")]
            return rest[0] if rest else ""
    return None


def is_opaque(argv: tuple[str, ...]) -> bool:
    """True for a command of a text whose program only a shell can tell: it is filled in, or reads what it is fed."""
    name = argv[0].rpartition("/")[2] if argv else ""
    fed = name in _SHELLS and all(word.startswith("-") for word in argv[1:])
    return fed or name in ("source", ".", "alias") or not _FILLED_IN.isdisjoint(argv[0] if argv else "")


class _Reader:
    """One pass over a text; `depth` counts texts within texts."""

    def __init__(self, text: str, depth: int, commands: list[Command] | None = None) -> None:
        if depth > _DEEPEST:
            raise TooMuch
        self.text = text
        self.at = 0
        self.depth = depth
        self.why = ""
        self.commands: list[Command] = [] if commands is None else commands
        self.documents: list[tuple[str, bool, bool]] = []

    def doubt(self, why: str) -> None:
        self.why = self.why or why

    def script(self, end: str) -> None:
        """Read commands up to `end`, a closing bracket or the end of the text."""
        before = ""
        while True:
            operator = self.command(before)
            if operator == end and (end or self.at >= len(self.text)):
                return
            if operator == "" and self.at >= len(self.text):
                if end:
                    self.doubt(f"a {end} is missing")
                return
            if operator == "(":
                self.doubt("it has a sub-shell or a function")
                self.nested(")")
            elif operator in (")", ";;", ";&", ";;&"):
                self.doubt("it has a case or a stray bracket")
            elif operator == "&":
                self.doubt("it leaves something running")
            before = operator

    def nested(self, end: str) -> None:
        """Read what stands in brackets as commands of their own."""
        inside = _Reader(self.text, self.depth + 1, self.commands)
        inside.at = self.at
        inside.script(end)
        self.at = inside.at
        if inside.why:
            self.doubt(inside.why)

    def command(self, before: str) -> str:
        """Read one command; return the operator that ends it, empty at the end of the text."""
        words: list[Word] = []
        writes: list[str] = []
        reads: list[str] = []
        exact = True
        operator = ""
        while True:
            self.blanks()
            if self.at >= len(self.text):
                break
            operator = self.operator()
            if operator in _REDIRECTS:
                if words and words[-1].text.isdecimal() and self.text[self.at - len(operator) - 1].isdecimal():
                    words.pop()  # the number of what is redirected
                exact = self.redirected(operator, writes, reads) and exact
                operator = ""
                continue
            if operator:
                break
            words.append(self.word())
        if operator == "\n":
            self.skip_documents()
        self.keep(words, exact, writes, reads, before)
        return operator

    def keep(self, words: list[Word], exact: bool, writes: list[str], reads: list[str], before: str) -> None:
        """Put one command on the list, and what it hands to another shell."""
        if words and words[0].text == "function":
            self.doubt("it has a function")
            words = words[2:]
        while words and words[0].text in _BEFORE:
            self.doubt("it has conditions or loops")
            words = words[1:]
        if words and words[0].text in _STRANGE | _ALONE:
            self.doubt("it has conditions or loops")
            words = [] if words[0].text in _ALONE else words[1:]
        while words and _assigns(words[0].text):
            self.doubt("it sets a variable")
            words, exact = words[1:], False
        if not words and not writes and not reads:
            return
        argv = tuple(word.text for word in words)
        exact = exact and all(word.exact for word in words)
        self.commands.append(Command(argv, exact, tuple(writes), tuple(reads), before))
        if len(self.commands) > MOST_COMMANDS:
            raise TooMuch
        inner = inner_text(argv) if argv and argv[0] else None
        if inner is not None:
            self.doubt("it hands a text to another shell")
            self.inside(inner)

    def inside(self, text: str) -> None:
        """Read a text within the text."""
        found = _Reader(text, self.depth + 1, self.commands)
        found.script("")
        if found.why:
            self.doubt(found.why)

    def blanks(self) -> None:
        while self.at < len(self.text):
            if self.text[self.at] in _BLANKS:
                self.at += 1
            elif self.text.startswith("\\\n", self.at):
                self.at += 2
            elif self.text[self.at] == "#" and (self.at == 0 or self.text[self.at - 1] in " \t\n;&|()"):
                self.doubt("it has a comment, and not every shell takes it for one")
                line_end = self.text.find("\n", self.at)
                self.at = len(self.text) if line_end < 0 else line_end
            else:
                return

    def operator(self) -> str:
        """Return the operator that stands here and step over it, else nothing."""
        if self.text[self.at] == "\r":
            self.doubt("it holds a carriage return")
        for one in _OPERATORS:
            if self.text.startswith(one, self.at):
                if one in ("<", ">") and self.text.startswith("(", self.at + 1):
                    return ""  # a process in place of a file: a word
                self.at += len(one)
                return one
        return ""

    def redirected(self, operator: str, writes: list[str], reads: list[str]) -> bool:
        """Read where a redirection goes; False where that is more than to nowhere or between outputs."""
        self.blanks()
        if self.at >= len(self.text):
            self.doubt("a redirection goes nowhere")
            return False
        target = self.word()
        if operator in ("<<", "<<-"):
            self.documents.append((target.text, operator == "<<-", target.exact))
            return False
        if operator == "<<<":
            return False
        if operator in (">&", "<&") and (target.text.isdecimal() or target.text == "-"):
            return target.exact
        if not target.exact:
            self.doubt("a redirection depends on what a shell makes of it")
        if operator in ("<", "<&"):
            reads.append(target.text)
            return False
        if target.exact and target.text in _NOWHERE:
            return True
        writes.append(target.text)
        if operator == "<>":
            reads.append(target.text)
        return False

    def skip_documents(self) -> None:
        """Step over the here-documents that were announced on this line; one in plain words may substitute."""
        for end, tabs, _ in self.documents:
            lines = []
            while True:
                line_end = self.text.find("\n", self.at)
                line = self.text[self.at :] if line_end < 0 else self.text[self.at : line_end]
                if (line.lstrip("\t") if tabs else line) == end:
                    self.at = len(self.text) if line_end < 0 else line_end + 1
                    break
                lines.append(line)
                if line_end < 0:
                    self.at = len(self.text)
                    self.doubt("a here-document does not end")
                    break
                self.at = line_end + 1
            self.substituted("\n".join(lines))
        self.documents = []

    def substituted(self, text: str) -> None:
        """Look for commands in a text that a shell would only expand. Quoted or not: it is looked at to refuse."""
        if "$(" in text or "`" in text:
            found = _Reader(text, self.depth + 1, self.commands)
            while found.at < len(found.text):
                if not found.expanded():
                    found.at += 1
            self.doubt(found.why or "it has a here-document with substitutions")

    def word(self) -> Word:
        """Read one word, from a place where there is one."""
        parts: list[str] = []
        exact = True
        begin = self.at
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in " \t\n;|" or (char in "&()<>" and not self.process()):
                break
            if char in "$`<>":
                here = self.at
                if not self.expanded():
                    self.at += 1
                parts.append(self.text[here : self.at])
                exact = False
            elif char == "'":
                parts.append(self.single())
            elif char == '"':
                text, same = self.double()
                parts.append(text)
                exact = exact and same
            elif char == "\\":
                parts.append(self.escaped())
            else:
                exact = exact and _means_itself(char, first=not parts)
                parts.append(char)
                self.at += 1
        if self.at == begin:
            # A bracket that belongs to whoever called, or one nobody waits for.
            self.at += 1
            self.doubt("it has a bracket that is not understood")
            return Word(self.text[begin : self.at], False)
        return Word("".join(parts), exact)

    def process(self) -> bool:
        """True if a process stands here in place of a file."""
        return self.text[self.at] in "<>" and self.text.startswith("(", self.at + 1)

    def escaped(self) -> str:
        if self.at + 1 >= len(self.text):
            self.doubt("it ends in the middle of a word")
        self.at += 2
        return self.text[self.at - 1 : self.at].replace("\n", "")

    def single(self) -> str:
        close = self.text.find("'", self.at + 1)
        if close < 0:
            self.doubt("a quote does not end")
            close = len(self.text)
        inside = self.text[self.at + 1 : close]
        self.at = close + 1
        return inside

    def double(self) -> tuple[str, bool]:
        self.at += 1
        parts: list[str] = []
        exact = True
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == '"':
                self.at += 1
                return "".join(parts), exact
            if char == "\\" and self.text[self.at + 1 : self.at + 2] in ("$", "`", '"', "\\", "\n"):
                parts.append(self.text[self.at + 1].replace("\n", ""))
                self.at += 2
            elif char in "$`":
                here = self.at
                if not self.expanded():
                    self.at += 1
                parts.append(self.text[here : self.at])
                exact = False
            else:
                exact = exact and char != "!"
                parts.append(char)
                self.at += 1
        self.doubt("a quote does not end")
        return "".join(parts), False

    def expanded(self) -> bool:
        """Step over a substitution that begins here and read what is in it; False if none begins."""
        text, at = self.text, self.at
        if text.startswith(("$(", "<(", ">("), at):
            self.at += 2
            self.doubt("it has a substitution")
            self.nested(")")
            return True
        if text.startswith("`", at):
            close = at + 1
            while close < len(text) and text[close] != "`":
                close += 2 if text[close] == "\\" else 1
            self.doubt("it has a substitution")
            self.inside(text[at + 1 : close].replace("\\`", "`").replace("\\\\", "\\"))
            self.at = min(close, len(text)) + 1
            return True
        if text.startswith("${", at):
            self.at += 2
            self.doubt("it has a variable")
            while self.at < len(text) and text[self.at] != "}":
                if not self.expanded():
                    self.at += 1
            self.at += 1
            return True
        if text.startswith("$", at):
            self.doubt("it has a variable")
        return False


def _means_itself(char: str, *, first: bool) -> bool:
    """False for what some shell looks for among files or fills in, and for what no name has."""
    filled_in = char in "*?[]{}!^~" or (char == "=" and first)
    return not filled_in and ord(char) >= 32 and not 0x7F <= ord(char) < 0xA0


def _assigns(word: str) -> bool:
    name, sign, _ = word.partition("=")
    name = name.removesuffix("+").partition("[")[0]
    return bool(sign) and name.isidentifier() and name.isascii()
