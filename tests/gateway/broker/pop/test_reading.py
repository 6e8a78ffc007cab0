"""The order in which a pop looks into queues."""

import pytest

from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.broker.pop.reading import queues_to_read
from tests.support.gateway.broker.pop import PopBroker
from tests.support.gateway.broker.pop_requests import receive

RETRY = "%RETRY%G_T"


@pytest.fixture
def broker() -> PopBroker:
    made = PopBroker()
    made.add_topic(RETRY, queues=1)
    return made


def looked_into(
    broker: PopBroker,
    queue_id: int = -1,
    *,
    order: bool = False,
    attributes: dict[str, str] | None = None,
    factor: str | None = None,
) -> list[tuple[str, int]]:
    wanted = receive(queue_id=queue_id, max_messages=1, is_ordered=order)
    topic = TopicConfig("T", 3, 3, attributes=attributes or {})
    group = SubscriptionGroupConfig("G", attributes={} if factor is None else {"priority.factor": factor})
    return list(queues_to_read(broker.broker, wanted, topic, group))


@pytest.mark.parametrize(("chance", "queues"), [(20, [1, 0, 2]), (21, [2, 1, 0]), (99, [2, 1, 0])])
def test_queues_are_read_from_the_highest_after_a_random_start(
    broker: PopBroker, chance: int, queues: list[int]
) -> None:
    broker.chance = chance
    assert looked_into(broker) == [*(("T", queue_id) for queue_id in queues), (RETRY, 0)]


def test_retries_come_first_sometimes(broker: PopBroker) -> None:
    broker.chance = 19
    assert looked_into(broker, 2) == [(RETRY, 0), ("T", 2)]
    broker.options.pop_from_retry_probability = 0
    assert looked_into(broker, 2) == [("T", 2), (RETRY, 0)]


def test_in_order_there_are_no_retries(broker: PopBroker) -> None:
    assert looked_into(broker, 1, order=True) == [("T", 1)]


def test_with_priorities_the_highest_queue_comes_first(broker: PopBroker) -> None:
    broker.chance = 1
    priority = {"message.type": "PRIORITY"}
    assert looked_into(broker, attributes=priority)[0] == ("T", 2)
    assert looked_into(broker, attributes=priority)[-1] == (RETRY, 0)
    broker.options.pop_from_retry_probability_for_priority = 2
    assert looked_into(broker, attributes=priority)[0] == (RETRY, 0)


def test_group_can_disable_priorities(broker: PopBroker) -> None:
    broker.chance = 50
    priority = {"message.type": "PRIORITY"}
    assert looked_into(broker, attributes=priority, factor="50")[0] == ("T", 1)
    assert looked_into(broker, attributes=priority, factor="51")[0] == ("T", 2)
    assert looked_into(broker, attributes=priority, factor="rubbish")[0] == ("T", 2)


def test_old_and_new_retry_topic_alternate(broker: PopBroker) -> None:
    broker.options.enable_retry_topic_v2 = True
    broker.add_topic("%RETRY%G+T", queues=1)
    broker.chance = 50
    assert looked_into(broker)[-1] == (RETRY, 0)
    broker.chance = 51
    assert looked_into(broker)[-1] == ("%RETRY%G+T", 0)
    broker.options.retrieve_message_from_pop_retry_topic_v1 = False
    broker.chance = 50
    assert looked_into(broker)[-1] == ("%RETRY%G+T", 0)


def test_offsets_are_limited(broker: PopBroker) -> None:
    broker.options.max_offsets = 0
    answer = broker.ask_pop()
    assert (answer.code, answer.remark) == (1, "0 offsets are kept, no more are allowed (maxOffsets)")


def test_ordered_queues_are_limited(broker: PopBroker) -> None:
    broker.options.max_ordered_queues = 1
    for queue_id in (0, 1):
        broker.send("T", b"%d" % queue_id, queue_id=queue_id)
    assert len(broker.pop(order=True)) == 1
    assert broker.pop(order=True) == []
