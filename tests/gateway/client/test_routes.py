"""Routes: what can be sent to, what can be read, and from whom."""

from __future__ import annotations

from random import Random

from mqgateway.gateway.client.routes import Endpoint, RouteTable, as_new_topic, queues_to_read, queues_to_send
from mqgateway.gateway.codec.bodies import BrokerData, MessageQueue, QueueData, TopicRouteData


def route(*brokers: tuple[str, int, int], order: str | None = None) -> TopicRouteData:
    """Brokers with a number of queues and a permission; each has a master and a slave."""
    return TopicRouteData(
        queue_datas=[QueueData(name, count, count, perm) for name, count, perm in brokers],
        broker_datas=[
            BrokerData("c", name, {0: f"{name}:10911", 1: f"{name}:20911"}) for name, _, _ in brokers
        ],
        order_topic_conf=order,
    )


def test_queues_to_send_lie_on_masters_that_may_be_written_in_order_of_names() -> None:
    given = route(("b", 1, 6), ("a", 2, 6), ("c", 3, 4))
    assert queues_to_send("T", given) == [
        MessageQueue("T", "a", 0),
        MessageQueue("T", "a", 1),
        MessageQueue("T", "b", 0),
    ]
    del given.broker_datas[1].broker_addrs[0]
    assert queues_to_send("T", given) == [MessageQueue("T", "b", 0)]


def test_queues_to_read_are_those_that_may_be_read() -> None:
    assert queues_to_read("T", route(("a", 2, 6), ("b", 2, 2))) == {
        MessageQueue("T", "a", 0),
        MessageQueue("T", "a", 1),
    }


def test_an_ordered_topic_has_the_queues_that_are_configured() -> None:
    queues = queues_to_send("T", route(("a", 8, 6), order="b:1;a:2;;broken:x"))
    assert queues == [MessageQueue("T", "b", 0), MessageQueue("T", "a", 0), MessageQueue("T", "a", 1)]


def test_a_new_topic_gets_no_more_queues_than_wanted() -> None:
    copied = as_new_topic(route(("a", 8, 7), ("b", 2, 7)), 4)
    counts = [(one.read_queue_nums, one.write_queue_nums) for one in copied.queue_datas]
    assert counts == [(4, 4), (2, 2)]


def test_a_route_is_news_once_whatever_its_order() -> None:
    table = RouteTable()
    assert table.update("T", route(("a", 1, 6), ("b", 1, 6)))
    assert not table.update("T", route(("b", 1, 6), ("a", 1, 6)))
    assert table.update("T", route(("a", 2, 6)))
    assert table.route("T") == route(("a", 2, 6))


def test_whom_to_read_from() -> None:
    table = RouteTable()
    table.update("T", route(("a", 1, 6)))
    assert table.reader("a") == Endpoint("a:10911", False)
    assert table.reader("a", 1) == Endpoint("a:20911", True)
    assert table.reader("a", 7) == Endpoint("a:10911", False)
    assert table.reader("a", 7, only_this=True) is None
    assert table.reader("nobody") is None
    table.update("T", TopicRouteData(broker_datas=[BrokerData("c", "a", {2: "a:30911"})]))
    assert table.reader("a") == Endpoint("a:30911", True)
    assert table.reader("a", only_this=True) is None
    assert table.reader("a", 1) == Endpoint("a:30911", True)
    assert table.master("a") is None


def test_brokers_that_are_in_no_route_are_forgotten() -> None:
    table = RouteTable()
    table.update("T", route(("a", 1, 6)))
    table.update("U", route(("b", 1, 6)))
    table.forget("T")
    assert [member.broker_name for member in table.members()] == ["a", "a", "b", "b"]
    table.forget_absent()
    assert [(member.broker_name, member.broker_id) for member in table.members()] == [("b", 0), ("b", 1)]


def test_anybody_is_a_master_if_there_is_one() -> None:
    table = RouteTable()
    assert table.anybody("T", Random(1)) is None
    table.update("T", route(("a", 1, 6), ("b", 1, 6)))
    assert {table.anybody("T", Random(seed)) for seed in range(20)} == {"a:10911", "b:10911"}
