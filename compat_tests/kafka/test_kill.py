"""The broker is killed while idempotent producers and a group of consumers work, and starts again."""

from __future__ import annotations

import random
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from compat_tests.kafka.support.clients import KafkaClient, Member, Programs
from compat_tests.kafka.support.sending import Places, Sender
from compat_tests.kafka.support.servers import KafkaServer
from compat_tests.kafka.support.wire import Connection, create_topic, end_offset, stored_batches
from compat_tests.support.driver import ClientError
from compat_tests.support.processes import wait_until

PARTITIONS = 3
PRODUCERS = ("java-4.4.0", "librdkafka")
CONSUMERS = ("java-4.4.0", "librdkafka")
KILLS = 4
FLIGHT = 4000
"""Records that a producer sends without waiting: a kill finds many batches in flight."""
SECONDS = 120
SEED = 47


class Readers(threading.Thread):
    """Members of one group that receive and commit until they are stopped."""

    def __init__(self, server: KafkaServer, members: list[Member], group: str, topic: str) -> None:
        super().__init__(daemon=True)
        self._server = server
        self._members = members
        self._group = group
        self._topic = topic
        self._ends = threading.Event()
        self.commits = 0
        self.committed = dict.fromkeys(range(PARTITIONS), 0)

    def run(self) -> None:
        """Receive and commit; a commit that fails, as the broker is away, is tried again."""
        while not self._ends.wait(0.2):
            for member in self._members:
                member.poll()
                try:
                    member.commit()
                    self.commits += 1
                except ClientError:
                    continue

    def check_committed(self) -> None:
        """Ask for the committed offsets, which must not be less than the last time."""
        asked = [{"name": self._topic, "partition_indexes": list(range(PARTITIONS))}]
        fields: dict[str, Any] = {"group_id": self._group, "topics": asked}
        end = time.monotonic() + SECONDS
        while True:
            with Connection(self._server.address) as connection:
                answer = connection.ask("OffsetFetch", 5, **fields)
            if not answer["error_code"]:
                break
            assert time.monotonic() < end, answer
            time.sleep(0.2)  # the coordinator is loading
        for row in answer["topics"][0]["partitions"]:
            offset = max(row["committed_offset"], 0)
            assert offset >= self.committed[row["partition_index"]]
            self.committed[row["partition_index"]] = offset

    def received(self) -> Places:
        """Return the values received so far."""
        received = [one for member in self._members for one in list(member.records)]
        return {(one.partition, one.offset): str(one.value) for one in received}

    def stop(self) -> None:
        """End after a last commit."""
        self._ends.set()
        self.join(SECONDS)
        assert not self.is_alive()


@pytest.mark.long
@pytest.mark.timeout(900)
def test_acknowledged_records_and_offsets_survive_kill_9(
    kind: str, work: Path, programs: Programs, name: str
) -> None:
    """Nothing acknowledged is lost, nothing is stored twice, and committed offsets never go back."""
    chance = random.Random(SEED)
    with ExitStack() as stack:
        server = stack.enter_context(KafkaServer(kind, work))
        create_topic(server.address, name, PARTITIONS)

        def client(of: str) -> KafkaClient:
            program = programs.start(of)
            stack.callback(program.close)
            return KafkaClient(of, program, server.address)

        senders = [
            Sender(client(one), name, FLIGHT, partitions=PARTITIONS, compression="lz4") for one in PRODUCERS
        ]
        members = [client(one).join(f"{name}-group", name) for one in CONSUMERS]
        readers = Readers(server, members, f"{name}-group", name)
        for thread in (*senders, readers):
            thread.start()
        for _ in range(KILLS):
            wait_for_work(senders, readers)
            readers.check_committed()
            time.sleep(chance.uniform(0, 1))
            server.kill9()
            server.start()
            readers.check_committed()
        for sender in senders:
            sender.stop()
        acknowledged = {place: value for one in senders for place, value in one.acknowledged.items()}
        wait_until(lambda: acknowledged.keys() <= readers.received().keys(), SECONDS, "all is received")
        readers.stop()
        readers.check_committed()
        assert acknowledged.items() <= readers.received().items()
        check_stored(server.address, name, acknowledged)


def wait_for_work(senders: list[Sender], readers: Readers) -> None:
    """Wait until each producer has ended a flight more, and the group has committed."""
    flights, commits = [sender.flights for sender in senders], readers.commits

    def has_worked() -> bool:
        has_sent = all(sender.flights > count for sender, count in zip(senders, flights, strict=True))
        return has_sent and readers.commits > commits + 2

    wait_until(has_worked, SECONDS, "the next flights and commits")


def check_stored(address: str, topic: str, acknowledged: Places) -> None:
    """Read the topic: every acknowledged record at its offset, no value twice, each producer's in order."""
    found: Places = {}
    for partition in range(PARTITIONS):
        own: list[str] = []
        for batch in stored_batches(address, topic, partition):
            for record in batch.records():
                assert record.value is not None
                own.append(bytes(record.value).decode())
        assert len(own) == end_offset(address, topic, partition)
        found |= {(partition, offset): value for offset, value in enumerate(own)}
        for producer in PRODUCERS:
            sent = [value for value in own if value.startswith(producer)]
            assert sent == sorted(sent)
    assert acknowledged.items() <= found.items()
    assert len(set(found.values())) == len(found)
    assert len(found) == len(acknowledged), "every flight was acknowledged in the end"
