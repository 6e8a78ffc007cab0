"""Whom a broker's name and address belong to, where nobody is asked who they are.

A broker that is there keeps what it has: its address, and its id in its group. Nobody gets either from
another host while its connection lives and it was heard of lately: not by registering, and not by taking
leave in its name. A broker that comes back has its old connection ended before, or is silent by now; on the
same host it may have any port. Only where a controller made another member master does the id 0 move between
hosts that are both there. The standard gives a name to who asks for it last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mqgateway.gateway.codec.bodies import BrokerData
from mqgateway.gateway.namesrv.registration import BrokerKey, LiveBroker, Registration

SILENT_MILLIS = 65_000
"""Brokers register at least once in 60 s; who is silent for longer than that is not there."""


def held_elsewhere(
    said: Registration, live: Mapping[BrokerKey, LiveBroker], brokers: Mapping[str, BrokerData], now: int
) -> str:
    """The host of a broker that is there, and has what this one wants; empty where nobody has."""
    for holder in _holders(said, live, brokers):
        if _is_elsewhere(holder, said.host, now) and not _is_succeeded(holder, said, live):
            return holder.host
    return ""


def may_leave(key: BrokerKey, host: str, live: Mapping[BrokerKey, LiveBroker], now: int) -> bool:
    """Whether who speaks from `host` may take leave for this broker."""
    holder = live.get(key)
    return holder is None or not _is_elsewhere(holder, host, now)


def rival_of(
    said: Registration, live: Mapping[BrokerKey, LiveBroker], brokers: Mapping[str, BrokerData]
) -> str:
    """Return the address of another living broker that took this one's id before; empty where none did.

    A broker that was registered, and whose address its group does not have any more, was displaced by
    another one that says it is the same. The two displace each other with each registration.
    """
    group, own = brokers.get(said.name), live.get(said.key)
    if group is None or own is None or own.name != said.name:
        return ""
    if said.address in group.broker_addrs.values():
        return ""
    address = group.broker_addrs.get(said.broker_id, "")
    rival = live.get(BrokerKey(said.cluster, address))
    return address if rival is not None and rival.name == said.name else ""


def _holders(
    said: Registration, live: Mapping[BrokerKey, LiveBroker], brokers: Mapping[str, BrokerData]
) -> Iterator[LiveBroker]:
    """Who has the address, and who has the id, in whatever cluster.

    Left out is a master by a later decision of the controller's: this registration is passed over anyway.
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
    """Whether a controller has made another member of the group master: both count its decisions."""
    before, after = holder.data_version.state_version, said.data_version.state_version
    own = live.get(said.key)
    is_member = own is not None and own.name == said.name == holder.name and own.host == said.host
    return 0 < before < after and is_member
