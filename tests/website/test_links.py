"""Every link of a page leads somewhere: to a file that there is, and a heading on it."""

from pathlib import Path

import pytest

from website.build import PARTS
from website.links import anchors, links, without_links
from website.reference import PAGES

ROOT = Path(__file__).parent.parent.parent
SOURCES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "packaging/helm/README.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]


@pytest.mark.parametrize("page", SOURCES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for link in links(page.read_text()):
        if link.startswith(("http://", "https://", "mailto:")):
            continue
        place, _, anchor = link.partition("#")
        target = (page.parent / place).resolve() if place else page
        assert target.exists(), link
        assert target.is_relative_to(ROOT), link
        if anchor:
            assert anchor in anchors(target.read_text()), link


def test_the_site_has_every_page() -> None:
    """Each page of docs stands in the list of pages, and nothing else does."""
    docs = ROOT / "docs"
    pages = [page for place in (docs, docs / "development") for page in place.glob("*.md")]
    listed = [f"{page}.md" for pages in PARTS.values() for page in pages]
    assert sorted(listed) == sorted([*(str(page.relative_to(docs)) for page in pages), *PAGES])


def test_links_of_examples_are_none() -> None:
    page = "[a](b.md) `[no](no.md)` ![p](p.png)\n\n    [no](no.md)\n\n```\n[no](no.md)\n```\n[`c`](d.md#e)\n"
    assert list(links(page)) == ["b.md", "p.png", "d.md#e"]


def test_headings_are_named_as_code_hosts_do() -> None:
    assert anchors("# A b\n## `c_d`, e: f-g\n## A b\n```\n# none\n```\n") == {"a-b", "c_d-e-f-g", "a-b_1"}


def test_links_that_lead_out_keep_their_text() -> None:
    import re

    page = "see [the source](../x.py) and [more](more.md)"
    assert without_links(page, re.compile(r"\.\./")) == "see the source and [more](more.md)"
