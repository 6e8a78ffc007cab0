"""Partitions that move under producers, with crashes: nothing is lost, repeated or reordered.

Each partition has an idempotent producer, which sends a batch again until it is answered. A transactional
producer writes one value to every partition, and commits or aborts. Moves begin and are cancelled at random,
and masters are killed and restarted, or replaced by slaves.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import pytest
from twisted.internet.defer import Deferred, fail

from mqgateway.engine.record_batches.batches import TRANSACTIONAL
from mqgateway.gateway.broker.operations import OperationError, Reason
from mqgateway.gateway.kafka import partition_moves
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from mqgateway.gateway.kafka.codec.messages.end_txn_request import EndTxnRequest
from mqgateway.gateway.kafka.codec.messages.init_producer_id_request import InitProducerIdRequest
from mqgateway.gateway.kafka.codec.messages.list_partition_reassignments_request import (
    ListPartitionReassignmentsRequest,
)
from mqgateway.gateway.kafka.codec.schema import Message
from tests.support.gateway.kafka.cluster import KafkaCluster
from tests.support.gateway.kafka.requests import (
    batch_of_values,
    batches_in,
    fetch_request,
    fetched,
    produce_request,
)

NAMES = ("a", "b", "c")
NODES_A_GROUP = 1000
PARTITIONS = 3
STEPS = 60
SEEDS = (1, 2, 3, 4, 5, 6)
COMMITTED = 1
LOG_FILE = 1 << 18
"""Bytes of a file of the log. A slave without a log copies the last file only, so that one has all."""
PRODUCE = 12
"""Version of Produce whose transactional batches add their partitions."""


class Client:
    """Clients of a cluster in which brokers come and go.

    `up` has the groups whose master runs, `masters` what the master of each group is called.
    """

    def __init__(self, cluster: KafkaCluster, topic: str) -> None:
        self.cluster = cluster
        self.topic = topic
        self.up = set(NAMES)
        self.masters = {name: name for name in NAMES}

    def ask(self, at: str, request: Message, version: int | None = None) -> Any:
        """Return an answer, None if there is none."""
        if at not in self.up:
            return None
        try:
            return self.cluster.client(self.masters[at]).ask(request, version)
        except AssertionError as error:
            assert str(error).startswith("no answer")
            return None

    def leader(self, at: str, partition: int) -> str:
        """Return the leader of a partition as a broker shows it, empty for none."""
        [found] = self.cluster.metadata(self.masters[at], self.topic).topics
        node = found.partitions[partition].leader_id if found.partitions else -1
        return NAMES[node // NODES_A_GROUP] if node >= 0 else ""

    def produce(self, at: str, partition: int, value: bytes, **fields: Any) -> int:
        """Send a batch to the leader of a partition, as a broker shows it; return the code, -1 for no
        answer."""
        leader = self.leader(at, partition)
        if leader not in self.up:
            return -1
        transactional_id = fields.pop("transactional_id", None)
        data = batch_of_values(value, now=self.cluster.world.clock.millis(), **fields)
        request = produce_request(self.topic, data, partition=partition, transactional_id=transactional_id)
        answer = self.ask(leader, request, PRODUCE)
        return -1 if answer is None else int(answer.responses[0].partition_responses[0].error_code)

    def records(self, partition: int, **more: Any) -> list[bytes]:
        """Return the values of a partition that a consumer gets from its leader."""
        values: list[bytes] = []
        offset, leader = 0, self.leader("a", partition)
        while True:
            found = fetched(
                self.cluster.client(self.masters[leader]),
                fetch_request(self.topic, offset, partition=partition, **more),
            )
            assert found.error_code == 0
            batches = batches_in(found)
            if not batches:
                return values
            aborted = sorted((one.first_offset, one.producer_id) for one in found.aborted_transactions or ())
            skipped: set[int] = set()
            for batch in batches:
                assert batch.base_offset >= offset
                offset = batch.last_offset + 1
                while aborted and aborted[0][0] <= batch.last_offset:
                    skipped.add(aborted.pop(0)[1])
                if batch.is_control:
                    skipped.discard(batch.producer_id)
                elif not (batch.is_transactional and batch.producer_id in skipped):
                    values += [bytes(record.value or b"") for record in batch.records()]

    def reassign(self, at: str, partition: int, group: str | None) -> int:
        """Move a partition, or cancel its move; return the code, -1 for no answer."""
        replicas = None
        if group is not None:
            view = self.cluster.operations(self.masters[group]).replicas.nodes()
            replicas = [each.node.id for each in view.nodes]
        wanted = ReassignableTopic(self.topic, [ReassignablePartition(partition, replicas)])
        answer = self.ask(at, AlterPartitionReassignmentsRequest(topics=[wanted]))
        return -1 if answer is None else int(answer.responses[0].partitions[0].error_code)

    def moving(self, at: str = "a") -> int:
        """Return how many partitions move."""
        answer = self.ask(at, ListPartitionReassignmentsRequest())
        return sum(len(topic.partitions) for topic in answer.topics)

    def kill(self, name: str) -> None:
        """Kill the master of a group."""
        self.up.discard(name)
        self.cluster.kill(self.masters[name])

    def restart(self, name: str) -> None:
        """Start the master of a group again."""
        self.cluster.restart(self.masters[name])
        self.up.add(name)

    def fail_over(self, name: str) -> None:
        """Replace the master of a group, which has no slave yet, by one that has copied it."""
        slave = self.cluster.start_slave(name)
        self.cluster.wait(20)
        self.up.discard(name)
        self.cluster.kill(name)
        self.cluster.stop(slave)
        self.masters[name] = slave
        self.restart(name)


class Idempotent:
    """A producer of numbers in one partition. `answered` is the number of batches that were answered."""

    def __init__(self, client: Client, partition: int) -> None:
        self._client = client
        self._partition = partition
        self._sequence = 0
        self.sent: list[bytes] = []
        self.is_waiting = False

    def send(self, at: str) -> bool:
        """Send the next batch, or the one that was not answered again; return True if it is answered."""
        if not self.is_waiting:
            self.sent.append(b"%d-%d" % (self._partition, len(self.sent)))
            self.is_waiting = True
        code = self._client.produce(
            at,
            self._partition,
            self.sent[-1],
            producer_id=100 + self._partition,
            producer_epoch=0,
            base_sequence=len(self.sent) - 1,
        )
        assert code not in (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.INVALID_PRODUCER_EPOCH)
        if not code:
            self.is_waiting = False
        return not code


class Transactional:
    """A producer whose transactions write one value to every partition."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._id = client.cluster.key_at("a", "txn")
        self._identity: tuple[int, int] | None = None
        self._sequences: dict[int, int] = {}
        self._count = 0
        self.committed: set[bytes] = set()
        self.doubtful: set[bytes] = set()

    def run(self, at: str, *, commits: bool) -> str:
        """Do one transaction; return what became of it."""
        if self._identity is None:
            answer = self._client.ask("a", InitProducerIdRequest(self._id, 60_000, -1, -1))
            if answer is None or answer.error_code:
                return "refused"
            self._identity = answer.producer_id, answer.producer_epoch
            self._sequences = {}
        producer_id, epoch = self._identity
        self._count += 1
        value = b"t%d" % self._count
        for partition in range(PARTITIONS):
            code = self._client.produce(
                at,
                partition,
                value,
                flags=TRANSACTIONAL,
                producer_id=producer_id,
                producer_epoch=epoch,
                base_sequence=self._sequences.get(partition, 0),
                transactional_id=self._id,
            )
            if code:
                self._identity = None  # the next one aborts the transaction
                return "refused"
            self._sequences[partition] = self._sequences.get(partition, 0) + 1
        answer = self._client.ask("a", EndTxnRequest(self._id, producer_id, epoch, commits), 4)
        if answer is None or answer.error_code:
            self._identity = None
            if commits:
                self.doubtful.add(value)
            return "doubtful"
        if commits:
            self.committed.add(value)
        return "committed" if commits else "aborted"


class History:
    """One history."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.cluster = KafkaCluster(NAMES, mapped_file_size_commit_log=LOG_FILE)
        topic = self.cluster.make_spread("b", partitions=PARTITIONS)
        self.client = Client(self.cluster, topic)
        self.producers = [Idempotent(self.client, number) for number in range(PARTITIONS)]
        self.transactions = Transactional(self.client)
        self.counts: dict[str, int] = {}

    def count(self, kind: str) -> None:
        """Count a step."""
        self.counts[kind] = self.counts.get(kind, 0) + 1

    def play(self, steps: int) -> None:
        """Do so many steps, have all broker groups up again, and check what the partitions have."""
        for _ in range(steps):
            kinds = (self.produce, self.transact, self.move, self.disturb)
            self.random.choices(kinds, weights=(6, 3, 3, 2))[0]()
            self.cluster.wait(self.random.choice((0.1, 0.3, 1)))
        for name in set(NAMES) - self.client.up:
            self.client.restart(name)
        self.cluster.wait(60)
        assert self.client.moving() == 0
        for producer in self.producers:
            assert not producer.is_waiting or producer.send("a")
        self.check()

    def produce(self) -> None:
        """Send a batch to each partition."""
        at = self.random.choice(sorted(self.client.up))
        for producer in self.producers:
            self.count("sent" if producer.send(at) else "not sent")

    def transact(self) -> None:
        """Do a transaction."""
        at = self.random.choice(sorted(self.client.up))
        self.count(self.transactions.run(at, commits=self.random.random() < 0.7))

    def move(self) -> None:
        """Begin a move, or cancel one."""
        at = self.random.choice(sorted(self.client.up))
        partition = self.random.randrange(PARTITIONS)
        group = None if self.random.random() < 0.2 else self.random.choice(NAMES)
        code = self.client.reassign(at, partition, group)
        self.count("cancelled" if group is None and not code else "moved" if not code else "not moved")

    def disturb(self) -> None:
        """Kill a master, or start the one that was killed; or have a slave follow a master."""
        if len(self.client.up) < len(NAMES):
            [down] = set(NAMES) - self.client.up
            self.client.restart(down)
            return
        name = self.random.choice(NAMES)
        if self.client.masters[name] == name and self.random.random() < 0.3:
            self.client.fail_over(name)
            self.count("fail over")
            return
        self.client.kill(name)
        self.count("kill")

    def check(self) -> None:
        """Check that each partition has every batch once, in order, and whole transactions only."""
        for number, producer in enumerate(self.producers):
            values = self.client.records(number)
            plain = [value for value in values if not value.startswith(b"t")]
            assert plain == producer.sent
            committed = [
                value
                for value in self.client.records(number, isolation_level=COMMITTED)
                if value.startswith(b"t")
            ]
            assert len(committed) == len(set(committed))
            numbers = [int(value[1:]) for value in committed]
            assert numbers == sorted(numbers)
            found = set(committed)
            assert (
                self.transactions.committed
                <= found
                <= self.transactions.committed | self.transactions.doubtful
            )
            if number == 0:
                first = found
            assert found == first  # the same transactions are in all partitions


@pytest.mark.parametrize("seed", SEEDS)
def test_partitions_move_through_kills_without_loss(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partition_moves, "PART_BYTES", 300)  # many parts
    monkeypatch.setattr(partition_moves, "BYTES_A_SECOND", 3000)
    history = History(seed)
    history.play(STEPS)
    counts = history.counts
    kinds = {"moved", "kill", "fail over", "committed", "sent"}
    assert kinds <= counts.keys(), counts


class Crash:
    """A crash before the request of a number that the target of a move sends, or after it.

    After it the request has its effect, and the answer is lost.
    """

    def __init__(self, cluster: KafkaCluster, target: str, number: int, *, is_after: bool) -> None:
        self.has_come = False
        peers = cluster.operations(target).peers
        assert peers is not None
        ask, count = peers.ask, 0

        def crashing(group: str, kind: str, fields: Mapping[str, Any]) -> Deferred[Mapping[str, Any]]:
            nonlocal count
            count += 1
            if self.has_come or count == number:
                if not self.has_come and is_after:
                    ask(group, kind, fields).addErrback(lambda _: None)
                self.has_come = True
                return fail(OperationError(Reason.SYSTEM_ERROR, "the broker crashes"))
            return ask(group, kind, fields)

        peers.ask = crashing  # type: ignore[method-assign]


@pytest.mark.parametrize("is_after", [False, True])
@pytest.mark.parametrize("victim", NAMES)
def test_move_survives_a_kill_at_each_request(
    victim: str, is_after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The topic belongs to b, and its partition moves from a to c."""
    monkeypatch.setattr(partition_moves, "PART_BYTES", 300)
    for number in range(1, 30):
        cluster = KafkaCluster(NAMES)
        client = Client(cluster, cluster.make_spread("b", partitions=PARTITIONS))
        producer = Idempotent(client, 2)
        for _ in range(6):
            assert producer.send("a")
        crash = Crash(cluster, "c", number, is_after=is_after)
        assert client.reassign("b", 2, "c") == 0
        for _ in range(10):
            cluster.wait(0.3)
            producer.send("a")
            if crash.has_come:
                break
        if not crash.has_come:
            assert number > 5
            break
        client.kill(victim)
        cluster.wait(2)
        client.restart(victim)
        if victim != "c":
            client.kill("c")
            client.restart("c")
        cluster.wait(20)
        assert client.moving() == 0 and client.leader("a", 2) == "c"
        assert producer.send("a") and producer.send("b")
        assert client.records(2) == producer.sent
