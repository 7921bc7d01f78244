"""JSON that arrives in pieces is shown as text that people read; what is around it stays as it is."""

import json
import random

import pytest

from gitnexus.prompts.readable_json import ReadableJson


def read(text: str, size: int = 1) -> str:
    found = ReadableJson()
    return "".join(found.feed(text[at : at + size]) for at in range(0, len(text), size))


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('{"status": "done", "count": 3, "ok": true}', ["status: done", "count: 3", "ok: true"]),
        ('{"diff": "--- a/x\\n+++ b/x\\n-a\\t\\"b\\"\\\\"}', ["diff: --- a/x", "+++ b/x", '-a\t"b"\\']),
        ('{"words": "\\u00fc \\ud83c\\udf89 \\/"}', ["words: ü 🎉 /"]),
        ('{"a": [{"b": "c"}, {"b": "d"}], "e": []}', ["a: ", "b: c", "b: d", "e: "]),
        ("I think it is so.\nYes, it is.", ["I think it is so.", "Yes, it is."]),
        ('Here it is:\n```json\n{"a": "b"}\n```', ["Here it is:", "```json", "a: b", "```"]),
    ],
)
def test_an_answer_is_read_as_its_author_meant_it(text: str, lines: list[str]) -> None:
    assert [line for line in read(text).split("\n") if line.strip()] == lines
    assert read(text) == read(text, 3) == read(text, 1000)


def test_whatever_comes_is_read_without_an_error() -> None:
    chance = random.Random(20261119)
    for _ in range(2000):
        text = "".join(chance.choices('{}[]",:\\u0dq \n1', k=40))
        read(text).encode("utf-8")


def test_no_text_of_an_answer_is_lost() -> None:
    texts = ["one\ntwo", "ü", 'a "quoted" word', "\\"]

    shown = read(json.dumps({"list": texts}))

    assert all(text in shown for text in texts)
