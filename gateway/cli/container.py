"""The command `mqgateway container`, the standard's `mqbrokercontainer`: brokers as processes of their own.

    mqgateway container -c broker-container.conf
    mqadmin addBroker -c HOST:10811 -b /etc/rocketmq/broker-a.conf
    mqadmin removeBroker -c HOST:10811 -b DefaultCluster:broker-a:0

Standard: `BrokerContainerStartup`.
"""

import json
import os
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import click

import mqgateway
from mqgateway.engine.clock import SystemClock
from mqgateway.engine.errors import EngineError
from mqgateway.engine.options import OptionSet, Problem, RemotingOptions, TlsOptions
from mqgateway.engine.options.container import ContainerOptions
from mqgateway.engine.real_disk import RealDisk
from mqgateway.gateway.cli import examples
from mqgateway.gateway.cli.boot import container_boot_line, log_boot
from mqgateway.gateway.cli.environment import from_environment, unknown_variables
from mqgateway.gateway.cli.service_flags import (
    FILE,
    PORT,
    begin_logging,
    common_options,
    fail,
    important_flag,
    log_folder,
    process_start,
    report,
    standard,
)
from mqgateway.gateway.cli.settings import from_file, from_flags, from_pairs, from_tls_file, listing, stop_for
from mqgateway.gateway.cli.summary import default_advertise, local_addresses

DEFAULT_PORT = 10811
IMPORTANT = (
    "brokerContainerIP",
    "fetchNameSrvAddrByDnsLookup",
    "fetchNamesrvAddrByAddressServer",
    "listenPort",
    "namesrvAddr",
)
"""What `mqbrokercontainer -m` prints, as the standard's important properties."""


@dataclass
class ContainerSettings:
    """All settings of a container, and the set through which files and flags reach them."""

    container: ContainerOptions = field(default_factory=ContainerOptions)
    remoting: RemotingOptions = field(default_factory=lambda: RemotingOptions(listen_port=DEFAULT_PORT))
    tls: TlsOptions = field(default_factory=TlsOptions)

    def __post_init__(self) -> None:
        self.options = OptionSet(self.container, self.remoting, self.tls)

    def find_out(self) -> None:
        """Fill in what depends on the machine and was not set."""
        self.options.assume("brokerContainerIP", default_advertise(local_addresses()), "local address")


def container_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The flags of a container, the standard's among them."""
    for option in (
        important_flag,
        click.option("--port", type=PORT, help=f"Port to listen on.  [default: {DEFAULT_PORT}]"),
        click.option(
            *("-n", "--namesrv", "--namesrvAddr", "namesrv"),
            metavar="HOST:PORT",
            help="Name servers of all brokers, separated by ';'.",
        ),
        click.option(
            *("-b", "--broker-configs", "--brokerConfigPaths", "broker_configs"),
            metavar="FILE:FILE",
            help="Configuration files of the brokers to start, separated by ':'.",
        ),
        click.option(
            *("-c", "--config", "--configFile", "config"),
            type=FILE,
            help="Settings file of the container, in RocketMQ's format.",
        ),
    ):
        command = option(command)
    return common_options(command)


def settings_from(given: dict[str, Any]) -> tuple[ContainerSettings, list[Problem]]:
    """The settings out of file, environment and flags. Raises `ConfigError`."""
    settings = ContainerSettings()
    problems = unknown_variables(os.environ, [settings.options])
    found = from_file(given["config"]) + from_environment(os.environ, settings.options)
    found += from_pairs(given["pairs"])
    found += from_flags(
        {
            "namesrvAddr": given["namesrv"],
            "brokerConfigPaths": given["broker_configs"],
            "listenPort": given["port"],
            "bindAddress": given["bind"],
        }
    )
    problems += settings.options.apply(from_tls_file(found) + found)
    settings.find_out()
    return settings, problems


def run_container(**given: Any) -> None:
    """Run a broker container, which runs each broker as its own process.

    It starts the brokers in brokerConfigPaths, and mqadmin addBroker adds others. Environment variables set
    properties of the container. Properties of brokers are read from their files.
    """
    output = given["output"]
    try:
        settings, problems = settings_from(given)
    except EngineError as error:
        fail([str(error)], output)
        return
    if stop_for(problems, given["strict"]):
        fail(problems, output)
    report(problems, output)
    if given["important"]:
        click.echo("\n".join(f"{name}={settings.options.get(name)}" for name in IMPORTANT))
    elif given["print_config"]:
        click.echo(listing(settings.options, output))
    else:
        _run(settings, given)


def _run(settings: ContainerSettings, given: dict[str, Any]) -> None:
    began = process_start()
    output, level = given["output"], given["log_level"]
    levels = begin_logging(given, {"broker": settings.container})
    from mqgateway.gateway.cli.observed_service import ObservedService
    from mqgateway.gateway.cli.observing import Observation
    from mqgateway.gateway.cli.run import run
    from mqgateway.gateway.container.children import launcher
    from mqgateway.gateway.container.service import ContainerService

    def make(reactor: Any) -> ObservedService:
        clock, disk = SystemClock(), RealDisk()
        service = ContainerService(
            settings.container,
            settings.remoting,
            settings.tls,
            settings=settings.options,
            reactor=reactor,
            clock=clock,
            disk=disk,
            launch=launcher(reactor, child_command(), child_environment(os.environ)),
            default_name=socket.gethostname() or "DEFAULT_BROKER",
            configuration_path=os.path.abspath(given["config"]) if given["config"] else "",
            logs={"form": output, "level": level, "folder": log_folder(given)},
        )
        bound_to = settings.remoting.bind_address
        observation = Observation(
            settings.container, reactor=reactor, clock=clock, disk=disk, bound_to=bound_to
        )
        observation.container(service)
        return ObservedService(service, observation)

    def started(running: Any) -> None:
        service = running.service
        address = f"{settings.container.broker_container_ip}:{service.port}"
        brokers = service.brokers()
        seconds = SystemClock().monotonic() - began
        boot = container_boot_line(settings.container.namesrv_addr)
        log_boot([boot])
        if output == "json":
            said = {"container": address, "brokers": brokers, "startedInSeconds": round(seconds, 3)}
            click.echo(json.dumps(said | {"ready": True}))
        else:
            click.echo(f"container    {address}")
            for name, at in brokers.items():
                click.echo(f"broker       {at}   ({name})")
            click.echo(boot.text)
            click.echo(f"ready in {seconds:.2f} s")
        sys.stdout.flush()

    sys.exit(run(make, started, levels))


def child_command() -> list[str]:
    """How a broker's process is started, but for its file."""
    return [sys.executable, "-P", "-m", "mqgateway.gateway.cli.container_broker"]


def child_environment(environment: Any) -> dict[str, str]:
    """The environment of a broker's process, which finds these modules wherever it starts."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(mqgateway.__file__)))
    paths = [here, *filter(None, [environment.get("PYTHONPATH")])]
    return {**environment, "PYTHONPATH": os.pathsep.join(paths)}


container = click.command("container", epilog=examples.CONTAINER)(container_options(run_container))
mqbrokercontainer = standard("mqbrokercontainer", epilog=examples.CONTAINER)(container_options(run_container))
