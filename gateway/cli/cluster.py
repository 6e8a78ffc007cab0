"""`mqgateway cluster status`: who is master, who is in sync, which controller leads, and what is wrong.

Exit codes: 0 all is well, 3 something is wrong or somebody could not be asked, 1 nobody could be asked,
2 wrong usage.
"""

from __future__ import annotations

import json
from typing import Any

import click

from mqgateway.gateway.cli.client_flags import told
from mqgateway.gateway.cli.plain import escaped, escaped_json

NOT_WELL = 3

EXAMPLES = """\b
Examples:
  mqgateway cluster status -n 10.0.0.5:9876
  mqgateway cluster status --controller '10.0.0.1:9878;10.0.0.2:9878' --json"""


@click.command(epilog=EXAMPLES)
@click.option(
    "-n",
    "--namesrv",
    envvar="NAMESRV_ADDR",
    default="127.0.0.1:9876",
    show_default=True,
    help="Name servers, separated by ';'.",
)
@click.option(
    "--controller",
    default="",
    metavar="HOST:PORT",
    help="Controllers, by ';'.  [default: those of the brokers]",
)
@click.option("-c", "--cluster", "name", help="This cluster only.")
@click.option("--access-key", envvar="ROCKETMQ_ACCESS_KEY", help="Name under which requests are signed.")
@click.option("--secret-key", envvar="ROCKETMQ_SECRET_KEY", help="Key that they are signed with.")
@click.option("--tls", is_flag=True, help="Open connections with TLS.")
@click.option("--timeout", type=click.FloatRange(0, min_open=True), default=5.0, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@told
def status(**given: Any) -> None:
    """Show all brokers, masters and slaves, with epochs and how far they are, and the controllers."""
    from mqgateway.engine.clock import SystemClock
    from mqgateway.gateway.mqadmin.cluster_status import as_text, cluster_status
    from mqgateway.gateway.mqadmin.connection import Connections, encrypted, plain
    from mqgateway.gateway.mqadmin.servers import Servers

    connect = encrypted(None) if given["tls"] else plain
    connections = Connections(connect, SystemClock(), _credentials(given))
    servers = Servers(_addresses(given["namesrv"]), connections, given["timeout"])
    try:
        found = cluster_status(servers, _addresses(given["controller"]), given["name"])
    finally:
        connections.close()
    if given["as_json"]:
        click.echo(escaped_json(json.dumps({**found, "errors": servers.errors}, ensure_ascii=False)))
    else:
        for line in as_text(found):
            click.echo(line)
    for error in servers.errors:
        click.echo(f"error: {escaped(error['error'])}", err=True)
    if found["problems"] or servers.errors:
        raise SystemExit(NOT_WELL)


def _addresses(text: str) -> list[str]:
    return [one.strip() for one in text.split(";") if one.strip()]


def _credentials(given: dict[str, Any]) -> Any:
    if not given["access_key"]:
        return None
    if not given["secret_key"]:
        raise click.UsageError("--access-key needs --secret-key")
    from mqgateway.gateway.access.signature import Credentials

    return Credentials(given["access_key"], given["secret_key"])
