"""Topics and groups as front ends see them."""

from __future__ import annotations

from twisted.internet.defer import succeed

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
