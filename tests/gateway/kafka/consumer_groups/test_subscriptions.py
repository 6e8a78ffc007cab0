"""Topics of regular expressions."""

import pytest

from mqgateway.gateway.kafka.consumer_groups import subscriptions
from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicsInMemory
from tests.support.gateway.kafka.groups import Groups


def test_search_for_an_expression_without_members_is_dropped() -> None:
    groups = Groups(catalog=TopicsInMemory({f"t{number}": 1 for number in range(6000)}))
    groups.held = []
    groups.consumer_heartbeat("a", subscribed_topic_regex="t1.*")
    groups.consumer_heartbeat("a", 2, topics=["t1"], subscribed_topic_regex="", owned=[])
    groups.run_held()
    assert groups.consumers().regexes == {}


def test_same_topics_begin_no_epoch() -> None:
    groups = Groups()
    groups.consumer_heartbeat("a", subscribed_topic_regex="o.*")
    groups.pass_time(11_000)
    groups.catalog.topics["other2"] = 1
    epoch = groups.consumers().epoch
    groups.catalog.topics["x"] = 1
    groups.consumer_heartbeat("a", 2)
    del groups.catalog.topics["other2"]
    groups.pass_time(11_000)
    groups.consumer_heartbeat("a", 2)
    assert groups.consumers().epoch == epoch + 1


def test_expressions_that_are_kept_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscriptions, "PATTERNS_MAX", 1)
    groups = Groups()
    for number in range(3):
        assert groups.consumer_heartbeat(f"m{number}", subscribed_topic_regex=f"o{number}*.*").error_code == 0
