"""Words that do not tell what is run or read, where a rule denies some of it: asked about or denied, never passed.

Beside it: the reason of a refusal is the true one, and every rule that the gate can name stands in the reference.
"""

import re
from pathlib import Path
from urllib.parse import quote

import pytest

from gitnexus.base.errors import ApprovalNeeded, DeniedByPolicy
from gitnexus.git import discover
from gitnexus.harness.calls import ShellCall
from gitnexus.harness.model import HarnessEvent
from gitnexus.policy import denied_reads
from gitnexus.policy.parts import parts_of_command
from gitnexus.policy.unread import unread_files, unread_runs
from gitnexus.projects.open_state import open_state
from gitnexus.runs.command_rules import refuse_run_command
from gitnexus.state.locate import locate_project
from gitnexus.toolgate.context import JudgeContext
from gitnexus.toolgate.judge import judge_call
from tests.attacks.test_denied_reads import RULES, is_kept, place, said  # noqa: F401 - a fixture
from tests.conftest import Nexus, run_git
from tests.runs.begun import begun

ROOT = Path(__file__).parents[2]
# Each reads customers/list.csv, or may.
READS = """
ls customers | xargs cat
git ls-files | xargs cat
git ls-files -z | xargs -0 cat
xargs -n1 -I{} cat {} < names
find . -name list.csv -exec cat {} +
find . -name list.csv -print0 | xargs -0 cat
git ls-files | parallel cat
git ls-files | while read f; do cat $f; done
cat $(git ls-files)
cat "$(git ls-files | head -1)"
F=customers; cat $F/list.csv
cat ${PWD}/customers/list.csv
cat < $F
ls | entr cat /_
watch 'cat customers/list.csv'
script -qc 'cat customers/list.csv' /dev/null
flock x -c 'cat customers/list.csv'
chronic cat customers/list.csv
busybox sh -c 'cd customers; cat list.csv'
su -c 'cat customers/list.csv'
tmux new-session 'cat customers/list.csv'
perl -e 'print <customers/*>'
perl -lane 'BEGIN{push @ARGV, "cust"."omers/list.csv"} print'
python3 -c 'open("cust" + "omers/list.csv")'
python3 -Bc 'open("x")'
node -p 'require("fs").readFileSync("x")'
awk 'BEGIN{system("cat customers/list.csv")}'
awk 'BEGIN{while((getline l < "x")>0) print l}'
sed -n 'r customers/list.csv' src/a.py
sed -n '1e cat customers/list.csv' src/a.py
make -f -
vim -es '+r customers/list.csv' +wq
env -S 'cat cust*/list.csv'
env -C customers cat list.csv
cd cust*; cat list.csv
cd $D; cat list.csv
cd "$(echo customers)" && cat list.csv
git -c alias.x='!cat customers/list.csv' x
git bisect run sh -c 'cat customers/list.csv'
git rebase -x 'cat customers/list.csv' HEAD
git submodule foreach 'cat ../customers/list.csv'
git log $x
tar cf - -T names
wc --files0-from=names
cpio -o < names
curl -F f=@customers/list.csv http://localhost
curl -d @customers/list.csv http://localhost
gdb -batch -ex 'shell cat customers/list.csv'
sqlite3 :memory: '.read customers/list.csv'
split --filter='cat customers/list.csv' src/a.py
tar cf x src --checkpoint-action=exec='cat customers/list.csv'
python3
sh
curl file://HERE/customers/list.csv
curl FILE://localhost/HERE/customers/list%2Ecsv
git clone file://HERE/customers x
dd "if=customers/my list.csv"
curl -F "f=@customers/my list.csv" http://localhost
wget "--post-file=customers/my list.csv" http://localhost
docker run -v ./customers:/x alpine
docker run --mount type=bind,source=./customers,target=/x alpine
docker cp . x:/
kubectl cp ./ x:/
cat ~+/customers/list.csv
cd src; cat ~-/customers/list.csv
cat ~1/customers/list.csv
gzip -rk .
python3 -m zipfile -c x.zip .
python3 -m tarfile -c x.tar .
python3 -m http.server
wrap sh -c 'cd customers; cat list.csv'
wrap bash -lc 'cat customers/list.csv'
wrap 'cd customers; cat list.csv'
wrap --command='cd customers; cat list.csv'
wrap 'cat list.csv' -C customers
ls customers | wrap xargs cat
wrap python3 -c 'open("x")'
""".strip().splitlines()
# None of them reads it, whatever its words become.
PLAIN = """
git stash list
git worktree list
git tag
git remote -v
git reflog
git log --oneline
cat src/a.py
cd src; cat a.py
awk '{print $1}' src/a.py
awk -F, '$2 > 3 || /x/ {n++} END {print n}' src/a.py
sed -n '1,20p' src/a.py
sed -e 's/a/b/g;s/c$/d/' src/a.py
grep -c 'x$' src/a.py
for x in a b; do echo $x; done
echo $HOME | cat
mkdir -p $X
git commit -m "$MSG"
find src -type f
ls src | xargs echo
python3 -m this
time cat src/a.py
time -p cat src/a.py
git submodule status
npm run build -- --call=x
export NOW=$(date)
test "$(id -u)" = 0
find src -type f -exec wc -l {} +
python3 tool.py -c x
make test
wrap src/a.py --fast
wrap src/a.py -m 'sort the list; then go' --title "cat & dog"
gcc -o x src/a.c
cp src/a.py src/b.py
cargo test -- x
npm run build -- --name=x
git push -u origin main
git clone -q . y
git grep -n x src
git rebase -x 'make test' main
""".strip().splitlines()
# Each runs printf, or may.
RUNS = """
ls | xargs printf
echo printf x | xargs env
echo printf x | xargs -I{} {} x
echo 'printf x' | parallel
parallel printf ::: x
watch printf x
watch 'printf x'
script -c 'printf x'
flock x printf y
flock x -c 'printf y'
chronic printf x
unbuffer printf x
stdbuf -o0 printf x
nice -n 3 printf x
ionice -c 3 printf x
setarch -R printf x
busybox sh -c 'printf x'
busybox printf x
systemd-run --user printf x
perl -e 'exec "printf", "x"'
ruby -e 'exec "printf x"'
awk 'BEGIN{system("printf x")}'
awk 'BEGIN{print 1 | "printf x"}'
sed '1e printf x' README.md
make -f -
make SHELL=/usr/bin/printf
make --eval='x:;printf x'
git -c alias.x='!printf x' x
git -c core.pager=printf log
git config alias.x '!printf x'
git x
git bisect run printf x
git rebase -x 'printf x' HEAD
vim -c ':!printf x'
env -S 'printf x'
env PAGER=printf git log
PAGER=printf git log
export GIT_EXTERNAL_DIFF=printf; git diff
ls | entr printf
ls | entr -s 'printf x'
tar cf x . --use-compress-program=printf
sort --compress-program=printf x
rg --pre printf x
expect -c 'spawn printf x'
echo printf x | at now
time -p printf x
time -- printf x
! time -p printf x
time -p { printf x; }
time -p sh -c 'printf x'
coproc X { printf x >&2; }; wait
coproc X while printf x; do :; done
env --split-string=printf
env -Sprintf
env --s=printf
script --command=printf x
script -cprintf x
su root --command=printf
su --session-command=printf
runuser --command=printf root
flock --command=printf x
npx --call=printf
npx -c printf
npm exec -c printf
npm exec --call=printf
find /usr/bin -name printf -exec '{}' ';'
find /usr/bin -name printf -execdir {} x +
git submodule foreach --recursive printf
git submodule foreach --quiet printf x
hash -p /usr/bin/printf z; z
mapfile -C "printf #" -c1 a < README.md
readarray -C printf a < README.md
compgen -C printf
complete -C printf x
bind -x '"a":printf x'
fc -e printf
trap 'printf x' EXIT
let 'a[$(printf 1)]=1'
declare -i x='a[$(printf 1)]'
test -v 'a[$(printf 1)]'
printf -v 'a[$(printf 1)]' x
read 'a[$(printf 1)]'
unset 'a[$(printf 1)]'
x='a[$(printf 1)]'; ((x))
x='$(printf x)'; echo ${x@P}
bash --rcfile <(echo printf x) -i
bash --init-file x -i
ex -sc '!printf x'
dc -e '!printf x'
python3 -m timeit 'import os; os.system("printf x")'
python3 -m pdb -c x y.py
node --import=data:text/javascript,x y.js
make 'X:=$(shell printf x)'
cmake -E env printf x
go run -exec printf .
go test -exec=printf ./...
gcc -wrapper printf x.c
wrap printf x
./wrap -v -- printf x
wrap --shell=printf x
wrap env printf x
git rebase --exe printf HEAD
git grep -Oprintf x
git grep -inOprintf x
git grep --open-files-in-pager=printf x
git grep --open=printf x
git ls-remote 'ext::printf x'
git clone ext::printf x
git fetch --upload-pack printf .
git fetch --upload=printf .
git clone -u printf . x
git push --receive-pack=printf .
git difftool --ext printf
git filter-branch --tree-filter printf
git send-email --smtp-server=/usr/bin/printf
git send-email --to-cmd printf
git instaweb --httpd=printf
git instaweb -b printf
sort --compress-prog printf x
wget --use-askpass=printf http://x
wget --use-ask printf http://x
sftp -D printf
nc -e /usr/bin/printf x 1
ncat --sh-exec 'printf x' x 1
ncat -c printf x 1
socat - EXEC:printf
socat - 'SYSTEM:printf x'
go build -toolexec printf
go vet -vettool=/usr/bin/printf
npm --script-shell printf run x
pnpm --script-shell=printf run x
docker run --entrypoint printf x
just -c printf
bazel run --run_under=printf //x
cargo --config 'build.rustc-wrapper="printf"' build
ed '!printf x'
rake -e 'sh %(prin) + %(tf)'
mvn exec:exec -Dexec.executable=printf
nano --speller=printf x
wrap exec:printf
wrap -eprintf
wrap sh -c 'echo a; printf x'
wrap 'echo a; printf x'
wrap --command 'true && printf x'
wrap perl -e 'exec "prin", "tf"'
cp /usr/bin/printf z; ./z
ln -s /usr/bin/printf z && ./z
install -m 755 /usr/bin/printf z
cat /usr/bin/printf > z
dd if=/usr/bin/printf of=z
""".strip().splitlines()
DENIES = '---\nversion: 1\ndeny:\n- {name: this, run: [printf, "**"]}\n---\n'


def test_no_words_of_an_agent_hide_what_is_not_read(place: Path) -> None:  # noqa: F811
    told = {line: found_about(place, line.replace("HERE", quote(str(place)))) for line in lines_that_read(place)}

    assert not [line for line, why in told.items() if "user.customers" not in why]


def test_no_words_of_a_run_hide_what_is_not_read(place: Path) -> None:  # noqa: F811
    lines = [line.replace("HERE", quote(str(place))) for line in lines_that_read(place)]
    run_git(place, "add", "-A")
    run_git(place, "commit", "-qm", "all")

    told = answers_to(place, lines)

    assert not [line for line, why in told.items() if "user.customers" not in why]


def test_words_that_tell_what_they_read_pass_as_before(place: Path) -> None:  # noqa: F811
    with begun(place) as desk:
        for line in PLAIN:
            refuse_run_command(desk, ("sh", "-c", line), "none", "the command")


@pytest.mark.parametrize(
    "line", ["git stash list", "git worktree list", "git tag", "git remote -v", "cd src; cat a.py"]
)
def test_an_agent_looks_at_what_shows_no_file(place: Path, line: str) -> None:  # noqa: F811
    assert said(place, "codex", "Bash", {"command": line})[0] == "allow"


def test_no_words_hide_a_program_that_is_denied(project: Path, sealed: Path) -> None:
    (sealed / "nexus").mkdir(exist_ok=True)
    (sealed / "nexus" / "policy.md").write_text(DENIES)
    (project / "names").write_text("x\n")

    told = answers_to(project, RUNS)

    assert not [line for line, why in told.items() if "user.this" not in why]


def test_a_rule_that_spells_every_word_answers_for_a_persons_own_command(project: Path, sealed: Path) -> None:
    (sealed / "nexus").mkdir(exist_ok=True)
    spelled = 'allow:\n- run: [sh, -c, "cat $X"]\ndeny:\n- {name: customers, read: ["customers/**"]}\n'
    (sealed / "nexus" / "policy.md").write_text(f"---\nversion: 1\n{spelled}---\n")
    with begun(project) as desk:
        refuse_run_command(desk, ("sh", "-c", "cat $X"), "none", "the command")
        with pytest.raises(ApprovalNeeded):
            refuse_run_command(desk, ("sh", "-c", "cat $Y"), "none", "the command")


def test_the_command_says_which_rule_and_which_words(place: Path, nexus: Nexus) -> None:  # noqa: F811
    done = nexus("run", "--", "sh", "-c", "git ls-files | xargs cat")

    assert done.returncode != 0
    told = "`xargs cat` does not say which files it reads, and user.customers denies some (deny read customers/**)"
    assert told in done.stdout + done.stderr
    assert nexus("run", "--", "grep", "-r", "x", ".").returncode == 20


def lines_that_read(place: Path) -> list[str]:  # noqa: F811
    """Return the lines, after making the file with a blank in its name that some of them read."""
    (place / "customers" / "my list.csv").write_text("x\n")
    return READS


def answers_to(place: Path, lines: list[str]) -> dict[str, str]:  # noqa: F811
    """Return why each line is refused as a command of a run, empty where it is not."""
    told = dict.fromkeys(lines, "")
    with begun(place) as desk:
        for line in lines:
            try:
                refuse_run_command(desk, ("sh", "-c", line), "none", "the command")
            except (ApprovalNeeded, DeniedByPolicy) as exc:
                told[line] = exc.message
    return told


def found_about(place: Path, line: str) -> str:  # noqa: F811
    """Return why a program's shell does not run a line, empty where it does."""
    state = open_state(discover(place))
    try:
        happening = HarnessEvent("codex", "pre_tool_use", "PreToolUse", tool="Bash", session="s", cwd=str(place))
        here = locate_project(str(place))
        assert here is not None
        found = judge_call(JudgeContext(state, happening, here), ShellCall(line, str(place))).finding
    finally:
        state.close()
    return f"{found.why} {found.rule}" if found.verdict in ("ask", "deny") else ""


HISTORY = ("git log -p", "git show HEAD", "git diff HEAD~1", "git grep x HEAD~1", "git stash show -p")


def test_what_only_history_holds_is_not_shown(place: Path) -> None:  # noqa: F811
    run_git(place, "add", "-A")
    run_git(place, "commit", "-qm", "with")
    run_git(place, "rm", "-qr", "customers", "link", "file-link")
    run_git(place, "commit", "-qm", "without")

    assert not [line for line in HISTORY if not is_kept(said(place, "codex", "Bash", {"command": line}))]
    assert is_kept(said(place, "codex", "Bash", {"command": "git show HEAD~1:customers/list.csv"}))
    assert said(place, "codex", "Bash", {"command": "git log -p -- src"})[0] == "allow"


def test_where_no_history_holds_it_git_shows_all(place: Path) -> None:  # noqa: F811
    (place / "customers" / "list.csv").unlink()

    assert said(place, "codex", "Bash", {"command": "git log -p"})[0] == "allow"


def test_history_that_takes_too_long_is_not_shown(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    (place / "customers" / "list.csv").unlink()
    monkeypatch.setattr(denied_reads, "_LONGEST_LOOK", 0.0)

    assert said(place, "codex", "Bash", {"command": "git log -p"})[0] == "deny"


def test_another_worktree_and_a_link_from_outside_are_no_way_in(place: Path) -> None:  # noqa: F811
    run_git(place, "add", "-A")
    run_git(place, "commit", "-qm", "all")
    other, outside = place.parent / "other", place.parent / "outside"
    run_git(place, "worktree", "add", "-q", str(other))
    outside.mkdir()
    (outside / "in").symlink_to(place / "customers")
    lines = (f"cat {other}/customers/list.csv", "cat ../other/customers/list.csv", "grep -r x ../other",
             f"git -C {other} show", f"cat {outside}/in/list.csv", f"grep -R x {outside}", f"cat {outside}/*/list.csv",
             "cd ../other; cat customers/list.csv")  # fmt: skip

    assert not [line for line in lines if not is_kept(said(place, "codex", "Bash", {"command": line}))]
    assert is_kept(said(place, "claude-code", "Read", {"file_path": f"{other}/customers/list.csv"}))
    assert is_kept(said(place, "claude-code", "Grep", {"pattern": "x", "path": str(other)}))
    assert said(place, "claude-code", "Read", {"file_path": f"{other}/src/a.py"})[0] == ""


REASONS = {
    "cd cust*; cat list.csv": "it reaches customers",
    "cd $D; cat list.csv": "`cd $D` does not say which folder it enters",
    "git stash": "git stash alone is not known to be harmless",
    "git rebase HEAD": "git rebase is not known to be harmless",
    "git reset HEAD": "git reset is not known to be harmless",
    "vim -c ':r src/a.py'": "`vim -c :r src/a.py` does not say",
    ". customers/list.csv": "customers/list.csv: deny read",
    ". src/a.py": "no rule allows running .",
    "env -C customers cat list.csv": "customers: deny read",
    "make": "it runs the recipes of a file in the tree",
    "curl x": "it reaches the network",
    "cat .env": "keeps secret",
    "echo x > .git/config": ".git",
    "sudo ls": "it acts as another user",
    "cp src/a.py ../x": "no rule allows running cp",
    "git push": "it reaches another repository",
    "find . -delete": "it reaches customers/list.csv",
    "xargs cat < names": "`xargs cat` does not say which files",
    "cat customers/list.csv": "deny read customers/**",
    "cat file-link": "customers/list.csv",
}


@pytest.mark.parametrize("line", REASONS)
def test_the_reason_of_a_refusal_is_the_true_one(place: Path, line: str) -> None:  # noqa: F811
    verdict, why = said(place, "codex", "Bash", {"command": line})

    assert verdict == "deny"
    assert REASONS[line] in why
    assert "network" not in why or "network" in REASONS[line]


def test_every_rule_that_can_be_named_is_in_the_reference() -> None:
    page = (ROOT / "docs" / "reference" / "policy.md").read_text()
    named = re.compile(r'"((?:builtin|mode|harness|edits)\.[a-z][a-zA-Z_-]*|unread|silence|error|role|task|grant)"')
    files = [*(ROOT / "gitnexus" / "policy").glob("*.py"), *(ROOT / "gitnexus" / "toolgate").glob("*.py")]
    found = {
        name
        for path in files
        for line in path.read_text().splitlines()
        if re.search(r"Reason\(|Finding\(|return \"builtin|Decision\(|^\s+\"(?:ask|deny|allow)\", \"|_silence", line)
        for name in named.findall(line)
    }

    assert {"unread", "silence", "error", "mode.bypass", "builtin.folder", "harness.shell"} <= found
    assert not sorted(name for name in found if f"`{name}`" not in page)


def test_reading_words_is_no_work() -> None:
    parts = parts_of_command(("sh", "-c", "awk '{print $1}' a | sed -n '1,3p' && git status"), "/x")

    assert (unread_files(parts), unread_runs(parts)) == (None, None)
