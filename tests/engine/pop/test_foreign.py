"""Messages of other brokers: fetched once, returned once, and fetched again after a failure."""

from __future__ import annotations

from mqgateway.engine.message import StoredMessage
from mqgateway.engine.pop.foreign import Ended, ForeignMessages, Found, MessageLocation, Missing
from tests.support.engine.store.stores import Bench, message

PLACE = MessageLocation("b2", "T", 0, 5)
IN_FLIGHT, GONE, FAILED = Missing


def stored() -> StoredMessage:
    bench = Bench()
    bench.put(message())
    found = bench.store.look_up(0)
    assert found is not None
    return found


class Asked:
    """The requested locations."""

    def __init__(self, limit: int = 10) -> None:
        self.places: list[MessageLocation] = []
        self._ended: list[Ended] = []
        self.messages = ForeignMessages(self._ask, limit)

    def _ask(self, place: MessageLocation, ended: Ended) -> None:
        self.places.append(place)
        self._ended.append(ended)

    def end(self, found: Found) -> None:
        self._ended.pop(0)(found)


def test_one_that_comes_is_given_once() -> None:
    asked, one = Asked(), stored()
    assert asked.messages.find(PLACE) is IN_FLIGHT
    assert asked.messages.find(PLACE) is IN_FLIGHT
    assert asked.places == [PLACE]
    asked.end(one)
    assert asked.messages.find(PLACE) is one
    assert len(asked.messages) == 0


def test_one_that_is_gone_is_known_to_be() -> None:
    asked = Asked()
    asked.messages.find(PLACE)
    asked.end(GONE)
    assert asked.messages.find(PLACE) is GONE


def test_failed_fetch_is_repeated() -> None:
    asked = Asked()
    asked.messages.find(PLACE)
    asked.end(FAILED)
    assert asked.messages.find(PLACE) is FAILED
    assert asked.messages.find(PLACE) is IN_FLIGHT
    assert len(asked.places) == 2


def test_no_more_than_the_limit_is_asked_for() -> None:
    asked = Asked(limit=2)
    for offset in range(5):
        asked.messages.find(PLACE._replace(offset=offset))
    assert len(asked.places) == 2


def test_one_that_comes_at_once_is_given_at_once() -> None:
    one = stored()
    messages = ForeignMessages(lambda _, ended: ended(one), 1)
    assert messages.find(PLACE) is one
