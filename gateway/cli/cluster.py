"""`mqgateway cluster status`: masters, in-sync replicas, leading controller, and faults.

Exit codes: 0 all is well, 3 something is wrong or a server did not answer, 1 no server answered,
2 wrong usage.
"""

from __future__ import annotations

import json
from typing import Any

import click
from click.core import ParameterSource

from mqgateway.gateway.cli.client_flags import (
    NAMESRV,
    asking,
    asking_flags,
    checked_addresses,
    reports_errors,
)
from mqgateway.gateway.cli.ending import complain
from mqgateway.gateway.cli.plain import escaped_json
from mqgateway.gateway.runtime.name_servers import split_addresses

NOT_WELL = 3

EXAMPLES = """\b
Examples:
  mqgateway cluster status -n 10.0.0.5:9876
  mqgateway cluster status --controller '10.0.0.1:9878;10.0.0.2:9878' --json"""


@click.command(epilog=EXAMPLES)
@NAMESRV
@click.option(
    "--controller",
    default="",
    metavar="HOST:PORT",
    help="Controllers, separated by ';'.  [default: those of the brokers]",
)
@click.option("-c", "--cluster", "name", help="Limit to this cluster.")
@asking_flags
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@reports_errors
def status(**given: Any) -> None:
    """Show all brokers, masters and slaves, with epochs and how far they are, and the controllers."""
    from mqgateway.gateway.mqadmin.cluster_status import as_text, cluster_status

    source = click.get_current_context().get_parameter_source("namesrv")
    named = checked_addresses(given["namesrv"]) if source is ParameterSource.COMMANDLINE else []
    with asking(named, given) as servers:
        found = cluster_status(servers, split_addresses(given["controller"]), given["name"])
    if given["as_json"]:
        click.echo(escaped_json(json.dumps({**found, "errors": servers.errors}, ensure_ascii=False)))
    else:
        for line in as_text(found):
            click.echo(line)
    for error in servers.errors:
        complain(error["error"])
    if found["problems"] or servers.errors:
        raise SystemExit(NOT_WELL)
