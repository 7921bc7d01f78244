"""Renders a bar chart as SVG: plain shapes and text, readable on light and dark pages, without external resources."""

from collections.abc import Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

from gitnexus.base.text import one_line

_WIDTH, _LEFT, _BAR, _ROW, _GAP = 640, 180, 330, 20, 26
_STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .title { font-size: 16px; font-weight: 600 }
  .name { font-weight: 600 }
  .small { fill: #59636e }
  .page { fill: #ffffff } .track { fill: #e6eaef } .bar { fill: #1a7f37 } .half { fill: #bf8700 } .low { fill: #cf222e }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .small { fill: #9198a1 }
    .page { fill: #0d1117 } .track { fill: #2a313c }
    .bar { fill: #3fb950 } .half { fill: #d29922 } .low { fill: #f85149 }
  }
"""


class BarGroup(NamedTuple):
    """One group of bars: label, share from 0 to 1 or None, and the text beside the bar."""

    name: str
    beside: str
    bars: tuple[tuple[str, float | None, str], ...]


def render_bar_chart(title: str, groups: Sequence[BarGroup]) -> str:
    """Return the whole file. The text says everything that the colours show."""
    rows: list[str] = []
    top = 52
    for group in groups:
        rows.append(f'<text class="name" x="16" y="{top}">{_escape_label(group.name)}</text>')
        rows.append(f'<text class="small" x="{_LEFT}" y="{top}">{_escape_label(group.beside)}</text>')
        for label, share, words in group.bars:
            top += _ROW
            rows += _render_bar(top, label, share, words)
        top += _ROW + _GAP
    height = max(top - _GAP, 84)
    empty = [] if groups else [f'<text class="small" x="16" y="{52}">no runs yet</text>']
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" '
            f'height="{height}" role="img" aria-label="{_escape_label(title)}">',
            f"<title>{_escape_label(title)}</title>",
            f"<style>{_STYLE}</style>",
            f'<rect class="page" width="{_WIDTH}" height="{height}"/>',
            f'<text class="title" x="16" y="28">{_escape_label(title)}</text>',
            *rows,
            *empty,
            "</svg>",
            "",
        ]
    )


def _render_bar(top: int, label: str, share: float | None, words: str) -> list[str]:
    kind = "bar" if (share or 0) >= 0.8 else "half" if (share or 0) >= 0.5 else "low"
    long = round(_BAR * min(max(share or 0.0, 0.0), 1.0), 1)
    row = [
        f'<text class="small" x="32" y="{top}">{_escape_label(label)}</text>',
        f'<rect class="track" x="{_LEFT}" y="{top - 11}" width="{_BAR}" height="12" rx="2"/>',
    ]
    row += [f'<rect class="{kind}" x="{_LEFT}" y="{top - 11}" width="{long}" height="12" rx="2"/>'] if long else []
    return [*row, f'<text x="{_LEFT + _BAR + 12}" y="{top}">{_escape_label(words)}</text>']


def _escape_label(words: str) -> str:
    return escape(one_line(words, 60), {'"': "&quot;"})
