"""The table of Kafka's own test classes in ``docs/compatibility.md``, made of the expected outcomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from compat_tests.kafka.suites.kafka import NAME
from compat_tests.kafka.suites.outcomes import FAILED, LEFT, PASSED, SKIPPED, Expected, load
from compat_tests.support.servers import ROOT

PAGE = ROOT / "docs" / "compatibility.md"
BEGIN = "<!-- tests of Kafka: written by `python -m compat_tests.kafka.suites.table` -->"
END = "<!-- end of tests of Kafka -->"


def text(expected: Mapping[str, Expected]) -> str:
    """Return the table, and the sums above it."""
    classes: dict[str, list[Expected]] = {}
    for name, entry in sorted(expected.items()):
        classes.setdefault(name.rpartition(".")[0], []).append(entry)
    sums = Counter(entry.outcome for entry in expected.values())
    ran = sums[PASSED] + sums[FAILED]
    lines = [
        f"{sums[PASSED]} of {ran} tests pass, of {len(classes)} classes; {len(expected) - ran} are not run:",
        "",
        "| class | passes | fails | not run | why |",
        "| --- | --- | --- | --- | --- |",
        *(_row(name, entries) for name, entries in classes.items()),
    ]
    return "".join(f"{line}\n" for line in lines)


def _row(name: str, entries: Sequence[Expected]) -> str:
    sums = Counter(entry.outcome for entry in entries)
    numbers = sums[PASSED], sums[FAILED], sums[SKIPPED] + sums[LEFT]
    return f"| {name} | {' | '.join(map(str, numbers))} | {'; '.join(_reasons(entries))} |"


def _reasons(entries: Sequence[Expected]) -> Iterator[str]:
    """Yield the reasons of all that do not pass, each with the number of tests if they differ."""
    reasons = Counter(entry.reason for entry in entries if entry.outcome != PASSED)
    for reason, times in reasons.most_common():
        yield reason if len(reasons) == 1 else f"{reason} ({times})"


def placed(page: str) -> str:
    """Return the page with the table of the recorded outcomes in its place."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{text(load(NAME, 'ours'))}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(placed(PAGE.read_text()))
