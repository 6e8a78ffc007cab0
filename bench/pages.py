"""A page of which each benchmark writes its own section, and leaves the others alone."""

import re
from pathlib import Path


def write_section(path: Path, name: str, lines: list[str]) -> None:
    """Put a section in the place it had, or at the end of the page; the page is made if it is not there."""
    begin, end = f"<!-- {name}: written by the benchmark -->", f"<!-- end of {name} -->"
    text = path.read_text() if path.exists() else "# Benchmarks\n"
    section = "\n".join([begin, "", *lines, "", end])
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    replaced, count = pattern.subn(lambda _: section, text)
    path.write_text(replaced if count else f"{text.rstrip()}\n\n{section}\n")
