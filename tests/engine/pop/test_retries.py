"""Copies in retry topics: what they look like, and in which queue they lie."""

from mqgateway.engine.tables.topics import TopicConfig
from tests.support.engine.pop.pop_store import GRACE, INVISIBLE, RETRY, Bench


def test_a_copy_remembers_where_it_comes_from() -> None:
    bench = Bench()
    bench.send(b"a", TAGS="x")
    popped_at = bench.clock.millis()
    bench.pop(0)
    bench.wait(INVISIBLE + GRACE)
    (original,), (copy,) = bench.stored("T"), bench.stored(RETRY)
    assert copy.properties == original.properties | {"1ST_POP_TIME": str(popped_at), "ORIGIN_GROUP": "G"}
    assert copy.reconsume_times == 1
    assert copy.born_timestamp == original.born_timestamp
    assert copy.prepared_transaction_offset == original.physical_offset
    assert copy.born_host == copy.store_host


def test_a_copy_of_a_copy_lies_beside_it() -> None:
    bench = Bench()
    bench.send(b"a")
    first = bench.clock.millis()
    bench.pop(0)
    bench.wait(INVISIBLE + GRACE)
    bench.pop(0, topic=RETRY)
    bench.wait(INVISIBLE + GRACE)
    copy = bench.stored(RETRY)[1]
    assert (copy.reconsume_times, copy.properties["1ST_POP_TIME"]) == (2, str(first))


def test_a_new_retry_topic_is_read_from_its_beginning() -> None:
    bench = Bench()
    bench.send(b"a")
    bench.pop(0)
    bench.wait(INVISIBLE + GRACE)
    assert bench.topics.get(RETRY) == TopicConfig(RETRY, 1, 1)
    assert bench.offsets.query("G", RETRY, 0) == 0


def test_the_second_kind_of_retry_topics() -> None:
    bench = Bench(enable_retry_topic_v2=True)
    bench.send(b"a")
    bench.pop(0)
    bench.wait(INVISIBLE + GRACE)
    assert [each.body for each in bench.stored("%RETRY%G+T")] == [b"a"]


def test_copies_may_keep_their_queues_when_topics_grow_too() -> None:
    bench = Bench(use_separate_retry_queue=True)
    bench.send(b"a", 3)
    bench.pop(0, queue_id=3)
    bench.wait(INVISIBLE + GRACE)
    assert [each.body for each in bench.stored(RETRY, 3)] == [b"a"]
    bench.offsets.commit("G", RETRY, 3, 1)
    bench.topics.put(TopicConfig("T", 6, 6))
    bench.send(b"b", 5)
    bench.pop(0, queue_id=5)
    bench.wait(INVISIBLE + GRACE)
    assert [each.body for each in bench.stored(RETRY, 5)] == [b"b"]
    assert bench.topics.get(RETRY) == TopicConfig(RETRY, 6, 6)
    assert [bench.offsets.query("G", RETRY, queue_id) for queue_id in (3, 5)] == [1, 0]


def test_queues_of_copies_stay_when_topics_shrink() -> None:
    bench = Bench(use_separate_retry_queue=True)
    bench.send(b"a", 3)
    bench.pop(0, queue_id=3)
    bench.wait(INVISIBLE + GRACE)
    before = bench.topics.get(RETRY)
    bench.topics.put(TopicConfig("T", 2, 2))
    bench.send(b"b", 1)
    bench.pop(0, queue_id=1)
    bench.wait(INVISIBLE + GRACE)
    assert bench.topics.get(RETRY) == before


def test_a_copy_is_counted_as_put_into_its_retry_topic() -> None:
    bench = Bench()
    bench.send(b"a")
    bench.pop(0)
    bench.wait(INVISIBLE + GRACE)
    (copy,) = bench.stored(RETRY)
    assert bench.counted.puts == {RETRY: 1}
    assert bench.counted.bytes[RETRY] == copy.size
