"""Environment of a broker's packages: settings, disk, clock, workers, and the broker's own addresses."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mqgateway.engine.clock import Clock
from mqgateway.engine.disk import Disk
from mqgateway.engine.message import pack_host
from mqgateway.engine.options import BrokerOptions, StoreOptions
from mqgateway.engine.worker import Worker

if TYPE_CHECKING:
    from mqgateway.engine.tier.reading import TierReading


@dataclass(frozen=True, eq=False)
class BrokerEnvironment:
    """Settings, resources and addresses of one broker.

    `tier` has messages that the log has deleted, if they are kept in an object store.
    `reader` does work that would block other users of `worker`: it reads cold data; None reads on the event
    loop. Clients connect to `port`, slaves to `ha_port`. Raises `OSError` if the host name in `brokerIP1`
    does not resolve.
    """

    options: BrokerOptions
    store_options: StoreOptions
    disk: Disk
    clock: Clock
    worker: Worker
    port: int
    ha_port: int
    reader: Worker | None = None
    tier: TierReading | None = None
    store_host: bytes = field(init=False)
    """The broker's address in the form of records."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "store_host", _store_host(self.options.broker_ip1, self.port))

    @property
    def address(self) -> str:
        """Address for clients. Its port may differ from the one the broker listens on."""
        return f"{self.options.broker_ip1}:{self.options.listen_port or self.port}"

    @property
    def ha_address(self) -> str:
        """Address that slaves connect to."""
        return f"{self.options.broker_ip2}:{self.store_options.ha_listen_port or self.ha_port}"

    def path(self, name: str) -> str:
        """Return the path of a file of the store."""
        return os.path.join(self.store_options.store_path_root_dir, name)

    def table_path(self, name: str) -> str:
        """Return the path of a table's file. RocketMQ: `BrokerPathConfigHelper`."""
        return self.path(os.path.join("config", name))


def _store_host(host: str, port: int) -> bytes:
    """Pack an address; a host name is resolved."""
    try:
        return pack_host(host, port)
    except OSError:
        return pack_host(socket.gethostbyname(host), port)
