"""Work that is limited in number."""

from twisted.internet.defer import Deferred

from mqgateway.gateway.runtime.slots import Slots


def test_slots_are_given_in_turn() -> None:
    slots, entered = Slots(2), []

    async def work(number: int) -> None:
        await slots.enter()
        entered.append(number)

    for number in range(4):
        Deferred.fromCoroutine(work(number))
    assert entered == [0, 1] and slots.busy == 2
    idle: list[None] = []
    slots.idle().addCallback(idle.append)
    slots.leave()
    assert entered == [0, 1, 2]
    for _ in range(2):
        slots.leave()
    assert not idle and entered == [0, 1, 2, 3]
    slots.leave()
    assert idle == [None] and slots.busy == 0
    assert slots.idle().called


def test_thousands_of_waiters_leave_in_turn() -> None:
    """A consumer that closes lets all batches that wait for a slot through at once."""
    slots, left = Slots(1), list[int]()

    async def pass_through(number: int) -> None:
        await slots.enter()
        slots.leave()
        left.append(number)

    first = Deferred.fromCoroutine(slots.enter())
    for number in range(5_000):
        Deferred.fromCoroutine(pass_through(number))
    idle = slots.idle()
    assert first.called and not left and not idle.called
    slots.leave()
    assert left == list(range(5_000)) and idle.called and not slots.busy
