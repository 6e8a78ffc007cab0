"""Parked pulls: events that wake them, and their removal."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.filters import compile_expression
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.store.message_store import Arrival
from mqgateway.gateway.broker.consume.long_polling import (
    CHECK_INTERVAL_MILLIS,
    Cause,
    HeldFetch,
    HeldPull,
    HeldPulls,
    Wake,
    Wanted,
    resume_all,
)
from tests.support.gateway.broker.helpers import FakePeer, MemoryBroker

NOW = 1_000_000


def nothing_new(topic: str, queue_id: int) -> int:
    return 0


def held(
    peer: FakePeer | None = None,
    *,
    topic: str = "T",
    queue_id: int = 0,
    offset: int = 5,
    wanted: Wanted = None,
    deadline: int = NOW + 20_000,
    resume: Callable[[], None] = lambda: None,
) -> HeldPull:
    return HeldPull(peer or FakePeer(), topic, queue_id, offset, wanted, deadline, resume)


def arrival(topic: str = "T", queue_id: int = 0, next_offset: int = 6, tags_code: int = 0) -> Arrival:
    return Arrival(topic, queue_id, next_offset, tags_code, NOW, None)


@pytest.mark.parametrize(
    ("pull", "message", "woken"),
    [
        pytest.param({}, {}, True, id="a message in its queue"),
        pytest.param({}, {"queue_id": 1}, False, id="another queue"),
        pytest.param({}, {"topic": "U"}, False, id="another topic"),
        pytest.param({}, {"next_offset": 5}, False, id="a message before its offset"),
        pytest.param({"wanted": frozenset({7})}, {"tags_code": 7}, True, id="its tag"),
        pytest.param({"wanted": frozenset({7})}, {"tags_code": 8}, False, id="another tag"),
        pytest.param({"wanted": frozenset({7})}, {}, False, id="no tag"),
    ],
)
def test_an_arrival_wakes_whom_it_concerns(
    pull: dict[str, object], message: dict[str, object], woken: bool
) -> None:
    held_pulls = HeldPulls(BrokerOptions())
    one = held(**pull)  # type: ignore[arg-type]
    assert held_pulls.hold(one)
    assert held_pulls.arrived([arrival(**message)]) == ([one] if woken else [])  # type: ignore[arg-type]
    assert len(held_pulls) == (0 if woken else 1)


def test_an_expression_is_asked_of_what_arrived() -> None:
    """Of each message by itself; one whose properties are not known may be wanted."""
    held_pulls = HeldPulls(BrokerOptions())
    one = held(wanted=compile_expression("a > 5 AND b > 5").matches)
    held_pulls.hold(one)
    half, other = Arrival("T", 0, 6, 0, NOW, {"a": "6"}), Arrival("T", 0, 7, 0, NOW, {"b": "6"})
    assert held_pulls.arrived([half, other]) == []
    assert held_pulls.arrived([half, Arrival("T", 0, 8, 0, NOW, {"a": "6", "b": "6"})]) == [one]
    held_pulls.hold(one)
    assert held_pulls.arrived([arrival()]) == [one]


def test_one_of_many_arrivals_is_enough() -> None:
    """Messages that arrive together are looked at together, each by its own tag."""
    held_pulls = HeldPulls(BrokerOptions())
    wants_7, wants_9 = held(wanted=frozenset({7})), held(wanted=frozenset({9}))
    held_pulls.hold(wants_7)
    held_pulls.hold(wants_9)
    assert held_pulls.arrived([arrival(tags_code=6), arrival(next_offset=7, tags_code=7)]) == [wants_7]
    assert len(held_pulls) == 1


def test_a_pull_is_woken_once() -> None:
    held_pulls = HeldPulls(BrokerOptions())
    held_pulls.hold(held())
    assert len(held_pulls.arrived([arrival()])) == 1
    assert held_pulls.arrived([arrival()]) == []
    assert held_pulls.due(NOW + 60_000, nothing_new) == []


def test_time_is_up_at_the_deadline_and_not_before() -> None:
    held_pulls = HeldPulls(BrokerOptions())
    one = held(deadline=NOW + 1234)
    held_pulls.hold(one)
    assert held_pulls.due(NOW + 1233, nothing_new) == []
    assert held_pulls.due(NOW + 1234, nothing_new) == [one]
    assert len(held_pulls) == 0


def test_a_queue_that_grew_unseen_is_found_by_the_check() -> None:
    """Every 5 seconds the offsets are compared, whatever the tags."""
    held_pulls = HeldPulls(BrokerOptions())
    assert held_pulls.due(NOW, nothing_new) == []
    one = held(wanted=frozenset({7}))
    held_pulls.hold(one)
    assert held_pulls.due(NOW + CHECK_INTERVAL_MILLIS - 1, lambda topic, queue_id: 6) == []
    assert held_pulls.due(NOW + CHECK_INTERVAL_MILLIS, lambda topic, queue_id: 5) == []
    assert held_pulls.due(NOW + 2 * CHECK_INTERVAL_MILLIS, lambda topic, queue_id: 6) == [one]


def test_a_lost_peer_is_forgotten() -> None:
    held_pulls = HeldPulls(BrokerOptions())
    gone, stays = FakePeer(), FakePeer()
    kept = held(stays)
    for pull in (held(gone), held(gone, queue_id=3), kept):
        held_pulls.hold(pull)
    gone.lose()
    assert len(held_pulls) == 1
    assert held_pulls.arrived([arrival(), arrival(queue_id=3)]) == [kept]


def test_a_peer_that_is_gone_already_is_not_waited_for() -> None:
    held_pulls = HeldPulls(BrokerOptions())
    gone = FakePeer()
    gone.lose()
    assert held_pulls.hold(held(gone))
    assert len(held_pulls) == 0
    assert held_pulls.arrived([arrival()]) == []


def test_the_table_has_a_limit() -> None:
    held_pulls = HeldPulls(BrokerOptions(max_held_pulls=2))
    assert held_pulls.hold(held(queue_id=0))
    assert held_pulls.hold(held(queue_id=1))
    assert not held_pulls.hold(held(queue_id=2))
    held_pulls.arrived([arrival()])
    assert held_pulls.hold(held(queue_id=2))


def test_a_queue_has_a_limit() -> None:
    held_pulls = HeldPulls(BrokerOptions(max_held_pulls_per_queue=1))
    assert held_pulls.hold(held())
    assert not held_pulls.hold(held())
    assert held_pulls.hold(held(queue_id=1))


def test_one_that_fails_does_not_keep_the_others_waiting() -> None:
    answered = []

    def fail() -> None:
        raise RuntimeError("no answer")

    resume_all([held(resume=fail), held(resume=lambda: answered.append(1))])
    assert answered == [1]


moves = st.lists(
    st.one_of(
        st.tuples(st.just("hold"), st.integers(0, 2), st.integers(0, 3), st.integers(0, 30_000)),
        st.tuples(st.just("arrive"), st.integers(0, 2), st.integers(1, 9), st.just(0)),
        st.tuples(st.just("wait"), st.integers(0, 15_000), st.just(0), st.just(0)),
        st.tuples(st.just("lose"), st.integers(0, 3), st.just(0), st.just(0)),
    ),
    max_size=40,
)


@given(moves)
def test_every_pull_leaves_the_table_once(steps: list[tuple[str, int, int, int]]) -> None:
    """Whatever happens: each pull is woken once or dropped with its peer, and no table keeps a rest."""
    held_pulls = HeldPulls(BrokerOptions())
    peers = [FakePeer() for _ in range(4)]
    waiting: set[HeldPull] = set()
    now = NOW
    for move, a, b, c in steps:
        woken: list[HeldPull] = []
        if move == "hold":
            one = held(peers[b], queue_id=a, offset=b, deadline=now + c)
            assert held_pulls.hold(one)
            waiting.add(one)
        elif move == "arrive":
            woken = held_pulls.arrived([arrival(queue_id=a, next_offset=b)])
        elif move == "wait":
            now += a
            woken = held_pulls.due(now, nothing_new)
            assert not any(one.deadline <= now for one in waiting - set(woken))
        else:
            peers[a].lose()
            waiting -= {one for one in waiting if one.connection is peers[a]}
            peers[a] = FakePeer()
        assert set(woken) <= waiting
        assert len(set(woken)) == len(woken)
        waiting -= set(woken)
        assert len(held_pulls) == len(waiting)
    held_pulls.due(now + 60_000, nothing_new)
    assert (len(held_pulls), held_pulls._places, held_pulls._slots) == (0, {}, {})


def test_pull_without_waiting_client_is_forgotten() -> None:
    held_pulls = HeldPulls(BrokerOptions())
    one, other = held(), held()
    assert held_pulls.hold(one) and held_pulls.hold(other)
    held_pulls.forget(one)
    held_pulls.forget(one)
    assert len(held_pulls) == 1
    assert held_pulls.arrived([arrival()]) == [other]


def test_pull_knows_what_woke_it() -> None:
    held_pulls = HeldPulls(BrokerOptions())
    causes: list[Wake | None] = []
    pulls = [
        held(topic=topic, deadline=NOW + wait) for topic, wait in (("T", 9), ("U", 9), ("V", 9), ("W", 0))
    ]
    for one in pulls:
        one.resume = lambda one=one: causes.append(one.woken_by)  # type: ignore[misc]
        assert held_pulls.hold(one) and one.woken_by is None
    resume_all(held_pulls.arrived([arrival()]))
    resume_all(held_pulls.of_topic("U"))
    resume_all(held_pulls.due(NOW, lambda topic, _: 6 if topic == "V" else 0))
    assert causes == [
        Wake(Cause.ARRIVAL, (("T", 0),)),
        Wake(Cause.TOPIC_DELETED, ()),
        Wake(Cause.TIMEOUT, ()),
        Wake(Cause.GROWTH, (("V", 0),)),
    ]


class Fetched:
    """Queues with messages of some bytes each, and a fetch of three of them that is parked."""

    def __init__(self, min_bytes: int) -> None:
        self.sizes: dict[tuple[str, int], list[int]] = {}
        self.counted: list[tuple[str, int]] = []
        self.held_pulls = HeldPulls(BrokerOptions())
        positions = {("T", 0): 5, ("T", 1): 0, ("U", 0): 7}
        self.peer = FakePeer()
        self.fetch = HeldFetch(self.peer, positions, min_bytes, self.bytes_from, NOW + 9, lambda: None)
        assert self.held_pulls.hold(self.fetch)

    def bytes_from(self, topic: str, queue_id: int, offset: int, enough: int) -> int:
        assert enough > 0
        self.counted.append((topic, queue_id))
        return sum(self.sizes.get((topic, queue_id), ())[offset:])

    def arrive(self, topic: str, queue_id: int, size: int) -> list[HeldPull]:
        sizes = self.sizes.setdefault((topic, queue_id), [1] * (5 if queue_id == 0 else 0))
        sizes.append(size)
        return self.held_pulls.arrived([arrival(topic, queue_id, len(sizes))])


def test_fetch_waits_for_bytes_of_all_its_queues_together() -> None:
    fetched = Fetched(100)
    assert fetched.arrive("T", 0, 60) == []
    assert fetched.arrive("V", 0, 600) == []
    assert fetched.arrive("T", 1, 40) == [fetched.fetch]
    assert fetched.fetch.woken_by == Wake(Cause.ARRIVAL, (("T", 0), ("T", 1)))
    assert fetched.held_pulls.counts() == []


def test_arrival_costs_a_fetch_no_look_at_its_other_queues() -> None:
    fetched = Fetched(100)
    for _ in range(3):
        assert fetched.arrive("T", 0, 20) == []
    assert fetched.counted == [("T", 0), ("T", 1), ("U", 0), ("T", 0), ("T", 0)]
    assert fetched.arrive("T", 1, 40) == [fetched.fetch]
    assert fetched.counted[5:] == [("T", 1)]
    eager = Fetched(1)
    assert eager.arrive("T", 1, 1) == [eager.fetch]
    assert eager.counted == [("T", 1)]


def test_fetch_is_not_woken_by_messages_before_its_offset() -> None:
    fetched = Fetched(1)
    assert fetched.arrive("U", 0, 60) == []
    assert fetched.arrive("U", 0, 60) == []
    assert fetched.arrive("U", 0, 60) == [fetched.fetch]


@pytest.mark.parametrize("end", ["timeout", "topic", "check", "connection"])
def test_fetch_leaves_all_its_queues(end: str) -> None:
    fetched = Fetched(1)
    assert fetched.held_pulls.counts() == [(("T", 0), 1), (("T", 1), 1), (("U", 0), 1)]
    if end == "timeout":
        assert fetched.held_pulls.due(NOW + 9, nothing_new) == [fetched.fetch]
    elif end == "topic":
        assert fetched.held_pulls.of_topic("T") == [fetched.fetch]
    elif end == "check":
        fetched.sizes["T", 1] = [10]
        assert fetched.held_pulls.due(NOW, lambda topic, queue_id: queue_id) == [fetched.fetch]
    else:
        fetched.peer.lose()
    assert (fetched.held_pulls.counts(), len(fetched.held_pulls)) == ([], 0)


def test_fetch_of_the_store_counts_what_can_be_read() -> None:
    memory = MemoryBroker()
    memory.add_topic("T")
    store = memory.broker.store
    fetch = HeldFetch(FakePeer(), {("T", 0): 0}, 300, store.readable_bytes, NOW, lambda: None)
    assert fetch.readable([("T", 0)]) == ()
    for _ in range(2):
        memory.send(body=b"x" * 100)
    size = store.readable_bytes("T", 0, 0, 1 << 30)
    assert size == store.get("T", 0, 0, 9).size > 300
    assert 0 < store.readable_bytes("T", 0, 1, 1 << 30) < size
    assert store.readable_bytes("T", 0, 2, 1) == store.readable_bytes("missing", 0, 0, 1) == 0
    assert fetch.readable([("T", 0)]) == (("T", 0),)
