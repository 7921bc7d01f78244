"""What a typed line does: a command of git nexus, one of the chat's own, tags, or a request that becomes a proposal."""

from typing import TYPE_CHECKING

from gitnexus.app.harnesstags import follow
from gitnexus.app.policy import bypass_enabled
from gitnexus.base.errors import Invalid
from gitnexus.base.files import expand_home
from gitnexus.base.text import one_line
from gitnexus.harness.place import Place
from gitnexus.tui import slash
from gitnexus.tui.exporting import exported
from gitnexus.tui.model import Again, ChatCard, Leave
from gitnexus.tui.plain import standing_words

if TYPE_CHECKING:
    from gitnexus.tui.chat import Chat

KEYS = """\
Tab goes to the cards and back; there, one key answers, arrows choose a card, space folds, v unfolds all, ? explains.
Enter sends, Ctrl-J begins a new line, the arrows walk through what you typed before, @ completes files.
Esc or Ctrl-C stops what the active run does; F2 shows plan, tasks and runs; Ctrl-Q leaves, and runs go on."""
_MODES = ("default", "acceptEdits", "autopilot", "bypass")


class Orders:
    """Follows what is typed, for one chat."""

    def __init__(self, chat: "Chat") -> None:
        self._chat = chat

    def follow(self, intent: slash.Intent | None) -> None:
        """Do what a line means. Raises: NexusError."""
        match intent:
            case slash.Command(argv=argv, about_run=about):
                self._command(list(argv), about=about)
            case slash.Local():
                self._local(intent)
            case slash.Tagged(text=text):
                self._tagged(text)
            case slash.Prompt(text=text):
                self._propose(text)

    def _command(self, argv: list[str], *, about: bool) -> None:
        run = ""
        if argv == ["status"]:
            self._chat.say("nexus", standing_words(self._chat.standing()))
        if about:
            word = argv[1] if len(argv) > 1 and not argv[1].startswith("-") else ""
            run = self._chat.named(word)
            argv[1 : 2 if word else 1] = [run]
        self._chat.hands.do(argv, self._chat.shown, run)

    def _tagged(self, text: str) -> None:
        repo = self._chat.nexus.repo
        here = Place(str(repo.place), str(repo.git_dir), str(repo.common_dir))
        followed = follow(here, "git-nexus", text)
        if followed is None:
            self._propose(text)
            return
        if followed.notice:
            self._chat.say("nexus", followed.notice)
        if followed.skill:
            self._propose(text, followed.refs)

    def _propose(self, text: str, skills: tuple[str, ...] = ()) -> None:
        waiting = next((card for card in reversed(self._chat.waiting()) if card.key(text.strip())), None)
        if waiting is not None:
            raise Invalid("nothing was approved", hint=f"Tab goes to the card; there {text.strip()} answers it")
        if len(text.strip()) == 1:
            raise Invalid(f"{text.strip()} answers nothing: no card waits for it", hint="/help")
        card = self._chat.proposals.add(text, self._chat.asked, self._chat.sights.own_names(), skills)
        self._chat.put(card)
        if (self._chat.mode or self._chat.sights.mode) in ("autopilot", "bypass"):
            self._chat.say("nexus", f"started without asking: the mode is {self._chat.mode or self._chat.sights.mode}")
            self._chat.deeds.do(card, card.keys[0], "")

    def _local(self, intent: slash.Local) -> None:
        words, name = intent.words, intent.name
        word = words[0] if words else ""
        match name:
            case "quit":
                self._chat.tell(Leave())
            case "help":
                self._chat.say("output", slash.help_text(KEYS))
            case "trace":
                if word not in ("on", "off"):
                    raise Invalid("say /trace on or /trace off")
                self._chat.trace = word == "on"
                self._chat.narrator.traced() if self._chat.trace else self._chat.say("nexus", "the trace is off")
            case "mode":
                self._mode(word)
            case "use":
                self._chat.active = self._chat.named(word or "?")
            case "review":
                self._review(words)
            case "show":
                self._chat.show_whole(self._meant(words)[-1])
            case "export":
                self._export(word)
            case _:
                self._chat.deeds.local(intent)

    def _mode(self, word: str) -> None:
        if word and word not in _MODES:
            raise Invalid(f"there is no mode {one_line(word, 40)}", hint=f"there are {', '.join(_MODES)}")
        if word == "bypass" and not bypass_enabled():
            raise Invalid("the mode bypass is not enabled", hint="git nexus policy mode bypass --user tells how")
        self._chat.mode = word or self._chat.mode
        whose = "of runs that are started here" if self._chat.mode else "of the policy"
        self._chat.say("nexus", f"the mode {whose} is {self._chat.mode or self._chat.sights.mode or 'default'}")

    def _review(self, words: tuple[str, ...]) -> None:
        cards = [card for card in self._meant(words) if card.waits] if words else self._chat.waiting()
        self._chat.tell(*[Again(card) for card in cards])
        if not cards:
            self._chat.say("nexus", "nothing waits for an answer")

    def _meant(self, words: tuple[str, ...]) -> list[ChatCard]:
        """Return the cards that words mean: a run, an action, both, or nothing for all."""
        found = [
            card
            for card in self._chat.cards.values()
            if all(word in (card.run, card.action, card.id) for word in words)
        ]
        if not found:
            raise Invalid("there is no such card", hint="/review shows those that wait")
        return found

    def _export(self, word: str) -> None:
        path = self._chat.place / expand_home(word or f"chat-{self._chat.sights.name}.md")
        exported(self._chat.said, self._chat.sights.name, path)
        self._chat.say("nexus", f"wrote {path}")
