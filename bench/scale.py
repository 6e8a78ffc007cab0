"""`python -m bench scale`: limits of size, measured part by part.

`names`: a name server with very many brokers, topics and clients; `broker`: a broker with a very large store
and tables; `connections`: one with very many connections; `container`: the cost of broker processes; `day`:
growth over a compressed day of load. Each part starts its servers in a temporary folder; its findings go to a
table, a file of all figures, and the page's section.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import click

from bench import scale_broker, scale_container, scale_day, scale_names
from bench.frame import Invocation, benchmark
from bench.scale_part import Finding, Part, Plan, load_findings, save_findings

PARTS: tuple[Part, ...] = (
    scale_names.PART,
    scale_broker.PART,
    scale_broker.CONNECTIONS_PART,
    scale_container.PART,
    scale_day.PART,
)


def section(findings: Sequence[Finding]) -> list[str]:
    """Return the section of the page, with all parts that have findings."""
    lines = [
        "## Scale",
        "",
        "`python -m bench scale` repeats it; CPU time is given beside the time by the clock.",
        "",
    ]
    for part in PARTS:
        lines += part.section(findings)
    return lines[:-1]


@benchmark(
    "scale --row names --scale 0.01 --json scale.json",
    rows=[part.name for part in PARTS],
    is_scaled=True,
    is_kept=True,
)
@click.option("--apache", is_flag=True, help="Apache's server too, where a part knows how.")
@click.option(
    "--work", type=click.Path(file_okay=False), help="Folder to work in.  [default: a temporary one]"
)
def main(given: Invocation, apache: bool, work: str | None) -> None:
    """Find the limits of a name server, a broker and a container, and the growth in a day of load."""
    findings = load_findings(given.json_path)
    for part in () if given.no_run else given.select(PARTS):
        found: list[Finding] = []
        with (
            tempfile.TemporaryDirectory(prefix="mqgateway-scale-", dir=work) as folder,
            given.console.status(part.name) as status,
        ):
            for one in part.measure(Plan(given.scale, apache, Path(folder), status.update)):
                given.console.print(one.part, one.server, one.what, one.figures)
                found.append(one)
                if given.json_path:
                    save_findings(given.json_path, together(findings, found))
        findings = together(findings, found)
    given.write("scale", section(findings))


def together(known: Sequence[Finding], found: Sequence[Finding]) -> list[Finding]:
    """Return the new findings and the known ones of other parts and servers."""
    again = {(one.part, one.server) for one in found}
    return [*(one for one in known if (one.part, one.server) not in again), *found]
