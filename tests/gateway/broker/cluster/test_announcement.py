"""Registrations of topics with name servers, and their number of requests."""

from __future__ import annotations

import zlib
from itertools import pairwise

import pytest

from mqgateway.engine.static_topics.items import MappingItem
from mqgateway.engine.static_topics.mappings import TopicQueueMappingDetail
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.broker.cluster import announcement
from tests.support.gateway.broker.name_servers import World


def test_deleted_topic_is_not_announced() -> None:
    world = World().started()
    world.registration.soon("never made")
    world.time.advance(0.01)
    assert world.take() == []
    world.change("A")
    assert set(world.one().topics) == {"A"}


def test_permission_of_topics_is_limited_by_the_broker() -> None:
    world = World(broker_permission=4)
    world.registration.start()
    topics = world.one().topics
    assert topics["b"]["perm"] == 7 & 4
    config = world.topics.get("b")
    assert config is not None and config.perm == 7, "the topic itself stays as it is"


@pytest.mark.parametrize("compressed", [False, True])
def test_static_topics_are_announced_with_queues_led_here(compressed: bool) -> None:
    world = World(compressed_register=compressed)
    queues = {
        0: [MappingItem(0, 1, "b", 0)],
        1: [MappingItem(0, 0, "b", 0, 0, 5), MappingItem(1, 0, "c", 10)],
    }
    world.mappings.update(TopicQueueMappingDetail("static", "b", 2, 7, queues=queues))
    world.started()
    world.change("static", "plain")
    (reported,) = world.one().reported.topic_queue_mapping_info_map.values()
    assert (reported["topic"], reported["totalQueues"], reported["epoch"]) == ("static", 2, 7)
    assert {int(number): queue for number, queue in reported["currIdMap"].items()} == {0: 1}


def test_body_can_be_compressed() -> None:
    world = World(compressed_register=True)
    world.registration.start()
    asked = world.one()
    assert asked.fields["compressed"] == "true"
    assert asked.fields["bodyCrc32"] == str(zlib.crc32(asked.command.body) & 0x7FFFFFFF)
    assert set(asked.topics) == set(world.topics.names())


def test_registration_can_be_split() -> None:
    world = World(enable_split_registration=True, split_registration_size=5)
    world.registration.start()
    asked = world.agreed()
    assert [len(one.topics) for one in asked[:-1]] == [5] * (len(asked) - 1)
    assert sorted(name for one in asked for name in one.topics) == sorted(world.topics.names())


def test_very_many_topics_are_announced_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(announcement, "TOPICS_A_REQUEST", 30)
    monkeypatch.setattr(announcement, "TOPICS_A_PART", 10)
    world = World().started()
    world.topics.put(*[TopicConfig(f"t{number}", 4, 4) for number in range(40)])
    world.registration.soon(None)
    world.time.advance(0.01)
    (first,) = world.take()
    assert len(first.topics) == 10
    world.topics.put(TopicConfig("later", 4, 4))
    first.agree()
    others = world.agreed()
    reported = {name for one in (first, *others) for name in one.topics}
    assert reported == set(world.topics.names()) - {"later"}
    assert others[-1].version != world.topics.data_version


def test_every_part_of_a_split_registration_has_a_new_version() -> None:
    """A name server skips known topics that come with the version it received last."""
    world = World(enable_split_registration=True, split_registration_size=5)
    world.registration.start()
    first = world.agreed()
    world.topics.put(TopicConfig("one", perm=4))
    world.time.advance(30)
    versions = [asked.version for asked in first + world.agreed()]
    assert len(versions) > 4
    assert all(one != other for one, other in pairwise(versions))
    assert versions[len(first) - 1].counter == 0
    assert versions[-1] == world.topics.data_version
