"""When op messages are written, and when progress is committed; the rest is in `test_log`."""

from mqgateway.engine.message import TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC, Message
from mqgateway.engine.store.message_store import PutResult, PutStatus
from mqgateway.engine.transactions.listing import GROUP, Listing
from mqgateway.engine.unique_keys import UniqueKeys
from tests.support.engine.transactions.transactions import HOST, START, Bench


class World(Bench):
    """A listing of its own beside that of the transactions; a test may refuse its puts."""

    def __init__(self) -> None:
        super().__init__(options={"transaction_op_batch_interval": 3000, "transaction_op_msg_max_size": 4})
        keys = UniqueKeys(b"\x7f\0\0\1", 1, 3, START)
        self.refuses = False
        self.listing = Listing(
            self.store, self.offsets, self.options, self.clock, keys, HOST, self._put, self.counted
        )

    def _put(self, message: Message) -> PutResult:
        if self.refuses:
            return PutResult(PutStatus.SERVICE_NOT_AVAILABLE)
        return self.store.put(message)

    def reported(self) -> list[bytes]:
        """Return the bodies of the op messages."""
        self.store.dispatch()
        return [message.body for message in self.all(TRANS_OP_HALF_TOPIC)]

    def all(self, topic: str) -> list[Message]:
        units = self.store.consume_queue_units(topic, 0, 0, 64)
        found = [self.store.look_up(place) for place, _, _ in units]
        return [message for message in found if message is not None]

    def saved(self) -> tuple[int, int]:
        """Return the offsets of both queues."""
        half, op = (self.offsets.query(GROUP, topic, 0) for topic in (TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC))
        return half, op


def test_settled_offsets_are_listed_together() -> None:
    world = World()
    for offset in (0, 2):
        world.listing.add(offset)
    world.listing.tick()
    assert (world.reported(), world.listing.count) == ([], 2)
    world.clock.advance(3000)
    world.listing.tick()
    assert (world.reported(), world.listing.count) == ([b"0,2,"], 0)


def test_as_much_is_listed_in_one_message_as_it_may_hold() -> None:
    world = World()
    for offset in range(3):
        assert world.listing.is_full == (offset == 2)
        world.listing.add(offset)
    world.listing.write()
    assert world.reported() == [b"0,1,", b"2,"]


def test_op_message_is_written_early_if_log_has_grown_since_oldest_end() -> None:
    """Ends that a start finds in the log are older than the start."""
    world = World()
    for _ in range(170):
        world.send(b"x" * 100_000, UNIQ_KEY="x")
    world.listing.add(0)
    world.listing.tick()
    assert world.reported() == []
    world.listing.reach_back(0)
    world.listing.reach_back(1000)
    world.listing.tick()
    assert world.reported() == [b"0,"]


def test_failed_op_message_is_retried() -> None:
    world = World()
    world.listing.add(0)
    world.refuses = True
    world.listing.write()
    assert (world.reported(), world.listing.count) == ([], 1)
    world.refuses = False
    world.listing.write()
    assert world.reported() == [b"0,"]


def test_progress_is_reported_once_the_log_is_durable() -> None:
    world = World()
    before = world.saved()
    world.listing.add(0)
    world.listing.write()
    world.listing.save()
    assert (world.saved(), world.listing.settled.progress) == (before, 1)
    world.clock.advance(60_000)
    world.store.tick()
    world.listing.save()
    assert (world.saved(), world.listing.saved) == ((1, 1), (1, 1))


def test_without_op_messages_all_is_listed_again() -> None:
    world = World()
    world.listing.add(5)
    world.listing.write()
    world.listing.add(3)
    world.listing.begin_ops(0)
    assert world.listing.count == 2
    world.listing.write()
    assert world.reported() == [b"5,", b"3,5,"]
