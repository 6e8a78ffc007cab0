"""Tables of brokers that are added to `mqgateway serve --brokers`: copies of those of the first broker.

A broker without a store begins with the topics, consumer groups, users and policies of the first broker that
has one, so clients use its queues as soon as it is registered. A group without an offset reads a new queue
from its beginning. Left out are topics that each broker makes itself (system topics, retries, dead letters),
topics of Kafka, which one broker serves, and static topics, whose mappings name the brokers of their queues.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from functools import partial

from mqgateway.engine.clock import Clock
from mqgateway.engine.disk import Disk, make_directories
from mqgateway.engine.static_topics.mappings import Mappings
from mqgateway.engine.tables.groups import GroupTable
from mqgateway.engine.tables.topics import TopicTable
from mqgateway.gateway.access.settings import AccessSettings
from mqgateway.gateway.access.tables import AccessTables
from mqgateway.gateway.broker.cluster.table_copies import shared_topics
from mqgateway.gateway.cli.numbering import LOG_FOLDER, is_removed
from mqgateway.gateway.cli.settings import BrokerSettings

log = logging.getLogger(__name__)


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

    def copy_from(self, other: _Tables) -> None:
        """Add what the other broker has and this one lacks."""
        shared = shared_topics(other.topics, other.mappings)
        topics = [one for one in shared if one.key not in self.topics]
        groups = [one for one in other.groups.all() if one.key not in self.groups]
        self.topics.put(*topics)
        self.groups.put(*groups)
        if self.access is not None and other.access is not None:
            self.access.users.adopt(other.access.users.to_json())
            self.access.acls.adopt(other.access.acls.to_json())
        log.info(
            "%s begins with %d topics and %d groups of %s", self.name, len(topics), len(groups), other.name
        )

    def close(self) -> None:
        """Write what is not written yet."""
        for table in (self.topics, self.mappings, self.groups):
            table.close()
        if self.access is not None:
            self.access.close()


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
        target = _Tables(one, disk, clock)
        target.copy_from(source)
        target.close()
    source.close()


def _is_served(settings: BrokerSettings, disk: Disk) -> bool:
    """Return True if the broker has a store, and was not removed."""
    folder = settings.store.store_path_root_dir
    return disk.exists(os.path.join(folder, LOG_FOLDER)) and not is_removed(folder, disk)
