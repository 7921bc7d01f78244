#!/bin/sh
# What `make demo` runs: the main job in a scratch repository, shown like a terminal session.
# Nothing of yours is read or written: home, git config and NEXUS_HOME are folders that go away at the end.
# Leaves with a status other than 0 as soon as something is not as it should be.
set -eu

fail() {
	printf '\ndemo: %s\n' "$1" >&2
	exit 1
}

say() {
	printf '\n# %s\n' "$1"
}

# Print a command, run it here, show what it says; its status must be 0.
run() {
	printf '$ %s\n' "$1"
	status=0
	eval "$1" >"$scratch/said" 2>&1 || status=$?
	cat "$scratch/said"
	[ "$status" -eq 0 ] || fail "that should have worked, and left with status $status"
}

# The same for a command that must be refused.
refused() {
	printf '$ %s\n' "$1"
	status=0
	eval "$1" >"$scratch/said" 2>&1 || status=$?
	cat "$scratch/said"
	[ "$status" -ne 0 ] || fail "that should have been refused"
}

# The last command must have said this.
expect() {
	grep -qF -e "$1" "$scratch/said" || fail "expected to read: $1"
}

for variable in $(env | sed -n 's/^\(GIT_[A-Za-z0-9_]*\)=.*/\1/p; s/^\(NEXUS_[A-Za-z0-9_]*\)=.*/\1/p'); do
	unset "$variable"
done
unset PYTHONPATH XDG_DATA_HOME XDG_STATE_HOME XDG_CACHE_HOME

program=$(command -v git-nexus) || fail "git-nexus is not on PATH: install it, or use make demo"
case $program in
/*) ;;
*) program=$PWD/$program ;;
esac

scratch=$(mktemp -d "${TMPDIR:-/tmp}/git nexus demo.XXXXXX")
trap 'cd / && rm -rf "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

mkdir "$scratch/home" "$scratch/my project"
export HOME="$scratch/home" XDG_CONFIG_HOME="$scratch/home/.config" NEXUS_HOME="$scratch/home/nexus"
export GIT_CONFIG_NOSYSTEM=1 GIT_TERMINAL_PROMPT=0 LC_ALL=C.UTF-8
cat >"$HOME/.gitconfig" <<'END'
[user]
	name = Demo Person
	email = demo@example.com
[init]
	defaultBranch = main
END
cd "$scratch/my project"

# The Python that git-nexus itself runs in: named in its first line, or lying beside it.
python=
for candidate in "$(sed -n '1s/^#!//p' "$program")" "$(dirname "$program")/python" python3 python; do
	case ${candidate##*/} in
	python*) ;;
	*) continue ;; # where a path holds a blank, the first line names a shell
	esac
	if "$candidate" -c 'import gitnexus.state' >/dev/null 2>&1; then
		python=$candidate
		break
	fi
done
[ -n "$python" ] || fail "no Python found that has gitnexus"

say "A repository with one commit becomes a project."
run 'git init --quiet && echo hello > readme.txt && git add . && git commit --quiet -m first'
run 'git nexus init --name demo'
expect 'made refs/nexus/state'
expect 'registered as demo'

say "Two processes count in one record of the state, at once, twenty times each."
cat >"$scratch/count.py" <<'END'
import signal
import sys
import time
from pathlib import Path

from gitnexus.base.canonical import document, parse
from gitnexus.state import Change, Snapshot, State

ME, OTHER = sys.argv[1:]
RECORD = "context/counter.json"


def count(tip: Snapshot) -> Change[None]:
    raw = tip.read(RECORD)
    total = parse(raw)["total"] + 1 if raw else 1
    return Change({RECORD: document({"total": total})}, f"demo: {ME} counts to {total}", None)


signal.alarm(60)  # wait for nobody for ever
state = State.open(Path.cwd(), life="long")
Path("..", ME).touch()
while not Path("..", OTHER).exists():  # start together
    time.sleep(0.001)
for _ in range(20):
    state.transact(count)
state.close()
END
run 'cat ../count.py'
printf '$ %s\n' 'python ../count.py first second & python ../count.py second first & wait'
"$python" ../count.py first second &
first=$!
"$python" ../count.py second first &
second=$!
wait "$first" || fail "the first process failed"
wait "$second" || fail "the second process failed"

say "Where things stand, and the diary: one commit for each change, with its reason."
run 'git nexus status'
expect '41 changes'
run 'git nexus log -n 5'
expect 'counts to 40'

say "Nothing was lost. The state is plain git: no tool of ours is needed to read it."
run 'git show refs/nexus/state:context/counter.json'
expect '{"total":40}'
total=$(sed 's/[^0-9]//g' "$scratch/said")
printf '# %s of 40 increments kept\n' "$total"
for name in first second; do
	kept=$(git log --format=%s refs/nexus/state | grep -c "^demo: $name counts to ") || :
	[ "$kept" -eq 20 ] || fail "of the $name process only $kept of 20 commits are there"
done
run 'cat .nexus/context/counter.json'
expect '{"total":40}'
run 'git fsck --strict --no-progress'

say "A file edited by hand in .nexus/ is taken in by the next command, as a commit of its own."
run 'mkdir .nexus/memory && echo "We deploy on Tuesdays." > .nexus/memory/deploy.md'
run 'git nexus log -n 1'
expect 'took in what you changed in .nexus/: memory/deploy.md'
expect 'take in the edit of memory/deploy.md'
run 'git show refs/nexus/state:memory/deploy.md'
expect 'We deploy on Tuesdays.'

say "Branches never see any of it, and a commit that would take it along is refused."
run 'git add --all && git status --short'
[ ! -s "$scratch/said" ] || fail "git status should have had nothing to tell"
run 'git add --force .nexus'
refused 'git commit -m "with state"'
expect 'refused: .nexus/memory/deploy.md is state'
run 'git reset --quiet -- .nexus'
[ "$(git rev-list --count HEAD)" -eq 1 ] || fail "the branch should still have one commit"

say "Everything is as it should be; the scratch folder is removed now."
