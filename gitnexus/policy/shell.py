"""Parses a shell script as far as possible, to find commands to deny or ask about; never to prove it safe. Pure.

Quotes, substitutions, here-documents, subshells and `sh -c` are parsed. A word counts as `exact` only if no shell would
expand it. Where something is not understood, `why` says so, and what was found until then still counts: it may deny, it
cannot allow.
"""

from typing import NamedTuple

from gitnexus.policy.programs import inner_text

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
# Targets of output that are not writes.
_NOWHERE = frozenset(("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"))


class ShellWord(NamedTuple):
    """One word: its text without quotes, whether it is exact, and whether the shell expands it."""

    text: str
    exact: bool
    filled: bool = False


class ShellCommand(NamedTuple):
    """One program with its words; `writes` and `reads` are redirected files, `before` the preceding operator.

    `exact` is False if a word, an assignment or a redirection makes it more than a list of words. `filled` are the
    words and files with a variable or a command substitution, `sets` the variables set for it.
    """

    argv: tuple[str, ...]
    exact: bool
    writes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    before: str = ""
    filled: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()


class ShellScript(NamedTuple):
    """All commands in order; `why` is what was not understood, "" if everything was."""

    commands: tuple[ShellCommand, ...]
    why: str = ""

    @property
    def is_exact(self) -> bool:
        """True if the script is only a list of plain commands."""
        return not self.why and bool(self.commands) and all(one.exact for one in self.commands)


class TooMuch(Exception):
    """Raised if the script is too long or nested too deeply."""


def parse_shell_text(text: str) -> ShellScript:
    """Return the commands that a shell would run. Raises: TooMuch."""
    if len(text) > LONGEST:
        raise TooMuch
    if "\0" in text:
        return ShellScript((), "it holds a NUL")
    found = _Reader(text, 0)
    found.read_script("")
    return ShellScript(tuple(found.commands), found.why)


def script_of_command(argv: tuple[str, ...]) -> ShellScript:
    """Return the script that runs one command whose words are known."""
    return ShellScript((ShellCommand(argv, True),))


def _after_reserved_word(words: list[ShellWord]) -> list[ShellWord]:
    """Return the words after a reserved word, without options of `time` and the name of a coprocess."""
    reserved, rest = words[0].text, words[1:]
    if reserved == "time":
        while rest and rest[0].text in ("-p", "--"):
            rest = rest[1:]
    if reserved == "coproc" and len(rest) > 1 and rest[0].text.isidentifier():
        compound = rest[1].text in _BEFORE | _STRANGE
        rest = rest[1:] if compound and rest[0].text not in _BEFORE | _STRANGE else rest
    return rest


class _Reader:
    """One pass over a script; `depth` counts nested scripts."""

    def __init__(self, text: str, depth: int, commands: list[ShellCommand] | None = None) -> None:
        if depth > _DEEPEST:
            raise TooMuch
        self.text = text
        self.at = 0
        self.depth = depth
        self.why = ""
        self.commands: list[ShellCommand] = [] if commands is None else commands
        self.documents: list[tuple[str, bool, bool]] = []

    def note_doubt(self, why: str) -> None:
        self.why = self.why or why

    def read_script(self, end: str) -> None:
        """Read commands up to `end`, a closing bracket or the end of the text."""
        before = ""
        while True:
            operator = self.command(before)
            if operator == end and (end or self.at >= len(self.text)):
                return
            if operator == "" and self.at >= len(self.text):
                if end:
                    self.note_doubt(f"a {end} is missing")
                return
            if operator == "(":
                self.note_doubt("it has a sub-shell or a function")
                self.read_nested(")")
            elif operator in (")", ";;", ";&", ";;&"):
                self.note_doubt("it has a case or a stray bracket")
            elif operator == "&":
                self.note_doubt("it leaves something running")
            before = operator

    def read_nested(self, end: str) -> None:
        """Parse what is in brackets as commands."""
        inside = _Reader(self.text, self.depth + 1, self.commands)
        inside.at = self.at
        inside.read_script(end)
        self.at = inside.at
        if inside.why:
            self.note_doubt(inside.why)

    def command(self, before: str) -> str:
        """Parse one command; return the operator that ends it, "" at the end of the script."""
        words: list[ShellWord] = []
        writes: list[str] = []
        reads: list[ShellWord] = []
        exact = True
        operator = ""
        while True:
            self.skip_blanks()
            if self.at >= len(self.text):
                break
            operator = self.read_operator()
            if operator in _REDIRECTS:
                if words and words[-1].text.isdecimal() and self.text[self.at - len(operator) - 1].isdecimal():
                    words.pop()  # the file descriptor
                exact = self.read_redirection(operator, writes, reads) and exact
                operator = ""
                continue
            if operator:
                break
            words.append(self.word())
        if operator == "\n":
            self.skip_documents()
        self.keep(words, exact, writes, reads, before)
        return operator

    def keep(self, words: list[ShellWord], exact: bool, writes: list[str], reads: list[ShellWord], before: str) -> None:
        """Add one command to the list, and the script that it passes to another shell."""
        is_header, sets = False, list[str]()
        if words and words[0].text == "function":
            self.note_doubt("it has a function")
            words = words[2:]
        while words and words[0].text in _BEFORE:
            self.note_doubt("it has conditions or loops")
            words = _after_reserved_word(words)
        if words and words[0].text in _STRANGE | _ALONE:
            self.note_doubt("it has conditions or loops")
            is_header = words[0].text in _STRANGE
            words = [] if words[0].text in _ALONE else words[1:]
        while words and _is_assignment(words[0].text):
            self.note_doubt("it sets a variable")
            sets.append(words[0].text)
            words, exact = words[1:], False
        if not words and not writes and not reads and not sets:
            return
        argv = tuple(word.text for word in words)
        exact = exact and all(word.exact for word in words)
        filled = tuple(word.text for word in (*words, *reads) if word.filled and not is_header)
        self.commands.append(
            ShellCommand(argv, exact, tuple(writes), tuple(word.text for word in reads), before, filled, tuple(sets))
        )
        if len(self.commands) > MOST_COMMANDS:
            raise TooMuch
        inner = inner_text(argv) if argv and argv[0] else None
        if inner is not None:
            self.note_doubt("it hands a text to another shell")
            self.read_inside(inner)

    def read_inside(self, text: str) -> None:
        """Parse a nested script."""
        found = _Reader(text, self.depth + 1, self.commands)
        found.read_script("")
        if found.why:
            self.note_doubt(found.why)

    def skip_blanks(self) -> None:
        while self.at < len(self.text):
            if self.text[self.at] in _BLANKS:
                self.at += 1
            elif self.text.startswith("\\\n", self.at):
                self.at += 2
            elif self.text[self.at] == "#" and (self.at == 0 or self.text[self.at - 1] in " \t\n;&|()"):
                self.note_doubt("it has a comment, and not every shell takes it for one")
                line_end = self.text.find("\n", self.at)
                self.at = len(self.text) if line_end < 0 else line_end
            else:
                return

    def read_operator(self) -> str:
        """Return the operator at this position and skip it, else ""."""
        if self.text[self.at] == "\r":
            self.note_doubt("it holds a carriage return")
        for one in _OPERATORS:
            if self.text.startswith(one, self.at):
                if one in ("<", ">") and self.text.startswith("(", self.at + 1):
                    return ""  # a process substitution: a word
                self.at += len(one)
                return one
        return ""

    def read_redirection(self, operator: str, writes: list[str], reads: list[ShellWord]) -> bool:
        """Parse the target of a redirection; False unless it is /dev/null or another output."""
        self.skip_blanks()
        if self.at >= len(self.text):
            self.note_doubt("a redirection goes nowhere")
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
            self.note_doubt("a redirection depends on what a shell makes of it")
        if operator in ("<", "<&"):
            reads.append(target)
            return False
        if target.exact and target.text in _NOWHERE:
            return True
        writes.append(target.text)
        if operator == "<>":
            reads.append(target)
        return False

    def skip_documents(self) -> None:
        """Skip the here-documents announced on this line; an unquoted one may contain substitutions."""
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
                    self.note_doubt("a here-document does not end")
                    break
                self.at = line_end + 1
            self.read_substitutions("\n".join(lines))
        self.documents = []

    def read_substitutions(self, text: str) -> None:
        """Find commands in text that a shell only expands. Quotes are ignored, because the result is used to deny."""
        if "$(" in text or "`" in text:
            found = _Reader(text, self.depth + 1, self.commands)
            while found.at < len(found.text):
                if not found.read_expansion():
                    found.at += 1
            self.note_doubt(found.why or "it has a here-document with substitutions")

    def word(self) -> ShellWord:
        """Parse one word at a position where there is one."""
        parts: list[str] = []
        exact, filled = True, False
        begin = self.at
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in " \t\n;|" or (char in "&()<>" and not self.process()):
                break
            if char in "$`<>":
                here = self.at
                if not self.read_expansion():
                    self.at += 1
                parts.append(self.text[here : self.at])
                exact, filled = False, filled or char in "$`"
            elif char == "'":
                parts.append(self.read_single_quotes())
            elif char == '"':
                inside = self.read_double_quotes()
                parts.append(inside.text)
                exact, filled = exact and inside.exact, filled or inside.filled
            elif char == "\\":
                parts.append(self.read_escape())
            else:
                exact = exact and _means_itself(char, first=not parts)
                parts.append(char)
                self.at += 1
        if self.at == begin:
            # A bracket that belongs to the caller, or an unmatched one.
            self.at += 1
            self.note_doubt("it has a bracket that is not understood")
            return ShellWord(self.text[begin : self.at], False)
        return ShellWord("".join(parts), exact, filled)

    def process(self) -> bool:
        """True if a process substitution starts here."""
        return self.text[self.at] in "<>" and self.text.startswith("(", self.at + 1)

    def read_escape(self) -> str:
        if self.at + 1 >= len(self.text):
            self.note_doubt("it ends in the middle of a word")
        self.at += 2
        return self.text[self.at - 1 : self.at].replace("\n", "")

    def read_single_quotes(self) -> str:
        close = self.text.find("'", self.at + 1)
        if close < 0:
            self.note_doubt("a quote does not end")
            close = len(self.text)
        inside = self.text[self.at + 1 : close]
        self.at = close + 1
        return inside

    def read_double_quotes(self) -> ShellWord:
        self.at += 1
        parts: list[str] = []
        exact, filled = True, False
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == '"':
                self.at += 1
                return ShellWord("".join(parts), exact, filled)
            if char == "\\" and self.text[self.at + 1 : self.at + 2] in ("$", "`", '"', "\\", "\n"):
                parts.append(self.text[self.at + 1].replace("\n", ""))
                self.at += 2
            elif char in "$`":
                here = self.at
                if not self.read_expansion():
                    self.at += 1
                parts.append(self.text[here : self.at])
                exact, filled = False, True
            else:
                exact = exact and char != "!"
                parts.append(char)
                self.at += 1
        self.note_doubt("a quote does not end")
        return ShellWord("".join(parts), False, filled)

    def read_expansion(self) -> bool:
        """Skip a substitution that starts here and parse its content; False if none does."""
        text, at = self.text, self.at
        if text.startswith(("$(", "<(", ">("), at):
            self.at += 2
            self.note_doubt("it has a substitution")
            self.read_nested(")")
            return True
        if text.startswith("`", at):
            close = at + 1
            while close < len(text) and text[close] != "`":
                close += 2 if text[close] == "\\" else 1
            self.note_doubt("it has a substitution")
            self.read_inside(text[at + 1 : close].replace("\\`", "`").replace("\\\\", "\\"))
            self.at = min(close, len(text)) + 1
            return True
        if text.startswith("${", at):
            self.at += 2
            self.note_doubt("it has a variable")
            while self.at < len(text) and text[self.at] != "}":
                if not self.read_expansion():
                    self.at += 1
            self.at += 1
            return True
        if text.startswith("$", at):
            self.note_doubt("it has a variable")
        return False


def _means_itself(char: str, *, first: bool) -> bool:
    """False for characters that some shell expands, and for those that no file name has."""
    filled_in = char in "*?[]{}!^~" or (char == "=" and first)
    return not filled_in and ord(char) >= 32 and not 0x7F <= ord(char) < 0xA0


def _is_assignment(word: str) -> bool:
    name, sign, _ = word.partition("=")
    name = name.removesuffix("+").partition("[")[0]
    return bool(sign) and name.isidentifier() and name.isascii()
