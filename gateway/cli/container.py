"""The command `mqgateway container`, RocketMQ's `mqbrokercontainer`: each broker is a separate process.

    mqgateway container -c broker-container.conf
    mqadmin addBroker -c HOST:10811 -b /etc/rocketmq/broker-a.conf
    mqadmin removeBroker -c HOST:10811 -b DefaultCluster:broker-a:0

Standard: `BrokerContainerStartup`.
"""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import click

import mqgateway
from mqgateway.engine.clock import SystemClock
from mqgateway.engine.options import OptionSet, RemotingOptions, SettingProblem, TlsOptions
from mqgateway.engine.options.container import ContainerOptions
from mqgateway.engine.real_disk import RealDisk
from mqgateway.gateway.cli import examples
from mqgateway.gateway.cli.boot import container_boot_line
from mqgateway.gateway.cli.service_flags import (
    FILE,
    PORT,
    begin_logging,
    common_options,
    important_flag,
    log_folder,
    process_start,
    standard,
)
from mqgateway.gateway.cli.settings import host_name
from mqgateway.gateway.cli.starting import apply_given, say_ready, settings_to_run
from mqgateway.gateway.cli.summary import default_advertise, local_addresses

DEFAULT_PORT = 10811
IMPORTANT = (
    "brokerContainerIP",
    "fetchNameSrvAddrByDnsLookup",
    "fetchNamesrvAddrByAddressServer",
    "listenPort",
    "namesrvAddr",
)
"""Properties that `mqbrokercontainer -m` prints: RocketMQ's important properties."""


@dataclass
class ContainerSettings:
    """All settings of a container, and the set through which files and flags reach them."""

    container: ContainerOptions = field(default_factory=ContainerOptions)
    remoting: RemotingOptions = field(default_factory=lambda: RemotingOptions(listen_port=DEFAULT_PORT))
    tls: TlsOptions = field(default_factory=TlsOptions)

    def __post_init__(self) -> None:
        self.options = OptionSet(self.container, self.remoting, self.tls)

    def find_out(self) -> None:
        """Fill in unset settings that depend on the machine."""
        self.options.assume("brokerContainerIP", default_advertise(local_addresses()), "local address")


def container_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags of a container, including RocketMQ's."""
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


def settings_from(given: dict[str, Any]) -> tuple[ContainerSettings, list[SettingProblem]]:
    """Return the settings from file, environment and flags, and their problems. Raises `ConfigError`."""
    settings = ContainerSettings()
    flags = {
        "namesrvAddr": given["namesrv"],
        "brokerConfigPaths": given["broker_configs"],
        "listenPort": given["port"],
    }
    problems = apply_given(settings.options, given, flags)
    settings.find_out()
    return settings, problems


def run_container(**given: Any) -> None:
    """Run a broker container, which runs each broker as its own process.

    It starts the brokers in brokerConfigPaths, and mqadmin addBroker adds others. Environment variables set
    properties of the container. Properties of brokers are read from their files.
    """
    settings = settings_to_run(given, settings_from, IMPORTANT)
    if settings is not None:
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
    from mqgateway.gateway.runtime.service import Runtime

    def make(reactor: Any) -> ObservedService:
        runtime = Runtime(reactor, SystemClock(), RealDisk())
        service = ContainerService(
            settings.options,
            runtime,
            launch=launcher(reactor, child_command(), child_environment(os.environ)),
            default_name=host_name(),
            configuration_path=os.path.abspath(given["config"]) if given["config"] else "",
            logs={"form": output, "level": level, "folder": log_folder(given)},
        )
        observation = Observation(settings.container, runtime, bound_to=settings.remoting.bind_address)
        observation.fleet(service.container.supervision)
        return ObservedService(runtime, service, observation)

    def started(running: Any) -> None:
        service = running.service
        address = f"{settings.container.broker_container_ip}:{service.port}"
        brokers = service.brokers()
        say_ready(
            output,
            {"container": address, "brokers": brokers},
            [f"container    {address}", *(f"broker       {at}   ({name})" for name, at in brokers.items())],
            container_boot_line(settings.container.namesrv_addr),
            began,
        )

    sys.exit(run(make, started, levels))


def child_command(module: str = "container_broker") -> list[str]:
    """Return the command line of a broker's process, without its last argument; `module` has its `main`."""
    return [sys.executable, "-P", "-m", "mqgateway.gateway.cli.loading", module]


def child_environment(environment: Any) -> dict[str, str]:
    """Return the environment of a broker's process, with which it finds these modules in any folder."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(mqgateway.__file__)))
    paths = [here, *filter(None, [environment.get("PYTHONPATH")])]
    return {**environment, "PYTHONPATH": os.pathsep.join(paths)}


container = click.command("container", epilog=examples.CONTAINER)(container_options(run_container))
mqbrokercontainer = standard("mqbrokercontainer", epilog=examples.CONTAINER)(container_options(run_container))
