"""Topics and groups as front ends see them."""

from __future__ import annotations

from twisted.internet.defer import succeed

from mqgateway.gateway.broker.operations import Use
from mqgateway.gateway.codec.bodies import TopicRouteData
from tests.support.gateway.broker.operating import OperatedBroker


def test_topics_are_looked_up_with_routes_and_delays() -> None:
    operated = OperatedBroker()
    topics, route = operated.operations.topics, TopicRouteData()
    operated.broker.cluster.routes.route = lambda name: succeed(route)  # type: ignore[method-assign]
    found = topics.get("T")
    assert found is not None and found.read_queue_nums == 1
    assert topics.get("Gone") is None
    assert topics.route("T").result is route
    assert topics.delays()[:3] == (1000, 5000, 10_000)


def test_groups_are_looked_up_and_created() -> None:
    operated = OperatedBroker(options={"auto_create_subscription_group": True})
    groups = operated.operations.groups
    assert groups.get("New") is None
    created = groups.find("New")
    assert created is not None and groups.get("New") is created
    assert groups.bound_topic("G") is None
    assert operated.operations.address == operated.broker.environment.address


def test_group_that_is_taken_up_has_a_retry_topic() -> None:
    operated = OperatedBroker()
    groups = operated.operations.groups
    assert groups.take_up("fresh") is groups.get("fresh") is not None
    assert operated.broker.tables.topics.get("%RETRY%fresh") is not None
    assert groups.take_up("not legal!") is None


def test_topics_are_listed_with_their_messages_and_rates() -> None:
    operated = OperatedBroker()
    topics = operated.operations.topics
    operated.memory.add_topic("U", queues=2)
    assert {"T", "U"} <= set(topics.names()) and "U" in topics and "Gone" not in topics
    assert len(topics) == len(topics.names())
    for _ in range(60):
        operated.send(b"a", topic="U")
    assert (topics.message_count("U"), topics.message_count("Gone")) == (60, 0)
    assert sum(map(len, (topics.queues("U"), topics.queues("T")))) == len(topics.queues("U")) > 0
    assert topics.put_rate("U") == 0
    for _ in operated.broker.stats.tick(10_000, 10_000):
        pass
    assert topics.put_rate("U") > 0
    assert dict(topics.put_rates())["U"] == topics.put_rate("U")


def test_groups_are_listed_with_their_rates_and_modes() -> None:
    operated = OperatedBroker()
    groups = operated.operations.groups
    assert "G" in groups and "G" in groups.names() and "Gone" not in groups
    assert len(groups) == len(groups.names())
    operated.broker.stats.got("G", "T", 60, 600)
    for _ in operated.broker.stats.tick(10_000, 10_000):
        pass
    assert groups.get_rate("G", "T") > 0 and groups.get_rate("G", "U") == 0
    assert not groups.is_popping("G", "T")
    operated.operations.clients.set_mode(operated.permit(Use.ADMINISTER), "T", "G", "POP", 0)
    assert groups.is_popping("G", "T")
