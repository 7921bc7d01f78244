"""Answers what is no request: greetings and thanks get a reply, half a sentence gets a question back. Pure."""

import re

from gitnexus.base.text import one_line
from gitnexus.workflow.delegation import AGENTS
from gitnexus.workflow.rules import parse_request, prose_of_prompt
from gitnexus.workflow.words import ASKING, FILLERS, QUESTIONS

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_GREETINGS = frozenset("hello hi hey hallo moin servus howdy greetings".split())
_THANKS = frozenset("thanks thank thx danke cheers merci".split())
_FAREWELLS = frozenset("bye goodbye tschüss ciao".split())
_NODS = frozenset(
    "ok okay k yes no yep nope sure cool nice great perfect good ja nein gut hm hmm lol test ping".split()
)
_BESIDE = frozenset(
    "there you all everyone so very much a lot again team nexus git good morning evening afternoon day night guten tag "
    "morgen abend vielen dank well done for that it the help this was were is really all work job".split()
)
_ABOUT = re.compile(
    r"(?:how are you|how do you do|how's it going|wie geht(?:'s| es dir)?|what'?s up)\W*", re.IGNORECASE
)
_WHO = re.compile(r"(?:who|what) are you\W*|what can you do\W*|wer bist du\W*|was kannst du\W*|help\W*", re.IGNORECASE)
_HOW = 'ask about this repository, as in git nexus run "What does load_config do?", or say what to change'
_AGENT_ALONE = re.compile(rf"(@(?:{'|'.join(AGENTS)}))\b[\s,:.!]*(?:please|bitte)?[\s.!]*", re.IGNORECASE)
_MOST_WORDS = 2
# Words between others: a text that asks for nothing and ends with one, or is nothing else, is a part of a sentence.
_BETWEEN = frozenset(
    "in on at for by as than that if when while about per via under over between during without within like".split()
)
# Words that begin a question or a request without saying what it is about.
_BEGINNINGS = (
    QUESTIONS | ASKING | FILLERS | frozenset("i you we he she it they would could can about me us my want need".split())
)
# Words that no sentence ends with, and words that only link what was said before to what is to come.
_OPEN_ENDS = frozenset("the a an my our your its to of from into with and or but because".split())
_LINKS = frozenset("and then but so or now next please well also because".split())


def reply_to_small_talk(prompt: str) -> str:
    """Return the reply to a prompt that asks for no work, empty if it asks for some."""
    text = prompt.strip()
    if _ABOUT.fullmatch(text):
        return f"Fine, thank you. You can {_HOW}."
    if _WHO.fullmatch(text):
        return f"git nexus: agents work in worktrees of their own, and you approve what they do. You can {_HOW}."
    if named := _AGENT_ALONE.fullmatch(text):
        return f"What should {named[1]} do? Say it after the name, as in {named[1]} fix the parser."
    words = [word.lower() for word in _WORD.findall(text)]
    if not words or len(words) > 6:
        return "" if words else f"There is nothing in it to work on. You can {_HOW}."
    known = _GREETINGS | _THANKS | _FAREWELLS | _NODS
    if not set(words) & known or not set(words) <= known | _BESIDE:
        return _ask_back(text, words)
    if set(words) & _THANKS:
        return "You are welcome."
    if set(words) & _FAREWELLS:
        return "Goodbye."
    if set(words) & _GREETINGS:
        return f"Hello. You can {_HOW}."
    return f"Nothing waits for that here. You can {_HOW}."


def is_nod(prompt: str) -> bool:
    """Return True for a word such as ok or yes, which may be meant as an answer to what waits."""
    words = {word.lower() for word in _WORD.findall(prompt)}
    return bool(words & _NODS) and words <= _NODS | _BESIDE


def _ask_back(text: str, words: list[str]) -> str:
    """Return a question about one or two words that say neither what is asked nor what is to be done."""
    if words[-1] in _OPEN_ENDS and text[-1].isalpha():
        return f"“{one_line(text, 60)}” ends in the middle: what comes after it? You can {_HOW}."
    cues = parse_request(prose_of_prompt(text)).cues
    asks_nothing = not cues
    left = frozenset(word.lower() for word in _WORD.findall(prose_of_prompt(text)))
    between = asks_nothing and (words[-1] in _BETWEEN or (left and left <= _BETWEEN | _OPEN_ENDS))
    unsaid = text[-1].isalpha() and set(words) <= _BEGINNINGS and all(cue.kind == "research" for cue in cues)
    if set(words) <= _LINKS or between or unsaid or text.isdecimal():
        return f"What about “{one_line(text, 60)}”? You can {_HOW}."
    # A reference to a task, a file or code, and a name of a workflow, are requests of their own.
    if len(words) > _MOST_WORDS or re.search(r"[`/\\_:#@\d.]", text.rstrip(".!?")) or text.endswith("?"):
        return ""
    if parse_request(prose_of_prompt(text)).cues:
        return ""
    return f"What about “{one_line(text, 60)}”? You can {_HOW}."
