"""A store in memory with timers and a log of pops, for the tests of this folder."""

from __future__ import annotations

from typing import Any

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.counting import Counting
from mqgateway.engine.message import Message, StoredMessage, pack_host
from mqgateway.engine.options import BrokerOptions, StoreOptions
from mqgateway.engine.pop import Ack, CheckPoint, PointKey
from mqgateway.engine.pop.foreign import Ended, ForeignMessages, Found, MessageLocation, Missing
from mqgateway.engine.pop.pop_log import PopLog
from mqgateway.engine.store.message_store import MessageStore
from mqgateway.engine.tables.offsets import ConsumerOffsets
from mqgateway.engine.tables.topics import TopicConfig, TopicTable
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.timers.timers import Timers
from mqgateway.engine.worker import InlineWorker
from tests.support.engine.tally import Tally

HOST = pack_host("127.0.0.1", 10911)
BORN = pack_host("192.168.7.9", 51000)
INVISIBLE = 10_000
GRACE = 4_000
RETRY = "%RETRY%G_T"


class Bench:
    """Topic T, group G; `pop` and `ack` write the log as the requests do."""

    def __init__(
        self,
        disk: CrashDisk | None = None,
        clock: ManualClock | None = None,
        *,
        repeat: bool = True,
        counts: Counting | None = None,
        **options: Any,
    ) -> None:
        self.clock = clock or ManualClock(1_700_000_000_000)
        self.disk = disk or CrashDisk(millis=self.clock.millis)
        self.given = options
        self.options = BrokerOptions(broker_ip1="127.0.0.1", broker_name="b", **options)
        store_options = StoreOptions(
            store_path_root_dir="/store", mapped_file_size_commit_log=1 << 20, message_index_enable=False
        )
        worker = InlineWorker()
        self.store = MessageStore(
            store_options, disk=self.disk, clock=self.clock, worker=worker, store_host=HOST
        )
        self.store.start()
        config = "/store/config/"
        self.topics = TopicTable(self.options, self.disk, config + "topics.json", self.clock)
        self.topics.load()
        self.topics.put(TopicConfig("T", 4, 4))
        self.offsets = ConsumerOffsets(self.options, self.disk, config + "consumerOffset.json", self.clock)
        self.offsets.load()
        self.timers = Timers(self.store, store_options, self.disk, self.clock, worker, slots=512)
        self.timers.load()
        self.counted = Tally()
        self.asked: list[MessageLocation] = []
        self.answers: list[Found] = []
        """Answers to the next requests for messages of other groups; later requests fail."""
        self.log = PopLog(
            self.store,
            self.timers,
            self.topics,
            self.offsets,
            self.options,
            self.clock,
            HOST,
            ForeignMessages(self._ask, 10),
            counts=counts or self.counted,
        )
        if repeat:
            self.log.load()

    def _ask(self, place: MessageLocation, ended: Ended) -> None:
        self.asked.append(place)
        ended(self.answers.pop(0) if self.answers else Missing.FAILED)

    def send(self, body: bytes = b"x", queue_id: int = 0, **properties: str) -> None:
        message = Message(
            "T", queue_id, body, {"UNIQ_KEY": body.decode(), **properties}, self.clock.millis(), BORN, HOST
        )
        self.store.put(message)
        self.store.dispatch()

    def pop(self, *offsets: int, queue_id: int = 0, topic: str = "T") -> CheckPoint:
        """Pop these offsets of a queue and return the checkpoint."""
        point = self.point(*offsets, queue_id=queue_id, topic=topic)
        self.log.pop(point, 3, offsets[-1] + 1)
        self.store.dispatch()
        return point

    def point(self, *offsets: int, queue_id: int = 0, topic: str = "T") -> CheckPoint:
        key = PointKey(topic, "G", queue_id, offsets[0], self.clock.millis(), "b")
        return CheckPoint(key, INVISIBLE, tuple(offset - offsets[0] for offset in offsets))

    def ack(self, point: CheckPoint, *offsets: int) -> None:
        self.log.acknowledge(Ack(point.key, offsets, len(offsets) > 1), 3, point.revive_time)
        self.store.dispatch()

    def wait(self, millis: int, step: int = 500) -> None:
        while millis > 0:
            self.clock.advance(min(step, millis))
            millis -= step
            self.store.tick()
            self.timers.tick(self.clock.millis())
            self.log.tick(self.clock.millis())

    def stored(self, topic: str, queue_id: int = 0) -> list[StoredMessage]:
        low, high = self.store.min_offset(topic, queue_id), self.store.max_offset(topic, queue_id)
        units = self.store.consume_queue_units(topic, queue_id, low, high - low)
        found = [self.store.look_up(unit[0]) for unit in units]
        return [each for each in found if each is not None]

    @property
    def revived(self) -> list[bytes]:
        return [each.body for each in self.stored(RETRY)]

    def progress(self, queue_id: int = 3) -> int:
        return self.offsets.query("CID_RMQ_SYS_REVIVE_GROUP", self.log.topic, queue_id)

    def persist(self) -> None:
        """Do the persistence work that the service does every five seconds."""
        self.log.pop_offsets.persist()
        self.store.tick()

    def kill(self, *, repeat: bool = True) -> Bench:
        return Bench(self.disk.kill(), self.clock, repeat=repeat, **self.given)
