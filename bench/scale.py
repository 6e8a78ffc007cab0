"""`python -m bench scale`: how large things may get, measured part by part.

`names`: a name server with very many brokers, topics and clients; `broker`: a broker whose store and tables
are very large; `connections`: one with very many connections; `container`: what broker processes cost; `day`:
what grows in a day of load, compressed. Each part starts what it needs in a temporary folder; what it finds
goes to a table, a file of all figures, and the page's section.
"""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console

from bench import scale_broker, scale_container, scale_day, scale_names
from bench.pages import json_option, page_option, write_section
from bench.scale_part import Finding, Part, Plan, load_findings, save_findings

PARTS: tuple[Part, ...] = (
    scale_names.PART,
    scale_broker.PART,
    scale_broker.CONNECTIONS_PART,
    scale_container.PART,
    scale_day.PART,
)


def section(findings: Sequence[Finding]) -> list[str]:
    """The section of the page, with all parts of which something was found."""
    lines = [
        "## Scale",
        "",
        "`python -m bench scale` repeats it; CPU time is given beside the time by the clock.",
        "",
    ]
    for part in PARTS:
        lines += part.section(findings)
    return lines[:-1]


@click.command()
@click.option("--part", "names", multiple=True, type=click.Choice([part.name for part in PARTS]))
@click.option("--scale", default=1.0, show_default=True, help="Share of each part's sizes and times.")
@click.option("--apache", is_flag=True, help="Apache's server too, where a part knows how.")
@click.option(
    "--work", type=click.Path(file_okay=False), help="Folder to work in.  [default: a temporary one]"
)
@json_option("Write all figures here. Parts that the file has stay; those measured now are replaced.")
@page_option("Write the section of this page, with all parts that the file of --json has.")
@click.option("--no-run", is_flag=True, help="Measure nothing: page of what the file has.")
def main(
    names: tuple[str, ...],
    scale: float,
    apache: bool,
    work: str | None,
    json_path: str | None,
    page_path: str | None,
    no_run: bool,
) -> None:
    """Find the limits of a name server, a broker and a container, and the growth in a day of load."""
    console = Console(width=160, file=sys.stderr)
    findings = load_findings(json_path)
    for part in () if no_run else PARTS:
        if names and part.name not in names:
            continue
        found: list[Finding] = []
        with (
            tempfile.TemporaryDirectory(prefix="mqgateway-scale-", dir=work) as folder,
            console.status(part.name) as status,
        ):
            for one in part.measure(Plan(scale, apache, Path(folder), status.update)):
                console.print(one.part, one.server, one.what, one.figures, highlight=False)
                found.append(one)
                if json_path:
                    save_findings(json_path, together(findings, found))
        findings = together(findings, found)
    lines = section(findings)
    print("\n".join(lines))
    if page_path:
        write_section(Path(page_path), "scale", lines)


def together(known: Sequence[Finding], found: Sequence[Finding]) -> list[Finding]:
    """What is known of other parts and servers, and what was found now."""
    again = {(one.part, one.server) for one in found}
    return [*(one for one in known if (one.part, one.server) not in again), *found]
