"""Every relative link leads somewhere, and every page can be reached."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def links(page: Path) -> list[tuple[Path, str]]:
    """Return the files that a page links to, each with the heading it names."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    rows = [target.partition("#") for target in LINK.findall(text) if "://" not in target]
    return [((page.parent / name).resolve() if name else page, heading) for name, _, heading in rows]


def headings(page: Path) -> set[str]:
    """Return the anchors that a page offers, spelled as code hosts spell them."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    return {
        re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")
        for title in re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    }


def test_relative_links_lead_somewhere() -> None:
    rows = [(page, *link) for page in PAGES for link in links(page)]
    for page, target, heading in rows:
        assert target.exists(), f"{page} links to {target}"
        assert target.is_relative_to(ROOT), f"{page} links out of the repository"
        if heading:
            assert heading in headings(target), f"{page} links to {target.name}#{heading}"


def test_every_page_can_be_reached_from_the_readme() -> None:
    pending, met = [ROOT / "README.md"], set()
    while pending:
        page = pending.pop()
        if page not in met and page.suffix == ".md":
            met.add(page)
            pending += [target for target, _ in links(page) if target.is_file()]

    assert {page for page in PAGES if page not in met} == set()


def test_the_index_lists_every_decision_under_its_title() -> None:
    index = " ".join((ROOT / "docs" / "index.md").read_text(encoding="utf-8").split())
    decisions = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    titles = {page: page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ") for page in decisions}

    assert [page.name for page, title in titles.items() if f"[{title}](decisions/{page.name})" not in index] == []


def test_every_page_of_the_docs_links_the_glossary() -> None:
    glossary = ROOT / "docs" / "explanation" / "glossary.md"
    pages = [page for page in PAGES if page.is_relative_to(ROOT / "docs") and page != glossary]

    assert [page for page in pages if glossary not in {target for target, _ in links(page)}] == []


def test_the_glossary_defines_each_term_once_and_in_a_few_lines() -> None:
    text = (ROOT / "docs" / "explanation" / "glossary.md").read_text(encoding="utf-8")
    entries = re.findall(r"^- \*\*(.+?)\*\*(.*\n(?:  .*\n)*)", text, re.MULTILINE)
    names = [name for terms, _ in entries for name in terms.strip("`").split(", ")]

    assert len(names) == len(set(names)) >= 60
    assert [name for name, text in entries if text.count("\n") > 3] == []


def test_a_page_has_one_title_and_no_tabs_or_trailing_blanks_in_its_prose() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        prose = FENCE.sub("", text)

        assert len(re.findall(r"^# ", prose, re.MULTILINE)) == 1, page
        assert re.search(r"[ \t]+$|\t", prose, re.MULTILINE) is None, page
        assert text.endswith("\n"), page
        assert not text.endswith("\n\n"), page
