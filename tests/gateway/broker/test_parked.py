"""The table of parked requests: how far it grows, whose time is up, and that nothing is left behind."""

from hypothesis import given
from hypothesis import strategies as st

from mqgateway.gateway.broker.parked import ParkedRequest, ParkedRequests
from tests.support.gateway.broker.helpers import FakePeer

Request = ParkedRequest[str]
Table = ParkedRequests[str, Request]


def table(most: int = 100, most_at_place: int = 100) -> Table:
    return ParkedRequests(lambda: most, lambda: most_at_place)


def request(place: str = "a", deadline: int = 1000, client: FakePeer | None = None) -> Request:
    return ParkedRequest(client or FakePeer(), (place,), deadline)


def is_empty(parked: Table) -> bool:
    return not (len(parked) or parked._places or parked._slots or parked._connections)


def test_table_is_limited_in_all_and_per_place() -> None:
    parked = table(most=3, most_at_place=2)
    held = [parked.hold(request(place)) for place in ("a", "a", "a", "b", "c")]
    assert held == [True, True, False, True, False]
    assert parked.counts() == [("a", 2), ("b", 1)]
    assert (len(parked), parked.count("a"), parked.count("b"), parked.count("c")) == (3, 2, 1, 0)


def test_limits_can_be_changed() -> None:
    most = [0]
    parked: Table = ParkedRequests(lambda: most[0], lambda: 1)
    assert not parked.hold(request())
    most[0] = 1
    assert parked.hold(request())


def test_request_expires_at_its_deadline() -> None:
    parked = table()
    first, second, third = (request(deadline=deadline) for deadline in (1234, 1235, 900))
    for one in (first, second, third):
        parked.hold(one)
    assert parked.take_expired(1233) == [third]
    assert parked.take_expired(1234) == [first]
    assert parked.take_expired(99_999) == [second]
    assert len(parked) == 0


def test_request_is_forgotten_once() -> None:
    parked = table()
    one, other = request(), request()
    parked.hold(one)
    parked.hold(other)
    parked.forget(one)
    parked.forget(one)
    assert parked.take_expired(1000) == [other]


def test_lost_connection_removes_its_requests() -> None:
    parked, client = table(), FakePeer()
    for place in ("a", "a", "b"):
        parked.hold(request(place, client=client))
    parked.hold(stays := request())
    client.lose()
    assert parked.take_expired(1000) == [stays]


def test_request_of_a_lost_connection_is_dropped_at_once() -> None:
    parked, client = table(), FakePeer()
    client.lose()
    assert parked.hold(request(client=client))
    assert is_empty(parked)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["hold", "forget", "expire", "lose"]),
        st.integers(0, 2),
        st.sampled_from("ab"),
        st.integers(0, 500),
    ),
    max_size=40,
)


@given(STEPS)
def test_table_behaves_like_a_plain_list(steps: list[tuple[str, int, str, int]]) -> None:
    parked, clients = table(most=6, most_at_place=4), [FakePeer() for _ in range(3)]
    model: list[Request] = []
    for step, who, place, number in steps:
        if step == "hold":
            one = request(place, number, clients[who])
            has_room = len(model) < 6 and sum(each.place == place for each in model) < 4
            assert parked.hold(one) is has_room
            model += [one] if has_room else []
        elif step == "forget" and model:
            parked.forget(model.pop(number % len(model)))
        elif step == "expire":
            expired = [each for each in model if each.deadline <= number]
            assert set(parked.take_expired(number)) == set(expired)
            model = [each for each in model if each not in expired]
        elif step == "lose":
            clients[who].lose()
            model = [each for each in model if each.connection is not clients[who]]
            clients[who] = FakePeer()
        assert len(parked) == len(model)
        assert all(parked.count(each) == sum(one.place == each for one in model) for each in "ab")
    for client in clients:
        client.lose()
    assert is_empty(parked)


def test_request_waits_at_several_places_and_leaves_all_of_them() -> None:
    parked = table(most_at_place=1)
    client = FakePeer()
    both = Request(client, ("a", "b"), 1000)
    assert both.place == "a" and parked.hold(both)
    assert parked.counts() == [("a", 1), ("b", 1)] and len(parked) == 1
    assert not parked.hold(Request(client, ("c", "b"), 1000)), "there is no room at one of its places"
    assert parked.count("c") == 0
    assert parked.take_expired(1000) == [both]
    assert parked.counts() == [] and len(parked) == 0
    assert parked.hold(both)
    client.lose()
    assert is_empty(parked)
