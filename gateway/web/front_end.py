"""The declaration of the console; nothing of it is loaded before it is started."""

from __future__ import annotations

from collections.abc import Iterator

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import BrokerOptions
from mqgateway.gateway.front_end import FrontEnd, FrontEndEnvironment, Running


def start(around: FrontEndEnvironment) -> Running:
    """Start the console on its port."""
    from mqgateway.gateway.web.service import ConsoleService

    console = ConsoleService(
        around.operations,
        around.server,
        reactor=around.reactor,
        clock=around.clock,
        name_server=around.name_server,
        worker=around.worker,
    )
    console.start()
    return console


def problems(options: BrokerOptions) -> Iterator[str]:
    """Yield the error of the settings by which users log in."""
    from mqgateway.gateway.web.entrance import check

    try:
        check(options)
    except ConfigError as error:
        yield str(error)


CONSOLE = FrontEnd(
    name="console",
    title="console",
    start=start,
    setting="consolePort",
    flag="--console-port",
    flag_help="Port of the web console. 0: no console.",
    serve_port=8088,
    is_for_clients=False,
    host=lambda options: options.console_host,
    problems=problems,
)
