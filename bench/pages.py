"""What benchmarks write: a page of which each has its own section, and files of all figures."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def page_option(tells: str = "Write the section of this page.") -> Decorator:
    """The option `--page`, as `page_path`."""
    return click.option("--page", "page_path", type=click.Path(dir_okay=False), help=tells)


def json_option(tells: str = "Write all figures here.") -> Decorator:
    """The option `--json`, as `json_path`."""
    return click.option("--json", "json_path", type=click.Path(dir_okay=False), help=tells)


def write_section(path: Path, name: str, lines: list[str]) -> None:
    """Put a section in the place it had, or at the end of the page; the page is made if it is not there."""
    begin, end = f"<!-- {name}: written by the benchmark -->", f"<!-- end of {name} -->"
    text = path.read_text() if path.exists() else "# Benchmarks\n"
    section = "\n".join([begin, "", *lines, "", end])
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    replaced, count = pattern.subn(lambda _: section, text)
    path.write_text(replaced if count else f"{text.rstrip()}\n\n{section}\n")
