#!/bin/sh
# What `make demo` runs: the main job in a scratch repository, shown like a terminal session. The agent is a script, so
# that no model and no network is needed; everything else is what you get with a real one.
# Nothing of yours is read or written: home, git config and NEXUS_HOME are folders that go away at the end.
# Exits with a status other than 0 as soon as something is not as expected.
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
	[ "$status" -eq 0 ] || fail "that should have worked, and exited with status $status"
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

mkdir "$scratch/home" "$scratch/my project" "$scratch/tmp"
export TMPDIR="$scratch/tmp" # what is killed below cannot tidy up after itself
export HOME="$scratch/home" XDG_CONFIG_HOME="$scratch/home/.config" NEXUS_HOME="$scratch/home/nexus"
export GIT_CONFIG_NOSYSTEM=1 GIT_TERMINAL_PROMPT=0 LC_ALL=C.UTF-8 TERM=dumb NO_COLOR=1
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

# Print a command, run it on a terminal, type a letter at its question, show both.
at_terminal() {
	printf '$ %s\n' "$1"
	status=0
	"$python" "$scratch/person.py" "$2" "$1" >"$scratch/said" 2>&1 || status=$?
	cat "$scratch/said"
	[ "$status" -eq 0 ] || fail "that should have worked, and exited with status $status"
}

# The run that the last command began, and where it works.
begun() {
	id=$(sed -n 's/ works in .*//p' "$scratch/said")
	worktree=$(sed -n 's/.* works in //p' "$scratch/said")
	if [ -z "$id" ] || [ ! -d "$worktree" ]; then fail "that should have begun a run"; fi
}

cat >"$scratch/person.py" <<'END'
import os
import pty
import sys

letter, command = sys.argv[1:]
pid, terminal = pty.fork()
if pid == 0:
    os.execvp("sh", ["sh", "-c", command])
shown, typed = b"", False
while True:
    try:
        piece = os.read(terminal, 65536)
    except OSError:  # the other side is closed
        break
    if not piece:
        break
    shown += piece
    if not typed and b"Approve?" in shown:
        os.write(terminal, letter.encode() + b"\n")
        typed = True
sys.stdout.buffer.write(shown.replace(b"\r\n", b"\n"))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END

say "A project with a bug, and a test that shows it."
mkdir agent
cat >calc.py <<'END'
def add(a, b):
    return a - b
END
cat >test_calc.py <<'END'
import unittest

from calc import add


class Adding(unittest.TestCase):
    def test_two_and_two_is_four(self):
        self.assertEqual(add(2, 2), 4)
END
cat >agent/fix.json <<'END'
{"steps": [
  {"do": "say", "text": "add subtracts; I change the sign."},
  {"do": "write", "path": "calc.py", "text": "def add(a, b):\n    return a + b\n"},
  {"do": "say", "text": "Done: add adds."}
]}
END
cat >agent/greedy.json <<'END'
{"steps": [
  {"do": "say", "text": "I release it right away."},
  {"do": "write", "path": "release/version.txt", "text": "9.9.9\n"}
]}
END
cat >agent/slow.json <<'END'
{"steps": [
  {"do": "write", "path": "readme.txt", "text": "calc adds numbers.\n"},
  {"do": "say", "text": "I have half of it and think about the rest."},
  {"do": "run", "argv": ["sh", "-c", "test -e ~/idea || { touch ~/idea; sleep 60; }"]},
  {"do": "write", "path": "readme.txt", "text": "calc adds numbers.\nTry: add(2, 2)\n"},
  {"do": "say", "text": "Done: the readme tells how."}
]}
END
echo __pycache__/ >.gitignore
run 'git init --quiet && git add . && git commit --quiet -m "calc, which cannot add" && cat calc.py'
run 'git nexus init --name demo'
expect 'registered as demo'

say "What agents may do: run the tests without asking. What they may never do: touch release/."
# Commands run with the system's programs; where its folders have no python3, yours is named to git nexus.
if ! PATH=/usr/local/bin:/usr/bin:/bin command -v python3 >/dev/null; then
	git config --global nexus.toolPath "$("$python" -c 'import os, sys; print(os.path.dirname(os.path.realpath(sys.executable)))')"
fi
run 'git nexus policy add allow --user -- python3 -m unittest discover'
run "git nexus policy add deny --user --write 'release/**' --why 'people release'"

say "An agent gets a prompt. It works in a sandbox, in a worktree of its own (here it is a script, agent/fix.json).
# What it changed comes back as a card. The person reads it and types y."
at_terminal 'git nexus run --agent scripted agent/fix.json "Make add() add"' y
expect 'Approve?'
expect 'completed'
begun
fix=$id

say "The yes is in the commit: its author is the agent, its committer is you, and the token proves what you approved."
run "git log -1 --format='%h %s%nauthor    %an%ncommitter %cn%n%n%(trailers)' nexus/$fix | cut -c 1-80"
expect 'author    scripted (agent)'
expect 'Nexus-Approval: nx1.'

say "Your own checkout was not touched."
run 'git status --short --branch && cat calc.py'
expect 'return a - b'

say "The tests, in the run's worktree and through the gateway: the policy allows them, the sandbox holds them."
# shellcheck disable=SC2016 # what is printed shows the name, and the shell that runs it fills it in
run 'git nexus -C "$worktree" tool tests.run "{\"runner\": \"unittest\"}"'
expect '"passed": 1'

say "What no rule speaks about waits for a person, and what is denied stays denied."
# shellcheck disable=SC2016 # as above
refused 'git nexus -C "$worktree" tool cmd.run "{\"argv\": [\"git\", \"push\", \"--force\"]}"'
refused 'git nexus run --agent scripted agent/greedy.json "Release it"'
expect '(people release)'

say "An agent is killed in the middle of its work, and git nexus with it: kill -9."
printf '$ %s\n' 'git nexus run --agent scripted agent/slow.json "Write a readme" &'
git-nexus run --agent scripted agent/slow.json "Write a readme" >"$scratch/said" 2>&1 &
driver=$!
waited=0
until grep -q 'half of it' "$scratch/said"; do
	waited=$((waited + 1))
	[ "$waited" -lt 600 ] || fail "the agent did not begin"
	sleep 0.1
done
cat "$scratch/said"
printf '$ kill -9 %s\n' "$driver"
{ kill -9 "$driver" && wait "$driver"; } 2>/dev/null || : # some shells report it
begun
slow=$id
run 'git nexus runs'
expect 'stopped'

say "Resumed, it continues at the step that was not complete. This time nobody is at the terminal, so the patch waits."
refused "git nexus resume $slow"
expect 'waiting'
refused "git nexus review $slow"
expect 'digest'
run "git nexus approve $slow"
expect 'completed'
run "git show nexus/$slow:readme.txt"
expect 'Try: add(2, 2)'

say "The whole story, from a log in which each event holds the digest of the one before; --verify proves it."
run "git nexus replay $slow --verify"
expect 'all valid'

say "Landed: approved work comes into your branch, as it was approved or not at all."
before=$(git rev-parse --short HEAD)
run "git nexus land $fix"
run "git nexus land $slow"
run 'cat calc.py readme.txt'
expect 'return a + b'
expect 'Try: add(2, 2)'

say "Anyone who has the commits and your public key can verify them."
run "git nexus verify --require-approval ${before}.."
expect '4 commits: 4 approved'
run 'git log --graph --format="%h %an: %s"'

say "A prompt alone becomes a workflow. Here nobody has a model: rules search, a checklist becomes the plan, and what it
# carries is proposed step by step. What the rules cannot do they say."
cat >TODO.md <<'END'
# What is left

- [ ] Say in the readme how to run the tests

  ```diff
  --- a/readme.txt
  +++ b/readme.txt
  @@ -1,2 +1,3 @@
   calc adds numbers.
   Try: add(2, 2)
  +Tests: python3 -m unittest discover
  ```

  ```sh
  python3 -m unittest discover
  ```
END
run 'git add TODO.md && git commit --quiet -m "what is left" && git nexus route "compare, plan and implement what is left in TODO.md"'
expect 'research-plan-exec'
refused 'git nexus run "compare, plan and implement what is left in TODO.md"'
expect 'research is done'
expect 'plan is done'
expect 'a1  patch  waiting'
begun
flow=$id
refused "git nexus review $flow"
expect 'digest'
run "git nexus approve $flow"
expect 'completed'
run "git nexus replay $flow --verify"
expect 'the same state sha256:'
run "git nexus land $flow && cat readme.txt"
expect 'Tests: python3 -m unittest discover'
run 'git nexus metrics | head -n 9'
expect 'units (CU) per good batch'

say "A commit that was changed after the yes keeps its trailers, and is found out."
run "git checkout --quiet --detach nexus/$fix && echo 'import os  # a little extra' >> calc.py"
run 'git commit --quiet --amend --all --no-edit'
refused "git nexus verify HEAD~..HEAD"
expect 'not what was approved'
git checkout --quiet main

say "Everything is as it should be; the scratch folder is removed now."
