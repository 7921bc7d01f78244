"""A card of each kind, made of values that never change."""

from gitnexus.gateway.card import Card, FileRow
from gitnexus.policy.grants import ScopeOffer
from gitnexus.tui.cards import card_for_action, card_for_failure, card_for_question, card_for_tests, card_for_workflow
from gitnexus.tui.model import ChatCard
from gitnexus.workflow.definition import workflow_hash
from gitnexus.workflow.macros import MACROS, expand_macro
from gitnexus.workflow.proposal import WorkflowAlternative, WorkflowProposal

RUN = "260101-0900-demo"
DIGEST = "sha256:" + "0123456789abcdef" * 4
_DIFF = """\
diff --git a/src/greet.py b/src/greet.py
index 1111111..2222222 100644
--- a/src/greet.py
+++ b/src/greet.py
@@ -1,3 +1,4 @@
 def greet(name: str) -> str:
-    return "helo " + name
+    # The guest's name comes last.
+    return f"hello {name}"
 print(greet("Ada"))
diff --git a/readme.md b/readme.md
new file mode 100644
index 0000000..3333333
--- /dev/null
+++ b/readme.md
@@ -0,0 +1,2 @@
+# Greetings
+Try `greet("Ada")`.
"""
_SCOPES = {"patch": ("once", "session", "path", "repository"), "command": ("once", "session", "argv"),
           "handoff": ("once", "session", "workflow")}  # fmt: skip


def card(kind: str, **given: object) -> Card:
    """Return a card as the gate has it."""
    offers = tuple(ScopeOffer(scope, "the like again") for scope in _SCOPES.get(kind, ("once", "session", "path")))
    told: dict[str, object] = {
        "kind": kind, "summary": "Correct the greeting", "verdict": "ask", "rule": "silence",
        "why": "no rule allows it", "risk": 1, "tags": ("writes_repo",), "mode": "default", "digest": DIGEST,
        "offers": offers, **given,
    }  # fmt: skip
    return Card(**told)  # type: ignore[arg-type]


def patch() -> ChatCard:
    files = (FileRow("src/greet.py", "changed", 2, 1), FileRow("readme.md", "new", 2, 0))
    made = card("patch", files=files, body=tuple(_DIFF.split("\n")), facts=(("base", "aaaabbbbcccc"),))
    return card_for_action(made, RUN, "a1", editable=True)


def command() -> ChatCard:
    facts = (("program", "/usr/bin/python3"), ("in", "."), ("network", "none"), ("sandbox", "L2"),
             ("limits", "seconds 600, memory 2147483648"))  # fmt: skip
    argv = ("python3", "-m", "pytest", "-k", "greet and not slow")
    made = card("command", summary="Run the tests", argv=argv, facts=facts, risk=2, tags=("executes",))
    return card_for_action(made, RUN, "a2", editable=False)


def risky() -> ChatCard:
    made = card("command", summary="Remove the build folder", argv=("rm", "-rf", "build"), risk=3,
                tags=("destroys",), warnings=("раypal: letters of two alphabets in one word",))  # fmt: skip
    return card_for_action(made, RUN, "a3", editable=False)


def handoff() -> ChatCard:
    facts = (("from", "executor"), ("to", "researcher"), ("message", DIGEST))
    body = ("Which greeting do the style rules ask for?", "I could not find it in docs/.")
    made = card("handoff", summary="Ask the researcher", facts=facts, body=body, risk=0, tags=())
    return card_for_action(made, RUN, "a4", editable=False)


def plan_patch() -> ChatCard:
    facts = (("document", f"plans/{RUN}.json"), ("now", DIGEST), ("then", DIGEST))
    body = ("--- now", "+++ then", "@@ -3,3 +3,3 @@", '   "id": "S2",', '-  "title": "Change everything"',
            '+  "title": "Change the greeting alone"')  # fmt: skip
    made = card("plan_patch", summary="Split step S2", facts=facts, body=body, tags=("changes_plan",))
    return card_for_action(made, RUN, "a5", editable=False)


def agenda_patch() -> ChatCard:
    facts = (("document", "AGENDA.md"), ("now", DIGEST), ("then", DIGEST))
    body = ("--- now", "+++ then", "@@ -8 +8 @@", "-- [ ] G2 greet politely", "+- [x] G2 greet politely")
    made = card("agenda_patch", summary="Tick what is done", facts=facts, body=body, tags=("changes_agenda",))
    return card_for_action(made, RUN, "a6", editable=False)


def question() -> ChatCard:
    return card_for_question(RUN, "q1", "Which steps should be done?\nGive a list such as - [ ] write the test.")


def tests() -> ChatCard:
    report = {"status": 1, "passed": 11, "failed": 1, "skipped": 0, "output": "FAILED test_greet.py::test_name"}
    return card_for_tests(RUN, "a2", "pytest", report)


def error() -> ChatCard:
    return card_for_failure(RUN, "exec", "codex ended with status 1: no sign-in", resumable=True)


def workflow() -> ChatCard:
    definition = expand_macro(MACROS["research-plan-exec"], "Greet guests by their name", {"executor": "codex"})
    proposal = WorkflowProposal(
        definition=definition, source="rules", confidence=60, why="nothing says what kind of work it is",
        alternatives=(WorkflowAlternative(name="exec", about="make the change"),),
    )  # fmt: skip
    return card_for_workflow("w1", proposal, workflow_hash(definition), 1)


def settled() -> ChatCard:
    from dataclasses import replace

    return replace(patch(), settled="approved by Ada, commit 1234567890ab")


ALL = {
    "workflow": workflow, "patch": patch, "command": command, "risky-command": risky, "handoff": handoff,
    "plan-patch": plan_patch, "agenda-patch": agenda_patch, "question": question, "tests": tests, "error": error,
    "settled": settled,
}  # fmt: skip
