"""Attributes of topics and groups that concern lite topics."""

from mqgateway.engine.tables.topics import TopicConfig
from tests.support.engine.lite.worlds import World


def test_a_parent_is_of_the_type_lite_and_may_let_its_topics_end() -> None:
    world = World()
    world.topics.put(
        TopicConfig("short", attributes={"message.type": "LITE", "lite.topic.expiration": "5"}),
        TopicConfig("other", attributes={"message.type": "NORMAL"}),
    )
    rules = world.rules
    assert sorted(rules.parents()) == ["chat", "short"]
    assert [rules.minutes_to_live(topic) for topic in ("chat", "short", "none")] == [-1, 5, -1]
    assert not rules.is_parent("none")


def test_a_group_is_bound_to_a_parent() -> None:
    world = World()
    world.bind("W", wildcard="true", client_max_event_cnt="12")
    rules = world.rules
    assert (rules.bound_topic("G"), rules.bound_topic("none")) == ("chat", None)
    assert rules.groups_of("chat") == {"G", "W"}
    assert (rules.is_wildcard("W"), rules.is_wildcard("G")) == (True, False)
    assert (rules.max_events("W"), rules.max_events("G")) == (12, 100)
    assert "none" not in world.groups
