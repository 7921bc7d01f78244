"""The tables of programs: options that are known to be harmless, and programs that run whatever they are given."""

from typing import NamedTuple


class Program(NamedTuple):
    """`flags` in their exact spelling; `letters` may be joined (-la) and, those in `valued`, carry a value (-n5)."""

    flags: frozenset[str] = frozenset()
    letters: str = ""
    valued: str = ""
    # Single dash, whole words, no `--`: find and its like.
    words: frozenset[str] = frozenset()
    # None: any operand is harmless. Else the only first operand that is (a subcommand).
    verbs: "dict[str, Program] | None" = None
    escalates: str = ""
    network: bool = False
    numbers: bool = False


def _flags(text: str) -> frozenset[str]:
    return frozenset(f"--{word}" for word in text.split())


def _danger(why: str, network: bool = False) -> Program:
    return Program(escalates=why, network=network)


_DIFF = _flags(
    "stat shortstat numstat name-only name-status summary raw patch no-patch color no-color cached staged unified "
    "word-diff minimal patience histogram find-renames no-renames ignore-all-space ignore-space-change exit-code quiet "
    "binary full-index abbrev no-ext-diff no-textconv check dirstat relative diff-filter no-prefix function-context"
)
_LOG = _DIFF | _flags(
    "oneline graph all branches tags remotes decorate no-decorate max-count skip since until after before author grep "
    "format pretty abbrev-commit no-merges merges first-parent reverse follow date-order topo-order no-walk date "
    "left-right cherry-pick count"
)
_GIT_VERBS = {
    "status": Program(_flags("short porcelain branch show-stash long untracked-files ignored no-renames"), "sbzv", "u"),
    "diff": Program(_DIFF, "puwbzRM", "USG"),
    "log": Program(_LOG, "puwbzRM", "nUSGL", numbers=True),
    "show": Program(_LOG, "puwbzsRM", "nU", numbers=True),
    "shortlog": Program(_flags("summary numbered email no-merges since until"), "sne"),
    "rev-parse": Program(_flags("show-toplevel git-dir abbrev-ref verify short is-inside-work-tree quiet"), "q"),
    "rev-list": Program(_LOG | _flags("objects"), "", "n", numbers=True),
    "ls-files": Program(_flags("cached others modified deleted stage exclude-standard error-unmatch"), "comdsz"),
    "ls-tree": Program(_flags("name-only full-name long full-tree"), "rdtlz"),
    "blame": Program(_flags("porcelain line-porcelain date since root show-email"), "wslepM", "LC"),
    "grep": Program(
        _flags("line-number count name-only files-with-matches ignore-case word-regexp fixed-strings extended-regexp "
               "perl-regexp max-depth heading break color no-color cached and or not all-match quiet untracked"),
        "nicwlLhHEFGPvqz", "eABC",
    ),
    "cat-file": Program(frozenset(), "pte"),
    "merge-base": Program(_flags("all is-ancestor fork-point octopus")),
    "describe": Program(_flags("tags always long abbrev dirty exact-match")),
    "add": Program(_flags("all update verbose dry-run intent-to-add"), "AuvnN"),
    "mv": Program(_flags("verbose dry-run"), "vnk"),
    "branch": Program(_flags("list all remotes verbose show-current contains merged no-merged"), "arv"),
    "commit": _danger("it runs hooks, and an editor if it has no message"),
    "config": _danger("git config decides which programs git runs"),
    "fetch": _danger("it reaches another repository", network=True),
    "pull": _danger("it reaches another repository", network=True),
    "push": _danger("it reaches another repository", network=True),
    "clone": _danger("it reaches another repository", network=True),
    "ls-remote": _danger("it reaches another repository", network=True),
    "submodule": _danger("it fetches and runs what .gitmodules names", network=True),
}  # fmt: skip
# Programs that can run, reach or change whatever they are given: a group, why, and its names.
GROUPS: dict[str, tuple[str, str]] = {
    "packages": (
        "it runs scripts of the package and of what it installs",
        "npm npx pnpm pnpx yarn bun bunx pip pip3 pipx uv uvx poetry gem bundle composer brew apt apt-get dnf yum apk",
    ),
    "interpreters": (
        "it runs whatever text it is given",
        "sh bash dash zsh fish ksh csh tcsh busybox pwsh cmd python python2 python3 pypy3 perl ruby node nodejs "
        "deno php lua tclsh osascript awk gawk mawk nawk sed eval exec source vim vi nvim view emacs ed ex nano "
        "sqlite3 psql mysql gdb lldb jshell ghci irb R Rscript julia less more man",
    ),
    "wrappers": (
        "it runs another program",
        "env xargs nohup nice ionice time timeout setsid stdbuf chroot watch parallel unshare nsenter flock "
        "script strace ltrace command builtin entr unbuffer expect firejail bwrap at batch crontab systemctl "
        "systemd-run launchctl screen tmux start-stop-daemon tar bsdtar zip cpio ld.so mount umount",
    ),
    "other users": (
        "it acts as another user",
        "sudo doas su pkexec runuser runas",
    ),
    "network": (
        "it reaches the network",
        "curl wget ssh scp sftp rsync nc ncat netcat socat telnet ftp docker podman kubectl helm terraform aws "
        "gcloud az gh glab hg svn openssl dig nslookup host ping http xh aria2c",
    ),
    "builds": (
        "it runs the recipes of a file in the tree",
        "make gmake ninja cmake just rake gradle gradlew mvn ant bazel tox nox invoke scons pre-commit husky "
        "lefthook direnv",
    ),
    "changes": (
        "it writes or deletes by itself, or changes who may do what",
        "rm rmdir shred unlink dd truncate chmod chown chgrp ln mkfifo mknod install tee cp mv kill pkill killall "
        "setfacl chattr setcap",
    ),
}

PROGRAMS: dict[str, Program] = {
    "git": Program(_flags("no-pager literal-pathspecs no-optional-locks no-replace-objects"), verbs=_GIT_VERBS),
    "ls": Program(_flags("all almost-all human-readable recursive reverse color classify"), "aAlhRrtS1dFip"),
    "cat": Program(_flags("number show-all show-ends show-tabs"), "nAbEeTtvs"),
    "head": Program(_flags("lines bytes quiet verbose"), "qv", "nc", numbers=True),
    "tail": Program(_flags("lines bytes quiet verbose"), "qv", "nc", numbers=True),
    "wc": Program(_flags("lines words bytes chars max-line-length"), "lwcmL"),
    "echo": Program(letters="neE"),
    "printf": Program(),
    "true": Program(),
    "false": Program(),
    "pwd": Program(letters="LP"),
    "basename": Program(letters="az", valued="s"),
    "dirname": Program(letters="z"),
    "stat": Program(_flags("format printf dereference"), "Lt", "cf"),
    "file": Program(_flags("brief mime mime-type"), "biL"),
    "du": Program(_flags("human-readable summarize total max-depth all bytes"), "hscab", "d"),
    "cut": Program(_flags("delimiter fields characters bytes only-delimited complement"), "s", "dfcb"),
    "uniq": _danger("its second operand is written"),
    "sort": Program(_flags("numeric-sort reverse unique key field-separator human-numeric-sort ignore-case "
                           "version-sort stable check"), "nrufhVbdgs", "kt"),
    "diff": Program(_flags("unified brief recursive ignore-all-space ignore-case new-file side-by-side color"),
                    "uqrwibBNy", "U"),
    "cmp": Program(_flags("silent quiet verbose"), "slb"),
    "grep": Program(_flags("recursive line-number ignore-case count files-with-matches files-without-match include "
                           "exclude exclude-dir fixed-strings extended-regexp perl-regexp word-regexp invert-match "
                           "only-matching context after-context before-context color no-filename with-filename "
                           "max-count quiet regexp"), "rRnicwlLhHEFGPvoqxs", "eABCm"),
    "rg": Program(_flags("line-number ignore-case smart-case case-sensitive count files files-with-matches glob type "
                         "type-not fixed-strings word-regexp invert-match only-matching context after-context "
                         "before-context color heading no-heading max-count max-depth multiline hidden regexp quiet "
                         "stats json sort no-config"), "niScslwvoNFUqH", "egtTABCmd"),
    "find": Program(words=frozenset(
        "-name -iname -path -ipath -wholename -type -maxdepth -mindepth -size -mtime -mmin -newer -empty -print "
        "-print0 -prune -not -and -or -a -o -regex -iregex -perm -user -group -xdev -mount -depth -true -false "
        "-readable -writable -executable -links -samefile -quit -H -L -P".split())),
    "tree": Program(_flags("dirsfirst noreport prune"), "adfilp", "LIP"),
    "pytest": Program(_flags("verbose quiet exitfirst maxfail last-failed failed-first new-first stepwise collect-only "
                             "co lf ff nf sw tb durations no-header no-summary color capture showlocals "
                             "strict-markers"), "vqxsl", "kmrn"),
    "ruff": Program(verbs={"check": Program(_flags("quiet no-cache statistics output-format select ignore diff")),
                           "format": Program(_flags("check diff quiet no-cache"))}),
    "cargo": Program(verbs=dict.fromkeys(
        ("build", "test", "run", "check", "bench", "install", "publish"),
        _danger("it runs build scripts of the package and of what it depends on"))),
    "go": Program(verbs={
        "vet": Program(), "list": Program(letters=""), "version": Program(),
        **dict.fromkeys(("run", "generate", "install"), _danger("it runs code of the tree")),
        "test": Program(words=frozenset("-v -run -count -short -race -failfast -timeout -cover".split())),
        "build": Program(words=frozenset("-v -race".split())),
        **dict.fromkeys(("get", "mod"), _danger("it reaches the network", network=True))}),
    **{
        name: Program(escalates=why, network=group in ("packages", "network"))
        for group, (why, names) in GROUPS.items()
        for name in names.split()
    },
}  # fmt: skip
