"""The files of the console's pages, read once: those in `static`, and no others."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).resolve().parent / "static"
PAGE = "index.html"
KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}
_IMPORT_MAP = re.compile(rb'<script type="importmap">(.*?)</script>', re.DOTALL)


class StaticFile(NamedTuple):
    """A served file: its content, content type and ETag."""

    body: bytes
    kind: str
    tag: str


def static_files(folder: Path = FOLDER) -> dict[str, StaticFile]:
    """Return all files by their paths below the folder."""
    files = {}
    for path in folder.rglob("*"):
        kind = KINDS.get(path.suffix)
        if kind is not None:
            body = path.read_bytes()
            tag = f'"{hashlib.sha256(body).hexdigest()[:24]}"'
            files[path.relative_to(folder).as_posix()] = StaticFile(body, kind, tag)
    return files


def content_policy(files: Mapping[str, StaticFile]) -> str:
    """Return the Content-Security-Policy: pages may load our files, and the page's inline import map, by its
    hash."""
    found = _IMPORT_MAP.search(files[PAGE].body)
    assert found is not None, "the page has no import map"
    digest = base64.b64encode(hashlib.sha256(found.group(1)).digest()).decode()
    return (
        f"default-src 'self'; script-src 'self' 'sha256-{digest}'; img-src 'self' data:; object-src 'none'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
