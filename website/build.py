"""`python -m website.build [folder]`: the site, in `website/built` unless told otherwise.

The sources are put together in a folder of their own: `docs` as it is, the README as home page with the
list of all pages below it, and the pages that are made of declarations. Then Sphinx is called; each of its
warnings, a link that leads nowhere above all, is an error.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from pathlib import Path

from website.links import without_links
from website.reference import PAGES

ROOT = Path(__file__).parent.parent
HOME = "index.md"
PARTS = {
    "Guide": ("tutorial", "from-apache", "commands", "client", "kafka", "testing", "spark"),
    "Operations": (
        "packages",
        "operations",
        "ha",
        "durability",
        "console",
        "metrics",
        "stuck-groups",
        "troubleshooting",
        "security",
    ),
    "Reference": (
        *(place.removesuffix(".md") for place in PAGES),
        *("compatibility", "benchmarks", "glossary"),
    ),
    "Development": (
        "architecture",
        "store",
        *(f"development/{page.stem}" for page in sorted((ROOT / "docs" / "development").glob("*.md"))),
    ),
}
"""The pages in their order. Decisions are reached by links, and stand below the last."""
_OF_DOCS = re.compile(r"\]\(docs/")
_LEADS_OUT = re.compile(
    r"(?!https?:|#)(?:(?:\.\./)*(?:LICENSE|CHANGELOG\.md|[\w/.-]*/)$|.*\.(?:json|1|py|sh)$)"
)
"""Links to what is no page: of the source, folders, schemas."""


def sources(folder: Path) -> None:
    """Put together what the site is made of."""
    shutil.copytree(ROOT / "docs", folder, dirs_exist_ok=True)
    (folder / HOME).write_text(_OF_DOCS.sub("](", (ROOT / "README.md").read_text()) + _contents())
    for place, make in PAGES.items():
        (folder / place).parent.mkdir(exist_ok=True)
        (folder / place).write_text(make())
    decisions = "\n".join(f"decisions/{page.stem}" for page in sorted((folder / "decisions").glob("*.md")))
    with (folder / "architecture.md").open("a") as architecture:
        architecture.write(f"\n```{{toctree}}\n:hidden:\n\n{decisions}\n```\n")
    for page in folder.rglob("*.md"):
        page.write_text(without_links(page.read_text(), _LEADS_OUT))


def _contents() -> str:
    """The list of all pages, which the theme shows beside each."""
    parts = (
        "\n".join(["", "```{toctree}", ":hidden:", f":caption: {title}", "", *pages, "```", ""])
        for title, pages in PARTS.items()
    )
    return "".join(parts)


def build(folder: Path) -> int:
    """Build the site there; 0 when all went well."""
    from sphinx.cmd.build import build_main  # of the extra `docs`

    with tempfile.TemporaryDirectory(prefix="mqgateway-docs-") as made:
        sources(Path(made))
        options = [
            "-q",
            "-W",
            "--keep-going",
            "-b",
            "html",
            "-d",
            f"{made}/.cache",
            "-c",
            str(Path(__file__).parent),
        ]
        return build_main([*options, made, str(folder)])


if __name__ == "__main__":
    sys.exit(build(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "built"))
