"""A broker or a set of brokers with Kafka clients, under the random faults of a seed.

Two idempotent producers, three transactional ones of which two fence one another, and three copiers that
consume, transform and produce in transactions write to ordinary topics and to a compacted one. Two consumers
read them. See `rules` for what has to hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from mqgateway.engine.options import RemotingOptions
from mqgateway.engine.record_batches.batches import Batch
from mqgateway.gateway.broker.operations import ReadPosition, Use
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.kafka.coordinator.records import OffsetKey
from mqgateway.gateway.remoting.client import RemotingClient
from tests.sim.history import FAULTS, Broken, History, Profile
from tests.sim.kafka.broker import KafkaBroker
from tests.sim.kafka.clients import KafkaClient
from tests.sim.kafka.consumers import Consumer
from tests.sim.kafka.observations import Observations, Partition
from tests.sim.kafka.producers import IdempotentProducer
from tests.sim.kafka.rules import Log, Rules, committed, log_of
from tests.sim.kafka.transactional import Copier, TransactionalProducer
from tests.sim.machines import Addresses, Machine
from tests.sim.world import Process

INPUTS = (Partition("input", 0), Partition("input", 1))
OUTPUTS = (Partition("output", 0), Partition("output", 1))
COMPACTED = Partition("compacted", 0)
END_SECONDS = 120
"""Time in which producers end. One that was fenced may pause for 60 s before."""
TOPIC_SECONDS = 15
"""Time in which all members of a set learn of a topic."""
READ_BYTES = 1 << 24

PROFILES = {
    "killed": Profile(1, 0, 0),
    "without power": Profile(1, 0, 0, power=True),
    "set killed": Profile(),
    "set without power": Profile(power=True),
}


class KafkaHistory(History):
    """See `History`."""

    brokers: list[KafkaBroker]  # type: ignore[assignment]

    def __init__(self, seed: int, profile: Profile) -> None:
        self.seen = Observations()
        self.kafka_clients: list[KafkaClient] = []
        super().__init__(seed, profile)

    @property
    def is_set(self) -> bool:
        """True if there are several brokers."""
        return self.profile.brokers > 1

    def _broker(self, number: int, cluster: Addresses) -> KafkaBroker:
        profile = self.profile
        settings = (
            profile.settings if self.is_set else {"all_ack_in_sync_state_set": False, **profile.settings}
        )
        return KafkaBroker(
            self.world, number, cluster, self._took, self._answered, power=profile.power, **settings
        )

    def _begin_traffic(self, cluster: Addresses) -> None:
        world = self.world
        self.operator: Any = RemotingClient(
            Process(world, "192.168.1.1"),  # type: ignore[arg-type]
            RemotingOptions(),
            clock=Process(world, "192.168.1.2"),  # type: ignore[arg-type]
        )
        self._until(self._is_whole, "the set is not whole at first")
        leading = next(one for one in self.brokers if one.leads)
        for name, partitions in (("input", 2), ("output", 2)):
            leading.make_topic(name, partitions)
        leading.make_topic(
            "compacted", 1, cleanup_policy="compact", segment_ms="5000", min_cleanable_dirty_ratio="0.1"
        )
        self.run(TOPIC_SECONDS)
        self._until(self._has_topics, "a broker does not have the topics")
        self._begin_clients()
        self._until(lambda: self.sent > 0 and self._is_whole(), "the set is not whole with traffic")

    def _has_topics(self) -> bool:
        return all(one.has_topic(name) for one in self.brokers for name in ("input", "output", "compacted"))

    def _begin_clients(self) -> None:
        given = self.world, self.seen
        places = [one.address for one in self.brokers]
        inputs = [*INPUTS, COMPACTED]
        numbers = iter(range(1, 100))

        def make(kind: Callable[..., Any], every: float, **named: Any) -> Any:
            client = kind(*given, next(numbers), places, every, **named)
            self.kafka_clients.append(client)
            return client

        self.kafka_writers: list[IdempotentProducer] = [
            make(IdempotentProducer, 2.0, partitions=inputs),
            make(IdempotentProducer, 2.0, partitions=inputs),
            make(TransactionalProducer, 2.0, partitions=inputs, name="t2", version=2),
            make(TransactionalProducer, 2.0, partitions=inputs, name="t2", version=2),
            make(TransactionalProducer, 2.0, partitions=inputs, name="t1", version=1),
            make(Copier, 1.0, partitions=OUTPUTS, name="c2", version=2, source=INPUTS[0]),
            make(Copier, 1.0, partitions=OUTPUTS, name="c2", version=2, source=INPUTS[0]),
            make(Copier, 1.0, partitions=OUTPUTS, name="c1", version=1, source=INPUTS[1]),
        ]
        ordinary = [*INPUTS, *OUTPUTS]
        self.readers: list[Consumer] = [
            make(Consumer, 0.7, partitions=ordinary, is_committed=True),
            make(Consumer, 0.7, partitions=ordinary, is_committed=False),
        ]
        self.compacted_reader: Consumer = make(Consumer, 2.0, partitions=[COMPACTED], is_committed=True)

    @property
    def sent(self) -> int:
        """See `History`."""
        return len(self.seen.writes)

    @property
    def acknowledged(self) -> dict[bytes, int]:
        """See `History`."""
        return {one.value: one.offset for one in self.seen.writes.values() if one.offset is not None}

    def ask(self, address: str, code: RequestCode, header: Any) -> None:
        """See `History`."""
        asked = self.operator.request(address, RemotingCommand.request(code, header))
        asked.addErrback(lambda _: None)

    def run(self, seconds: float) -> None:
        """See `History`."""
        super().run(seconds)
        self.checks = self.seen.checks
        if self.seen.problems:
            raise Broken(self.seen.problems[0])

    # Faults.

    def possible_faults(self) -> dict[str, Callable[[Any, Any], None]]:
        """See `History`."""
        return {**FAULTS, **KAFKA_FAULTS} if self.is_set else ALONE | KAFKA_FAULTS

    def set_clock(self, machine: Machine) -> None:
        """Set the wall clock to another time."""
        machine.set_clock(round(self.random.choice((1, 1, 30, 600)) * 1000 * self.random.uniform(-1, 1)))

    def cut_client(self, machine: Machine) -> None:
        """Cut the line between a machine and a client in one direction or both; bytes arrive once it is
        mended."""
        client = self.random.choice(self.kafka_clients).process.address
        pairs = [(client, machine.address), (machine.address, client)]
        self.world.cuts |= set(self.random.choice((pairs, pairs[:1], pairs[1:])))

    # The end.

    def heal(self) -> None:
        """See `History`."""
        self.events.append("heal")
        for machine in self.machines:
            self.mend(machine)
        self._until(self._is_whole, "the set does not heal")
        for client in self.kafka_writers:
            client.is_over = True
        self._until(
            lambda: all(one.has_ended for one in self.kafka_writers), "producers do not end", END_SECONDS
        )
        self._until(self._is_read, "consumers do not come to the end")
        self._until(self._is_whole, "the set does not stay whole")

    def _is_whole(self) -> bool:
        return super()._is_whole() if self.is_set else self.brokers[0].leads

    def _is_read(self) -> bool:
        consumers = (*self.readers, self.compacted_reader)
        return all(lag == 0 for one in consumers for lag in one.lags.values())

    def check(self) -> None:
        """See `History`."""
        logs = {partition: log_of(self.batches(partition)) for partition in (*INPUTS, *OUTPUTS)}
        for problem in self._problems(Rules(self.seen, logs)):
            raise Broken(problem)
        if self.is_set:
            self.check_members()

    def _problems(self, rules: Rules) -> Iterator[str]:
        yield from rules.problems()
        for reader in self.readers:
            for partition, read in reader.read.items():
                end = reader.positions[partition]
                yield from rules.reader_problems(partition, read, end, is_committed=reader.is_committed)
        for source, group in zip(INPUTS, ("c2", "c1"), strict=True):
            offset = self._committed_offset(group, source)
            self.seen.group(group).answered(offset, self.seen.group(group).least())
            yield from rules.copy_problems(source, offset, OUTPUTS, group)
        yield from self._compacted_problems(log_of(self.batches(COMPACTED)))

    def _compacted_problems(self, log: Log) -> Iterator[str]:
        """Yield the values of the compacted partition that are gone, though no later one has their key."""
        left = committed(log)
        newest: dict[bytes, int] = {}
        for offset, value in left.items():
            write = self.seen.writes[value]
            newest[write.key] = max(offset, newest.get(write.key, -1))
        for write in self.seen.writes.values():
            transaction = write.transaction
            is_committed = transaction is None or transaction.outcome is True
            if write.partition == COMPACTED and write.offset is not None and is_committed:
                self.seen.checks["newest of a key is kept"] += 1
                if newest.get(write.key, -1) < write.offset:
                    yield f"{write.value!r} at {write.offset} of {COMPACTED} is lost"

    @property
    def compacted_end(self) -> int:
        """The offset before which the compacted partition is compacted."""
        queue: Any = self.master.store._queues.get(*COMPACTED)
        return int(queue.compacted_end)

    @property
    def master(self) -> KafkaBroker:
        """The master."""
        return next(one for one in self.brokers if one.leads)

    def batches(self, partition: Partition) -> list[Batch]:
        """Return all batches of a partition."""
        operations = self.master.service.operations
        permit = operations.gate.internal(Use.PULL)
        found: list[Batch] = []
        offset = operations.batches.ends(permit, *partition).log_start
        while True:
            position = ReadPosition(*partition, offset, READ_BYTES)
            outcome: Any = operations.batches.fetch(permit, [position], 0, READ_BYTES, 0)
            [read] = outcome
            if not read.spans:
                return found
            found += [Batch(memoryview(bytes(span))) for span in read.spans]
            offset = found[-1].last_offset + 1

    def _committed_offset(self, group: str, partition: Partition) -> int:
        """Return the offset of a group, -1 for none."""
        coordinator = self.master.front_end._service._coordination.coordinator
        found = coordinator.commits.committed(OffsetKey(group, *partition))
        return -1 if found is None else int(found.offset)


KAFKA_FAULTS: dict[str, Callable[[Any, Any], None]] = {
    "set clock": KafkaHistory.set_clock,
    "cut client": KafkaHistory.cut_client,
}
ALONE = {name: FAULTS[name] for name in ("kill", "freeze", "stall", "slow disk", "slow line", "drift")}
"""Faults of a broker that has no others around it."""
