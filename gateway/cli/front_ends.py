"""The front ends of a broker that a command runs; each is loaded only if there is a port for it."""

from __future__ import annotations

from collections.abc import Iterable

from mqgateway.engine.meters import FrontEndMeter, Meters
from mqgateway.gateway.broker.service import BrokerService
from mqgateway.gateway.cli.observing import Observation
from mqgateway.gateway.cli.settings import BrokerSettings
from mqgateway.gateway.front_end import FrontEnd, FrontEndEnvironment, Running
from mqgateway.gateway.namesrv.name_server import NameServer
from mqgateway.gateway.runtime.service import Runtime


def start_front_ends(
    front_ends: Iterable[FrontEnd],
    broker: BrokerService,
    settings: BrokerSettings,
    observation: Observation,
    meters: Meters,
    runtime: Runtime,
    name_server: NameServer | None = None,
) -> dict[str, Running]:
    """Start the front ends that have a port, and return them by name in the order of their start."""
    options, environment = settings.broker, broker.broker.environment
    running: dict[str, Running] = {}
    for one in front_ends:
        port = one.port_in(options)
        if not port:
            continue
        meter = meters.front_ends[one.name] = FrontEndMeter(has_latency=observation.exports_metrics)
        running[one.name] = one.start(
            FrontEndEnvironment(
                operations=broker.operations,
                server=broker.server,
                reactor=runtime.reactor,
                clock=runtime.clock,
                host=one.host_in(options, settings.remoting.bind_address),
                port=port,
                advertised=options.broker_ip1,
                meter=meter,
                worker=environment.reader or environment.worker,
                name_server=name_server,
                spans=observation.spans,
            )
        )
    return running
