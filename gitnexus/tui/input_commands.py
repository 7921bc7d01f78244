"""Carries out a typed line: a git nexus command, a chat command, tags, or a request that becomes a proposal."""

from typing import TYPE_CHECKING

from gitnexus.app.message_tags import follow_tags
from gitnexus.base.errors import Invalid
from gitnexus.base.files import expand_home
from gitnexus.base.text import one_line
from gitnexus.policy.in_force import is_bypass_enabled
from gitnexus.state.locate import ProjectLocation
from gitnexus.tui import slash
from gitnexus.tui.exporting import export_conversation
from gitnexus.tui.model import ChatCard, LeaveChat, ShowCardAgain
from gitnexus.tui.plain import describe_chat_status
from gitnexus.workflow.small_talk import is_nod, reply_to_small_talk

if TYPE_CHECKING:
    from gitnexus.tui.chat import Chat

KEYS = """\
Tab goes to the cards and back; there, one key answers, arrows choose a card, space folds, v unfolds all, ? explains.
Enter sends, Ctrl-J begins a new line, the arrows walk through what you typed before, @ completes files.
Esc or Ctrl-C stops what the active run does; F2 shows plan, tasks and runs; Ctrl-Q leaves, and runs go on."""
_MODES = ("default", "acceptEdits", "autopilot", "bypass")


class InputCommands:
    """Carries out the typed lines of one chat."""

    def __init__(self, chat: "Chat") -> None:
        self._chat = chat

    def follow(self, intent: slash.Intent | None) -> None:
        """Carry out a line. Raises: NexusError."""
        match intent:
            case slash.ChatCommand(argv=argv, about_run=about):
                self._run_command(list(argv), about=about)
            case slash.LocalCommand():
                self._run_local_command(intent)
            case slash.TaggedMessage(text=text):
                self._follow_tags(text)
            case slash.PlainRequest(text=text):
                self._propose_workflow(text)

    def _run_command(self, argv: list[str], *, about: bool) -> None:
        run = ""
        if argv == ["status"]:
            self._chat.say("nexus", describe_chat_status(self._chat.status()))
        if about:
            word = argv[1] if len(argv) > 1 and not argv[1].startswith("-") else ""
            run = self._chat.named(word)
            argv[1 : 2 if word else 1] = [run]
        self._chat.commands.do(argv, self._chat.show_output, run)

    def _follow_tags(self, text: str) -> None:
        repo = self._chat.nexus.repo
        here = ProjectLocation(str(repo.folder), str(repo.git_dir), str(repo.common_dir))
        followed = follow_tags(here, "git-nexus", text)
        if followed is None:
            self._propose_workflow(text)
            return
        if followed.notice:
            self._chat.say("nexus", followed.notice)
        if followed.skill:
            self._propose_workflow(text, followed.refs)

    def _propose_workflow(self, text: str, skills: tuple[str, ...] = ()) -> None:
        waiting = next((card for card in reversed(self._chat.waiting()) if card.key(text.strip())), None)
        if waiting is not None:
            raise Invalid("nothing was approved", hint=f"Tab goes to the card; there {text.strip()} answers it")
        if len(text.strip()) == 1:
            raise Invalid(f"{text.strip()} answers nothing: no card waits for it", hint="/help")
        if reply := reply_to_small_talk(text):
            if is_nod(text) and self._chat.waiting():
                raise Invalid("nothing was approved", hint="Tab goes to the card that waits; its keys answer it")
            self._chat.say("nexus", reply)
            return
        card = self._chat.proposals.add(text, self._chat.asked, self._chat.project.own_names(), skills)
        if self._chat.proposals.only_reads(card.id):
            self._chat.card_actions.do(card, card.keys[0], "")
            return
        self._chat.put(card)
        if (self._chat.mode or self._chat.project.mode) in ("autopilot", "bypass"):
            self._chat.say("nexus", f"started without asking: the mode is {self._chat.mode or self._chat.project.mode}")
            self._chat.card_actions.do(card, card.keys[0], "")

    def _run_local_command(self, intent: slash.LocalCommand) -> None:
        words, name = intent.words, intent.name
        word = words[0] if words else ""
        match name:
            case "quit":
                self._chat.tell(LeaveChat())
            case "help":
                self._chat.say("output", slash.chat_help_text(KEYS))
            case "trace":
                if word not in ("on", "off"):
                    raise Invalid("say /trace on or /trace off")
                self._chat.trace = word == "on"
                self._chat.narrator.show_trace() if self._chat.trace else self._chat.say("nexus", "the trace is off")
            case "mode":
                self._set_mode(word)
            case "use":
                self._chat.active = self._chat.named(word or "?")
            case "review":
                self._show_waiting_cards(words)
            case "show":
                self._chat.show_card_unfolded(self._find_cards(words)[-1])
            case "export":
                self._export_chat(word)
            case _:
                self._chat.card_actions.run_local_command(intent)

    def _set_mode(self, word: str) -> None:
        if word and word not in _MODES:
            raise Invalid(f"there is no mode {one_line(word, 40)}", hint=f"there are {', '.join(_MODES)}")
        if word == "bypass" and not is_bypass_enabled():
            raise Invalid("the mode bypass is not enabled", hint="git nexus policy mode bypass --user tells how")
        self._chat.mode = word or self._chat.mode
        whose = "of runs that are started here" if self._chat.mode else "of the policy"
        self._chat.say("nexus", f"the mode {whose} is {self._chat.mode or self._chat.project.mode or 'default'}")

    def _show_waiting_cards(self, words: tuple[str, ...]) -> None:
        cards = [card for card in self._find_cards(words) if card.waits] if words else self._chat.waiting()
        self._chat.tell(*[ShowCardAgain(card) for card in cards])
        if not cards:
            self._chat.say("nexus", "nothing waits for an answer")

    def _find_cards(self, words: tuple[str, ...]) -> list[ChatCard]:
        """Return the cards that words name: by run, by action, by both, or all of them."""
        found = [
            card
            for card in self._chat.cards.values()
            if all(word in (card.run, card.action, card.id) for word in words)
        ]
        if not found:
            raise Invalid("there is no such card", hint="/review shows those that wait")
        return found

    def _export_chat(self, word: str) -> None:
        path = self._chat.folder / expand_home(word or f"chat-{self._chat.project.name}.md")
        export_conversation(self._chat.said, self._chat.project.name, path)
        self._chat.say("nexus", f"wrote {path}")
