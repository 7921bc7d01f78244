"""Documents as people write them: JSON with comments and odd blanks, TOML, Markdown, in every line ending."""

import json

from hypothesis import strategies as st

# A small alphabet: all of Unicode takes seconds to be listed.
_TEXT = st.text(alphabet='ab"\\/,{}[]ü\n', max_size=5)
_SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.sampled_from([0.5, -1e9]), _TEXT)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=6,
)
_LISTS = st.lists(_VALUES, max_size=3)
# Where ours goes there is either nothing, or what belongs there.
ROOTS = st.fixed_dictionaries(
    {},
    optional={
        "hooks": st.fixed_dictionaries({}, optional={"PreToolUse": _LISTS, "Other": _VALUES}),
        "mcpServers": st.dictionaries(st.sampled_from(["one", "two"]), _VALUES, max_size=2),
        "a": _VALUES,
        "ü // x": _VALUES,
    },
)


@st.composite
def jsonc(draw: st.DrawFn) -> tuple[str, object]:
    """Return a JSON text with comments, and what it says."""
    value = draw(ROOTS)
    gaps = draw(
        st.lists(st.sampled_from(["", " ", "\n", "\n  ", "\t", " /* c } */ ", " // c {\n", "\n\n"]), min_size=1)
    )
    trailing = draw(st.booleans())
    at = 0

    def gap() -> str:
        nonlocal at
        at += 1
        return str(gaps[at % len(gaps)])

    def write(one: object) -> str:
        if isinstance(one, dict):
            rows = [f"{gap()}{json.dumps(key)}{gap()}:{gap()}{write(held)}{gap()}" for key, held in one.items()]
            return "{" + ",".join(rows) + (f",{gap()}" if rows and trailing else gap()) + "}"
        if isinstance(one, list):
            rows = [f"{gap()}{write(held)}{gap()}" for held in one]
            return "[" + ",".join(rows) + (f",{gap()}" if rows and trailing else gap()) + "]"
        return json.dumps(one, ensure_ascii=False)

    text = gap() + write(value) + gap()
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    return draw(st.sampled_from(["", "\ufeff"])) + text, value


TOML = st.lists(
    st.sampled_from(
        [
            'model = "x"',
            "# a comment",
            "",
            "n = 1_000",
            '[projects."/a b"]',
            'trust_level = "trusted"',
            "[[x]]",
            "y = '''\nz\n'''",
        ]
    ),
    unique=True,
    max_size=6,
)
MARKDOWN = st.lists(
    st.sampled_from(["# Ours", "", "Be kind.", "- one", "```", "<!-- a comment -->", "  ", "<!-- >>> git nexus", "ü"]),
    max_size=8,
)
ENDINGS = st.sampled_from(["\n", "\r\n"])
