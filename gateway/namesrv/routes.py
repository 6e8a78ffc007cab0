"""The name server's tables and the rules by which brokers change them.

| table            | shape                                                                           |
|------------------|---------------------------------------------------------------------------------|
| `topic_queues`   | topic -> broker name -> QueueData                                               |
| `brokers`        | broker name -> BrokerData (cluster, addresses by broker id, zone, acting master) |
| `clusters`       | cluster -> broker names                                                         |
| `live`           | (cluster, address) -> LiveBroker: heard of when, data version, connection       |
| `filter_servers` | (cluster, address) -> addresses                                                 |
| `mappings`       | topic -> broker name -> mapping of a static topic, as JSON                      |

Everything here is pure: what a broker says and the time go in, changed tables and `Notice`s to be sent come
out. `register` and `leave` are the two ways in which brokers come and go; `gateway.namesrv.lookup` reads.

Encoded route answers are kept in `encoded` until something they show has changed: a group by comparison, so
that a broker that comes or goes costs the routes of its own topics only. A mapping lives as long as its topic
has queues anywhere. Standard: `RouteInfoManager`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

from mqgateway.engine.ha.member_group import MASTER_ID
from mqgateway.engine.options import NamesrvOptions
from mqgateway.engine.steps import Steps, run
from mqgateway.engine.tables.data_version import DataVersion
from mqgateway.engine.tables.topics import PERM_WRITE
from mqgateway.gateway.codec.bodies import BrokerData, QueueData
from mqgateway.gateway.namesrv.claims import held_elsewhere, may_leave, rival_of
from mqgateway.gateway.namesrv.registration import (
    DEFAULT_HEARTBEAT_TIMEOUT,
    NAME_LENGTH_MAX,
    BrokerKey,
    Leaving,
    LiveBroker,
    Mappings,
    Notice,
    Refused,
    Registered,
    Registration,
    check_texts,
    read_mappings,
)

log = logging.getLogger(__name__)

_TOPICS_A_STEP = 64


class RouteTables:
    """The tables, with the limits and switches of `options`, which may be changed while it runs."""

    def __init__(self, options: NamesrvOptions) -> None:
        self.options = options
        self.topic_queues: dict[str, dict[str, QueueData]] = {}
        self.brokers: dict[str, BrokerData] = {}
        self.clusters: dict[str, set[str]] = {}
        self.live: dict[BrokerKey, LiveBroker] = {}
        self.filter_servers: dict[BrokerKey, list[str]] = {}
        self.mappings: dict[str, dict[str, Any]] = {}
        self.encoded: dict[tuple[str, bool], tuple[bytes, tuple[BrokerData | None, ...]]] = {}
        """(topic, quoted keys) -> route answer, and the groups of its brokers as they were then; at most two
        for each known topic."""
        self._arriving: set[str] = set()  # broker names whose topics are being put
        self._pairs = 0  # of topic and broker in topic_queues
        self._mapped = 0  # weight of all mappings
        self._changes = 0  # of groups, and of topics that went: what a known registration may have to mend
        self._disputes: set[tuple[str, int, frozenset[str]]] = set()  # that were warned of
        self._changed: dict[str, int] = {}  # broker name -> the last of them that was about its group

    @property
    def pairs(self) -> int:
        """Pairs of topics and brokers that have queues of them."""
        return self._pairs

    # Brokers come

    def register(self, said: Registration, now: int) -> Registered:
        """Take a broker's registration, received at `now` (ms). Raises Refused.

        A registration under an id held by another address with a newer state version is ignored: an empty
        `Registered`, and the broker that sent it is not counted as live.
        """
        return run(self.register_in_steps(said, now))

    def register_in_steps(self, said: Registration, now: int) -> Steps[Registered]:
        """What `register` does, in steps.

        Others may register and leave in between, but not take so many steps at the same time. The topics
        come first, and the broker last and in one step: only then is it known with all it said.
        """
        self._check_claim(said, now)
        if self._is_ignored(said):
            return Registered()
        addresses = self._addresses(said)
        if said.broker_id not in addresses and len(said.topics) == 1:
            # A single changed topic may be told only after the broker's first, full registration.
            log.warning("broker %s (id %d) at %s has not registered", said.name, said.broker_id, said.address)
            raise Refused("register broker failed")
        speaks = _speaks_for_group(said, addresses | {said.broker_id: said.address})
        changed = not addresses.get(said.broker_id) or self.is_changed(said.key, said.data_version)
        taken = (yield from self._changed_topics(said, changed)) if speaks else {}
        mappings = (yield from read_mappings(said)) if speaks and changed else {}
        self._check_limits(said, taken, mappings)
        if speaks:
            self._arriving.add(said.name)
            try:
                yield from self._take_topics(said, taken, mappings)
            finally:
                self._arriving.discard(said.name)
        self._check_claim(said, now)
        return Registered() if self._is_ignored(said) else self._put_broker(said, now)

    def _addresses(self, said: Registration) -> dict[int, str]:
        """The group's addresses by id; a slave turned master stands under its new id only."""
        group = self.brokers.get(said.name)
        known = group.broker_addrs if group else {}
        return {n: a for n, a in known.items() if a != said.address or n == said.broker_id}

    def _is_ignored(self, said: Registration) -> bool:
        group, addresses = self.brokers.get(said.name), self._addresses(said)
        if group is None or not self._is_outdated(said, addresses.get(said.broker_id)):
            return False
        self._ignore(said, group, addresses)
        return True

    def _put_broker(self, said: Registration, now: int) -> Registered:
        """Enter the broker itself, whose topics are there."""
        known = self.brokers[said.name].broker_addrs if said.name in self.brokers else {}
        addresses = self._addresses(said) | {said.broker_id: said.address}
        rival = rival_of(said, self.live, self.brokers)
        notices = self._leave_old_name(said)
        group = self._put_group(said, addresses)
        self._put_live(said, now)
        registered = self._where_master_is(said.cluster, said.broker_id, group)
        if rival:
            registered.warning = self._warn_of(said, rival)
        registered.notices = notices
        if said.broker_id < min(known, default=0) and self.options.notify_min_broker_id_changed:
            registered.notices.append(_notice(group, None, said.ha_address))
        return registered

    def _check_claim(self, said: Registration, now: int) -> None:
        """Leave to brokers that are there what is theirs. Raises Refused."""
        if self.options.authentication_enabled:
            return
        host = held_elsewhere(said, self.live, self.brokers, now)
        if host:
            why = (
                f"a broker at {host} is {said.name}, id {said.broker_id} or has the address {said.address}; "
                f"give the one at {said.host} another brokerName, brokerId or brokerIP1"
            )
            if self._is_new_dispute(said, host):
                log.error("A registration is refused: %s", why)
            raise Refused(why)

    def _is_new_dispute(self, said: Registration, rival: str) -> bool:
        """Note that two brokers want one name and id; return True for the first time."""
        dispute = (said.name, said.broker_id, frozenset((said.address, rival)))
        if dispute in self._disputes or len(self._disputes) >= self.options.max_brokers:
            return False
        self._disputes.add(dispute)
        return True

    def _warn_of(self, said: Registration, rival: str) -> str:
        """Warn once of two brokers that are both registered under one name and id; return the warning."""
        warning = (
            f"two brokers are {said.name}, id {said.broker_id}: {said.address} and {rival}. Clients find "
            "one, then the other; give one of them another brokerName or brokerId"
        )
        if self._is_new_dispute(said, rival):
            log.warning("%s", warning)
        return warning

    def may_leave(self, key: BrokerKey, host: str, now: int) -> bool:
        """Whether who speaks from `host` may take leave for a broker."""
        return self.options.authentication_enabled or may_leave(key, host, self.live, now)

    def register_again(
        self, key: BrokerKey, broker_id: int, fingerprint: int, peer: object, host: str, now: int
    ) -> Registered | None:
        """What `register` would do with the very words a broker said last; None when that may be something.

        Nothing is to be done while its group has not changed and none of its topics has gone since: then
        only the time is noted, and the connection.
        """
        live = self.live.get(key)
        if live is None or live.fingerprint != fingerprint:
            return None
        if live.name not in self._changed or live.changes < self._changed[live.name]:
            return None
        if live.host != host:
            return None
        if self.options.delete_topic_with_broker_registration:
            return None
        live.last_update = now
        live.peer = peer
        live.changes = self._changes
        return self._where_master_is(key.cluster, broker_id, self.brokers[live.name])

    def _is_outdated(self, said: Registration, holder: str | None) -> bool:
        """Whether the id is held by another address that has seen a later state version."""
        if holder is None or holder == said.address:
            return False
        live = self.live.get(BrokerKey(said.cluster, holder))
        return live is not None and live.data_version.state_version > said.data_version.state_version

    def _ignore(self, said: Registration, group: BrokerData, addresses: dict[int, str]) -> None:
        log.warning(
            "%s registers as %s id %d, which %s has with a newer state version: ignored",
            said.address,
            said.name,
            said.broker_id,
            addresses[said.broker_id],
        )
        if addresses != group.broker_addrs:
            self._note_change(said.name)
            self.brokers[said.name] = replace(group, broker_addrs=addresses)
        self._drop_live(said.key)

    def _changed_topics(self, said: Registration, changed: bool) -> Steps[Mapping[str, QueueData]]:
        """The topics to take over: all that came with a new data version, else those not known yet.

        A slave that stands in for its master shows topics that can be read only.
        """
        acting = said.broker_id != MASTER_ID and said.enable_acting_master
        if changed and not acting:
            return said.topics
        taken = {}
        for number, (topic, queues) in enumerate(said.topics.items()):
            if number % _TOPICS_A_STEP == 0:
                yield
            if changed or said.name not in self.topic_queues.get(topic, ()):
                taken[topic] = replace(queues, perm=queues.perm & ~PERM_WRITE) if acting else queues
        return taken

    def _check_limits(self, said: Registration, taken: Mapping[str, QueueData], mappings: Mappings) -> None:
        """Keep what peers can make us remember bounded. Raises Refused."""
        check_texts(said, taken)
        most = self.options.max_brokers
        if said.key not in self.live and len(self.live) >= most:
            raise Refused(f"too many brokers are registered, the limit is {most}")
        if said.cluster not in self.clusters and len(self.clusters) >= most:
            raise Refused(f"too many clusters are registered, the limit is {most}")
        if said.name not in self.brokers and len(self.brokers) >= most:
            raise Refused(f"too many broker names are registered, the limit is {most}")
        self._check_room(taken.keys(), [said.name])
        pairs_most = self.options.max_queue_data
        if mappings and self._mapped + sum(map(_weight, mappings.values())) > pairs_most:
            raise Refused(f"too many queues of static topics are registered, the limit is {pairs_most}")

    def _check_room(self, topics: Set[str], brokers: Collection[str]) -> None:
        """Whether topics of brokers may be added, looked at closely only near the limits. Raises Refused."""
        most, pairs_most = self.options.max_topics, self.options.max_queue_data
        known = self.topic_queues
        if len(known) + len(topics) > most and len(known) + len(topics - known.keys()) > most:
            raise Refused(f"too many topics are registered, the limit is {most}")
        if self._pairs + len(topics) * len(brokers) > pairs_most:
            new = sum(broker not in known.get(topic, ()) for topic in topics for broker in brokers)
            if self._pairs + new > pairs_most:
                raise Refused(f"too many queues are registered, the limit is {pairs_most}")

    def _leave_old_name(self, said: Registration) -> list[Notice]:
        """A process that has taken another broker name leaves its old group first."""
        live = self.live.get(said.key)
        if live is None or live.name == said.name:
            return []
        return self.leave([self._leaving(said.key, live)])

    def _put_group(self, said: Registration, addresses: dict[int, str]) -> BrokerData:
        self.clusters.setdefault(said.cluster, set()).add(said.name)
        old = self.brokers.get(said.name)
        group = BrokerData(
            cluster=old.cluster if old else said.cluster,
            broker_name=said.name,
            broker_addrs=addresses,
            zone_name=said.zone_name,
            enable_acting_master=bool(said.enable_acting_master),
        )
        if group != old:
            self._note_change(said.name)
            self.brokers[said.name] = group
        return group

    def _note_change(self, name: str) -> None:
        """Note that whoever is of this group has something to mend, should they say the same again."""
        self._changes += 1
        self._changed[name] = self._changes

    def _take_topics(
        self, said: Registration, taken: Mapping[str, QueueData], mappings: Mappings
    ) -> Steps[None]:
        if self.options.delete_topic_with_broker_registration and not said.mappings:
            for number, topic in enumerate(list(self.topic_queues)):
                if number % _TOPICS_A_STEP == 0:
                    yield
                if topic not in said.topics and said.name in self.topic_queues.get(topic, ()):
                    self._drop_queues(topic, said.name)
        for number, (topic, queues) in enumerate(taken.items()):
            if number % _TOPICS_A_STEP == 0:
                yield
            self._put_queues(topic, queues)
        for topic, mapping in mappings.items():
            yield
            self._put_mapping(said.name, topic, mapping)

    def _put_mapping(self, broker: str, topic: str, mapping: dict[str, Any]) -> None:
        if topic in self.topic_queues:
            by_broker = self.mappings.setdefault(topic, {})
            self._mapped += _weight(mapping) - _weight(by_broker.get(broker))
            by_broker[broker] = mapping
            self._forget(topic)

    def _put_live(self, said: Registration, now: int) -> None:
        if said.key not in self.live:
            log.info(
                "broker %s (id %d) of %s registered at %s, its log at %s",
                said.name,
                said.broker_id,
                said.cluster,
                said.address,
                said.ha_address,
            )
        timeout = said.heartbeat_timeout
        self.live[said.key] = LiveBroker(
            name=said.name,
            last_update=now,
            heartbeat_timeout=DEFAULT_HEARTBEAT_TIMEOUT if timeout is None else timeout,
            data_version=said.data_version,
            ha_address=said.ha_address,
            peer=said.peer,
            host=said.host,
            fingerprint=said.fingerprint,
            changes=self._changes,
        )
        if said.filter_servers is not None and self.filter_servers.get(said.key, []) != said.filter_servers:
            self.encoded.clear()
            self.filter_servers[said.key] = list(said.filter_servers)
            if not said.filter_servers:
                del self.filter_servers[said.key]

    def _where_master_is(self, cluster: str, broker_id: int, group: BrokerData) -> Registered:
        master = group.broker_addrs.get(MASTER_ID)
        if broker_id == MASTER_ID or master is None:
            return Registered()
        live = self.live.get(BrokerKey(cluster, master))
        return Registered() if live is None else Registered(master, live.ha_address)

    def heard_of(self, key: BrokerKey, now: int) -> None:
        """A sign of life of a broker; one that is not registered is not known by it."""
        live = self.live.get(key)
        if live is not None:
            live.last_update = now

    def data_version(self, key: BrokerKey) -> DataVersion | None:
        """The data version a broker registered last."""
        live = self.live.get(key)
        return None if live is None else live.data_version

    def is_changed(self, key: BrokerKey, version: DataVersion | None) -> bool:
        """Whether a broker's data version is another than the one it registered last."""
        known = self.data_version(key)
        return known is None or known != version

    # Brokers go

    def expired(self, now: int) -> list[Leaving]:
        """The brokers not heard of for longer than they promised."""
        return [
            self._leaving(key, live)
            for key, live in self.live.items()
            if live.last_update + live.heartbeat_timeout < now
        ]

    def on_connection(self, peer: object) -> list[Leaving]:
        """The brokers that registered on this connection last; brokers of one container share one."""
        return [self._leaving(key, live) for key, live in self.live.items() if live.peer is peer]

    def _leaving(self, key: BrokerKey, live: LiveBroker) -> Leaving:
        group = self.brokers.get(live.name)
        ids = [n for n, address in group.broker_addrs.items() if address == key.address] if group else []
        return Leaving(key, live.name, ids[0] if ids else None, live.peer)

    def leave(self, brokers: Iterable[Leaving]) -> list[Notice]:
        """Take brokers out of all tables, and the topics of groups that have nobody left."""
        return run(self.leave_in_steps(brokers))

    def leave_in_steps(self, brokers: Iterable[Leaving]) -> Steps[list[Notice]]:
        """What `leave` does: the brokers in one step, then their topics in many.

        Groups that come back meanwhile keep theirs.
        """
        gone: set[str] = set()
        reduced: set[str] = set()
        without_first: dict[str, str] = {}  # group -> address of the member with the smallest id that left
        for leaving in brokers:
            live = self.live.get(leaving.key)
            if leaving.peer is not None and (live is None or live.peer is not leaving.peer):
                continue
            self._drop_live(leaving.key)
            group = self.brokers.get(leaving.name)
            if group is None:
                continue
            left = {n: a for n, a in group.broker_addrs.items() if a != leaving.key.address}
            if left:
                if leaving.broker_id == min(group.broker_addrs):
                    without_first[leaving.name] = leaving.key.address
                self._note_change(leaving.name)
                self.brokers[leaving.name] = replace(group, broker_addrs=left)
                reduced.add(leaving.name)
            else:
                self._drop_group(leaving.name)
                gone.add(leaving.name)
            log.info("broker %s at %s left", leaving.name, leaving.key.address)
        notices = self._notices_of_loss(without_first)
        yield from self._clean_topics(gone, reduced - gone)
        return notices

    def _drop_live(self, key: BrokerKey) -> None:
        self.live.pop(key, None)
        if self.filter_servers.pop(key, None):
            self.encoded.clear()

    def _drop_group(self, name: str) -> None:
        del self.brokers[name]
        self._changed.pop(name, None)
        self._disputes = {dispute for dispute in self._disputes if dispute[0] != name}
        for cluster, names in list(self.clusters.items()):
            names.discard(name)
            if not names:
                del self.clusters[cluster]

    def _clean_topics(self, gone: set[str], reduced: set[str]) -> Steps[None]:
        """Drop the queues of groups that are gone; groups whose acting master took over turn read-only."""
        acting = {name for name in reduced if self._has_acting_master(name)}
        if not gone and not acting:
            return
        for number, topic in enumerate(list(self.topic_queues)):
            if number % _TOPICS_A_STEP == 0:
                yield
                gone -= self.brokers.keys() | self._arriving
                acting = {name for name in acting if self._has_acting_master(name)}
            by_broker = self.topic_queues.get(topic, {})
            for name in gone & by_broker.keys():
                self._drop_queues(topic, name)
            for name in acting & by_broker.keys():
                queues = by_broker[name]
                by_broker[name] = replace(queues, perm=queues.perm & ~PERM_WRITE)
                self._forget(topic)

    def _has_acting_master(self, name: str) -> bool:
        group = self.brokers.get(name)
        return group is not None and group.enable_acting_master and min(group.broker_addrs) > MASTER_ID

    def _notices_of_loss(self, without_first: Mapping[str, str]) -> list[Notice]:
        if not self.options.notify_min_broker_id_changed:
            return []
        groups = ((self.brokers.get(name), lost) for name, lost in without_first.items())
        return [_notice(group, lost, None) for group, lost in groups if group and group.enable_acting_master]

    # Topics

    def put_topic(self, topic: str, queues: Sequence[QueueData]) -> None:
        """Take one topic's queues; as a whole or, if a broker is not known, not at all. Raises Refused."""
        if not queues:
            return
        unknown = [one.broker_name for one in queues if one.broker_name not in self.brokers]
        if unknown:
            log.warning("topic %s is to be registered for unknown brokers %s", topic, unknown)
            return
        if len(topic) > NAME_LENGTH_MAX:
            raise Refused(f"a topic's name may have {NAME_LENGTH_MAX} characters")
        self._check_room({topic}, [one.broker_name for one in queues])
        for one in queues:
            self._put_queues(topic, one)

    def delete_topic(self, topic: str, cluster: str | None = None) -> None:
        """Drop a topic's queues, those of one cluster's brokers or all."""
        names = set(self.topic_queues.get(topic, ()))
        if cluster:
            names &= self.clusters.get(cluster, set())
        for name in names:
            self._drop_queues(topic, name)

    def change_perms(self, broker: str, change: Callable[[int], int]) -> int:
        """Give each queue permission of a broker a new value; returns how many topics it has."""
        count = 0
        for by_broker in self.topic_queues.values():
            queues = by_broker.get(broker)
            if queues is not None:
                by_broker[broker] = replace(queues, perm=change(queues.perm))
                count += 1
        self.encoded.clear()
        return count

    def _put_queues(self, topic: str, queues: QueueData) -> None:
        by_broker = self.topic_queues.get(topic)
        if by_broker is None:
            by_broker = self.topic_queues[topic] = {}
        old = by_broker.get(queues.broker_name)
        if old != queues:
            self._pairs += old is None
            log.debug("topic %s: %s", topic, queues)
            by_broker[queues.broker_name] = queues
            self._forget(topic)

    def _drop_queues(self, topic: str, broker: str) -> None:
        if broker in self.brokers:
            self._note_change(broker)
        by_broker = self.topic_queues[topic]
        del by_broker[broker]
        self._pairs -= 1
        if not by_broker:
            del self.topic_queues[topic]
            self._mapped -= sum(map(_weight, self.mappings.pop(topic, {}).values()))
        self._forget(topic)

    def _forget(self, topic: str) -> None:
        self.encoded.pop((topic, True), None)
        self.encoded.pop((topic, False), None)


def _speaks_for_group(said: Registration, addresses: Mapping[int, str]) -> bool:
    """Masters tell a group's topics; without one, its first slave does, if new enough to know of it."""
    if said.broker_id == MASTER_ID:
        return True
    return said.enable_acting_master is not None and said.broker_id == min(addresses)


def _weight(mapping: Mapping[str, Any] | None) -> int:
    """What a mapping counts in the limit: itself and its queues."""
    return 0 if mapping is None else 1 + len(mapping["currIdMap"])


def _notice(group: BrokerData, lost: str | None, ha_address: str | None) -> Notice:
    """Tell a group's members who is first now: after a loss all of them, else those who were there."""
    first = min(group.broker_addrs)
    everybody = lost is not None or len(group.broker_addrs) == 1
    receivers = tuple(a for n, a in group.broker_addrs.items() if everybody or n != first)
    return Notice(receivers, group.broker_name, first, group.broker_addrs[first], lost, ha_address)
