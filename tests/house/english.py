"""Check the prose of the project against its terms; `python -m tests.house.english` prints the findings.

Checked are docstring openings, test names, and private words in docstrings, comments and Markdown pages, in
every tracked file except the changelog and generated pages.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator

from tests.house.source import ROOT

_PROSE = re.compile(r'^ *""".*?"""|#[^\n"\']*$', re.MULTILINE | re.DOTALL)
_OPENING = re.compile(r' *"""(What|Whether|How|Where|Who|Whoever|Whose|The same)\b')
_SCREEN_OPENING = re.compile(r"(what|whether|how|where|who|whoever|whose|the same as)\b", re.IGNORECASE)
_TEST_NAME = re.compile(
    r"def (test_(?:who|what|whose|whoever|somebody|nobody|everybody|those|how|where|whether)_\w*)"
)

TERMS = {
    r"light queues?": "LMQ queue",
    r"laggards?": "slow consumer",
    r"who(so)?ever|somebody|nobody|everybody": "a named subject (client, broker, caller ...)",
    r"(is|are|was|were|be|been) told": "is notified, is reported",
    r"anew": "again",
    r"in good order": "cleanly",
    r"in vain": "unsuccessfully",
    r"under way": "in flight",
    r"given out": "delivered",
    r"(go|goes|went|going) on": "resume, continue",
    r"let in": "authenticated, authorized, accepted",
    r"the standard(?! librar)": "RocketMQ",
    r"askers?": "principal, caller",
    r"the (hot )?roads?|the house": "path, code base",
}
"""Private words as patterns, each with the term to write instead."""

SCREEN_TERMS = {
    r"(?<!there )(is|are|was|were) (none|no(?! (longer|more|less|later|earlier)\b))": "is not a, not one of",
}
"""Terms of texts on the screen only, where they are checked beside the others."""

GENERATED = "docs/reference/"
"""Pages that repeat the texts of declarations."""


def _any_of(terms: Iterable[str]) -> re.Pattern[str]:
    return re.compile(r"\b(?:" + "|".join(terms) + r")\b", re.IGNORECASE)


_ALL_TERMS = TERMS | SCREEN_TERMS
_TERMS, _ON_SCREEN = _any_of(TERMS), _any_of(_ALL_TERMS)
_CODE = re.compile(r"^```.*?^```|^    [^\n]*|`[^`\n]*`|\]\([^)]*\)", re.MULTILINE | re.DOTALL)


def checked_files() -> list[str]:
    """Return every tracked Python file and Markdown page, relative to the root, without the changelog."""
    command = ["git", "ls-files", "*.py", "*.md"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    # The list of terms and its test contain the words. A link names each file a second time.
    own = {"tests/house/english.py", "tests/house/test_english.py", "CHANGELOG.md"}
    return sorted(
        name
        for name in names
        if name not in own and not name.startswith(GENERATED) and not (ROOT / name).is_symlink()
    )


def findings(name: str) -> list[str]:
    """Return the findings of one file, each as `line: text`."""
    return [f"{line}: {what}" for line, what in sorted(_findings(name))]


def _findings(name: str) -> Iterator[tuple[int, str]]:
    text = (ROOT / name).read_text()
    return _in_page(text) if name.endswith(".md") else _in_source(text)


def _in_page(text: str) -> Iterator[tuple[int, str]]:
    prose = _CODE.sub(lambda code: "\n" * code.group().count("\n"), text)
    for number, line in enumerate(prose.splitlines(), 1):
        yield from _terms_in(line, number)


def _in_source(text: str) -> Iterator[tuple[int, str]]:
    for test in _TEST_NAME.finditer(text):
        yield _line(text, test.start(1)), f"test name {test.group(1)}"
    for prose in _PROSE.finditer(text):
        line = _line(text, prose.start())
        opening = _OPENING.match(prose.group())
        if opening is not None:
            yield line, f"docstring opens with {opening.group(1)!r}"
        for offset, part in enumerate(prose.group().splitlines()):
            yield from _terms_in(re.sub(r"`[^`]*`", "", part), line + offset)


def screen_findings(text: str) -> Iterator[str]:
    """Yield the findings of one text that users read on the screen."""
    opening = _SCREEN_OPENING.match(text)
    if opening is not None:
        yield f"opens with {opening.group(1)!r}"
    yield from (finding for _, finding in _terms_in(re.sub(r"`[^`]*`", "", text), 1, _ON_SCREEN))


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _terms_in(line: str, number: int, terms: re.Pattern[str] = _TERMS) -> Iterator[tuple[int, str]]:
    for match in terms.finditer(line):
        words = (word for word in _ALL_TERMS if re.compile(word, re.IGNORECASE).match(line, match.start()))
        instead = _ALL_TERMS[next(words)]
        yield number, f"{match.group()!r}: write {instead!r}"


def main() -> None:
    """Print the findings of the files given, else of all."""
    for name in sys.argv[1:] or checked_files():
        for finding in findings(name):
            print(f"{name}:{finding}")


if __name__ == "__main__":
    main()
