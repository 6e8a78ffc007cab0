"""The command `mqgateway controller`, the standard's `mqcontroller`: who is master of each broker set.

    mqgateway controller -c controller.conf
    mqadmin getControllerMetaData -a HOST:9878

Standard: `ControllerStartup`.
"""

import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import click

from mqgateway.engine.clock import SystemClock
from mqgateway.engine.errors import EngineError
from mqgateway.engine.options import Problem, format_value
from mqgateway.engine.real_disk import RealDisk
from mqgateway.gateway.cli import examples
from mqgateway.gateway.cli.boot import controller_boot_line, log_boot
from mqgateway.gateway.cli.environment import from_environment, unknown_variables
from mqgateway.gateway.cli.service_flags import (
    FILE,
    begin_logging,
    common_options,
    fail,
    important_flag,
    process_start,
    report,
    standard,
)
from mqgateway.gateway.cli.settings import (
    ControllerSettings,
    from_file,
    from_flags,
    from_pairs,
    from_tls_file,
    listing,
    stop_for,
)

IMPORTANT = (
    "controllerDLegerGroup",
    "controllerDLegerPeers",
    "controllerDLegerSelfId",
    "controllerStorePath",
    "enableElectUncleanMaster",
    "notifyBrokerRoleChanged",
)
"""What `mqcontroller -m` prints."""


def controller_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The flags of a controller, the standard's among them."""
    for option in (
        important_flag,
        click.option(
            *("-n", "--namesrv", "--namesrvAddr", "ignored"),
            hidden=True,
            help="Accepted for compatibility, without effect.",
        ),
        click.option(
            "--data-dir",
            type=click.Path(file_okay=False),
            help="Data folder.  [default: home folder]",
        ),
        click.option(
            *("-c", "--config", "--configFile", "config"),
            type=FILE,
            help="Settings file of the controller, in RocketMQ's format.",
        ),
    ):
        command = option(command)
    return common_options(command)


def settings_from(given: dict[str, Any]) -> tuple[ControllerSettings, list[Problem]]:
    """The settings out of file, environment and flags. Raises `ConfigError`."""
    settings = ControllerSettings()
    problems = unknown_variables(os.environ, [settings.options])
    found = from_file(given["config"]) + from_environment(os.environ, settings.options)
    found += from_pairs(given["pairs"])
    found += from_flags({"bindAddress": given["bind"]})
    problems += settings.options.apply(from_tls_file(found) + found)
    folder = given["data_dir"]
    settings.find_out(os.path.abspath(folder) if folder else None, given["config"])
    return settings, problems


def run_controller(**given: Any) -> None:
    """Run a controller, which elects the masters of broker sets.

    controllerDLegerPeers sets its address, as n0-10.0.0.1:9878. Several controllers also require
    controllerEtcdEndpoints.
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
        values = {name: format_value(settings.options.get(name)) for name in IMPORTANT}
        click.echo("\n".join(f"{name}={value}" for name, value in values.items()))
    elif given["print_config"]:
        click.echo(listing(settings.options, output))
    else:
        _run(settings, given)


def _run(settings: ControllerSettings, given: dict[str, Any]) -> None:
    began = process_start()
    output = given["output"]
    levels = begin_logging(given, {"controller": settings.controller})
    from mqgateway.gateway.cli.observed_service import ObservedService
    from mqgateway.gateway.cli.observing import Observation
    from mqgateway.gateway.cli.preconditions import check_controller_start
    from mqgateway.gateway.cli.run import run
    from mqgateway.gateway.controller.service import ControllerService
    from mqgateway.gateway.remoting.dispatch import Hook
    from mqgateway.gateway.remoting.tls import ServerTls

    try:
        check_controller_start(settings)
    except EngineError as error:
        fail(str(error).splitlines(), output)

    def make(reactor: Any) -> ObservedService:
        clock, disk = SystemClock(), RealDisk()
        observation = Observation(
            settings.controller,
            reactor=reactor,
            clock=clock,
            disk=disk,
            bound_to=settings.remoting.bind_address,
        )

        def make_service(hooks: Sequence[Hook]) -> ControllerService:
            return ControllerService(
                settings.controller,
                remoting=settings.remoting,
                reactor=reactor,
                clock=clock,
                disk=disk,
                settings=settings.options,
                tls=ServerTls(settings.tls, disk),
                hooks=hooks,
            )

        service = observation.controller(make_service, settings.controller)
        return ObservedService(service, observation)

    def started(running: Any) -> None:
        service = running.service
        seconds = SystemClock().monotonic() - began
        boot = controller_boot_line(is_alone=True)
        log_boot([boot])
        endpoints = settings.controller.controller_etcd_endpoints
        where = "etcd" if endpoints else "data"
        found = endpoints or settings.controller.controller_store_path
        if output == "json":
            said = {"controller": service.peer.address, where: found}
            click.echo(json.dumps(said | {"startedInSeconds": round(seconds, 3), "ready": True}))
        else:
            address = service.peer.address
            click.echo(f"controller   {address}   (brokers: controllerAddr={address})")
            click.echo(f"{where:<13}{found}")
            click.echo(boot.text)
            click.echo(f"ready in {seconds:.2f} s")
        sys.stdout.flush()

    sys.exit(run(make, started, levels))


controller = click.command("controller", epilog=examples.CONTROLLER)(controller_options(run_controller))
mqcontroller = standard("mqcontroller", epilog=examples.CONTROLLER)(controller_options(run_controller))
