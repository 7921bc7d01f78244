"""A yes means what was seen: nothing folded, hidden, cut or swapped is approved by a key or by the run's name alone."""

import contextlib
import json
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from gitnexus.policy import shown_cards
from gitnexus.policy.tokens import parse_token
from gitnexus.runs.agent.tools import call_run_tool
from gitnexus.runs.open_run import OpenRun
from gitnexus.state.home import home_folder
from tests.conftest import Nexus
from tests.forked import forker
from tests.rows import few_fast
from tests.runs.begun import begun, new_file
from tests.runs.live import ASKED, commits, events, typed
from tests.runs.live import begun as run_of
from tests.tui.test_lines import told

CONFLICT = 23
BEGIN = "-----BEGIN " + "PRIVATE KEY-----"


@pytest.fixture
def desk(project: Path) -> Iterator[OpenRun]:
    with begun(project) as made:
        yield made


def lines_of(path: str, *lines: str) -> str:
    """Return a diff that makes a file of these lines."""
    return f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{len(lines)} @@\n" + "".join(f"+{line}\n" for line in lines)


def proposed(desk: OpenRun, tool: str, **given: Any) -> tuple[str, str]:
    """Propose something as an agent does; return the action and its digest."""
    action = str(call_run_tool(desk, tool, given)["action"])
    return action, desk.view().actions[action].digest


def reviewed(project: Path, desk: OpenRun, keys: str) -> str:
    """Review a run at a terminal, and return what was drawn."""
    return typed(project, keys, "git-nexus", "review", desk.record.id)[1]


def test_what_follows_the_first_line_of_a_key_is_shown_and_the_rest_needs_the_logged_reveal(
    desk: OpenRun, project: Path
) -> None:
    patch = lines_of("a.py", BEGIN, "import os", "os.system('evil')") + lines_of("b.py", "worse()")
    proposed(desk, "propose_patch", patch=patch)

    drawn = reviewed(project, desk, "y\nq")
    before = commits(project, desk.record.id)
    reviewed(project, desk, "u\nto read it\ny")

    assert "+os.system('evil')" in drawn
    assert "+worse()" in drawn
    assert f"hidden: private-key, {len(BEGIN)} bytes, line 1 of a.py" in drawn
    assert "not yet: 1 secret hidden (1 private-key); u shows what is hidden" in drawn
    assert before == []
    assert len(commits(project, desk.record.id)) == 1
    assert [body["why"] for body in events(project, desk.record.id, "secret.revealed")] == ["to read it"]


def test_folded_lines_are_approved_by_a_key_only_after_v(desk: OpenRun, project: Path) -> None:
    proposed(desk, "propose_patch", patch=lines_of("long.txt", *(f"line {n}" for n in range(200))))

    drawn = reviewed(project, desk, "y\nq")
    before = commits(project, desk.record.id)
    reviewed(project, desk, "v\ny")

    assert "not yet: 167 lines were not shown; v shows all of it" in drawn
    assert before == []
    assert len(commits(project, desk.record.id)) == 1


def test_input_words_and_environment_of_a_command_are_on_its_card_to_their_ends(nexus: Nexus, desk: OpenRun) -> None:
    word, value = "w" * 5000 + "WORDS_END", "v" * 3000 + "VALUE_END"
    argv, stdin = ["sh", "-s", word], "echo one\nrm -r everything\n"
    proposed(desk, "propose_command", argv=argv, stdin=stdin, env={"CI": value})

    drawn = nexus("review", desk.record.id).stdout.replace("\n┆ ", "")

    assert word in drawn
    assert f"CI={value}" in drawn
    assert f"│ input, {len(stdin)} bytes\n│ echo one\n│ rm -r everything\n" in drawn


def test_a_long_word_is_named_with_its_size_and_needs_v(desk: OpenRun, project: Path) -> None:
    proposed(desk, "propose_command", argv=["echo", "w" * 9000])

    drawn = reviewed(project, desk, "y\nq")

    assert "not yet: 1 line were not shown" in drawn.replace("was not", "were not")
    assert desk.view().actions["a1"].status == "waiting"


def test_the_bytes_of_a_binary_file_are_on_the_card(nexus: Nexus, project: Path) -> None:
    run = run_of(nexus, "printf 'a\\000evil' > x.bin")

    drawn = nexus("review", run).stdout

    assert "x.bin, 6 bytes\n│ 00000000  61 00 65 76 69 6c" in drawn
    assert nexus("approve", "--unseen", run).returncode == 0


def test_a_patch_that_replaces_the_one_that_was_reviewed_is_not_approved_by_the_run_alone(
    nexus: Nexus, desk: OpenRun, project: Path
) -> None:
    _, first = proposed(desk, "propose_patch", patch=new_file("a", "good"))
    printed = nexus("review", desk.record.id).stdout
    _, second = proposed(desk, "propose_patch", patch=new_file("a", "evil"), replaces="a1")

    alone = nexus("approve", desk.record.id)
    named = nexus("approve", desk.record.id, "a2")
    as_printed = nexus("approve", desk.record.id, f"a1@{first}")
    swapped = nexus("approve", desk.record.id, f"a2@{first}")

    assert f"Next: git nexus approve {desk.record.id} a1@{first}, or" in printed
    assert (alone.returncode, named.returncode, swapped.returncode) == (ASKED, ASKED, CONFLICT)
    assert as_printed.returncode == CONFLICT
    assert f"git nexus approve {desk.record.id} a2@{second}" in alone.stderr
    assert "a1 of" in as_printed.stderr
    assert "is denied and cannot be approved: a2 replaces it" in as_printed.stderr
    assert commits(project, desk.record.id) == []
    nexus.ok("approve", desk.record.id, f"a2@{second}")
    assert len(commits(project, desk.record.id)) == 1


def test_a_script_that_was_exchanged_after_the_review_is_not_run(nexus: Nexus, desk: OpenRun) -> None:
    place = desk.worktree.folder
    script = place / "build.sh"
    script.write_text("touch good\n")
    proposed(desk, "propose_command", argv=["sh", "build.sh"])
    card = nexus("review", desk.record.id).stdout
    script.write_text("touch evil\n")

    done = nexus("approve", desk.record.id)

    assert "file build.sh" in card
    assert (done.returncode, (place / "evil").exists()) == (CONFLICT, False)
    assert "this changed: files" in done.stderr
    script.write_text("touch good\n")
    proposed(desk, "propose_command", argv=["sh", "build.sh"])
    nexus("review", desk.record.id)
    nexus.ok("approve", desk.record.id)
    assert (place / "good").exists()


@pytest.mark.parametrize(
    ("argv", "file"),
    [
        pytest.param(["sh", "build.sh"], "build.sh", id="named"),
        pytest.param(["./build.sh", "x"], "build.sh", id="the-program"),
        pytest.param(["env", "pytest", "--version"], "conftest.py", id="obeyed"),
    ],
)
def test_a_script_that_an_agent_wrote_is_on_the_card_and_a_key_waits_for_its_end(
    nexus: Nexus, desk: OpenRun, project: Path, argv: list[str], file: str
) -> None:
    script = desk.worktree.folder / file
    script.write_text("#!/bin/sh\n" + "# much\n" * 100 + "touch evil\n")
    script.chmod(0o755)
    proposed(desk, "propose_command", argv=argv)

    drawn = reviewed(project, desk, "y\nq")
    whole = nexus("review", desk.record.id).stdout

    assert f"lines of file {file}, {script.stat().st_size} bytes were not shown; v shows all of it" in drawn
    assert desk.view().actions["a1"].status == "waiting"
    assert f"│ file {file}, {script.stat().st_size} bytes\n│ #!/bin/sh\n" in whole
    assert "│ touch evil\n" in whole


def test_a_committed_file_that_a_command_names_is_not_shown_again(nexus: Nexus, desk: OpenRun) -> None:
    proposed(desk, "propose_command", argv=["sh", "readme.txt"])

    assert "file readme.txt sha256:" in (card := nexus("review", desk.record.id).stdout)
    assert "│ hello" not in card


def test_a_script_that_is_not_there_any_more_as_it_was_is_said_to_be_missing(nexus: Nexus, desk: OpenRun) -> None:
    (desk.worktree.folder / "build.sh").write_text("touch good\n")
    proposed(desk, "propose_command", argv=["sh", "build.sh"])
    (desk.worktree.folder / "build.sh").write_text("touch evil\n")

    assert "the content of build.sh (sha256:" in nexus("review", desk.record.id).stdout
    assert nexus("approve", desk.record.id).returncode in (ASKED, CONFLICT)


@pytest.mark.parametrize(
    ("argv", "file"),
    [
        pytest.param(["make", "all"], "Makefile", id="make"),
        pytest.param(["make", "-C", "sub"], "sub/Makefile", id="make-elsewhere"),
        pytest.param(["env", "make"], "GNUmakefile", id="behind-a-wrapper"),
        pytest.param(["python3", "-m", "pytest", "sub/test_x.py"], "sub/conftest.py", id="pytest"),
    ],
)
def test_a_file_that_the_program_obeys_is_not_exchanged_after_the_review(
    nexus: Nexus, desk: OpenRun, argv: list[str], file: str
) -> None:
    place = desk.worktree.folder
    (place / "sub").mkdir()
    (place / "sub" / "test_x.py").write_text("")
    (place / file).write_text("all:\n\ttouch good\n")
    if "make" in argv[0] and which("make") is None:
        pytest.skip("there is no make here")
    proposed(desk, "propose_command", argv=argv)
    card = nexus("review", desk.record.id).stdout
    (place / file).write_text("all:\n\ttouch evil\n")

    done = nexus("approve", desk.record.id)

    assert f"file {file}" in card
    assert (done.returncode, (place / "evil").exists()) == (CONFLICT, False)
    assert "this changed: files" in done.stderr


def test_a_file_that_the_program_would_obey_does_not_appear_after_the_review(nexus: Nexus, desk: OpenRun) -> None:
    proposed(desk, "propose_command", argv=["env", "pytest", "--version"])
    nexus("review", desk.record.id)
    (desk.worktree.folder / "conftest.py").write_text("raise SystemExit\n")

    done = nexus("approve", desk.record.id)

    assert (done.returncode, "this changed: files" in done.stderr) == (CONFLICT, True)


@pytest.mark.parametrize("look", ["review", "diff"])
def test_what_was_shown_is_approved_by_the_run_alone(nexus: Nexus, desk: OpenRun, project: Path, look: str) -> None:
    proposed(desk, "propose_patch", patch=new_file("a", "good"))
    before = nexus("approve", desk.record.id)

    nexus(look, desk.record.id)
    nexus.ok("approve", desk.record.id)

    assert before.returncode == ASKED
    assert len(commits(project, desk.record.id)) == 1
    assert [body.get("unseen") for body in events(project, desk.record.id, "permission.granted")] == [None]


def test_at_a_terminal_approve_shows_first_what_was_not_shown(desk: OpenRun, project: Path) -> None:
    proposed(desk, "propose_patch", patch=new_file("a", "never shown before"))

    _, drawn = typed(project, "y", "git-nexus", "approve", desk.record.id)

    assert "│ +never shown before" in drawn
    assert len(commits(project, desk.record.id)) == 1


def test_a_yes_to_what_was_not_shown_says_so_in_log_and_token(nexus: Nexus, desk: OpenRun, project: Path) -> None:
    proposed(desk, "propose_patch", patch=new_file("a"))

    nexus.ok("approve", "--unseen", desk.record.id)

    (granted,) = events(project, desk.record.id, "permission.granted")
    claims, _ = parse_token(desk.artifacts.read(granted["token"]).decode())
    assert (granted["unseen"], claims.unseen) == (True, True)
    assert " approved a1 unseen (once)" in nexus.ok("replay", desk.record.id, "--verify")
    assert "approved unseen" in nexus.ok("verify", f"HEAD..nexus/{desk.record.id}")


def test_a_yes_by_a_digest_that_was_never_shown_is_recorded_as_unseen(
    nexus: Nexus, desk: OpenRun, project: Path
) -> None:
    _, digest = proposed(desk, "propose_patch", patch=new_file("a"))

    told_ = nexus("approve", desk.record.id, f"a1@{digest}").stderr

    (granted,) = events(project, desk.record.id, "permission.granted")
    claims, _ = parse_token(desk.artifacts.read(granted["token"]).decode())
    assert (granted["unseen"], claims.unseen) == (True, True)
    assert "a1: executed, unseen, sha256:" in told_


def test_a_digest_that_is_typed_unseen_is_recorded_as_such(desk: OpenRun, project: Path) -> None:
    _, digest = proposed(desk, "propose_patch", patch=lines_of("long.txt", *(f"line {n}" for n in range(200))))

    reviewed(project, desk, digest)

    assert [body.get("unseen") for body in events(project, desk.record.id, "permission.granted")] == [True]


@pytest.mark.slow
def test_a_pull_request_says_what_was_approved_unseen(nexus: Nexus, project: Path) -> None:
    seen, unseen = run_of(nexus, "echo seen >> readme.txt"), run_of(nexus, "echo unseen >> readme.txt")
    nexus("review", seen)
    nexus.ok("approve", seen)
    nexus.ok("approve", "--unseen", unseen)

    assert ["unseen, " in nexus.ok("pr", "--print", run) for run in (seen, unseen)] == [False, True]


def test_what_cannot_be_shown_whole_is_refused_with_that_reason_and_a_way_on(nexus: Nexus, desk: OpenRun) -> None:
    _, digest = proposed(desk, "propose_patch", patch=lines_of("a.py", "x", BEGIN, "evil()"))
    nexus("review", desk.record.id)

    refused = nexus("approve", desk.record.id)

    assert refused.returncode == ASKED
    assert "a1 of" in refused.stderr
    assert "cannot be shown completely" in refused.stderr
    assert "private-key, 27 bytes, line 2 of a.py" in refused.stderr
    assert f"git nexus review {desk.record.id} and u show it, which is recorded" in refused.stderr
    assert f"git nexus approve {desk.record.id} a1@{digest} approves exactly that, and records" in refused.stderr


def test_a_yes_to_what_was_denied_fails_and_says_who_denied_it(nexus: Nexus, desk: OpenRun) -> None:
    proposed(desk, "propose_patch", patch=new_file("a"))
    nexus("deny", desk.record.id, "a1", "--reason", "not this way")

    refused = nexus("approve", desk.record.id, "a1")

    assert refused.returncode == CONFLICT
    assert "a1 of" in refused.stderr
    assert "said no, not this way" in refused.stderr


def test_a_review_that_an_agent_reads_shows_nothing_to_a_person(
    nexus: Nexus, desk: OpenRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposed(desk, "propose_patch", patch=new_file("a"))
    monkeypatch.setenv("NEXUS_AGENT", "claude")
    nexus("review", desk.record.id)
    monkeypatch.delenv("NEXUS_AGENT")

    assert nexus("approve", desk.record.id).returncode == ASKED


def test_an_agent_cannot_write_what_was_shown(nexus: Nexus, project: Path) -> None:
    shown_cards.remember_shown("sha256:" + "0" * 64)
    place = home_folder() / "shown"
    forged = "1" * 64
    run = run_of(nexus, f"touch '{place}/{forged}'; ls '{place}' > seen.txt; echo x >> readme.txt")

    assert not (place / forged).exists()
    assert "0" * 64 not in json.dumps(nexus("review", run).stdout)


def test_what_was_shown_is_kept_private_and_bounded(sealed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown_cards, "MOST_SHOWN", 10)
    digests = [f"sha256:{number:064x}" for number in range(15)]
    for number, digest in enumerate(digests):
        shown_cards.remember_shown(digest)
        os.utime(home_folder() / "shown" / digest[7:], (number, number))
    shown_cards.remember_shown("sha256:../../evil")

    place = home_folder() / "shown"
    assert place.stat().st_mode & 0o777 == 0o700
    assert len(os.listdir(place)) <= 10
    assert [shown_cards.was_shown(digest) for digest in (digests[0], digests[-1], "sha256:..")] == [False, True, False]


def test_a_workflow_of_a_file_is_started_after_all_that_it_says_and_runs_was_shown(project: Path) -> None:
    runs, says = "x" * 300 + "RUNS_END", "\n".join([*("say" * 200 for _ in range(30)), "SAYS_END"])
    node = {"id": "n", "type": "command", "specialist": "executor", "argv": ["echo", runs]}
    (project / "flow.json").write_text(json.dumps({"name": "flow", "prompt": says, "nodes": [node]}))

    _, drawn = typed(project, "n", "git-nexus", "run", "--workflow", "flow.json")

    shown_ = drawn.replace("\r\n┆ ", "")
    assert (runs in shown_, "SAYS_END" in shown_) == (True, True), shown_[-500:]


def test_the_chat_approves_what_is_folded_only_after_it_was_shown(desk: OpenRun, project: Path) -> None:
    proposed(desk, "propose_patch", patch=lines_of("long.txt", *(f"line {n}" for n in range(200))))

    first = told(project, "/approve y")
    before = commits(project, desk.record.id)
    second = told(project, "/show", "/approve y")

    assert "nothing was approved: not all of the card was shown" in first
    assert before == []
    assert "+line 199" in second
    assert len(commits(project, desk.record.id)) == 1


def test_the_chat_approves_no_secret_that_is_hidden(desk: OpenRun, project: Path) -> None:
    _, digest = proposed(desk, "propose_patch", patch=lines_of("a.py", BEGIN, "evil()"))

    text = told(project, "/show", "/approve y")

    assert "nothing was approved: 1 secret hidden (1 private-key); u shows it" in text
    assert f"git nexus approve {desk.record.id} a1@{digest}" in text
    assert commits(project, desk.record.id) == []


def test_a_word_with_brackets_is_not_drawn_as_two(nexus: Nexus, desk: OpenRun, project: Path) -> None:
    proposed(desk, "propose_command", argv=["sh", "-c", "echo ok] [; touch PWNED"])
    proposed(desk, "propose_command", argv=["sh", "-c", "echo ok", "; touch PWNED"])

    drawn = nexus("review", desk.record.id).stdout

    assert r"│ sh -c [echo ok\] \[; touch PWNED]" in drawn
    assert "│ sh -c [echo ok] [; touch PWNED]" in drawn


def full_disk(project: Path, *argv: str) -> int:
    """Run a command whose standard output takes nothing; return how it ended."""
    with (
        open("/dev/full", "wb") as out,
        open(os.devnull, "rb") as nothing,
        tempfile.TemporaryFile() as err,
        forker().start(argv, project, [nothing.fileno(), out.fileno(), err.fileno()]) as command,
    ):
        return command.wait()


@pytest.mark.parametrize("look", ["review", "diff"])
def test_what_could_not_be_printed_was_not_shown(nexus: Nexus, desk: OpenRun, project: Path, look: str) -> None:
    proposed(desk, "propose_patch", patch=new_file("a"))

    assert full_disk(project, look, desk.record.id) == 1
    assert nexus("approve", desk.record.id).returncode == ASKED


@pytest.mark.parametrize(
    ("pager", "yes"),
    [("true", False), ("head -c 9", False), ("cat", True), ("false", True), ("no-such-pager", True)],
)
def test_what_a_pager_did_not_take_was_not_shown(desk: OpenRun, project: Path, pager: str, yes: bool) -> None:
    proposed(desk, "propose_patch", patch=lines_of("long.txt", *(f"line {n}" for n in range(200))))

    drawn = typed(project, "v\ny\nq", "git-nexus", "review", desk.record.id, env={"PAGER": pager})[1]

    assert ("+line 199" in drawn, len(commits(project, desk.record.id))) == (yes, int(yes))
    assert ("v shows it again" in drawn) == (not yes)


@pytest.mark.parametrize(("pager", "yes"), [("true", False), ("cat", True)])
def test_a_difference_that_a_pager_did_not_take_was_not_shown(
    nexus: Nexus, desk: OpenRun, project: Path, pager: str, yes: bool
) -> None:
    proposed(desk, "propose_patch", patch=new_file("a"))

    typed(project, "", "git-nexus", "diff", desk.record.id, env={"PAGER": pager})

    assert nexus("approve", desk.record.id).returncode == (0 if yes else ASKED)


def test_a_hidden_secret_is_told_by_its_line_of_the_file(nexus: Nexus, desk: OpenRun) -> None:
    key = [BEGIN, "MIIE" * 16, "MIIF" * 16, BEGIN.replace("BEGIN", "END")]
    proposed(desk, "propose_patch", patch=lines_of("key.py", "x", *key, "y", f"t = 'ghp_{'a1B2' * 9}'"))

    shown = nexus("review", desk.record.id).stdout

    assert re.search(r"hidden: private-key, \d+ bytes, line 2 of key.py\n", shown)
    assert re.search(r"hidden: github-token, \d+ bytes, line 7 of key.py\n", shown)


@pytest.mark.parametrize("look", few_fast(["review", "diff"]))
def test_what_the_reader_of_a_pipe_left_unread_is_not_shown(
    nexus: Nexus, desk: OpenRun, project: Path, look: str
) -> None:
    run = run_of(nexus, "seq 1 9000 > long.txt")
    with read_through_pipe(project, look, run) as shown:
        os.read(shown, 1000)

    assert nexus("approve", run).returncode == ASKED

    with read_through_pipe(project, look, run) as shown:
        while os.read(shown, 65536):
            pass
    assert nexus("approve", run).returncode == 0


@contextlib.contextmanager
def read_through_pipe(project: Path, *argv: str) -> Iterator[int]:
    """Run a command that writes into a pipe; afterwards nobody reads from it any more, and the command has ended."""
    reader, writer = os.pipe()
    with open(os.devnull, "r+b") as nowhere:
        command = forker().start(argv, project, [nowhere.fileno(), writer, nowhere.fileno()])
    os.close(writer)
    with command:
        yield reader
        os.close(reader)
        command.wait()


@pytest.mark.slow
@pytest.mark.parametrize("look", [pytest.param("review", marks=pytest.mark.slow(seconds=8)), "diff"])
def test_what_is_too_large_is_named_with_its_size_and_counts_as_shown_nowhere(
    nexus: Nexus, desk: OpenRun, monkeypatch: pytest.MonkeyPatch, project: Path, look: str
) -> None:
    run = run_of(nexus, "yes 0123456789abcde | head -c 9000000 > big.txt; head -c 1100000 /dev/zero > big.bin")

    shown = nexus(look, run).stdout

    assert re.search(r"not shown here: the difference after its first 8388608 bytes, \d{6,7} bytes", shown)
    assert "not shown here: the bytes of big.bin" in shown
    assert ("big.bin, 1100000 bytes" in shown) == (look == "review")
    assert nexus("approve", run).returncode == ASKED
