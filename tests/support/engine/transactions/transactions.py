"""A store in memory with its transactions, for the tests of this folder."""

from typing import Any

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.message import (
    TRANS_CHECK_MAX_TIME_TOPIC,
    TRANS_HALF_TOPIC,
    TRANS_OP_HALF_TOPIC,
    Message,
    StoredMessage,
    pack_host,
)
from mqgateway.engine.options import BrokerOptions, StoreOptions
from mqgateway.engine.store.message_store import MessageStore, PutStatus
from mqgateway.engine.store.record import decode
from mqgateway.engine.tables.offsets import ConsumerOffsets
from mqgateway.engine.tables.topics import TopicTable
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.transactions import (
    CheckBack,
    HalfMessage,
    TransactionCounts,
    TransactionLog,
    as_committed,
)
from mqgateway.engine.unique_keys import UniqueKeys
from mqgateway.engine.worker import InlineWorker
from tests.support.engine.tally import Tally

HOST = pack_host("127.0.0.1", 10911)
BORN = pack_host("192.168.7.9", 51000)
START = 1_700_000_000_000
INTERVAL = 30_000


class Bench:
    """The transactions of a broker, with producers that are reachable or not."""

    def __init__(self, disk: CrashDisk | None = None, clock: ManualClock | None = None, **given: Any) -> None:
        self.clock = clock or ManualClock(START)
        self.disk = disk or CrashDisk(millis=self.clock.millis)
        self.given = given
        store_options = StoreOptions(
            store_path_root_dir="/store",
            mapped_file_size_commit_log=1 << 20,
            message_index_enable=False,
            **given.get("store_options", {}),
        )
        self.options = BrokerOptions(broker_ip1="127.0.0.1", **given.get("options", {}))
        self.store = MessageStore(
            store_options,
            disk=self.disk,
            clock=self.clock,
            worker=InlineWorker(),
            store_host=HOST,
            on_arrivals=None,
        )
        self.store.start()
        config = "/store/config/"
        self.topics = TopicTable(self.options, self.disk, config + "topics.json", self.clock)
        self.offsets = ConsumerOffsets(self.options, self.disk, config + "consumerOffset.json", self.clock)
        self.offsets.load()
        self.counted = Tally()
        self.log = TransactionLog(
            self.store,
            self.topics,
            self.offsets,
            TransactionCounts(self.disk, config + "transactionMetrics", self.clock),
            self.options,
            store_options,
            self.clock,
            UniqueKeys(b"\x7f\0\0\1", 1, 2, START),
            HOST,
            self.counted,
        )
        self.log.load()
        self.reachable = {"PG"}
        self.questions: list[CheckBack] = []

    def send(self, body: bytes = b"x", *, group: str = "PG", topic: str = "T", **properties: str) -> int:
        """Store a producer's half message and return its log offset."""
        message = Message(
            topic,
            1,
            body,
            {"TRAN_MSG": "true", "PGROUP": group, "UNIQ_KEY": f"K{body.decode()}", **properties},
            self.clock.millis(),
            BORN,
            HOST,
            sys_flag=4,
        )
        self.log.prepare(message)
        result = self.store.put(message)
        self.store.dispatch()
        if result.status is PutStatus.PUT_OK:
            self.log.prepared(topic)
        return result.physical_offset

    def half(self, physical_offset: int) -> HalfMessage:
        half = self.log.find(physical_offset)
        assert half is not None
        return half

    def commit(self, physical_offset: int) -> bool:
        half = self.half(physical_offset)
        result = self.log.commit(half, as_committed(half, physical_offset))
        self.store.dispatch()
        return result is not None

    def roll_back(self, physical_offset: int) -> bool:
        return self.log.roll_back(self.half(physical_offset))

    def wait(self, millis: int = INTERVAL, step: int = 1000) -> list[CheckBack]:
        """Advance the time in steps, as the service does, and return the checks of that time."""
        asked: list[CheckBack] = []
        while millis > 0:
            self.clock.advance(min(step, millis))
            millis -= step
            asked += self.log.tick(self.store.steady.now(), lambda group, topic: group in self.reachable)
            self.store.tick()
        self.questions += asked
        return asked

    def stored(self, topic: str, queue_id: int = 0) -> list[StoredMessage]:
        low, high = self.store.min_offset(topic, queue_id), self.store.max_offset(topic, queue_id)
        found = [
            self.store.look_up(unit[0])
            for unit in self.store.consume_queue_units(topic, queue_id, low, high - low)
        ]
        return [each for each in found if each is not None]

    @property
    def halves(self) -> list[StoredMessage]:
        return self.stored(TRANS_HALF_TOPIC)

    @property
    def ops(self) -> list[bytes]:
        return [each.body for each in self.stored(TRANS_OP_HALF_TOPIC)]

    @property
    def delivered(self) -> list[bytes]:
        return [each.body for each in self.stored("T", 1)]

    @property
    def given_up(self) -> list[bytes]:
        return [each.body for each in self.stored(TRANS_CHECK_MAX_TIME_TOPIC)]

    @property
    def progress(self) -> tuple[int, int]:
        group = "CID_RMQ_SYS_TRANS"
        return (
            self.offsets.query(group, TRANS_HALF_TOPIC, 0),
            self.offsets.query(group, TRANS_OP_HALF_TOPIC, 0),
        )

    def restart(self) -> "Bench":
        """Stop cleanly and start again."""
        self.log.close()
        self.offsets.persist()
        self.store.stop()
        return Bench(self.disk, self.clock, **self.given)

    def kill(self) -> "Bench":
        """Start again after the process was killed."""
        return Bench(self.disk.kill(), self.clock, **self.given)

    def crash(self, seed: int) -> "Bench":
        """Start again after a power cut."""
        return Bench(self.disk.crash(seed), self.clock, **self.given)


def question_of(check_back: CheckBack) -> StoredMessage:
    """Return the message of a transaction check, as the producer reads it."""
    return decode(check_back.record)
