"""Links of a page of Markdown, and the anchors in it that links can lead to; pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"^(?:    |\t).*$", re.MULTILINE)
_CODE = re.compile(r"(`+)[^`].*?\1", re.DOTALL)
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)
_UNFIT = re.compile(r"[^\w\- ]")


def links(page: str) -> Iterator[str]:
    """Return the targets of all links and pictures, in order, without those in examples."""
    for pattern in (_FENCE, _INDENTED):
        page = pattern.sub("", page)
    page = _CODE.sub("code", page)
    return (found[2] for found in _LINK.finditer(page))


def anchors(page: str) -> set[str]:
    """Return the anchors of the page's headings, as GitHub and the site make them."""
    names: dict[str, int] = {}
    found = set()
    for heading in _HEADING.findall(_FENCE.sub("", page)):
        text = _LINK.sub(r"\1", heading).strip().lower()
        name = _UNFIT.sub("", text).replace(" ", "-")
        times = names[name] = names.get(name, -1) + 1
        found.add(f"{name}_{times}" if times else name)
    return found


def without_links(page: str, leads_out: re.Pattern[str]) -> str:
    """Return the page with only the text of links that match: their targets are not on the site."""

    def kept(link: re.Match[str]) -> str:
        return link[1] if leads_out.match(link[2]) else link[0]

    return _LINK.sub(kept, page)
