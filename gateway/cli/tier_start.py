"""Starts the process that saves a broker's log, if the settings name an object store."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mqgateway.gateway.broker.service import BrokerService
from mqgateway.gateway.cli.settings import BrokerSettings
from mqgateway.gateway.runtime.schedule import Schedule
from mqgateway.gateway.runtime.service import Runtime

if TYPE_CHECKING:
    from mqgateway.gateway.tiering.saver import TierSaver


def start_saver(
    broker: BrokerService, settings: BrokerSettings, runtime: Runtime, schedule: Schedule
) -> TierSaver | None:
    """Start the saver of a broker that serves; return None if its log is not saved."""
    if not settings.store.tiered_store_path:
        return None
    from mqgateway.gateway.cli.container import child_command, child_environment
    from mqgateway.gateway.cli.tier_saver import first_line
    from mqgateway.gateway.container.children import launcher
    from mqgateway.gateway.tiering.saver import TierSaver

    command, environment = child_command("tier_saver"), child_environment(os.environ)
    launch = launcher(runtime.reactor, command, environment)  # type: ignore[arg-type]
    saver = TierSaver(broker.broker, first_line(settings), launch, schedule)
    saver.start()
    return saver
