"""The parts of POP together: next offsets of groups, resets, and state that survives a restart."""

from mqgateway.engine.tables.offsets import UNKNOWN
from tests.support.gateway.broker.pop import GRACE, INVISIBLE, PopBroker, popped


def send(broker: PopBroker, *bodies: bytes) -> None:
    for body in bodies:
        broker.send("T", body, properties={"UNIQ_KEY": body.decode()})


def test_group_continues_at_its_popped_or_committed_offset() -> None:
    broker = PopBroker()
    state, offsets = broker.broker.pop, broker.broker.tables.offsets
    send(broker, b"a", b"b")
    assert offsets.query("G", "T", 0) == UNKNOWN
    assert state.first_offset("G", "T", 0) == 0
    broker.pop()
    assert offsets.query("G", "T", 0) == state.first_offset("G", "T", 0) == 2


def test_reset_ends_messages_in_flight() -> None:
    broker = PopBroker()
    state = broker.broker.pop
    send(broker, b"a", b"b")
    broker.pop()
    assert state.take_reset("G", "T", 0) is None
    broker.broker.tables.offsets.assign_reset("G", "T", 0, 1)
    assert state.take_reset("G", "T", 0) == 1
    broker.pass_time(1000)
    assert broker.broker.tables.offsets.query("G", "T", 0) == 1


def test_a_clean_restart_loses_and_repeats_nothing() -> None:
    broker = PopBroker()
    send(broker, b"a", b"b", b"c")
    one, _ = broker.pop(max_msg_nums=2)
    broker.ack(one)
    broker = broker.restart()
    assert [message.body for message in broker.pop()] == [b"c"]
    broker.pass_time(INVISIBLE + GRACE)
    assert [message.body for message in broker.pop()] == [b"b", b"c"]


def test_kill_redelivers_only_unacknowledged_messages() -> None:
    """Offsets on disk are five seconds old; the check points in the log tell what came after."""
    broker = PopBroker()
    send(broker, b"a", b"b", b"c")
    broker.pop(max_msg_nums=1)
    broker.pass_time(1000)
    broker.persist()
    one, two = broker.pop(max_msg_nums=2)
    broker.ack(one)
    broker = broker.kill()
    assert broker.pop() == []
    broker.pass_time(INVISIBLE + GRACE)
    assert sorted(message.body for message in broker.pop()) == [b"a", two.body]


def test_kill_during_revival_repeats_nothing() -> None:
    """The copies are in the log, that they are made is not noted yet."""
    broker = PopBroker()
    send(broker, b"a", b"b")
    broker.pop()
    broker.persist()
    broker.pass_time(INVISIBLE + GRACE)
    again = broker.pop(max_msg_nums=1)
    assert broker.ack(again[0]).code == 0
    broker = broker.kill()
    broker.pass_time(1000)
    assert len(broker.pop()) == 1
    broker.pass_time(INVISIBLE + GRACE)
    assert [message.stored.reconsume_times for message in broker.pop()] == [2]


def test_in_order_a_restart_keeps_queues_blocked() -> None:
    broker = PopBroker()
    send(broker, b"a")
    broker.pop(order=True)
    broker = broker.restart()
    assert broker.pop(order=True) == []
    broker.pass_time(INVISIBLE)
    assert [message.body for message in broker.pop(order=True)] == [b"a"]


def test_ordered_queues_of_deleted_topics_are_removed() -> None:
    broker = PopBroker()
    send(broker, b"a")
    broker.pop(order=True)
    broker.pass_time(60_000, step=1000)
    assert len(broker.broker.pop.orders) == 1
    broker.broker.tables.topics.delete("T")
    broker.pass_time(61_000, step=1000)
    assert len(broker.broker.pop.orders) == 0


def test_waiting_ordered_pop_keeps_the_tick_short() -> None:
    broker = PopBroker()
    assert not broker.broker.pop.is_busy
    send(broker, b"a")
    broker.pop(order=True)
    assert not broker.broker.pop.is_busy
    broker.ask_pop(order=True, poll_time=60_000)
    assert broker.broker.pop.is_busy
    broker.pass_time(INVISIBLE)
    assert not broker.broker.pop.is_behind


def test_messages_of_a_deleted_group_are_not_redelivered() -> None:
    broker = PopBroker()
    send(broker, b"a")
    broker.pop()
    broker.broker.tables.groups.delete("G")
    broker.pass_time(INVISIBLE + GRACE)
    assert broker.broker.tables.topics.get("%RETRY%G_T") is None


def test_reset_wakes_a_waiting_pop() -> None:
    broker = PopBroker()
    send(broker, b"a")
    broker.ack(broker.pop()[0])
    waiting = broker.ask_pop(poll_time=60_000)
    broker.broker.tables.offsets.assign_reset("G", "T", 0, 0)
    broker.broker.pop.sent_elsewhere("G", "T", 0)
    assert [message.body for message in popped(waiting)] == [b"a"]


def test_counts_are_removed_with_their_topic_or_group() -> None:
    broker = PopBroker()
    counts = broker.broker.pop.log.in_flight
    send(broker, b"a")
    broker.pop()
    broker.pop(consumer_group="H")
    assert len(counts) == 2
    broker.broker.pop.forget_group("H")
    assert len(counts) == 1
    broker.broker.pop.forget_topic("T")
    assert len(counts) == 0


def test_released_lock_wakes_no_pop_if_disabled() -> None:
    broker = PopBroker(options={"enable_notify_after_pop_order_lock_release": False})
    send(broker, b"a")
    broker.pop(order=True)
    waiting = broker.ask_pop(order=True, poll_time=60_000)
    broker.pass_time(INVISIBLE + 1000)
    assert waiting.waits
