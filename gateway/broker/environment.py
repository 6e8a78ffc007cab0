"""What the rooms of a broker stand on: settings, disk, time, workers, and the broker's own addresses."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass, field

from mqgateway.engine.clock import Clock
from mqgateway.engine.disk import Disk
from mqgateway.engine.message import pack_host
from mqgateway.engine.options import BrokerOptions, StoreOptions
from mqgateway.engine.worker import Worker


@dataclass(frozen=True, eq=False)
class Environment:
    """`reader` works where `worker` would keep others waiting: it reads what is cold; None reads on the loop.

    Clients reach the broker on `port`, slaves on `ha_port`. Raises `OSError` when the name in `brokerIP1` has
    no address.
    """

    options: BrokerOptions
    store_options: StoreOptions
    disk: Disk
    clock: Clock
    worker: Worker
    port: int
    ha_port: int
    reader: Worker | None = None
    store_host: bytes = field(init=False)
    """The broker's address, as records hold it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "store_host", _store_host(self.options.broker_ip1, self.port))

    @property
    def address(self) -> str:
        """Where clients reach the broker. Its port may be announced while the broker listens on another."""
        return f"{self.options.broker_ip1}:{self.options.listen_port or self.port}"

    @property
    def ha_address(self) -> str:
        """Where slaves reach it."""
        return f"{self.options.broker_ip2}:{self.store_options.ha_listen_port or self.ha_port}"

    def path(self, name: str) -> str:
        """Where a file of the store is kept."""
        return os.path.join(self.store_options.store_path_root_dir, name)

    def table_path(self, name: str) -> str:
        """Where a table is kept. Standard: `BrokerPathConfigHelper`."""
        return self.path(os.path.join("config", name))


def _store_host(host: str, port: int) -> bytes:
    """An address, which a configured name is looked up for."""
    try:
        return pack_host(host, port)
    except OSError:
        return pack_host(socket.gethostbyname(host), port)
