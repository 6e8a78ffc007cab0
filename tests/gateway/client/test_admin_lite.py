"""Questions to brokers about lite topics."""

from __future__ import annotations

from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.client import admin_groups, admin_topics
from mqgateway.gateway.client import admin_lite as lite
from tests.support.gateway.client.administering import Office, office


def furnished(here: Office) -> None:
    """A parent with a group and one message of a lite topic."""
    attributes = {"message.type": "LITE", "lite.topic.expiration": "20"}
    here.ask(admin_topics.update(TopicConfig("Parent", attributes=attributes)))
    here.cluster.settle(1.0)
    here.ask(admin_groups.update(SubscriptionGroupConfig("G", attributes={"lite.bind.topic": "Parent"})))
    here.send(1, "Parent", properties={"__LITE_TOPIC": "one"})


def test_lite_topics_are_seen_from_outside() -> None:
    with office(enable_lmq=True, enable_multi_dispatch=True) as here:
        furnished(here)
        assert here.ask(lite.broker()).group_meta == {"Parent": {"G"}}
        assert here.ask(lite.parent("Parent")).groups == {"G"}
        assert here.ask(lite.topic("Parent", "one")).parent_topic == "Parent"
        assert here.ask(lite.client("Parent", "G", "nobody")).lite_topic_count <= 0
        assert here.ask(lite.group("G", top=3)).group == "G"
        assert here.ask(lite.dispatch("G")) is None
