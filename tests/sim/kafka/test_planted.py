"""Bugs planted in the product, which histories with Kafka clients have to find."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from mqgateway.engine.cleaner.offset_map import OffsetMap
from mqgateway.engine.message import StoredMessage
from mqgateway.engine.producers.state import Duplicate, Producers
from mqgateway.engine.producers.transactions import KafkaTransactions
from mqgateway.engine.store import batch_reading, reader
from mqgateway.engine.store.batch_consume_queue import BatchConsumeQueue
from mqgateway.engine.store.consume_queue import AnyQueue, ConsumeQueues
from mqgateway.engine.store.log import Agreement
from mqgateway.engine.store.views.producers import ProducersView
from mqgateway.engine.store.views.transactions import TransactionsView
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.operations.batches import BatchOperations
from mqgateway.gateway.broker.operations.replicas import ReplicaOperations
from mqgateway.gateway.kafka.coordinator.transactional import TransactionalCommits
from mqgateway.gateway.kafka.transaction_coordination import BrokerMarkers
from mqgateway.gateway.kafka.transactions import rules
from mqgateway.gateway.kafka.transactions.completion import TxnCompletion
from mqgateway.gateway.kafka.transactions.rules import TxnRefused
from mqgateway.gateway.kafka.verification import Verification
from tests.sim.history import Broken
from tests.sim.kafka.history import PROFILES, KafkaHistory

SEEDS = 40
STEPS = 40

Plant = Callable[[pytest.MonkeyPatch], None]


def lose_aborted_transactions_at_a_start(patch: pytest.MonkeyPatch) -> None:
    def repeat(self: TransactionsView, message: StoredMessage) -> bool:
        has_changed = real(self, message)
        for queue in self._transactions.queues.values():
            queue.aborted.clear()
        return has_changed

    real = TransactionsView._repeat
    patch.setattr(TransactionsView, "_repeat", repeat)


def read_one_record_of_open_transactions(patch: pytest.MonkeyPatch) -> None:
    def read_limit(self: TransactionsView, queue: Any) -> int | None:
        limit = real(self, queue)
        return None if limit is None else limit + 1

    real = TransactionsView.read_limit
    patch.setattr(TransactionsView, "read_limit", read_limit)


def forget_sequences_at_a_start(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ProducersView, "_repeat", lambda self, message: False)


def accept_any_sequence(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Producers, "check", lambda self, *given: None)


def place_duplicates_one_record_later(patch: pytest.MonkeyPatch) -> None:
    def check(self: Producers, *given: Any) -> Any:
        verdict = real(self, *given)
        return (
            verdict._replace(base_offset=verdict.base_offset + 1)
            if isinstance(verdict, Duplicate)
            else verdict
        )

    real = Producers.check
    patch.setattr(Producers, "check", check)


def accept_batches_of_fenced_producers(patch: pytest.MonkeyPatch) -> None:
    def check_producer(status: Any, producer: Any) -> None:
        if producer.producer_id != status.producer_id:
            raise TxnRefused(rules.ErrorCode.INVALID_PRODUCER_ID_MAPPING)

    patch.setattr(rules, "_check_producer", check_producer)
    patch.setattr(KafkaTransactions, "check", lambda self, *given: None)
    patch.setattr(Producers, "check", lambda self, *given: None)


def append_batches_that_are_not_verified(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Verification, "append", lambda self, batch, append: append())


def abort_in_some_partitions(patch: pytest.MonkeyPatch) -> None:
    def write(self: BrokerMarkers, partition: Any, producer: Any, is_commit: bool) -> Any:
        return real(self, partition, producer, is_commit and partition.partition == 0)

    real = BrokerMarkers.write
    patch.setattr(BrokerMarkers, "write", write)


def leave_a_marker_out(patch: pytest.MonkeyPatch) -> None:
    real = TxnCompletion.start

    def start(self: TxnCompletion, entry: Any) -> None:
        if len(entry.status.partitions) > 1:
            partitions = frozenset(sorted(entry.status.partitions)[1:])
            entry.status = rules.replace(entry.status, partitions=partitions)
        real(self, entry)

    patch.setattr(TxnCompletion, "start", start)


def commit_offsets_of_aborted_transactions(patch: pytest.MonkeyPatch) -> None:
    real = TransactionalCommits.complete
    patch.setattr(
        TransactionalCommits,
        "complete",
        lambda self, producer_id, epoch, is_commit: real(self, producer_id, epoch, True),
    )


def drop_offsets_of_committed_transactions(patch: pytest.MonkeyPatch) -> None:
    real = TransactionalCommits.complete
    patch.setattr(
        TransactionalCommits,
        "complete",
        lambda self, producer_id, epoch, is_commit: real(self, producer_id, epoch, False),
    )


def acknowledge_before_a_batch_is_safe(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(BatchOperations, "_safe", lambda self, result, logs, outcome: self._gate.leave(outcome))


def show_readers_what_is_not_confirmed(patch: pytest.MonkeyPatch) -> None:
    for module in (batch_reading, reader):
        patch.setattr(module, "agreed_limit", lambda log: None)
    patch.setattr(Agreement, "__call__", lambda self, log: self._base(log))


def skip_the_rest_of_a_batch(patch: pytest.MonkeyPatch) -> None:
    def number_of(self: BatchConsumeQueue, offset: int, may_wait: bool = True) -> int:
        return self._search(lambda unit: unit.base_offset < offset, may_wait)

    patch.setattr(BatchConsumeQueue, "number_of", number_of)


def compact_the_newest_records_away(patch: pytest.MonkeyPatch) -> None:
    real = OffsetMap.get
    patch.setattr(OffsetMap, "get", lambda self, key: real(self, key) + 1)


def make_ordinary_queues_for_topics_that_are_not_known(patch: pytest.MonkeyPatch) -> None:
    def open_queue(self: ConsumeQueues, topic: str, queue_id: int, has_batch: bool = False) -> AnyQueue:
        return real(self, topic, queue_id)

    real = ConsumeQueues.open
    patch.setattr(ConsumeQueues, "open", open_queue)


def keep_the_epoch_after_a_change_of_the_master(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Broker, "leader_epoch", 1)


def end_epochs_too_early(patch: pytest.MonkeyPatch) -> None:
    real = ReplicaOperations.epoch_end

    def epoch_end(self: ReplicaOperations, *given: Any) -> Any:
        epoch, end = real(self, *given)
        return epoch, end - 1

    patch.setattr(ReplicaOperations, "epoch_end", epoch_end)


ABORTED = "is of the aborted|though of the aborted"
LOST = "is lost|which is not there|where .* is now"
PLANTED: tuple[tuple[Plant, str, int, str], ...] = (
    (lose_aborted_transactions_at_a_start, "killed", 0, ABORTED),
    (read_one_record_of_open_transactions, "killed", 0, f"is of the open|{ABORTED}"),
    (forget_sequences_at_a_start, "killed", 0, "duplicate|OUT_OF_ORDER"),
    (accept_any_sequence, "killed", 0, "duplicate"),
    (place_duplicates_one_record_later, "killed", 0, "was acknowledged at|at offset"),
    (accept_batches_of_fenced_producers, "killed", 0, f"{ABORTED}|torn|{LOST}"),
    (append_batches_that_are_not_verified, "killed", 0, "consumers do not come to the end"),
    (abort_in_some_partitions, "killed", 0, "torn"),
    (leave_a_marker_out, "killed", 0, f"{ABORTED}|torn|was committed"),
    (commit_offsets_of_aborted_transactions, "killed", 0, "no transaction has committed|was copied"),
    (drop_offsets_of_committed_transactions, "killed", 0, "was committed|was copied"),
    (acknowledge_before_a_batch_is_safe, "without power", 1, f"{LOST}|OUT_OF_ORDER|was committed"),
    (acknowledge_before_a_batch_is_safe, "set killed", 1, f"{LOST}|was acknowledged"),
    (show_readers_what_is_not_confirmed, "set killed", 4, "at offset|was truncated"),
    (skip_the_rest_of_a_batch, "killed", 0, "has skipped"),
    (compact_the_newest_records_away, "killed", 0, "is lost"),
    (make_ordinary_queues_for_topics_that_are_not_known, "set killed", 0, "UNKNOWN_SERVER_ERROR"),
    (keep_the_epoch_after_a_change_of_the_master, "set killed", 0, "both led"),
    (end_epochs_too_early, "set killed", 0, "was truncated"),
)
"""Each bug with a seed that has found it. If that seed no longer does, the seeds after it are tried."""


@pytest.mark.parametrize(
    ("plant", "profile", "first", "found"), PLANTED, ids=[f"{one[0].__name__}, {one[1]}" for one in PLANTED]
)
def test_planted_fault_is_found(
    plant: Plant, profile: str, first: int, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    for seed in range(first, first + SEEDS):
        try:
            KafkaHistory(seed, PROFILES[profile]).play(STEPS)
        except Broken as broken:
            print(f"seed {seed}: {broken}")
            assert re.search(found, str(broken)), str(broken)
            return
    pytest.fail(f"{SEEDS} histories have not found it")
