"""The code blocks of a page of Markdown, with their languages; pure."""

from __future__ import annotations

import re
from typing import NamedTuple

_FENCE = re.compile(r"^( *)```([\w-]*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_LIST_ITEM = re.compile(r"^(?:[-*]|\d+\.) ")
_PROMPT = "$ "


class Block(NamedTuple):
    """A code block: its language as the fence names it, its text, and its first line on the page."""

    language: str
    text: str
    line: int


class Call(NamedTuple):
    """A command of a `console` block, and the output that the page shows for it."""

    command: str
    output: str


def blocks(page: str) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    return [
        Block(fence[2], _without_indent(fence[3], len(fence[1])), page.count("\n", 0, fence.start()) + 2)
        for fence in _FENCE.finditer(page)
    ]


def indented_blocks(page: str) -> list[int]:
    """Return the lines at which blocks without a fence, and so without a language, begin."""
    rest = _FENCE.sub(lambda fence: "\n" * fence.group().count("\n"), page)
    lines = rest.split("\n")
    found = []
    is_in_list = False
    for number, line in enumerate(lines):
        if line.strip():
            begins = line.startswith("    ") and (number == 0 or not lines[number - 1].strip())
            if begins and not is_in_list:
                found.append(number + 1)
            if not line.startswith(" "):
                is_in_list = bool(_LIST_ITEM.match(line))
    return found


def calls(block: str) -> list[Call]:
    """Return the commands of a `console` block, which follow a prompt, with their outputs."""
    found: list[Call] = []
    for line in block.splitlines():
        if line.startswith(_PROMPT):
            found.append(Call(line.removeprefix(_PROMPT), ""))
        elif found:
            found[-1] = Call(found[-1].command, f"{found[-1].output}{line}\n")
    return found


def missing_lines(expected: str, printed: str) -> list[str]:
    """Return the expected lines that were not printed in this order.

    Numbers, ids, times and widths of columns may differ, and `...` stands for any text.
    """
    left = iter([_plain(line) for line in printed.splitlines()])
    wanted = [line for line in map(_plain, expected.splitlines()) if line.strip("# -")]
    return [line for line in wanted if not any(_is_like(line, other) for other in left)]


def _is_like(expected: str, printed: str) -> bool:
    pattern = ".*".join(re.escape(part) for part in expected.split("..."))
    return re.fullmatch(pattern, printed) is not None


def _plain(line: str) -> str:
    """Return a line with a mark for each run of digits or hexadecimal id, and single blanks."""
    line = re.sub(r"\b[0-9A-F]{16,}\b", "#", line)
    line = re.sub(r"(?:\d+[.,:]?)*\d", "#", line)
    return re.sub(r"[-─━]{3,}", "---", re.sub(r"\s+", " ", line)).strip()


def _without_indent(text: str, indent: int) -> str:
    return "".join(line[indent:] if line.strip() else line for line in text.splitlines(keepends=True))
