"""Evidence about groups of Kafka clients."""

from mqgateway.gateway.broker.operations import SharedPartition
from mqgateway.gateway.doctor.evidence import Held, QueueKey
from mqgateway.gateway.web.kafka_evidence import kafka_members, shared_queues
from tests.support.gateway.console import console
from tests.support.gateway.coordinated import kafka_group


def test_members_have_the_topics_of_all_and_partitions_of_their_own() -> None:
    first, second = kafka_members(kafka_group(assigned=((("T", 0),), (("U", 1),))), "b")
    assert first.wants == second.wants == {"T": "*", "U": "*"}
    assert first.holds == {QueueKey("T", "b", 0): Held()}
    assert second.holds == {QueueKey("U", "b", 1): Held()}


def test_assignment_is_unknown_while_it_changes_or_is_shared() -> None:
    for group in (kafka_group(state="Assigning"), kafka_group("share", shared=1)):
        [member] = kafka_members(group, "b")
        assert member.holds is None
    [member] = kafka_members(kafka_group(assigned=((),)), "b")
    assert (member.wants, member.holds) == (None, {})


def test_shared_partitions_have_the_lag_that_is_reported() -> None:
    browser = console()
    browser.world.memory.add_topic("T", queues=1)
    for _ in range(5):
        browser.world.put("T")
    shared = [SharedPartition("T", 0, 1, 2), SharedPartition("U", 0, 0, 7)]
    [queue] = shared_queues(browser.world.console.operations, "T", shared)
    assert (queue.end, queue.behind) == (5, 2)
    [unknown] = shared_queues(browser.world.console.operations, "T", [SharedPartition("T", 0, -1, None)])
    assert unknown.behind == 0
