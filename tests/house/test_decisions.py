"""Decision records have unique numbers and one form, and their index lists every record and unused number."""

import re
from pathlib import Path

from tests.house.source import ROOT

FOLDER = ROOT / "docs" / "decisions"
NOTES = sorted(FOLDER.glob("[0-9]*.md"))
HEADINGS = ["## Context", "## Decision", "## Consequences"]
MAX_WORDS = 600
"""Length of one page, with tables."""
_WORD = re.compile(r"\S*\w\S*")
_TITLE = re.compile(r"# (\d+)\. (.+)")
_STATUS = re.compile(r"\*\*Status\.\*\* Accepted\b.*")
_LINK = re.compile(r"\[(?:[Dd]ecisions?\s+)?(\d+)\]\((?:[\w./]*/)?(\d{4})-[\w-]+\.md\)")


def number(note: Path) -> int:
    """Return the number in the name of a note's file."""
    return int(note.name[:4])


def title(note: Path) -> tuple[int, str]:
    """Return number and text of a note's first line."""
    match = _TITLE.fullmatch(note.read_text().partition("\n")[0])
    assert match is not None, note.name
    return int(match[1]), match[2]


def faults(text: str) -> list[str]:
    """Return the departures of a record from the common form."""
    lines = text.splitlines()
    found = []
    if len(lines) < 3 or lines[1] or not _STATUS.fullmatch(lines[2]):
        found.append("the third line is not the status")
    headings = [line for line in lines if line.startswith("#")][1:]
    if headings != HEADINGS:
        found.append(f"headings {headings}")
    words = len(_WORD.findall(text))
    if words > MAX_WORDS:
        found.append(f"{words} words")
    return found


def test_numbers_are_unique() -> None:
    numbers = [number(note) for note in NOTES]
    assert sorted(set(numbers)) == numbers


def test_title_has_the_number_of_the_file() -> None:
    assert not [note.name for note in NOTES if title(note)[0] != number(note)]


def test_records_have_one_form() -> None:
    found = {note.name: faults(note.read_text()) for note in NOTES}
    assert not {name: wrong for name, wrong in found.items() if wrong}


def test_form_check_finds_each_fault() -> None:
    status, body = "# 1. T\n\n**Status.** Accepted.\n\n", "## Context\n\n## Decision\n\n## Consequences\n"
    table = {
        status + body: [],
        status + body + "| - " * MAX_WORDS: [],
        status + body + "word " * MAX_WORDS: [f"{MAX_WORDS + 7} words"],
        "# 1. T\n\n" + body: ["the third line is not the status"],
        "# 1. T\n": ["the third line is not the status", "headings []"],
        status + "## Decision\n\n## Context\n": ["headings ['## Decision', '## Context']"],
        status + body + "## More\n": [f"headings {[*HEADINGS, '## More']}"],
    }
    assert {text: faults(text) for text in table} == table


def test_index_lists_every_note_and_every_unused_number() -> None:
    notes = {number(note): note for note in NOTES}
    expected = []
    for one in range(1, max(notes) + 1):
        text = f"[{title(notes[one])[1]}]({notes[one].name})" if one in notes else "never used"
        expected.append(f"| {one} | {text} |")
    index = (FOLDER / "README.md").read_text().splitlines()
    assert [line for line in index if re.match(r"\| \d+ \|", line)] == expected


def test_links_name_the_number_of_the_note() -> None:
    """A link's text still has the old number when only its target followed a note that moved."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    links = [(page.name, *link) for page in pages for link in _LINK.findall(page.read_text())]
    assert links
    assert not [link for link in links if int(link[1]) != int(link[2])]
