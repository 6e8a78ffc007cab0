"""The progress of groups: seen, compared, and set."""

import pytest

from mqgateway.gateway.broker.admin import progress
from mqgateway.gateway.broker.admin.progress import LONG_MAX, Restart
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.codec.bodies import MessageQueue
from tests.support.gateway.broker.admin import AdminBroker


@pytest.fixture
def memory() -> AdminBroker:
    memory = AdminBroker()
    memory.add_topic("T", queues=2)
    memory.fill("T", 4, 2)
    memory.broker.tables.groups.find("g")
    return memory


def by_id(offsets: dict[MessageQueue, int]) -> dict[int, int]:
    return {queue.queue_id: offset for queue, offset in offsets.items()}


def test_progress_of_a_group_and_of_all(memory: AdminBroker) -> None:
    memory.broker.tables.offsets.commit("g", "T", 0, 3)
    of_one = progress.consume_stats(memory.broker, "g", "T").offset_table[MessageQueue("T", "broker-a", 0)]
    assert (of_one.broker_offset, of_one.consumer_offset, of_one.pull_offset) == (4, 3, 3)
    assert progress.consume_stats(memory.broker, "g").offset_table.keys() == (
        progress.consume_stats(memory.broker, "g", topics=["T"]).offset_table.keys()
    )
    assert progress.all_consume_stats(memory.broker).total_diff == 3
    assert progress.all_consume_stats(memory.broker, only_ordered=True).total_diff == 0


def test_least_offset_excludes_groups(memory: AdminBroker) -> None:
    for group, offset in (("a", 3), ("b", 2), ("c", 1)):
        memory.broker.tables.offsets.commit(group, "T", 0, offset)
    assert progress.correction_offsets(memory.broker, "T", "a") == {0: 1}
    assert progress.correction_offsets(memory.broker, "T", "c", {"c"}) == {0: LONG_MAX}


def test_reset_applies_at_the_next_pull(memory: AdminBroker) -> None:
    restart = Restart("g", "T", timestamp=-1)
    assert by_id(progress.reset_offset(memory.broker, restart)) == {0: 4, 1: 2}
    assert memory.broker.tables.offsets.has_reset("g", "T", 0)
    for wrong, reason in (
        (Restart("g", "U", 0), Reason.TOPIC_NOT_EXIST),
        (Restart("x", "T", 0), Reason.SUBSCRIPTION_GROUP_NOT_EXIST),
        (Restart("g", "T", 0, queue_id=0, offset=6), Reason.SYSTEM_ERROR),
    ):
        with pytest.raises(OperationError) as refused:
            progress.reset_offset(memory.broker, wrong)
        assert refused.value.reason is reason


def test_reset_is_notified_to_members(memory: AdminBroker) -> None:
    memory.options.use_server_side_reset_offset = False
    for queue_id in (0, 1):
        memory.broker.tables.offsets.commit("g", "T", queue_id, 1)
    with pytest.raises(OperationError) as refused:
        progress.reset_offset(memory.broker, Restart("g", "T", 0))
    assert refused.value.reason is Reason.CONSUMER_NOT_ONLINE
    memory.subscribe("g", "T")
    assert by_id(progress.reset_offset(memory.broker, Restart("g", "T", -1))) == {0: 1, 1: 1}
    assert by_id(progress.reset_offset(memory.broker, Restart("g", "T", -1, is_force=True))) == {0: 4, 1: 2}
    assert len(memory.consumer.sent) == 2
