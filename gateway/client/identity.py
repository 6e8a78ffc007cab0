"""Client ids and message ids.

A client id is `ip@instance[@unit]`. An instance without a configured name is named after the process id and a
number unique in the process. RocketMQ: `ClientConfig.buildMQClientId`, `MessageClientIDSetter`.
"""

from __future__ import annotations

import datetime
import itertools
import os
import random
import socket
from ipaddress import ip_address
from typing import Final

from mqgateway.engine.unique_keys import UniqueKeys
from mqgateway.gateway.client.options import ClientOptions

DEFAULT_INSTANCE: Final = "DEFAULT"
LOOPBACK: Final = "127.0.0.1"
_MONTH_MILLIS: Final = 28 * 86_400_000

_instances: Final = itertools.count(1)


def client_id(options: ClientOptions, ip: str, *, named: bool = False, pid: int = 0) -> str:
    """Return a client id.

    With `named`, an instance keeps the name DEFAULT, by which offsets of broadcasting are found.
    """
    instance = options.instance_name
    if instance == DEFAULT_INSTANCE and not named:
        instance = f"{pid or os.getpid()}#{next(_instances)}{random.getrandbits(32):010d}"
    return "@".join(part for part in (options.client_ip or ip, instance, options.unit_name) if part)


def own_ip(server: str) -> str:
    """Return the local address used to reach `server` (`host:port`); sends no packet."""
    host, _, port = server.rpartition(":")
    try:
        family, kind, *_, address = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind) as probe:
            probe.connect(address)
            return str(probe.getsockname()[0])
    except OSError:
        return LOOPBACK


class MessageIds:
    """Generator of unique message keys.

    They count milliseconds from the start of the month in local time.
    """

    def __init__(self, ip: str, pid: int, salt: int) -> None:
        self._packed = _packed(ip)
        self._pid = pid
        self._salt = salt
        self._keys: UniqueKeys | None = None
        self._until = 0

    def next(self, now: int) -> str:
        """Return a new key; `now` in ms since the epoch."""
        return self.keys(now).next(now)

    def keys(self, now: int) -> UniqueKeys:
        """Return the key generator of the current month."""
        if self._keys is None or now >= self._until:
            start = month_start(now)
            self._until = month_start(start + _MONTH_MILLIS + 4 * 86_400_000)
            self._keys = UniqueKeys(self._packed, self._pid, self._salt, start)
        return self._keys


def month_start(now: int) -> int:
    """Return the start of the month of `now` in local time; both in ms since the epoch."""
    moment = datetime.datetime.fromtimestamp(now / 1000)
    return int(moment.replace(day=1, hour=0, minute=0, second=0, microsecond=0).timestamp()) * 1000


def _packed(ip: str) -> bytes:
    try:
        return ip_address(ip).packed
    except ValueError:
        return ip_address(LOOPBACK).packed
