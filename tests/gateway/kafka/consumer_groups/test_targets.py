"""Targets of consumer groups; `coordinator/test_target_updates` has when they are computed."""

from mqgateway.engine.steps import run
from mqgateway.gateway.kafka.consumer_groups.group import ModernGroup, ResolvedRegex
from mqgateway.gateway.kafka.consumer_groups.member import ModernMember
from mqgateway.gateway.kafka.consumer_groups.targets import computed_targets
from mqgateway.gateway.kafka.coordinator.member import MemberTally, RequestSender
from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicsInMemory


def test_members_get_partitions_of_names_and_matches() -> None:
    group = ModernGroup("g", MemberTally())
    client = RequestSender("c", "/127.0.0.1")
    group.put(ModernMember("a", client, topics=("orders", "missing")))
    group.put(ModernMember("b", client, regex="m.*"))
    group.regexes["m.*"] = ResolvedRegex(frozenset({"more"}), b"1", 0)
    catalog = TopicsInMemory({"orders": 1, "more": 2})
    group.refresh_topics(catalog, 10)
    orders, more = (group.topics[name].id for name in ("orders", "more"))
    assert run(computed_targets(group)) == {"a": {(orders, 0)}, "b": {(more, 0), (more, 1)}}
