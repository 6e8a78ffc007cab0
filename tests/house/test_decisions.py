"""Decision notes have unique numbers, and their index lists every note and every unused number."""

import re
from pathlib import Path

from tests.house.source import ROOT

FOLDER = ROOT / "docs" / "decisions"
NOTES = sorted(FOLDER.glob("[0-9]*.md"))
_TITLE = re.compile(r"# (\d+)\. (.+)")
_LINK = re.compile(r"\[(?:[Dd]ecisions?\s+)?(\d+)\]\((?:[\w./]*/)?(\d{4})-[\w-]+\.md\)")


def number(note: Path) -> int:
    """Return the number in the name of a note's file."""
    return int(note.name[:4])


def title(note: Path) -> tuple[int, str]:
    """Return number and text of a note's first line."""
    match = _TITLE.fullmatch(note.read_text().partition("\n")[0])
    assert match is not None, note.name
    return int(match[1]), match[2]


def test_numbers_are_unique() -> None:
    numbers = [number(note) for note in NOTES]
    assert sorted(set(numbers)) == numbers


def test_title_has_the_number_of_the_file() -> None:
    assert not [note.name for note in NOTES if title(note)[0] != number(note)]


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
