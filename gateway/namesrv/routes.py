"""Tables of the name server and the rules by which brokers change them.

| table            | shape                                                                           |
|------------------|---------------------------------------------------------------------------------|
| `topic_queues`   | topic -> broker name -> QueueData                                               |
| `brokers`        | broker name -> BrokerData (cluster, addresses by broker id, zone, acting master) |
| `clusters`       | cluster -> broker names                                                         |
| `live`           | (cluster, address) -> LiveBroker: last heartbeat, data version, connection      |
| `filter_servers` | (cluster, address) -> addresses                                                 |
| `mappings`       | topic -> broker name -> mapping of a static topic, as JSON                      |

The tables of topics are in `topic_tables`. There is no I/O: inputs are registrations and the time, results
are changed tables and `MinBrokerIdNotice`s to send. `register` and `leave` add and remove brokers;
`gateway.namesrv.lookup` reads. RocketMQ: `RouteInfoManager`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from mqgateway.engine.ha.member_group import MASTER_ID
from mqgateway.engine.options import NamesrvOptions
from mqgateway.engine.steps import Steps, run
from mqgateway.engine.tables.data_version import DataVersion
from mqgateway.engine.tables.topics import PERM_WRITE
from mqgateway.gateway.codec.bodies import BrokerData, QueueData
from mqgateway.gateway.namesrv.claims import Disputes, held_elsewhere, may_leave, rival_of
from mqgateway.gateway.namesrv.registration import (
    DEFAULT_HEARTBEAT_TIMEOUT,
    NAME_LENGTH_MAX,
    BrokerKey,
    Leaving,
    LiveBroker,
    Mappings,
    MinBrokerIdNotice,
    Registration,
    RegistrationRefused,
    RegistrationResult,
    check_texts,
    read_mappings,
)
from mqgateway.gateway.namesrv.topic_tables import TopicTables

log = logging.getLogger(__name__)

_TOPICS_A_STEP = 64


class RouteTables(TopicTables):
    """Tables, with limits and switches from `options`, which may change at run time."""

    def __init__(self, options: NamesrvOptions) -> None:
        super().__init__(options)
        self.brokers: dict[str, BrokerData] = {}
        self.clusters: dict[str, set[str]] = {}
        self.live: dict[BrokerKey, LiveBroker] = {}
        self.filter_servers: dict[BrokerKey, list[str]] = {}
        self._arriving: set[str] = set()  # broker names whose topics are being registered
        self._changes = 0  # of groups, and of lost topics, which a known registration may repair
        self._disputes = Disputes(options)
        self._changed: dict[str, int] = {}  # broker name -> last change of its group

    # Registration

    def register(self, said: Registration, now: int) -> RegistrationResult:
        """Register a broker at `now` (ms). Raises Refused.

        A registration under an id held by another address with a newer state version is ignored: the result
        is an empty `RegistrationResult`, and its sender does not count as live.
        """
        return run(self.register_in_steps(said, now))

    def register_in_steps(self, said: Registration, now: int) -> Steps[RegistrationResult]:
        """Register a broker as a cooperative task; see `register`.

        Other brokers may register and leave meanwhile, but not in as many steps at the same time. Topics are
        registered first, and the broker last in one step: only then is it known with its whole registration.
        """
        self._check_claim(said, now)
        if self._is_ignored(said):
            return RegistrationResult()
        addresses = self._addresses(said)
        if said.broker_id not in addresses and len(said.topics) == 1:
            # A single changed topic is valid only after the broker's first, full registration.
            log.warning("broker %s (id %d) at %s has not registered", said.name, said.broker_id, said.address)
            raise RegistrationRefused("register broker failed")
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
        return RegistrationResult() if self._is_ignored(said) else self._put_broker(said, now)

    def _addresses(self, said: Registration) -> dict[int, str]:
        """Return the group's addresses by id; a slave that became master has its new id only."""
        group = self.brokers.get(said.name)
        known = group.broker_addrs if group else {}
        return {n: a for n, a in known.items() if a != said.address or n == said.broker_id}

    def _is_ignored(self, said: Registration) -> bool:
        group, addresses = self.brokers.get(said.name), self._addresses(said)
        if group is None or not self._is_outdated(said, addresses.get(said.broker_id)):
            return False
        self._ignore(said, group, addresses)
        return True

    def _put_broker(self, said: Registration, now: int) -> RegistrationResult:
        """Register the broker itself, after its topics."""
        known = self.brokers[said.name].broker_addrs if said.name in self.brokers else {}
        addresses = self._addresses(said) | {said.broker_id: said.address}
        rival = rival_of(said, self.live, self.brokers)
        notices = self._leave_old_name(said)
        group = self._put_group(said, addresses)
        self._put_live(said, now)
        registered = self._where_master_is(said.cluster, said.broker_id, group)
        if rival:
            registered.warning = self._disputes.displaced(said, rival)
        registered.notices = notices
        if said.broker_id < min(known, default=0) and self.options.notify_min_broker_id_changed:
            registered.notices.append(_notice(group, None, said.ha_address))
        return registered

    def _check_claim(self, said: Registration, now: int) -> None:
        """Protect the names and addresses of live brokers. Raises Refused."""
        if self.options.authentication_enabled:
            return
        host = held_elsewhere(said, self.live, self.brokers, now)
        if host:
            raise RegistrationRefused(self._disputes.refused(said, host))

    def may_leave(self, key: BrokerKey, host: str, now: int) -> bool:
        """Return True if a caller at `host` may unregister a broker."""
        return self.options.authentication_enabled or may_leave(key, host, self.live, now)

    def register_again(
        self, key: BrokerKey, broker_id: int, fingerprint: int, peer: object, host: str, now: int
    ) -> RegistrationResult | None:
        """Repeat an unchanged registration; None if it must be processed by `register`.

        Nothing has to be done if neither its group has changed nor any of its topics was lost since: only
        time and connection are updated.
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
        """Return True if the id is held by another address with a later state version."""
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
        """Return the topics to update: all with a new data version, else those not known yet.

        The topics of a slave that stands in for its master are read-only.
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
        """Bound the state that peers can create. Raises Refused."""
        check_texts(said, taken)
        most = self.options.max_brokers
        if said.key not in self.live and len(self.live) >= most:
            raise RegistrationRefused(f"too many brokers are registered, the limit is {most}")
        if said.cluster not in self.clusters and len(self.clusters) >= most:
            raise RegistrationRefused(f"too many clusters are registered, the limit is {most}")
        if said.name not in self.brokers and len(self.brokers) >= most:
            raise RegistrationRefused(f"too many broker names are registered, the limit is {most}")
        self.check_topics(taken.keys(), [said.name])
        self.check_mappings(mappings)

    def _leave_old_name(self, said: Registration) -> list[MinBrokerIdNotice]:
        """Remove a process from its old group if it registers under another broker name."""
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
        """Record a change of a group, so that unchanged registrations of its members are processed again."""
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
                    self.drop_queues(topic, said.name)
        for number, (topic, queues) in enumerate(taken.items()):
            if number % _TOPICS_A_STEP == 0:
                yield
            self.put_queues(topic, queues)
        for topic, mapping in mappings.items():
            yield
            self.put_mapping(said.name, topic, mapping)

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

    def _where_master_is(self, cluster: str, broker_id: int, group: BrokerData) -> RegistrationResult:
        master = group.broker_addrs.get(MASTER_ID)
        if broker_id == MASTER_ID or master is None:
            return RegistrationResult()
        live = self.live.get(BrokerKey(cluster, master))
        return RegistrationResult() if live is None else RegistrationResult(master, live.ha_address)

    def heard_of(self, key: BrokerKey, now: int) -> None:
        """Record a heartbeat of a broker; ignored if it is not registered."""
        live = self.live.get(key)
        if live is not None:
            live.last_update = now

    def data_version(self, key: BrokerKey) -> DataVersion | None:
        """Return the last registered data version of a broker."""
        live = self.live.get(key)
        return None if live is None else live.data_version

    def is_changed(self, key: BrokerKey, version: DataVersion | None) -> bool:
        """Return True if a broker's data version differs from its last registered one."""
        known = self.data_version(key)
        return known is None or known != version

    # Removal

    def expired(self, now: int) -> list[Leaving]:
        """Return the brokers whose heartbeat timeout has passed."""
        return [
            self._leaving(key, live)
            for key, live in self.live.items()
            if live.last_update + live.heartbeat_timeout < now
        ]

    def on_connection(self, peer: object) -> list[Leaving]:
        """Return the brokers last registered on this connection; brokers of one container share it."""
        return [self._leaving(key, live) for key, live in self.live.items() if live.peer is peer]

    def _leaving(self, key: BrokerKey, live: LiveBroker) -> Leaving:
        group = self.brokers.get(live.name)
        ids = [n for n, address in group.broker_addrs.items() if address == key.address] if group else []
        return Leaving(key, live.name, ids[0] if ids else None, live.peer)

    def leave(self, brokers: Iterable[Leaving]) -> list[MinBrokerIdNotice]:
        """Remove brokers from all tables, and the topics of groups without members."""
        return run(self.leave_in_steps(brokers))

    def leave_in_steps(self, brokers: Iterable[Leaving]) -> Steps[list[MinBrokerIdNotice]]:
        """Remove brokers as a cooperative task: the brokers in one step, then their topics in many.

        Groups that register again meanwhile keep their topics.
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
        self._disputes.forget(name)
        for cluster, names in list(self.clusters.items()):
            names.discard(name)
            if not names:
                del self.clusters[cluster]

    def _clean_topics(self, gone: set[str], reduced: set[str]) -> Steps[None]:
        """Remove the queues of deleted groups; groups served by an acting master become read-only."""
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
                self.drop_queues(topic, name)
            for name in acting & by_broker.keys():
                queues = by_broker[name]
                by_broker[name] = replace(queues, perm=queues.perm & ~PERM_WRITE)
                self.forget_route(topic)

    def _has_acting_master(self, name: str) -> bool:
        group = self.brokers.get(name)
        return group is not None and group.enable_acting_master and min(group.broker_addrs) > MASTER_ID

    def _notices_of_loss(self, without_first: Mapping[str, str]) -> list[MinBrokerIdNotice]:
        if not self.options.notify_min_broker_id_changed:
            return []
        groups = ((self.brokers.get(name), lost) for name, lost in without_first.items())
        return [_notice(group, lost, None) for group, lost in groups if group and group.enable_acting_master]

    # Topics

    def put_topic(self, topic: str, queues: Sequence[QueueData]) -> None:
        """Register one topic's queues; all or, if a broker is unknown, none. Raises Refused."""
        if not queues:
            return
        unknown = [one.broker_name for one in queues if one.broker_name not in self.brokers]
        if unknown:
            log.warning("topic %s is to be registered for unknown brokers %s", topic, unknown)
            return
        if len(topic) > NAME_LENGTH_MAX:
            raise RegistrationRefused(f"a topic's name may have {NAME_LENGTH_MAX} characters")
        self.check_topics({topic}, [one.broker_name for one in queues])
        for one in queues:
            self.put_queues(topic, one)

    def delete_topic(self, topic: str, cluster: str | None = None) -> None:
        """Remove a topic's queues, those of one cluster's brokers or all."""
        names = set(self.topic_queues.get(topic, ()))
        if cluster:
            names &= self.clusters.get(cluster, set())
        for name in names:
            self.drop_queues(topic, name)

    def drop_queues(self, topic: str, broker: str) -> None:
        """Remove a topic's queues at a broker, which has to register the topic again."""
        if broker in self.brokers:
            self._note_change(broker)
        super().drop_queues(topic, broker)


def _speaks_for_group(said: Registration, addresses: Mapping[int, str]) -> bool:
    """Return True for a master, else for the first slave if it supports acting masters."""
    if said.broker_id == MASTER_ID:
        return True
    return said.enable_acting_master is not None and said.broker_id == min(addresses)


def _notice(group: BrokerData, lost: str | None, ha_address: str | None) -> MinBrokerIdNotice:
    """Notify members of the new minimum broker id: after a loss all of them, else all but the new one."""
    first = min(group.broker_addrs)
    notifies_all = lost is not None or len(group.broker_addrs) == 1
    receivers = tuple(a for n, a in group.broker_addrs.items() if notifies_all or n != first)
    return MinBrokerIdNotice(receivers, group.broker_name, first, group.broker_addrs[first], lost, ha_address)
