"""A text for a shell: what is found in it, and that nothing but plain words is ever called exact."""

import shlex
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitnexus.harness.writers import WriteEffect, files_written_by_command
from gitnexus.policy.programs import inner_text
from gitnexus.policy.shell import LONGEST, TooMuch, parse_shell_text

# A text, whether it is a row of plain commands, and the command lines that are found in it.
TABLE: list[tuple[str, bool, list[list[str]]]] = [
    ("git status", True, [["git", "status"]]),
    ("git status && touch x", True, [["git", "status"], ["touch", "x"]]),
    ("ls 2>/dev/null | head -5", True, [["ls"], ["head", "-5"]]),
    ("ls 2>&1", True, [["ls"]]),
    ("echo 'a;b' \"c|d\" e\\;f", True, [["echo", "a;b", "c|d", "e;f"]]),
    ("git \\\n log", True, [["git", "log"]]),
    ("git log > x", False, [["git", "log"]]),
    ("git log >| x", False, [["git", "log"]]),
    ("cat < x", False, [["cat"]]),
    ("echo 12>f", False, [["echo"]]),
    ("cat $(cat .env)", False, [["cat", ".env"], ["cat", "$(cat .env)"]]),
    ("echo `rm x`", False, [["rm", "x"], ["echo", "`rm x`"]]),
    ('echo "$(rm x)"', False, [["rm", "x"], ["echo", "$(rm x)"]]),
    ('echo "${a:-$(rm x)}"', False, [["rm", "x"], ["echo", "${a:-$(rm x)}"]]),
    ("diff <(cat a) b", False, [["cat", "a"], ["diff", "<(cat a)", "b"]]),
    ("FOO=1 ls", False, [["ls"]]),
    ("sh -c 'rm x; ls'", False, [["sh", "-c", "rm x; ls"], ["rm", "x"], ["ls"]]),
    ("bash -lc 'rm x'", False, [["bash", "-lc", "rm x"], ["rm", "x"]]),
    ("eval rm x", False, [["eval", "rm", "x"], ["rm", "x"]]),
    ("(cd x && rm y)", False, [["cd", "x"], ["rm", "y"]]),
    ("{ rm x; }", False, [["rm", "x"]]),
    ("f() { rm x; }", False, [["f"], ["rm", "x"]]),
    ("if true; then rm z; fi", False, [["true"], ["rm", "z"]]),
    ("for i in a b; do rm $i; done", False, [["i", "in", "a", "b"], ["rm", "$i"]]),
    ("while read x; do rm y; done", False, [["read", "x"], ["rm", "y"]]),
    ("case x in a) rm y;; esac", False, [["x", "in", "a"], ["rm", "y"]]),
    ("! rm x", False, [["rm", "x"]]),
    ("rm x &", False, [["rm", "x"]]),
    ("rm *.py", False, [["rm", "*.py"]]),
    ("cat ~/x", False, [["cat", "~/x"]]),
    ("echo {a,b}", False, [["echo", "{a,b}"]]),
    ("=ls", False, [["=ls"]]),
    ("ls # rm x", False, [["ls"]]),
    ("cat <<'E' > out\n$(rm x)\nE\nls", False, [["cat"], ["rm", "x"], ["ls"]]),
    ("echo 'open", False, [["echo", "open"]]),
    ('echo "open', False, [["echo", "open"]]),
    ("echo $(rm x", False, [["rm", "x"], ["echo", "$(rm x"]]),
    ("ls\r\nrm x", False, [["ls\r"], ["rm", "x"]]),
    ("", False, []),
]


@pytest.mark.parametrize(("text", "exact", "lines"), TABLE)
def test_what_a_text_would_run_is_found(text: str, exact: bool, lines: list[list[str]]) -> None:
    script = parse_shell_text(text)

    assert (script.is_exact, sorted(list(one.argv) for one in script.commands)) == (exact, sorted(lines))


def test_where_output_and_input_go_is_told() -> None:
    script = parse_shell_text("a > x >> y 2> z &> w < v <> u")

    assert script.commands[0].writes == ("x", "y", "z", "w", "u")
    assert script.commands[0].reads == ("v", "u")


@pytest.mark.parametrize("text", ["x" * (LONGEST + 1), "true;" * 500, "$(" * 40, "sh -c " * 3 + "`" * 3, "(" * 50])
def test_068_more_than_anybody_can_look_at_is_too_much_or_not_exact(text: str) -> None:
    try:
        script = parse_shell_text(text)
    except TooMuch:
        return
    assert not script.is_exact


WORDS = st.text(string.ascii_letters + string.digits + "./_-+,:@%", min_size=1, max_size=12).filter(
    lambda word: not word.startswith(("-", "="))
)
ODD = st.text(string.printable + "é\u2028\x00\x1b", max_size=60)
PIECES = st.sampled_from(
    ["git", "status", " ", " && ", ";", "|", "$(", ")", "`", "'", '"', "\n", "<<E", ">", "#", "\\"]
)


@given(st.lists(WORDS, min_size=1, max_size=5))
def test_plain_words_are_those_words(words: list[str]) -> None:
    script = parse_shell_text(" ".join(words))

    if script.is_exact:
        assert [one.argv for one in script.commands] == [tuple(words)]
    quoted = parse_shell_text(shlex.join(["run", *words]))
    assert quoted.is_exact
    assert quoted.commands[0].argv == ("run", *words)


@given(ODD | st.lists(PIECES, max_size=12).map("".join))
def test_no_text_raises_and_what_is_exact_is_what_shlex_sees(text: str) -> None:
    try:
        script = parse_shell_text(text)
    except TooMuch:
        return
    if script.is_exact and len(script.commands) == 1 and not set(text) & set("<>;&|\n"):
        assert tuple(shlex.split(text)) == script.commands[0].argv


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("sed -i s/a/b/ f", WriteEffect(("s/a/b/", "f"))),
        ("sed -ni.bak p .env", WriteEffect(("p", ".env"))),
        ("sed --in-place=.b p f", WriteEffect(("p", "f"))),
        ("sed -n s/i/x/p f", WriteEffect()),
        ("perl -pi -e s/a/b/ f", WriteEffect(("s/a/b/", "f"))),
        ("tee -a out", WriteEffect(("out",))),
        ("cp a b c", WriteEffect(("c",))),
        ("cp -t to a", WriteEffect(("a", "to"))),
        ("mv a b", WriteEffect(("a", "b"))),
        ("rm -rf -- -x y", WriteEffect(("-x", "y"))),
        ("chmod +x f", WriteEffect(("f",))),
        ("dd if=a of=b", WriteEffect(("b",))),
        ("git apply p", WriteEffect(("p",), True)),
        ("git -C d rm a", WriteEffect(("a",))),
        ("git checkout -- a", WriteEffect(("a",), True)),
        ("git diff --output=o", WriteEffect(("o",))),
        ("sort -oo in", WriteEffect(("o",))),
        ("curl -o f http://x", WriteEffect(("f",))),
        ("tar xf a.tar", WriteEffect((), True)),
        ("find . -name x -exec sed -i p {} +", WriteEffect(("p", "{}", "+"), True)),
        ("find . -delete", WriteEffect((), True)),
        ("xargs rm", WriteEffect((), True)),
        ("env A=1 tee out", WriteEffect(("out",), True)),
        ("/bin/rm x", WriteEffect(("x",))),
        ("git log", WriteEffect()),
        ("ls", WriteEffect()),
    ],
)
def test_071_what_a_command_writes_is_told_by_its_words(text: str, found: WriteEffect) -> None:
    assert files_written_by_command(tuple(shlex.split(text))) == found


def test_the_text_behind_another_shell_is_found() -> None:
    assert inner_text(("bash", "-x", "-c", "ls")) == "ls"
    assert inner_text(("/bin/sh", "-c", "ls")) == "ls"
    assert inner_text(("bash", "script.sh")) is None
    assert inner_text(("ls", "-c")) is None
