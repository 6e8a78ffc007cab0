"""Which lite topics there are, and which have come to their end."""

from mqgateway.engine.lite.lifetimes import Lifetimes
from mqgateway.engine.tables.topics import TopicConfig
from tests.support.engine.lite.worlds import World, queue
from tests.support.engine.store.stores import Bench, message

MINUTE = 60_000


def filled(*names: str, minutes: int = 20) -> tuple[Bench, Lifetimes]:
    """A store with a message in each lite topic, and what looks for those that end."""
    world = World()
    bench = Bench(enable_lmq=True, enable_multi_dispatch=True, clock=world.clock)
    attributes = {"message.type": "LITE", "lite.topic.expiration": str(minutes)}
    world.topics.put(TopicConfig("chat", attributes=attributes))
    bench.put(*[message("chat", properties={"INNER_MULTI_DISPATCH": name}) for name in names])
    return bench, Lifetimes(world.options, bench.store, world.rules)


def test_a_parent_has_its_own_lite_topics() -> None:
    _, lifetimes = filled(queue("a"), "%LMQ%$chat2$b", "%LMQ%c", queue("d"))
    assert lifetimes.queues_of("chat") == [queue("a"), queue("d")]


def test_a_lite_topic_ends_when_its_last_message_is_old_enough() -> None:
    bench, lifetimes = filled(queue("a"), queue("b"), "%LMQ%$other$c", "%LMQ%d")
    bench.clock.advance(20 * MINUTE)
    bench.put(message("chat", properties={"INNER_MULTI_DISPATCH": queue("b")}))
    assert lifetimes.expired(bench.clock.millis()) == []
    assert lifetimes.expired(bench.clock.millis() + 1) == [queue("a")]


def test_a_lite_topic_is_kept_for_some_time_in_any_case_or_for_ever() -> None:
    bench, short = filled(queue("a"), minutes=1)
    assert short.expired(bench.clock.millis() + 15 * MINUTE - 1) == []
    assert short.expired(bench.clock.millis() + 15 * MINUTE) == [queue("a")]
    _, lasting = filled(queue("a"), minutes=-1)
    assert lasting.expired(bench.clock.millis() + 10_000 * MINUTE) == []


def test_a_queue_that_stays_empty_ends() -> None:
    bench, lifetimes = filled()
    bench.store._queues.open(queue("a"), 0)
    looks = [lifetimes.expired(bench.clock.millis()) for _ in range(7)]
    assert looks == [[], [], [], [], [], [queue("a")], []]
