"""Transactional producers in memory: their requests, and what readers see."""

from __future__ import annotations

from typing import Any

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from mqgateway.gateway.kafka.codec.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from mqgateway.gateway.kafka.codec.messages.end_txn_request import EndTxnRequest
from mqgateway.gateway.kafka.codec.messages.init_producer_id_request import InitProducerIdRequest
from mqgateway.gateway.kafka.codec.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from mqgateway.gateway.kafka.codec.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.support.gateway.kafka.client import KafkaClient, KafkaScene
from tests.support.gateway.kafka.requests import (
    batch_of_values,
    batches_in,
    fetch_request,
    fetched,
    produce_request,
    produced,
)

COMMITTED = 1
"""The isolation level of readers of committed records."""
OLD_PRODUCE, NEW_PRODUCE = 11, 12
"""Versions of Produce whose batches need AddPartitionsToTxn, and whose batches do not."""


class TxnProducer:
    """A transactional producer. `version` is that of transactions: 1 or 2. Sequences are per partition."""

    def __init__(
        self, scene: KafkaScene, name: str = "t", *, version: int = 2, timeout: int = 60_000
    ) -> None:
        self.scene = scene
        self.client: KafkaClient = scene.client(name)
        self.name = name
        self.version = version
        self.timeout = timeout
        self.producer_id = self.epoch = -1
        self._sequences: dict[tuple[str, int], int] = {}

    def init(self, *, keeps: bool = False, version: int | None = None) -> int:
        """Ask for the producer; return the code. With `keeps` its own id and epoch are sent."""
        own = (self.producer_id, self.epoch) if keeps else (-1, -1)
        answer = self.client.ask(InitProducerIdRequest(self.name, self.timeout, *own), version)
        if not answer.error_code:
            self._become(answer.producer_id, answer.producer_epoch)
        return int(answer.error_code)

    def _become(self, producer_id: int, epoch: int) -> None:
        if (producer_id, epoch) != (self.producer_id, self.epoch):
            self._sequences.clear()
        self.producer_id, self.epoch = producer_id, epoch

    def begun(self) -> TxnProducer:
        """Ask for the producer until there is one, and return this object."""
        for _ in range(50):
            code = self.init()
            if code != ErrorCode.CONCURRENT_TRANSACTIONS:
                assert code == ErrorCode.NONE
                return self
            self.scene.settle(0.1)
        raise AssertionError("the id is busy")

    def add(self, topic: str, *partitions: int, version: int = 3) -> list[int]:
        """Add partitions to the transaction; return their codes."""
        request = AddPartitionsToTxnRequest(
            (), self.name, self.producer_id, self.epoch, [AddPartitionsToTxnTopic(topic, partitions)]
        )
        [result] = self.client.ask(request, version).results_by_topic_v3_and_below
        return [one.partition_error_code for one in result.results_by_partition]

    def send(self, topic: str, *values: bytes, partition: int = 0) -> Any:
        """Produce a batch of the transaction; return the answer of the partition."""
        place = topic, partition
        sequence = self._sequences.get(place, 0)
        data = batch_of_values(
            *values,
            now=self.scene.server.clock.millis(),
            flags=1 << 4,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=sequence,
        )
        request = produce_request(topic, data, partition=partition)
        request.transactional_id = self.name
        answer = produced(self.client, request, NEW_PRODUCE if self.version >= 2 else OLD_PRODUCE)
        if not answer.error_code:
            self._sequences[place] = sequence + len(values)
        return answer

    def end(self, commit: bool, *, version: int | None = None) -> int:
        """End the transaction; return the code."""
        number = (5 if self.version >= 2 else 4) if version is None else version
        request = EndTxnRequest(self.name, self.producer_id, self.epoch, commit)
        answer = self.client.ask(request, number)
        if not answer.error_code and number >= 5:
            self._become(answer.producer_id, answer.producer_epoch)
        return int(answer.error_code)

    def add_offsets(self, group: str, version: int | None = None) -> int:
        """Announce that offsets of a group will be committed; return the code."""
        request = AddOffsetsToTxnRequest(self.name, self.producer_id, self.epoch, group)
        return int(self.client.ask(request, version).error_code)

    def commit_offset(
        self,
        group: str,
        topic: str,
        offset: int,
        partition: int = 0,
        *,
        version: int | None = None,
        **member: Any,
    ) -> int:
        """Commit an offset in the transaction; return the code."""
        number = (5 if self.version >= 2 else 3) if version is None else version
        wanted = TxnOffsetCommitRequestTopic(
            topic, partitions=[TxnOffsetCommitRequestPartition(partition, offset, -1, "note")]
        )
        request = TxnOffsetCommitRequest(
            self.name, group, self.producer_id, self.epoch, topics=[wanted], **member
        )
        [result] = self.client.ask(request, number).topics
        return int(result.partitions[0].error_code)


def offset_of(
    client: KafkaClient, group: str, topic: str, partition: int = 0, *, stable: bool = True
) -> tuple[int, int]:
    """Return the committed offset of a group and the error code."""
    wanted = (OffsetFetchRequestTopics(topic, partition_indexes=(partition,)),)
    request = OffsetFetchRequest(
        groups=(OffsetFetchRequestGroup(group, topics=wanted),), require_stable=stable
    )
    [answer] = client.ask(request, 9).groups
    [one] = answer.topics[0].partitions
    return one.committed_offset, one.error_code


def committed_values(client: KafkaClient, topic: str, partition: int = 0) -> list[bytes]:
    """Return the values of committed records, as a consumer of committed records finds them."""
    answer = fetched(client, fetch_request(topic, 0, partition=partition, isolation_level=COMMITTED))
    assert not answer.error_code
    aborted = {(one.producer_id, one.first_offset) for one in answer.aborted_transactions or ()}
    values: list[bytes] = []
    dropped: set[int] = set()
    for batch in batches_in(answer):
        if batch.is_control:
            dropped.discard(batch.producer_id)
            continue
        if (batch.producer_id, batch.base_offset) in aborted:
            dropped.add(batch.producer_id)
        if not (batch.is_transactional and batch.producer_id in dropped):
            values += [bytes(record.value or b"") for record in batch.records()]
    return values
