"""Tables of programs: options known to be harmless, and programs that execute what they are given."""

from typing import NamedTuple


class ProgramRow(NamedTuple):
    """`flags` are exact; `letters` may be joined (-la) and, if in `valued`, carry a value (-n5)."""

    flags: frozenset[str] = frozenset()
    letters: str = ""
    valued: str = ""
    # Single dash, whole words, no `--`: find and its like.
    words: frozenset[str] = frozenset()
    # None: any operand is harmless. Otherwise the only harmless first operand (a subcommand).
    verbs: "dict[str, ProgramRow] | None" = None
    # Without one of these it has another effect.
    needs_verb: bool = False
    escalates: str = ""
    network: bool = False
    numbers: bool = False


def _long_flags(text: str) -> frozenset[str]:
    return frozenset(f"--{word}" for word in text.split())


def _escalating_program(why: str, network: bool = False) -> ProgramRow:
    return ProgramRow(escalates=why, network=network)


_DIFF = _long_flags(
    "stat shortstat numstat name-only name-status summary raw patch no-patch color no-color cached staged unified "
    "word-diff minimal patience histogram find-renames no-renames ignore-all-space ignore-space-change exit-code quiet "
    "binary full-index abbrev no-ext-diff no-textconv check dirstat relative diff-filter no-prefix function-context"
)
_LOG = _DIFF | _long_flags(
    "oneline graph all branches tags remotes decorate no-decorate max-count skip since until after before author grep "
    "format pretty abbrev-commit no-merges merges first-parent reverse follow date-order topo-order no-walk date "
    "left-right cherry-pick count"
)
_GIT_VERBS = {
    "status": ProgramRow(
        _long_flags("short porcelain branch show-stash long untracked-files ignored no-renames"), "sbzv", "u"
    ),
    "diff": ProgramRow(_DIFF, "puwbzRM", "USG"),
    "log": ProgramRow(_LOG, "puwbzRM", "nUSGL", numbers=True),
    "show": ProgramRow(_LOG, "puwbzsRM", "nU", numbers=True),
    "shortlog": ProgramRow(_long_flags("summary numbered email no-merges since until"), "sne"),
    "rev-parse": ProgramRow(
        _long_flags("show-toplevel git-dir abbrev-ref verify short is-inside-work-tree quiet"), "q"
    ),
    "rev-list": ProgramRow(_LOG | _long_flags("objects"), "", "n", numbers=True),
    "ls-files": ProgramRow(
        _long_flags("cached others modified deleted stage exclude-standard error-unmatch"), "comdsz"
    ),
    "ls-tree": ProgramRow(_long_flags("name-only full-name long full-tree"), "rdtlz"),
    "blame": ProgramRow(_long_flags("porcelain line-porcelain date since root show-email"), "wslepM", "LC"),
    "grep": ProgramRow(
        _long_flags(
            "line-number count name-only files-with-matches ignore-case word-regexp fixed-strings extended-regexp "
            "perl-regexp max-depth heading break color no-color cached and or not all-match quiet untracked"
        ),
        "nicwlLhHEFGPvqz",
        "eABC",
    ),
    "cat-file": ProgramRow(frozenset(), "pte"),
    "merge-base": ProgramRow(_long_flags("all is-ancestor fork-point octopus")),
    "describe": ProgramRow(_long_flags("tags always long abbrev dirty exact-match")),
    "add": ProgramRow(_long_flags("all update verbose dry-run intent-to-add"), "AuvnN"),
    "mv": ProgramRow(_long_flags("verbose dry-run"), "vnk"),
    "branch": ProgramRow(_long_flags("list all remotes verbose show-current contains merged no-merged"), "arv"),
    "stash": ProgramRow(
        verbs={"list": ProgramRow(_LOG, "puwbz", "nU", numbers=True), "show": ProgramRow(_DIFF, "pu", "U")},
        needs_verb=True,
    ),
    "worktree": ProgramRow(verbs={"list": ProgramRow(_long_flags("porcelain verbose"), "vz")}),
    "tag": ProgramRow(
        _long_flags("list contains no-contains merged no-merged points-at sort format column"), "l", "n", verbs={}
    ),
    "remote": ProgramRow(_long_flags("verbose"), "v", verbs={"get-url": ProgramRow(_long_flags("push all"))}),
    "reflog": ProgramRow(
        _LOG, "puwbz", "nU", numbers=True, verbs={"show": ProgramRow(_LOG, "puwbz", "nU", numbers=True)}
    ),
    "show-ref": ProgramRow(_long_flags("heads branches tags head hash verify quiet dereference abbrev"), "dsq"),
    "for-each-ref": ProgramRow(_long_flags("format sort count points-at merged no-merged contains no-contains")),
    "commit": _escalating_program("it runs hooks, and an editor if it has no message"),
    "config": _escalating_program("git config decides which programs git runs"),
    "fetch": _escalating_program("it reaches another repository", network=True),
    "pull": _escalating_program("it reaches another repository", network=True),
    "push": _escalating_program("it reaches another repository", network=True),
    "clone": _escalating_program("it reaches another repository", network=True),
    "ls-remote": _escalating_program("it reaches another repository", network=True),
    "submodule": _escalating_program("it fetches and runs what .gitmodules names", network=True),
}
# Programs that can run, reach or change anything: group, reason, names.
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

PROGRAMS: dict[str, ProgramRow] = {
    "git": ProgramRow(_long_flags("no-pager literal-pathspecs no-optional-locks no-replace-objects"), verbs=_GIT_VERBS),
    "ls": ProgramRow(_long_flags("all almost-all human-readable recursive reverse color classify"), "aAlhRrtS1dFip"),
    "cat": ProgramRow(_long_flags("number show-all show-ends show-tabs"), "nAbEeTtvs"),
    "head": ProgramRow(_long_flags("lines bytes quiet verbose"), "qv", "nc", numbers=True),
    "tail": ProgramRow(_long_flags("lines bytes quiet verbose"), "qv", "nc", numbers=True),
    "wc": ProgramRow(_long_flags("lines words bytes chars max-line-length"), "lwcmL"),
    "echo": ProgramRow(letters="neE"),
    "printf": ProgramRow(),
    "true": ProgramRow(),
    "false": ProgramRow(),
    "pwd": ProgramRow(letters="LP"),
    "basename": ProgramRow(letters="az", valued="s"),
    "dirname": ProgramRow(letters="z"),
    "stat": ProgramRow(_long_flags("format printf dereference"), "Lt", "cf"),
    "file": ProgramRow(_long_flags("brief mime mime-type"), "biL"),
    "du": ProgramRow(_long_flags("human-readable summarize total max-depth all bytes"), "hscab", "d"),
    "cut": ProgramRow(_long_flags("delimiter fields characters bytes only-delimited complement"), "s", "dfcb"),
    "uniq": _escalating_program("its second operand is written"),
    "sort": ProgramRow(
        _long_flags(
            "numeric-sort reverse unique key field-separator human-numeric-sort ignore-case version-sort stable check"
        ),
        "nrufhVbdgs",
        "kt",
    ),
    "diff": ProgramRow(
        _long_flags("unified brief recursive ignore-all-space ignore-case new-file side-by-side color"),
        "uqrwibBNy",
        "U",
    ),
    "cmp": ProgramRow(_long_flags("silent quiet verbose"), "slb"),
    "grep": ProgramRow(
        _long_flags(
            "recursive line-number ignore-case count files-with-matches files-without-match include "
            "exclude exclude-dir fixed-strings extended-regexp perl-regexp word-regexp invert-match "
            "only-matching context after-context before-context color no-filename with-filename "
            "max-count quiet regexp"
        ),
        "rRnicwlLhHEFGPvoqxs",
        "eABCm",
    ),
    "rg": ProgramRow(
        _long_flags(
            "line-number ignore-case smart-case case-sensitive count files files-with-matches glob type "
            "type-not fixed-strings word-regexp invert-match only-matching context after-context "
            "before-context color heading no-heading max-count max-depth multiline hidden regexp quiet "
            "stats json sort no-config"
        ),
        "niScslwvoNFUqH",
        "egtTABCmd",
    ),
    "find": ProgramRow(
        words=frozenset(
            "-name -iname -path -ipath -wholename -type -maxdepth -mindepth -size -mtime -mmin -newer -empty -print "
            "-print0 -prune -not -and -or -a -o -regex -iregex -perm -user -group -xdev -mount -depth -true -false "
            "-readable -writable -executable -links -samefile -quit -H -L -P".split()
        )
    ),
    "tree": ProgramRow(_long_flags("dirsfirst noreport prune"), "adfilp", "LIP"),
    "pytest": ProgramRow(
        _long_flags(
            "verbose quiet exitfirst maxfail last-failed failed-first new-first stepwise collect-only "
            "co lf ff nf sw tb durations no-header no-summary color capture showlocals "
            "strict-markers"
        ),
        "vqxsl",
        "kmrn",
    ),
    "ruff": ProgramRow(
        verbs={
            "check": ProgramRow(_long_flags("quiet no-cache statistics output-format select ignore diff")),
            "format": ProgramRow(_long_flags("check diff quiet no-cache")),
        }
    ),
    "cargo": ProgramRow(
        verbs=dict.fromkeys(
            ("build", "test", "run", "check", "bench", "install", "publish"),
            _escalating_program("it runs build scripts of the package and of what it depends on"),
        )
    ),
    "go": ProgramRow(
        verbs={
            "vet": ProgramRow(),
            "list": ProgramRow(letters=""),
            "version": ProgramRow(),
            **dict.fromkeys(("run", "generate", "install"), _escalating_program("it runs code of the tree")),
            "test": ProgramRow(words=frozenset("-v -run -count -short -race -failfast -timeout -cover".split())),
            "build": ProgramRow(words=frozenset("-v -race".split())),
            **dict.fromkeys(("get", "mod"), _escalating_program("it reaches the network", network=True)),
        }
    ),
    **{
        name: ProgramRow(escalates=why, network=group in ("packages", "network"))
        for group, (why, names) in GROUPS.items()
        for name in names.split()
    },
}
