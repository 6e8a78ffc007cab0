"""Tables of brokers that are added to those of one command."""

from __future__ import annotations

from pathlib import Path

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.static_topics.mappings import Mappings, TopicQueueMappingDetail
from mqgateway.engine.tables.attributes import KAFKA_FORMAT, MESSAGE_FORMAT
from mqgateway.engine.tables.groups import GroupTable, SubscriptionGroupConfig
from mqgateway.engine.tables.topics import TopicConfig, TopicTable
from mqgateway.gateway.access.tables import AccessTables
from mqgateway.gateway.access.users import User, UserType
from mqgateway.gateway.cli.added_brokers import copy_tables
from mqgateway.gateway.cli.numbering import mark_removed, numbered, read_all, read_numbered
from mqgateway.gateway.cli.settings import BrokerSettings
from tests.gateway.cli.test_numbering import given

SECURE = (
    "authenticationEnabled=true",
    'innerClientAuthenticationCredentials={"accessKey":"inner","secretKey":"secret"}',
)


class World:
    """Three brokers of one command; the first two have stores."""

    def __init__(self, folder: Path, *pairs: str) -> None:
        self.disk, self.clock = RealDisk(), ManualClock()
        flags = given(folder, "brokerName=n", *pairs)
        self.brokers = read_all(flags, numbered(read_numbered(flags, [])[0], 3))
        for one in self.brokers[:2]:
            (Path(one.store.store_path_root_dir) / "commitlog").mkdir(parents=True)

    def copy(self) -> None:
        copy_tables(self.brokers, self.disk, self.clock)

    def config(self, number: int) -> Path:
        return Path(self.brokers[number].store.store_path_root_dir) / "config"

    def topics(self, number: int) -> TopicTable:
        """Return the topics of a broker, loaded."""
        options = self.brokers[number].broker
        table = TopicTable(options, self.disk, str(self.config(number) / "topics.json"), self.clock)
        table.load()
        return table

    def groups(self, number: int) -> GroupTable:
        """Return the groups of a broker, loaded."""
        options, path = self.brokers[number].broker, self.config(number) / "subscriptionGroup.json"
        table = GroupTable(options, self.disk, str(path), self.clock)
        table.load()
        return table

    def access(self, number: int) -> AccessTables:
        """Return the users and policies of a broker, loaded."""
        tables = AccessTables(self.disk, str(self.config(number)), self.clock, None)
        tables.load()
        return tables


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def own_names(settings: BrokerSettings, world: World) -> set[str]:
    """Return the topics that a new broker with these settings has anyway."""
    return set(TopicTable(settings.broker, world.disk, "none", world.clock).names())


def test_added_broker_has_topics_and_groups_of_the_first(world: World) -> None:
    topics, groups = world.topics(0), world.groups(0)
    topics.put(
        TopicConfig("Orders", 4, 4, 6, attributes={"message.type": "FIFO"}), TopicConfig("Other", 2, 2)
    )
    groups.put(SubscriptionGroupConfig("readers", retry_max_times=3))
    topics.close()
    groups.close()
    world.copy()
    added = world.topics(2)
    assert set(added.names()) - own_names(world.brokers[2], world) == {"Orders", "Other"}
    assert added.get("Orders") == topics.get("Orders")
    assert world.groups(2).get("readers") == groups.get("readers")
    assert "Orders" not in world.topics(1), "it has a store"


def test_removed_broker_that_is_served_again_has_topics_made_meanwhile(world: World) -> None:
    mark_removed(world.brokers[1].store.store_path_root_dir, world.disk, 7, 0)
    topics = world.topics(0)
    topics.put(TopicConfig("Later", 4, 4))
    topics.close()
    world.copy()
    assert world.topics(1).get("Later") == topics.get("Later")


def test_topics_with_fixed_brokers_are_left_out(world: World) -> None:
    topics = world.topics(0)
    kafka = TopicConfig("Kafka", attributes={MESSAGE_FORMAT: KAFKA_FORMAT})
    topics.put(kafka, TopicConfig("Static"), TopicConfig("%RETRY%g", 1, 1), TopicConfig("%DLQ%g", 1, 1))
    topics.close()
    path = str(world.config(0) / "topicQueueMapping.json")
    mappings = Mappings(world.brokers[0].broker, world.disk, path, world.clock)
    mappings.put(TopicQueueMappingDetail("Static", "n-0", 8, 1))
    mappings.close()
    world.copy()
    assert set(world.topics(2).names()) == own_names(world.brokers[2], world)


def test_added_broker_has_users_and_policies_of_the_first(tmp_path: Path) -> None:
    world = World(tmp_path, *SECURE)
    tables = world.access(0)
    tables.users.put(User("alice", "secret-of-alice", UserType.NORMAL))
    tables.close()
    world.copy()
    assert world.access(2).users.get("alice") == User("alice", "secret-of-alice", UserType.NORMAL)
    assert not (world.config(1) / "users.json").exists()


def test_nothing_is_copied_between_new_brokers(tmp_path: Path, world: World) -> None:
    for one in world.brokers[:2]:
        (Path(one.store.store_path_root_dir) / "commitlog").rmdir()
    world.copy()
    assert not world.config(2).exists()


def test_copy_is_repeated_until_the_broker_has_a_store(world: World) -> None:
    world.copy()
    topics = world.topics(0)
    topics.put(TopicConfig("Late", 1, 1))
    topics.close()
    world.copy()
    assert "Late" in world.topics(2)
    (Path(world.brokers[2].store.store_path_root_dir) / "commitlog").mkdir()
    topics.put(TopicConfig("Later", 1, 1))
    world.copy()
    assert "Later" not in world.topics(2)
