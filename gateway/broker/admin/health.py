"""Health of a broker: its store, its role, and the name servers that know it.

A master is healthy if it accepts messages. A disk that takes no writes makes it unhealthy, although it still
serves what is stored. A broker that has name servers is healthy if one of them knows it. If the log is saved
to an object store, the oldest message that is not saved must be younger than half of fileReservedTime. A
broker that drains is not ready, so that load balancers give it no more clients.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from mqgateway.engine.store.saved_log import UNKNOWN, SavedLog
from mqgateway.gateway.broker.broker import Broker

_HOUR_MILLIS = 3_600_000


class Check(NamedTuple):
    """The state of one part of a server. Without `is_fine` the server cannot be used."""

    is_fine: bool
    state: str


Health = dict[str, Check]
"""The checks of a server, by the name of the part."""


def broker_health(broker: Broker, name_servers: Mapping[str, bool]) -> Health:
    """Return the checks of a broker that has started.

    `name_servers` has True for each address that knows the broker.
    """
    checks = {
        "store": _store(broker),
        "role": _role(broker),
        "name servers": _name_servers(name_servers),
    }
    saved = broker.store.admin.saved
    if saved.is_on:
        checks["long retention"] = _saved(broker, saved)
    if broker.is_draining:
        checks["stop"] = Check(False, "draining: clients are moved to other brokers")
    return checks


def _saved(broker: Broker, saved: SavedLog) -> Check:
    behind = saved.behind_millis(broker.clock.millis())
    limit = broker.environment.store_options.file_reserved_time * _HOUR_MILLIS // 2
    state = f"the oldest message that is not saved is {behind // 1000} s old" if behind else "saved"
    if saved.saved_to == UNKNOWN:
        state = "not known yet"
    return Check(behind <= limit, f"{state}, {saved.failure}" if saved.failure else state)


def _store(broker: Broker) -> Check:
    sickness = broker.store.sickness
    return Check(not sickness, f"takes no messages: {sickness}" if sickness else "open")


def _role(broker: Broker) -> Check:
    role = broker.role
    state = f"{role.state.kind.value}, id {role.state.broker_id}"
    if role.is_fenced:
        return Check(False, state)
    if role.is_master:
        refusal = broker.store.refusal
        is_open = not refusal or refusal == broker.store.sickness
        return Check(is_open, state if is_open else f"{state}, {refusal}")
    if broker.has_master:
        return Check(True, f"{state}, follows its master")
    acts = broker.membership is not None and broker.membership.group.acts
    return Check(acts, state if acts else f"{state}, without its master")


def _name_servers(registered: Mapping[str, bool]) -> Check:
    if not registered:
        return Check(True, "none are set")
    missing = [address for address, is_registered in registered.items() if not is_registered]
    if not missing:
        return Check(True, "registered")
    return Check(len(missing) < len(registered), f"not registered with {', '.join(missing)}")
