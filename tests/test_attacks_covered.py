"""Every one of the 125 known attacks has a test that carries its number."""

import re
from pathlib import Path

TESTS = Path(__file__).parent
SECTIONS = {
    "A": "001 003 005 006 008 010 011 013 015 016 018 020 021 023 025",
    "B": "026 028 030 031 033 035 036 038 040 041 043 045",
    "C": "046 048 050 051 053 055 056 058 060 061 063 065",
    "D": "066 068 070 071 073 075 076 078 080 081 083 085 086 088 090 091 093 095 096",
    "E": "098 100 101 103 105 106",
    "F": "108 110 111 113 115 116 118 120 121 123 125 126 128 130",
    "G": "131 133 135 136 138 140 141 143 145 146",
    "H": "148 150 151 153 155 156 158 160 161 163",
    "I": "165 166 168 170 171 173 175 176 178",
    "J": "180 181 183 185 186 188 190 191 193",
    "K": "195 196 198 200 201 203 205 206 208",
}
ATTACKS = {number for numbers in SECTIONS.values() for number in numbers.split()}
# The number stands before a name, as in id="071-find-exec" or test_071_find_exec; one row may stand for several.
_IDS = re.compile(r"""["'](\d{3}(?:-\d{3})*)-[A-Za-z{.$]""")
_NAMES = re.compile(r"def test_(\d{3}(?:_\d{3})*)_")


def carried() -> set[str]:
    texts = [path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py") if path != Path(__file__)]
    found = [group for text in texts for group in (*_IDS.findall(text), *_NAMES.findall(text))]
    return {number for group in found for number in re.split("[-_]", group)}


def test_every_attack_is_a_test() -> None:
    assert len(ATTACKS) == 125
    assert ATTACKS - carried() == set()


def test_no_test_carries_a_number_that_is_not_in_the_list() -> None:
    assert carried() - ATTACKS == set()
