"""What MkDocs calls while it builds the site."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))  # MkDocs loads this file by its path

from website.links import without_links  # noqa: E402
from website.reference import PAGES  # noqa: E402

HOME = "index.md"
OF_DOCS = re.compile(r"\]\(docs/")
LEADS_OUT = re.compile(r"(?!https?:|#)(\.\./)+(?!compatibility\.md)|decisions/$|(?!https?:|#).*\.(json|1)$")
"""Links to files that are no pages: of the source, folders, schemas."""


def on_files(files: Files, /, *, config: MkDocsConfig) -> Files:
    """Add the home page, which is the README, and the pages of what is declared."""
    readme = OF_DOCS.sub("](", (ROOT / "README.md").read_text())
    files.append(File.generated(config, HOME, content=readme))
    for place, make in PAGES.items():
        files.append(File.generated(config, place, content=make()))
    return files


def on_page_markdown(markdown: str, /, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Leave of links to files that are not on the site their text."""
    place = page.file.src_uri
    if place in PAGES:
        return markdown
    known = {file.src_uri for file in files}
    if place == HOME:
        outside = re.compile(rf"(?!https?:|#|(?:{'|'.join(map(re.escape, sorted(known)))})(?:#|$))")
        return without_links(markdown, outside)
    return without_links(markdown, LEADS_OUT)
