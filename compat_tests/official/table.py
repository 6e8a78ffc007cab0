"""The table of all official test classes in ``docs/compatibility.md``, made from the recorded results."""

from __future__ import annotations

from compat_tests.official.classes import CLASSES, NOT_HERE
from compat_tests.official.results import FAILED, IGNORED, INSIDE, Outcomes, Results, load, recorded
from compat_tests.support.artifacts import CURRENT
from compat_tests.support.servers import ROOT

PAGE = ROOT / "docs" / "compatibility.md"
BEGIN = "<!-- official tests: written by `python -m compat_tests.official table` -->"
END = "<!-- end of official tests -->"


def write() -> None:
    """Put the table in its place on the page."""
    page = PAGE.read_text()
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    PAGE.write_text(f"{before}{BEGIN}\n{text()}{END}{after}")


def text() -> str:
    """The table and what is said above it."""
    apache, ours = load(recorded("apache")), load(recorded("ours"))
    lines = [
        "Methods that passed, of those that ran, in one of three tries:",
        "",
        f"- this server: {_when(ours)}",
        f"- Apache's server {CURRENT}: {_when(apache)}",
        "",
        "| class | Apache's | this server | what does not run here |",
        "| --- | --- | --- | --- |",
    ]
    for name in sorted([*CLASSES, *NOT_HERE]):
        if name in NOT_HERE:
            lines.append(f"| `{name}` | - | - | cannot apply: {NOT_HERE[name]} |")
        else:
            first, second = apache.classes.get(name, {}), ours.classes.get(name, {})
            lines.append(f"| `{name}` | {_cell(first)} | {_cell(second)} | {_remark(first, second)} |")
    return "\n".join(["", *lines, ""])


def of_a_run(results: Results) -> list[str]:
    """All classes, and what came of each in one run."""
    lines = [f"{_sum(results)} methods passed, in one of three tries"]
    for name in sorted([*CLASSES, *NOT_HERE]):
        outcomes = results.classes.get(name, {})
        again = [f"{method} (try {one.tries})" for method, one in sorted(outcomes.items()) if one.tries > 1]
        remarks = [f"cannot apply: {NOT_HERE[name]}"] if name in NOT_HERE else []
        remarks += [_cell(outcomes)] if _ran(outcomes) else []
        remarks += [_remark({}, outcomes)]
        remarks += [f"tried again: {', '.join(again)}"] if again else []
        lines.append(f"{name}: {'; '.join(one for one in remarks if one) or 'did not run'}")
    return lines


def _ran(outcomes: Outcomes) -> int:
    return sum(outcome.result not in (IGNORED, INSIDE) for outcome in outcomes.values())


def _failed(outcomes: Outcomes) -> list[str]:
    return sorted(method for method, outcome in outcomes.items() if outcome.result == FAILED)


def _cell(outcomes: Outcomes) -> str:
    ran = _ran(outcomes)
    return f"{ran - len(_failed(outcomes))} of {ran}" if ran else "-"


def _when(results: Results) -> str:
    return f"{_sum(results)}, on {results.date}" if results.classes else "no run is recorded yet"


def _sum(results: Results) -> str:
    ran = sum(_ran(outcomes) for outcomes in results.classes.values())
    failed = sum(len(_failed(outcomes)) for outcomes in results.classes.values())
    return f"{ran - failed} of {ran}"


def _remark(apache: Outcomes, ours: Outcomes) -> str:
    said = []
    for what, result in (("switched off by Apache", IGNORED), ("needs the server in its process", INSIDE)):
        methods = sorted(method for method, outcome in (apache | ours).items() if outcome.result == result)
        if methods == ["*"]:
            said.append(what)
        elif methods:
            said.append(f"{what}: {_listed(methods)}")
    for whom, outcomes in (("Apache's", apache), ("this server", ours)):
        if _failed(outcomes):
            said.append(f"fails on {whom}: {_listed(_failed(outcomes))}")
    return "; ".join(said)


def _listed(methods: list[str]) -> str:
    return ", ".join(f"`{method}`" for method in methods)
