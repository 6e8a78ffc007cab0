"""Ordered pops: blocked queues, the next offset of a group, the file."""

from mqgateway.engine.lenient_json import loads
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.pop.orders import OrderKey, Orders
from mqgateway.engine.testing.crash_disk import CrashDisk

PATH = "/config/consumerOrderInfo.json"
KEY = OrderKey("orders", "gA", 0)
NOW = 1_700_000_000_000
INVISIBLE = 30_000


def orders(disk: CrashDisk | None = None, **options: int) -> Orders:
    return Orders(BrokerOptions(**options), disk or CrashDisk(), PATH)


def taken(offsets: tuple[int, ...] = (100, 101, 103), attempt: str | None = "a1") -> Orders:
    table = orders()
    table.take(KEY, attempt, NOW, INVISIBLE, offsets, NOW)
    return table


def test_messages_in_flight_block_until_visible() -> None:
    table = taken()
    assert table.is_blocked(KEY, None, NOW)
    assert table.is_blocked(KEY, "a2", NOW + INVISIBLE - 1)
    assert not table.is_blocked(KEY, None, NOW + INVISIBLE)
    assert not table.is_blocked(OrderKey("orders", "gA", 1), None, NOW)


def test_the_same_attempt_is_not_blocked() -> None:
    assert not taken().is_blocked(KEY, "a1", NOW)
    assert taken(attempt=None).is_blocked(KEY, None, NOW)


def test_group_continues_at_the_first_message_that_was_not_consumed() -> None:
    table = taken()
    assert table.consume(KEY, 101, NOW, NOW) == 100
    assert table.consume(KEY, 100, NOW, NOW) == 103
    assert table.is_blocked(KEY, None, NOW)
    assert table.consume(KEY, 103, NOW, NOW) == 104
    assert not table.is_blocked(KEY, None, NOW)


def test_a_message_of_an_earlier_pop_changes_nothing() -> None:
    table = taken()
    assert table.consume(KEY, 100, NOW - 1, NOW) is None
    table.hide(KEY, 100, NOW - 1, NOW + 90_000, NOW)
    assert not table.is_blocked(KEY, None, NOW + INVISIBLE)


def test_a_message_that_is_not_out_is_refused() -> None:
    try:
        taken().consume(KEY, 102, NOW, NOW)
    except ValueError as error:
        assert "102" in str(error)
    else:
        raise AssertionError("accepted")


def test_consume_without_entry_returns_next_offset() -> None:
    assert orders().consume(KEY, 7, NOW, NOW) == 8


def test_one_message_may_be_hidden_for_longer() -> None:
    table = taken()
    table.hide(KEY, 101, NOW, NOW + 90_000, NOW)
    assert table.is_blocked(KEY, None, NOW + INVISIBLE)
    assert not table.is_blocked(KEY, None, NOW + 90_000)


def test_it_is_counted_how_often_a_message_was_delivered() -> None:
    table = taken()
    order = table.take(KEY, "a2", NOW + 100, INVISIBLE, (101, 103, 104), NOW + 100)
    assert order.counts == {101: 1, 103: 1}
    assert table.take(KEY, "a3", NOW + 200, INVISIBLE, (101,), NOW + 200).counts == {101: 2}


def test_a_repeated_attempt_is_not_counted() -> None:
    table = taken()
    assert table.take(KEY, "a1", NOW + 1, INVISIBLE, (100, 101, 103), NOW + 1).counts == {}


def test_pops_without_attempt_are_counted() -> None:
    table = taken((100,), attempt=None)
    assert table.take(KEY, None, NOW + 1, INVISIBLE, (100,), NOW + 1).counts == {100: 1}


def test_free_queues_are_reported_once() -> None:
    table = taken()
    assert list(table.freed(NOW + INVISIBLE - 1)) == []
    assert table.is_waiting
    assert list(table.freed(NOW + INVISIBLE)) == [KEY]
    assert not table.is_waiting
    assert list(table.freed(NOW + 2 * INVISIBLE)) == []


def test_queue_whose_last_message_was_consumed_is_reported_at_once() -> None:
    table = taken((100,))
    table.consume(KEY, 100, NOW, NOW + 5)
    assert list(table.freed(NOW + 5)) == [KEY]


def test_queue_is_reported_when_the_message_hidden_longest_is_visible() -> None:
    table = taken()
    table.hide(KEY, 101, NOW, NOW + 90_000, NOW)
    assert list(table.freed(NOW + INVISIBLE)) == []
    assert list(table.freed(NOW + 90_000)) == [KEY]


def test_many_changes_leave_few_alarms() -> None:
    table = taken()
    for i in range(1000):
        table.hide(KEY, 100, NOW, NOW + 90_000 + i, NOW)
        table.hide(KEY, 101, NOW, NOW + 90_000 + i, NOW)
        table.hide(KEY, 103, NOW, NOW + 90_000 + i, NOW)
    assert len(table._alarms) < 100


def test_forgotten_queue_blocks_no_other() -> None:
    table = taken()
    table.forget(KEY)
    assert not table.is_blocked(KEY, None, NOW)
    assert list(table.freed(NOW + INVISIBLE)) == []


def test_the_table_is_bounded() -> None:
    table = orders(max_ordered_queues=1)
    table.take(KEY, None, NOW, INVISIBLE, (1,), NOW)
    assert table.has_room(KEY)
    assert not table.has_room(OrderKey("orders", "gA", 1))


def test_queues_that_are_gone_or_were_left_alone_for_a_day_are_forgotten() -> None:
    table = taken()
    table.clean(NOW + 24 * 3_600_000, lambda key: True)
    assert len(table) == 1
    table.clean(NOW + 24 * 3_600_000 + 1, lambda key: True)
    assert len(table) == 0
    table = taken()
    table.clean(NOW, lambda key: False)
    assert len(table) == 0


# Made by RocketMQ's class of 5.5.0.
STANDARD = (
    b'{"orderInfoCount":1,"orderedConsumptionLevel":"QUEUE","table":{"orders@gA":{0:{"a":"att-2","cm":1,'
    b'"i":30000,"l":1795284510780,"o":[101,2,3],"oc":{101:1,103:1},"ot":{103:99999},"popTime":1816}}}}'
)


def test_the_file_is_the_standards() -> None:
    disk = CrashDisk()
    disk.makedirs("/config")
    file = disk.open(PATH, create=True)
    file.write(0, STANDARD)
    table = orders(disk)
    table.load(NOW)
    assert table.consume(KEY, 103, 1816, NOW) == 104
    table.persist()
    entry = loads(disk.read_bytes(PATH))["table"]["orders@gA"]
    assert entry == {
        0: {
            "a": "att-2",
            "cm": 3,
            "i": 30000,
            "l": 1795284510780,
            "o": [101, 2, 3],
            "oc": {101: 1, 103: 1},
            "ot": {103: 99999},
            "popTime": 1816,
        }
    }


def test_saved_table_is_loaded() -> None:
    disk = CrashDisk()
    table = orders(disk)
    table.take(KEY, "a1", NOW, INVISIBLE, (100, 101), NOW)
    table.consume(KEY, 100, NOW, NOW)
    table.persist()
    again = orders(disk)
    again.load(NOW)
    assert again.is_blocked(KEY, None, NOW)
    assert not again.is_blocked(KEY, "a1", NOW)
    assert again.consume(KEY, 101, NOW, NOW) == 102
    assert list(again.freed(NOW + INVISIBLE)) == [KEY]


def test_an_entry_that_cannot_be_read_is_left_out() -> None:
    disk = CrashDisk()
    disk.makedirs("/config")
    good = b'{"o":[1],"popTime":1,"i":5}'
    text = b'{"table":{"t@g":{0:{"o":"x"},1:null,2:{"o":[]},3:' + good + b"}}}"
    disk.open(PATH, create=True).write(0, text)
    table = orders(disk)
    table.load(NOW)
    assert len(table) == 1
    assert table.is_blocked(OrderKey("t", "g", 3), None, 2)


def test_a_queue_may_be_hidden_as_a_whole_and_the_turn_not_counted() -> None:
    table = taken()
    table.take(KEY, "a2", NOW + 1, INVISIBLE, (100, 101, 103), NOW + 1)
    table.suspend(KEY, NOW, NOW + 500_000, NOW + 1)
    assert not table.is_blocked(KEY, None, NOW + 1 + INVISIBLE)
    table.suspend(KEY, NOW + 1, NOW + 500_000, NOW + 1)
    assert table.is_blocked(KEY, None, NOW + 499_999)
    assert not table.is_blocked(KEY, None, NOW + 500_000)
    assert table.take(KEY, "a3", NOW + 500_000, INVISIBLE, (100,), NOW + 500_000).counts == {100: 1}


def test_pop_in_the_future_is_limited_to_its_invisible_time() -> None:
    """The clock was set back while the broker was down: no group waits longer than a pop may last."""
    disk = CrashDisk()
    table = orders(disk)
    table.take(KEY, "a1", NOW + 3_600_000, INVISIBLE, (100, 101), NOW + 3_600_000)
    table.persist()
    again = orders(disk)
    again.load(NOW)
    assert again.is_blocked(KEY, None, NOW + INVISIBLE - 1)
    assert not again.is_blocked(KEY, None, NOW + INVISIBLE)
    assert again.consume(KEY, 100, NOW + 3_600_000, NOW) == 101
