"""The command `mqgateway controller`, RocketMQ's `mqcontroller`: elects the master of each broker set.

    mqgateway controller -c controller.conf
    mqadmin getControllerMetaData -a HOST:9878

Standard: `ControllerStartup`.
"""

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import click

from mqgateway.engine.clock import SystemClock
from mqgateway.engine.errors import EngineError
from mqgateway.engine.options import SettingProblem
from mqgateway.engine.real_disk import RealDisk
from mqgateway.gateway.cli import examples
from mqgateway.gateway.cli.boot import controller_boot_line
from mqgateway.gateway.cli.service_flags import (
    FILE,
    begin_logging,
    common_options,
    fail,
    important_flag,
    process_start,
    standard,
)
from mqgateway.gateway.cli.settings import (
    ControllerSettings,
)
from mqgateway.gateway.cli.starting import apply_given, say_ready, settings_to_run

IMPORTANT = (
    "controllerDLegerGroup",
    "controllerDLegerPeers",
    "controllerDLegerSelfId",
    "controllerStorePath",
    "enableElectUncleanMaster",
    "notifyBrokerRoleChanged",
)
"""Properties that `mqcontroller -m` prints."""


def controller_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags of a controller, including RocketMQ's."""
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


def settings_from(given: dict[str, Any]) -> tuple[ControllerSettings, list[SettingProblem]]:
    """Return the settings from file, environment and flags, and their problems. Raises `ConfigError`."""
    settings = ControllerSettings()
    problems = apply_given(settings.options, given, {})
    folder = given["data_dir"]
    settings.find_out(os.path.abspath(folder) if folder else None, given["config"])
    return settings, problems


def run_controller(**given: Any) -> None:
    """Run a controller, which elects the masters of broker sets.

    controllerDLegerPeers sets its address, as n0-10.0.0.1:9878. Several controllers also require
    controllerEtcdEndpoints.
    """
    settings = settings_to_run(given, settings_from, IMPORTANT)
    if settings is not None:
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
    from mqgateway.gateway.runtime.service import Runtime

    try:
        check_controller_start(settings)
    except EngineError as error:
        fail(str(error).splitlines(), output)

    def make(reactor: Any) -> ObservedService:
        runtime = Runtime(reactor, SystemClock(), RealDisk())
        observation = Observation(settings.controller, runtime, bound_to=settings.remoting.bind_address)

        def make_service(hooks: Sequence[Hook]) -> ControllerService:
            return ControllerService(settings.options, runtime, hooks=hooks)

        service = observation.controller(make_service, settings.controller)
        return ObservedService(runtime, service, observation)

    def started(running: Any) -> None:
        address = running.service.peer.address
        endpoints = settings.controller.controller_etcd_endpoints
        where = "etcd" if endpoints else "data"
        found = endpoints or settings.controller.controller_store_path
        say_ready(
            output,
            {"controller": address, where: found},
            [f"controller   {address}   (brokers: controllerAddr={address})", f"{where:<13}{found}"],
            controller_boot_line(is_alone=True),
            began,
        )

    sys.exit(run(make, started, levels))


controller = click.command("controller", epilog=examples.CONTROLLER)(controller_options(run_controller))
mqcontroller = standard("mqcontroller", epilog=examples.CONTROLLER)(controller_options(run_controller))
