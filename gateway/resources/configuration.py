"""`mqgateway config`: settings of brokers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from mqgateway.gateway.client import admin_broker as broker
from mqgateway.gateway.client.errors import NoBroker
from mqgateway.gateway.mqadmin.declaration import CommandCall, NameKind, Row, command, flag, operand
from mqgateway.gateway.resources import FOUND
from mqgateway.gateway.resources.borrowed import borrow
from mqgateway.gateway.resources.rendering import listed, table

OF_ONE = frozenset(
    {
        "brokerName",
        "brokerId",
        "brokerRole",
        "brokerIP1",
        "brokerIP2",
        "listenPort",
        "haListenPort",
        "haMasterAddress",
        "storePathRootDir",
        "storePathCommitLog",
        "brokerConfigPath",
        "rocketmqHome",
    }
)
"""Settings that normally differ between brokers."""

borrow("config show", "getBrokerConfig", listed)
borrow("config set", "updateBrokerConfig", table("broker", "key", "value"), k="key", v="value")


@command(
    "config diff",
    operand("a", "broker", "first broker as host:port", values=NameKind.ADDRESS),
    operand("o", "other", "second broker as host:port", values=NameKind.ADDRESS),
    flag("", "all", "include settings that normally differ: names, addresses, paths"),
    text=table("key", "here", "there", nothing="no differences"),
)
def diff(call: CommandCall) -> Iterator[Row]:
    """Yield the different settings; exit with `FOUND` if any. None: a broker does not have the key."""
    one, other = (call.servers.ask(broker.settings(), call.given.need(key)) for key in "ao")
    for key in sorted(one.keys() | other.keys()):
        if one.get(key) != other.get(key) and ("all" in call.given or key not in OF_ONE):
            call.ended = FOUND
            yield {"key": key, "here": one.get(key), "there": other.get(key)}


@command(
    "config explain",
    operand("k", "key", "name of the setting, or a part of it"),
    text=listed,
)
def explain(call: CommandCall) -> Iterator[Row]:
    """Explain settings of brokers, name servers and controllers; no server is queried."""
    wanted = call.given.need("k").lower()
    found = list(_explained())
    exact = [row for row in found if row["key"].lower() == wanted]
    chosen = exact or [row for row in found if wanted in row["key"].lower()]
    if not chosen:
        raise NoBroker(f"there is no setting {call.given.need('k')}")
    yield from chosen


def _explained() -> Iterable[Row]:
    # Hundreds of settings are slow to load, and only this command needs them.
    from mqgateway.engine.options import (
        BrokerOptions,
        NamesrvOptions,
        OptionSet,
        RemotingOptions,
        StoreOptions,
        TlsOptions,
        format_value,
    )
    from mqgateway.engine.options.controller import ControllerOptions

    found: dict[str, dict[str, Any]] = {}
    for server, options in (
        ("broker", OptionSet(BrokerOptions(), StoreOptions(), RemotingOptions(), TlsOptions())),
        ("name server", OptionSet(NamesrvOptions(), RemotingOptions(listen_port=9876), TlsOptions())),
        ("controller", OptionSet(ControllerOptions(), RemotingOptions(), TlsOptions())),
    ):
        for name in options.names():
            one = options.option(name)
            row = found.setdefault(
                name,
                {
                    "key": name,
                    "servers": [],
                    "meaning": one.meaning,
                    "default": format_value(one.default),
                    "unit": one.unit,
                    "noEffect": one.no_effect,
                    "isStandard": not one.ours,
                },
            )
            row["servers"].append(server)
    return found.values()
