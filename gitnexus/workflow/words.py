"""The table of English and German words that indicate the kind of work. Used by rules.py."""

from typing import Literal

Kind = Literal["research", "plan", "exec", "review"]


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Whatever else is said: these are the keywords of the rules of last resort.
RESEARCH_KEYWORDS = _word_set("latest newest compare comparison verify vergleich neueste neuesten")
RESEARCH_PHRASES = ("best practice", "best practices", "state of the art", "pros and cons", "stand der technik")
PLAN_KEYWORDS = _word_set(
    "plan plans architecture milestone milestones step steps roadmap strategy breakdown outline design "
    "architektur meilenstein meilensteine schritte schritten fahrplan"
)
EXEC_KEYWORDS = _word_set(
    "implement implementing implementation refactor refactoring fix fixing tests diff implementieren umsetzen beheben"
)

# Verbs that begin a request. What is not here, and no question, is left to the keywords.
VERBS: dict[str, Kind] = {
    **dict.fromkeys(
        _word_set(
            "research investigate compare verify explain analyse analyze evaluate assess survey study explore "
            "summarise summarize search find determine diagnose identify understand describe inspect examine "
            "audit benchmark measure profile trace check look tell show confirm clarify learn read list count "
            "recherchiere recherchieren untersuche untersuchen vergleiche vergleichen erkläre erklären prüfe prüfen "
            "finde finden analysiere analysieren zeige zeigen suche suchen beschreibe ermittle bewerte überprüfe"
        ),
        "research",
    ),
    **dict.fromkeys(
        _word_set(
            "plan outline sketch design propose architect estimate prioritise prioritize schedule decide suggest "
            "plane planen skizziere skizzieren entwirf entwerfen zerlege konzipiere schätze"
        ),
        "plan",
    ),
    **dict.fromkeys(
        _word_set(
            "implement refactor fix add remove rename write repair make run bump update upgrade build apply delete "
            "create convert replace move correct mend patch change edit modify adjust extend extract inline merge "
            "split simplify clean format reformat sort wrap drop disable enable expose hide handle catch raise lower "
            "increase reduce set unset configure install uninstall integrate connect wire port migrate "
            "translate rewrite restructure reorganise reorganize deduplicate cache log test cover document annotate "
            "type deploy release publish tag revert undo restore execute do carry commit rebase squash generate "
            "support allow prevent stop start return use switch swap turn introduce resolve close finish complete "
            "suppress let downgrade pin unpin vendor import export render parse validate sanitise "
            "sanitize escape encode decode "
            "implementiere implementieren behebe beheben füge ersetze ersetzen entferne entfernen lösche löschen "
            "benenne schreibe schreiben ändere ändern aktualisiere aktualisieren erstelle erstellen baue bauen "
            "setze umsetzen refaktoriere korrigiere korrigieren repariere reparieren verschiebe mache machen führe "
            "formatiere erledige mach optimise optimize"
        ),
        "exec",
    ),
    **dict.fromkeys(_word_set("review reviews critique reviewen begutachte begutachten"), "review"),
}
# Two words that mean something else than the first alone.
PHRASES: dict[tuple[str, str], Kind] = {
    ("work", "out"): "plan",
    ("write", "down"): "plan",
    ("break", "down"): "plan",
    ("find", "out"): "research",
    ("figure", "out"): "research",
    ("look", "up"): "research",
    ("look", "into"): "research",
    ("take", "look"): "research",
    ("get", "rid"): "exec",
}
# These make whatever they are followed by: a plan makes them planning.
MAKERS = _word_set(
    "write make create draft prepare give produce list add do need want generate suggest provide define "
    "come describe break split schreibe mache machen erstelle erstellen gib brauche"
)
# Who asks these for a plan before anything is done wants one made.
SHOWERS = _word_set("show tell send zeige zeig")
# Before a noun they say that what it names exists.
DEFINITE = _word_set("the our your its this that current existing")
# What they make, if planning is meant.
PLANNED = PLAN_KEYWORDS | _word_set("proposal estimate")
# What is reported and not created, if one of these writes it.
TELLERS = _word_set("write give prepare produce draft provide schreibe gib erstelle")
TOLD = _word_set("report summary overview comparison analysis explanation bericht überblick übersicht zusammenfassung")
QUESTIONS = _word_set(
    "why what which how where who when whose warum wie was welche welcher welches wo wer wann wieso weshalb wozu ob "
    "whether"
)
ASKING = _word_set("is are was were does did do has have can could will would should ist sind hat kann gibt")
# Said before a request, and no part of it.
FILLERS = _word_set(
    "please then first now only rather instead just also next afterwards finally and kindly simply so ok okay hey "
    "hi bitte dann zuerst nun "
    "jetzt danach anschließend und mal einfach kurz nur lieber to"
)
OPENINGS = (
    ("can", "you"), ("could", "you"), ("would", "you"), ("will", "you"), ("i", "want", "you", "to"),
    ("let", "us"), ("let", "s"),
    ("i", "want", "to"), ("we", "want", "to"), ("we", "need", "to"), ("you", "should"), ("i", "need", "you", "to"),
    ("help", "me", "to"), ("help", "me"), ("lets",), ("kannst", "du"), ("könntest", "du"), ("start", "to"),
    ("i", "wonder"), ("i", "am", "wondering"), ("i", "m", "wondering"), ("do", "you", "know"),
    ("i", "would", "like", "to", "know"), ("i", "d", "like", "to", "know"), ("i", "want", "to", "know"),
    ("go", "ahead", "and"), ("i", "d", "like", "to"), ("i", "would", "like", "to"), ("try", "to"), ("we", "should"),
)  # fmt: skip
# After a noun these make a sentence of it: "search should feel better" asks for no search.
MODALS = _word_set(
    "should must is are was were fails fail feels seems needs would could can does has soll muss ist sind"
)
NEGATIONS = _word_set("not no never without dont nicht kein keine keinen ohne")
