"""Tables of brokers that are added to `mqgateway serve --brokers`: copies of those of the first broker.

A broker without a store begins with the topics, consumer groups, users and policies of the first broker that
has one, so clients use its queues as soon as it is registered. A group without an offset reads a new queue
from its beginning. Left out are topics that each broker makes itself (system topics, retries, dead letters),
topics of Kafka, which one broker serves, and static topics, whose mappings name the brokers of their queues.
While brokers run, one of them writes the tables of an added one (`served_broker`), from its own memory.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from mqgateway.engine.clock import Clock
from mqgateway.engine.disk import Disk, make_directories
from mqgateway.engine.static_topics.mappings import Mappings
from mqgateway.engine.tables.groups import GroupTable, SubscriptionGroupConfig
from mqgateway.engine.tables.topics import TopicConfig, TopicTable
from mqgateway.gateway.access.settings import AccessSettings
from mqgateway.gateway.access.tables import AccessTables
from mqgateway.gateway.broker.cluster.table_copies import shared_topics
from mqgateway.gateway.cli.numbering import LOG_FOLDER, is_removed
from mqgateway.gateway.cli.settings import BrokerSettings

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Snapshot:
    """Entries that an added broker gets of a broker's tables, which may change afterwards.

    `users` and `policies` are whole tables in JSON; None without access control.
    """

    name: str
    topics: Sequence[TopicConfig]
    groups: Sequence[SubscriptionGroupConfig]
    users: Mapping[str, Any] | None
    policies: Mapping[str, Any] | None

    @classmethod
    def of(
        cls,
        name: str,
        topics: TopicTable,
        groups: GroupTable,
        mappings: Mappings,
        access: AccessTables | None,
    ) -> Snapshot:
        """Return the snapshot of the tables of the broker `name`."""
        return cls(
            name,
            list(shared_topics(topics, mappings)),
            list(groups.all()),
            None if access is None else access.users.to_json(),
            None if access is None else access.acls.to_json(),
        )


class _Tables:
    """The tables of a broker that does not run, loaded from its folder."""

    def __init__(self, settings: BrokerSettings, disk: Disk, clock: Clock) -> None:
        folder = os.path.join(settings.store.store_path_root_dir, "config")
        make_directories(disk, folder)
        path = partial(os.path.join, folder)
        options = settings.broker
        access = AccessSettings.of(options, disk, options.broker_cluster_name)
        self.name = options.broker_name
        self.topics = TopicTable(options, disk, path("topics.json"), clock)
        self.mappings = Mappings(options, disk, path("topicQueueMapping.json"), clock)
        self.groups = GroupTable(options, disk, path("subscriptionGroup.json"), clock)
        self.access = AccessTables(disk, folder, clock, None, access.cipher) if access.has_tables else None
        for table in (self.topics, self.mappings, self.groups):
            table.load()
        if self.access is not None:
            self.access.load()

    def snapshot(self) -> Snapshot:
        """Return what other brokers get."""
        return Snapshot.of(self.name, self.topics, self.groups, self.mappings, self.access)

    def add(self, other: Snapshot) -> None:
        """Add what the other broker has and this one lacks."""
        topics = [one for one in other.topics if one.key not in self.topics]
        groups = [one for one in other.groups if one.key not in self.groups]
        self.topics.put(*topics)
        self.groups.put(*groups)
        if self.access is not None and other.users is not None and other.policies is not None:
            self.access.users.adopt(other.users)
            self.access.acls.adopt(other.policies)
        log.info(
            "%s begins with %d topics and %d groups of %s", self.name, len(topics), len(groups), other.name
        )

    def close(self) -> None:
        """Write what is not written yet."""
        for table in (self.topics, self.mappings, self.groups):
            table.close()
        if self.access is not None:
            self.access.close()


def add_tables(snapshot: Snapshot, added: BrokerSettings, disk: Disk, clock: Clock) -> None:
    """Add the entries of a snapshot to the tables of a broker that does not run.

    Raises `ConfigError` for files that cannot be read, `OSError` for folders that cannot be written.
    """
    target = _Tables(added, disk, clock)
    target.add(snapshot)
    target.close()


def copy_tables(brokers: Sequence[BrokerSettings], disk: Disk, clock: Clock) -> None:
    """Copy tables to the brokers that have no store, or were removed, if one serves. No broker may run.

    Raises `ConfigError` for files that cannot be read, `OSError` for folders that cannot be written.
    """
    with_store = [one for one in brokers if _is_served(one, disk)]
    added = [one for one in brokers if not _is_served(one, disk)]
    if not with_store or not added:
        return
    source = _Tables(with_store[0], disk, clock)
    for one in added:
        add_tables(source.snapshot(), one, disk, clock)
    source.close()


def _is_served(settings: BrokerSettings, disk: Disk) -> bool:
    """Return True if the broker has a store, and was not removed."""
    folder = settings.store.store_path_root_dir
    return disk.exists(os.path.join(folder, LOG_FOLDER)) and not is_removed(folder, disk)
