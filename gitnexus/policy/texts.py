"""Finds shell scripts in a command line besides `sh -c`: words that programs pass to a shell. Pure."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from gitnexus.policy.programs import first_subcommand, inner_text, program_name

# Each of their words may be a shell script.
_TAKES_TEXT = frozenset(
    "watch script flock su runuser sg tmux screen ssh parallel entr hyperfine nodemon concurrently xterm npm-run-all "
    "fish csh tcsh".split()
)
_GIT_TAKES_TEXT = frozenset("rebase submodule filter-branch difftool mergetool bisect".split())
# The same by an option of one subcommand; with another it means something else.
_GIT_NAMES_PROGRAM = {"clone": ("-u",), "instaweb": ("-d", "-b"), "web--browse": ("-b", "-t", "--tool")}
# Git settings whose values are not programs.
_GIT_SAYS = ("user.", "color.", "advice.", "init.", "i18n.")
# Options whose value is a program or a shell script.
_NAMES_PROGRAM: dict[str, tuple[str, ...]] = {
    "tar": ("--to-command", "--use-compress-program", "-I", "--checkpoint-action", "--rsh-command", "--info-script",
            "--new-volume-script", "-F"),
    "bsdtar": ("--use-compress-program",),
    "zip": ("-TT", "--unzip-command"),
    "rsync": ("-e", "--rsh", "--rsync-path"),
    "scp": ("-S", "-o"),
    "sftp": ("-S", "-D", "-o"),
    "ssh": ("-o",),
    "sort": ("--compress-program",),
    "rg": ("--pre", "--hostname-bin"),
    "split": ("--filter",),
    "man": ("-P", "--pager", "-H", "--html"),
    "fzf": ("--preview", "--bind"),
    "git": ("-x", "--exec", "--extcmd", "--upload-pack", "--receive-pack", "--open-files-in-pager", "--smtp-server",
            "--sendmail-cmd", "--to-cmd", "--cc-cmd", "--header-cmd", "--httpd", "--browser"),
    "env": ("-S", "--split-string"),
    "script": ("-c", "--command"),
    "flock": ("-c", "--command"),
    **dict.fromkeys(("su", "runuser"), ("-c", "--command", "--session-command")),
    **dict.fromkeys(("npx", "npm"), ("-c", "--call", "--script-shell")),
    **dict.fromkeys(("pnpm", "yarn"), ("--script-shell",)),
    "go": ("-exec", "--exec", "-toolexec", "--toolexec", "-vettool", "--vettool"),
    "wget": ("--use-askpass",),
    **dict.fromkeys(("nc", "ncat", "netcat"), ("-e", "-c", "--exec", "--sh-exec", "--lua-exec")),
    **dict.fromkeys(("docker", "podman"), ("--entrypoint",)),
    "just": ("-c", "--command", "--shell", "--chooser"),
    "nano": ("-s", "--speller"),
    **dict.fromkeys(("gcc", "g++", "cc", "c++"), ("-wrapper",)),
    # What a shell does by itself.
    **dict.fromkeys(("mapfile", "readarray", "compgen", "complete"), ("-C",)),
    "hash": ("-p",),
    "bind": ("-x",),
    "fc": ("-e",),
}  # fmt: skip
SHELL_MARKS = frozenset(" \t\n;|&$`<>(")


def texts_in(line: tuple[str, ...]) -> Iterator[str]:
    """Yield the words of a command line that may be passed to a shell, including `sh -c`."""
    if not line or not line[0]:
        return
    text = inner_text(line)
    if text:
        yield text
    name = program_name(line[0])
    verb = first_subcommand(line) if name == "git" else None
    if name == "trap":
        yield from line[1:2]
    if verb == "submodule" and "foreach" in line:
        words = line[line.index("foreach") + 1 :]
        yield " ".join(words[next((at for at, word in enumerate(words) if not word.startswith("-")), len(words)) :])
    if name in _TAKES_TEXT or verb in _GIT_TAKES_TEXT:
        yield from (word for word in line[1:] if not SHELL_MARKS.isdisjoint(word) and not word.startswith("-"))
    for option, value in _valued(line[1:], _NAMES_PROGRAM.get(name, ())):
        yield value.rpartition("exec=")[2] if option == "--checkpoint-action" else value
        if option == "-o":
            yield value.partition("=")[2]
        if name == "bind":
            yield value.partition(":")[2]
    if name == "git":
        yield from _named_for_git(line, verb or "")
        values = (value for _, value in _valued(line[1:], ("-c",)) if not value.lower().startswith(_GIT_SAYS))
        yield from (value.partition("=")[2].removeprefix("!") for value in values)
        yield from (word[1:] for word in line[1:] if word.startswith("!") and verb == "config")


def _named_for_git(line: Sequence[str], verb: str) -> Iterator[str]:
    """Yield the programs that git runs by an option of its subcommand, or as a transport."""
    yield from (value for _, value in _valued(line[1:], _GIT_NAMES_PROGRAM.get(verb, ())))
    yield from (word.partition("::")[2] for word in line[1:] if word.startswith("ext::"))
    if verb == "grep":  # the pager is joined to the last of the letters
        yield from (word.partition("O")[2] for word in line[1:] if word[:1] == "-" and word[:2] != "--")
    if verb == "filter-branch":
        yield from (after for word, after in pairwise(line) if word.startswith("--"))


def _valued(words: Sequence[str], options: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each of these options with its value: the next word, or what is joined to it."""
    for at, word in enumerate(words):
        for option in options:
            if word == option and at + 1 < len(words):
                yield option, words[at + 1]
            elif option.startswith("--") and word.startswith("--"):
                stem, sign, value = word.partition("=")
                if len(stem) > 2 and option.startswith(stem) and (sign or at + 1 < len(words)):
                    yield option, value if sign else words[at + 1]
            elif not option.startswith("--") and word.startswith(option) and len(word) > len(option):
                yield option, word[len(option) :].removeprefix("=")
