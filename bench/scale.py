"""`python -m bench.scale`: how large things may get, measured part by part.

`names`: a name server with very many brokers, topics and clients; `broker`: a broker whose store and tables
are very large, with many connections. Each part starts what it needs in a
temporary folder; what it finds goes to a table, a file of all figures, and the page's section.
"""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console

from bench import scale_broker, scale_names
from bench.pages import json_option, page_option, write_section
from bench.scale_part import Finding, Part, Plan, load_findings, save_findings

PARTS: tuple[Part, ...] = (scale_names.PART, scale_broker.PART)


def section(findings: Sequence[Finding]) -> list[str]:
    """The section of the page, with all parts of which something was found."""
    lines = [
        "## Scale",
        "",
        "`python -m bench.scale` repeats it; CPU time is given beside the time by the clock.",
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
    """Measure how large things may get."""
    console = Console(width=160, file=sys.stderr)
    findings = load_findings(json_path)
    for part in () if no_run else PARTS:
        if names and part.name not in names:
            continue
        with tempfile.TemporaryDirectory(prefix="mqgateway-scale-", dir=work) as folder:
            with console.status(part.name) as status:
                plan = Plan(scale, apache, Path(folder), lambda what: status.update(what))
                found: list[Finding] = []
                for one in part.measure(plan):
                    console.print(one.part, one.server, one.what, one.figures, highlight=False)
                    found.append(one)
                    kept = [known for known in findings if not _is_again(known, found)]
                    if json_path:
                        save_findings(json_path, [*kept, *found])
                findings = [*kept, *found]
    lines = section(findings)
    print("\n".join(lines))
    if page_path:
        write_section(Path(page_path), "scale", lines)


def _is_again(known: Finding, found: Sequence[Finding]) -> bool:
    return any((known.part, known.server) == (one.part, one.server) for one in found)


if __name__ == "__main__":
    main()
