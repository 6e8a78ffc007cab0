"""Ownership of broker names and addresses without authentication.

A live broker keeps its address, and its id in its group. While its connection is open and it was heard of
recently, no other host gets either, neither by registering nor by unregistering in its name. A restarted
broker had its old connection closed before, or it is silent by now; on the same host it may use any port. Id
0 moves between two live hosts only after a controller has elected another member master. RocketMQ gives a
name to the last broker that requests it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping

from mqgateway.engine.options import NamesrvOptions
from mqgateway.gateway.codec.bodies import BrokerData
from mqgateway.gateway.namesrv.registration import BrokerKey, LiveBroker, Registration

log = logging.getLogger(__name__)

SILENT_MILLIS = 65_000
"""Brokers register at least once in 60 s; one that is silent for longer than this does not count as live."""


def held_elsewhere(
    said: Registration, live: Mapping[BrokerKey, LiveBroker], brokers: Mapping[str, BrokerData], now: int
) -> str:
    """Return the host of a live broker that holds this id or address; empty if there is none."""
    for holder in _holders(said, live, brokers):
        if _is_elsewhere(holder, said.host, now) and not _is_succeeded(holder, said, live):
            return holder.host
    return ""


def may_leave(key: BrokerKey, host: str, live: Mapping[BrokerKey, LiveBroker], now: int) -> bool:
    """Return True if a caller at `host` may unregister this broker."""
    holder = live.get(key)
    return holder is None or not _is_elsewhere(holder, host, now)


def rival_of(
    said: Registration, live: Mapping[BrokerKey, LiveBroker], brokers: Mapping[str, BrokerData]
) -> str:
    """Return the address of another living broker that took this one's id before; empty if there is none.

    A broker was displaced if it is registered but its group no longer has its address: another one claims the
    same name and id. The two displace each other with each registration.
    """
    group, own = brokers.get(said.name), live.get(said.key)
    if group is None or own is None or own.name != said.name:
        return ""
    if said.address in group.broker_addrs.values():
        return ""
    address = group.broker_addrs.get(said.broker_id, "")
    rival = live.get(BrokerKey(said.cluster, address))
    return address if rival is not None and rival.name == said.name else ""


class Disputes:
    """Claims of two brokers to one name and id; each is logged once.

    As many are kept as brokers may be registered.
    """

    def __init__(self, options: NamesrvOptions) -> None:
        self._options = options
        self._logged: set[tuple[str, int, frozenset[str]]] = set()

    def refused(self, said: Registration, host: str) -> str:
        """Log a claim to what a broker at `host` holds; return the reason of the refusal."""
        why = (
            f"a broker at {host} is {said.name}, id {said.broker_id} or has the address {said.address}; "
            f"give the one at {said.host} another brokerName, brokerId or brokerIP1"
        )
        if self._is_new(said, host):
            log.error("A registration is refused: %s", why)
        return why

    def displaced(self, said: Registration, rival: str) -> str:
        """Log that a broker displaces the one at the address `rival`; return the warning."""
        warning = (
            f"two brokers are {said.name}, id {said.broker_id}: {said.address} and {rival}. Clients find "
            "one, then the other; give one of them another brokerName or brokerId"
        )
        if self._is_new(said, rival):
            log.warning("%s", warning)
        return warning

    def forget(self, name: str) -> None:
        """Forget the claims to a broker name."""
        self._logged = {dispute for dispute in self._logged if dispute[0] != name}

    def _is_new(self, said: Registration, rival: str) -> bool:
        dispute = (said.name, said.broker_id, frozenset((said.address, rival)))
        if dispute in self._logged or len(self._logged) >= self._options.max_brokers:
            return False
        self._logged.add(dispute)
        return True


def _holders(
    said: Registration, live: Mapping[BrokerKey, LiveBroker], brokers: Mapping[str, BrokerData]
) -> Iterator[LiveBroker]:
    """Yield the holders of the address and of the id, in any cluster.

    A master by a later decision of the controller is skipped: this registration is ignored anyway.
    """
    group = brokers.get(said.name)
    address = None if group is None else group.broker_addrs.get(said.broker_id)
    if said.key in live:
        yield live[said.key]
    if group is None or address is None:
        return
    for key in {BrokerKey(said.cluster, address), BrokerKey(group.cluster or "", address)} & live.keys():
        is_later = live[key].data_version.state_version > said.data_version.state_version
        if not (is_later and key.cluster == said.cluster):
            yield live[key]


def _is_elsewhere(holder: LiveBroker, host: str, now: int) -> bool:
    silent = min(holder.heartbeat_timeout, SILENT_MILLIS)
    is_there = now - holder.last_update <= silent
    return is_there and bool(holder.host and host) and holder.host != host


def _is_succeeded(holder: LiveBroker, said: Registration, live: Mapping[BrokerKey, LiveBroker]) -> bool:
    """Return True if a controller elected another member master, by both state versions."""
    before, after = holder.data_version.state_version, said.data_version.state_version
    own = live.get(said.key)
    is_member = own is not None and own.name == said.name == holder.name and own.host == said.host
    return 0 < before < after and is_member
