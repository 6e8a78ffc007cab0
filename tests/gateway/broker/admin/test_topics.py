"""Operations on topics, typed in and typed out."""

import pytest
from twisted.internet.defer import Deferred

from mqgateway.engine.static_topics.mappings import TopicQueueMappingDetail
from mqgateway.engine.steps import run
from mqgateway.engine.tables.attributes import KAFKA_FORMAT, MESSAGE_FORMAT
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.broker.admin import topics
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.produce.send_back import SendBack, send_back
from mqgateway.gateway.codec.bodies import MessageQueue
from tests.support.gateway.broker.admin import AdminBroker
from tests.support.gateway.broker.pop import PopBroker


@pytest.fixture
def memory() -> AdminBroker:
    return AdminBroker()


def test_topic_update_waits_for_name_servers(memory: AdminBroker) -> None:
    known: Deferred[None] = Deferred()
    memory.broker.cluster.registration.heard = lambda within=None: known
    done = topics.update_topic(memory.broker, TopicConfig("T", 4, 3, attributes={"+message.type": "FIFO"}))
    assert not done.called
    found = topics.topic_config(memory.broker, "T")
    assert found.config == TopicConfig("T", 4, 3, attributes={"message.type": "FIFO"})
    assert found.mapping is None
    known.callback(None)
    assert done.called


def test_topics_with_fixed_brokers_are_not_repeated(
    memory: AdminBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    repeated: list[str] = []

    async def repeat(_directory: object, _options: object, config: TopicConfig) -> dict[str, str]:
        repeated.append(config.topic_name)
        return {}

    monkeypatch.setattr(topics, "repeat_change", repeat)
    tables = memory.broker.tables
    tables.topics.put(TopicConfig("Kafka", attributes={MESSAGE_FORMAT: KAFKA_FORMAT}), TopicConfig("Static"))
    tables.mappings.put(TopicQueueMappingDetail("Static", "a", 8, 1))
    for name in ("Kafka", "Static", "Plain"):
        assert topics.repeat_update(memory.broker, TopicConfig(name)).result == {}
    assert repeated == ["Plain"]


def test_list_of_topics_is_created_whole_or_not_at_all(memory: AdminBroker) -> None:
    with pytest.raises(OperationError) as refused:
        run(topics.update_topics(memory.broker, [TopicConfig("A"), TopicConfig("b!")]))
    assert refused.value.reason is Reason.INVALID_PARAMETER
    assert "A" not in memory.broker.tables.topics
    assert run(topics.update_topics(memory.broker, [TopicConfig("A"), TopicConfig("B")])).called
    assert "A" in memory.broker.tables.topics and "B" in memory.broker.tables.topics


def test_a_bad_attribute_is_refused(memory: AdminBroker) -> None:
    with pytest.raises(OperationError) as refused:
        topics.update_topic(memory.broker, TopicConfig("T", attributes={"+colour": "red"}))
    assert (refused.value.reason, refused.value.message) == (Reason.SYSTEM_ERROR, "unsupported key: colour")


def test_deleted_topic_loses_all_its_state(memory: AdminBroker) -> None:
    memory.add_topic("T")
    memory.fill("T", 1)
    topics.delete_topic(memory.broker, "T")
    with pytest.raises(OperationError) as refused:
        topics.topic_stats(memory.broker, "T")
    assert refused.value.reason is Reason.TOPIC_NOT_EXIST
    assert "T" not in memory.broker.store.queues()
    with pytest.raises(OperationError) as blank:
        topics.delete_topic(memory.broker, " ")
    assert blank.value.reason is Reason.INVALID_PARAMETER


def test_offsets_times_and_groups_of_a_topic(memory: AdminBroker) -> None:
    memory.add_topic("T", queues=1)
    memory.fill("T", 3)
    memory.broker.tables.offsets.commit("g", "T", 0, 1)
    now = memory.clock.millis()
    stats = topics.topic_stats(memory.broker, "T").offset_table[MessageQueue("T", "broker-a", 0)]
    assert (stats.min_offset, stats.max_offset, stats.last_update_timestamp) == (0, 3, now)
    (span,) = topics.time_spans(memory.broker, "T", "g", now + 500)
    assert (span.min_time_stamp, span.max_time_stamp, span.delay_time) == (now - 2000, now, 1500)
    assert topics.groups_of_topic(memory.broker, "T") == {"g"}


def test_the_brokers_own_topics(memory: AdminBroker) -> None:
    memory.add_topic("T")
    found = topics.system_topics(memory.broker)
    assert "broker-a" in found and "T" not in found


@pytest.fixture
def pops() -> PopBroker:
    return PopBroker()


def recreate(broker: PopBroker, name: str = "T") -> None:
    topics.delete_topic(broker.broker, name)
    broker.add_topic(name)


def bodies(broker: PopBroker, name: str = "T", queues: int = 4) -> list[bytes]:
    return [each.body for queue_id in range(queues) for each in broker.stored(name, queue_id)]


def test_pop_of_deleted_topic_brings_back_no_message_of_the_new_topic(pops: PopBroker) -> None:
    for body in (b"old 1", b"old 2"):
        pops.send("T", body)
    assert len(pops.pop(invisible_time=3000)) == 2
    recreate(pops)
    for body in (b"new 1", b"new 2"):
        pops.send("T", body)
    assert len(pops.pop(invisible_time=60_000)) == 2
    pops.pass_time(12_000)
    assert pops.pop() == []
    pops.pass_time(60_000)
    assert [one.body for one in pops.pop()] == [b"new 1", b"new 2"], "their own time is over"
    assert pops.broker.tables.topics.left_out == {"T": 1}


def test_changed_time_of_deleted_topic_brings_back_nothing(pops: PopBroker) -> None:
    pops.send("T", b"old")
    (message,) = pops.pop()
    pops.changed(message, 5000)
    recreate(pops)
    pops.send("T", b"new")
    pops.pop(invisible_time=60_000)
    pops.pass_time(20_000)
    assert pops.pop() == []


def test_kill_after_deletion_skips_no_message_of_the_new_topic(pops: PopBroker) -> None:
    """The checkpoint of a pop gives the next offset of its group at a start; not in another topic."""
    for _ in range(3):
        pops.send("T", b"old")
    pops.pop()
    recreate(pops)
    again = pops.kill()
    for _ in range(2):
        again.send("T", b"new")
    assert [one.body for one in again.pop()] == [b"new", b"new"]


def test_offsets_written_before_deletion_do_not_come_back_after_kill(pops: PopBroker) -> None:
    pops.send("T", b"old")
    pops.pop()
    pops.persist()
    pops.broker.pop.persist = lambda: None  # type: ignore[method-assign]
    topics.delete_topic(pops.broker, "T")
    again = pops.kill()
    del again.broker.tables.topics._table["T"]  # which the bench makes
    again.broker.tables.forget_deleted()
    assert again.broker.tables.offsets.query("G", "T", 0) == -1


def test_order_of_deleted_topic_blocks_no_client(pops: PopBroker) -> None:
    pops.send("T", b"old")
    pops.pop(order=True)
    recreate(pops)
    pops.send("T", b"new")
    assert [one.body for one in pops.pop(order=True)] == [b"new"]


@pytest.mark.parametrize("is_made_again", [False, True])
@pytest.mark.parametrize("properties", [{"TIMER_DELAY_MS": "2000"}, {"DELAY": "1"}], ids=["timer", "level"])
def test_delayed_message_of_deleted_topic_is_discarded(
    pops: PopBroker, properties: dict[str, str], *, is_made_again: bool
) -> None:
    pops.send("T", b"old", properties=properties)
    topics.delete_topic(pops.broker, "T")
    if is_made_again:
        pops.add_topic("T")
        pops.send("T", b"new", properties=properties)
    pops.pass_time(6000)
    assert bodies(pops) == ([b"new"] if is_made_again else [])
    assert pops.broker.tables.topics.left_out == {"T": 1}


def test_timer_that_is_rolled_after_deletion_is_discarded(pops: PopBroker) -> None:
    pops.broker.timers.enqueue.window = 4000
    pops.send("T", b"old", properties={"TIMER_DELAY_MS": "9000"})
    pops.pass_time(1000)
    recreate(pops)
    pops.pass_time(15_000)
    assert bodies(pops) == []


def test_delayed_message_survives_an_unknown_topic(pops: PopBroker) -> None:
    """A topic that was never deleted, but is in no table, is not gone: a slave may not have heard of it."""
    pops.send("T", b"x", properties={"DELAY": "1"})
    del pops.broker.tables.topics._table["T"]
    pops.pass_time(3000)
    assert bodies(pops) == [b"x"]


def test_retry_of_deleted_topic_is_discarded(pops: PopBroker) -> None:
    pops.send("T", b"old")
    (old,) = pops.stored("T")
    send_back(pops.broker, SendBack("G", old.physical_offset, 1), None)
    recreate(pops)
    send_back(pops.broker, SendBack("G", old.physical_offset, 1), None)
    send_back(pops.broker, SendBack("G", old.physical_offset, -1), None)
    pops.pass_time(3000)
    assert bodies(pops, "%RETRY%G", 1) == bodies(pops, "%DLQ%G", 1) == []
    assert pops.broker.tables.topics.left_out == {"T": 3}


def test_half_message_of_deleted_topic_is_neither_committed_nor_checked(pops: PopBroker) -> None:
    log = pops.broker.transactions
    pops.send("T", b"old", properties={"TRAN_MSG": "true", "PGROUP": "P"}, sys_flag=4)
    (half,) = pops.stored("RMQ_SYS_TRANS_HALF_TOPIC")
    assert log.find(half.physical_offset) is not None
    recreate(pops)
    assert log.find(half.physical_offset) is None
    assert log.open_halves(10) == []
    pops.clock.advance(3_600_000)
    for _ in range(3):
        assert log.tick(pops.broker.store.steady.now(), lambda _: True) == []
    assert pops.broker.tables.topics.left_out == {"T": 1}


def test_long_polls_are_answered_when_their_topic_is_deleted(pops: PopBroker) -> None:
    pops.send("T", b"old")
    pops.pop()
    pop = pops.ask_pop(poll_time=15_000)
    pull = pops.pull("T", queue_id=0, offset=1, suspend_timeout_millis=15_000, sys_flag=2 | 4)
    assert pop.waits and pull.waits
    topics.delete_topic(pops.broker, "T")
    assert (pop.code, pull.code) == (210, 17)


def test_deleted_topics_survive_kill_and_restart(pops: PopBroker) -> None:
    pops.send("T", b"old", properties={"TIMER_DELAY_MS": "5000"})
    recreate(pops)
    again = pops.kill().restart()
    again.pass_time(9000)
    assert bodies(again) == []
