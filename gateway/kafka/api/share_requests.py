"""Checks, acknowledgements and the end of sessions, for ShareFetch and ShareAcknowledge.

Standard: `KafkaApis.handleAcknowledgements`, `KafkaApis.validateAcknowledgementBatches`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, Protocol

from twisted.internet.defer import Deferred, succeed
from twisted.python.failure import Failure

from mqgateway.engine.steps import Steps
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.broker.operations import Use
from mqgateway.gateway.kafka.api.groups import GroupAccess
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.coordinator.records_log import NotWritten
from mqgateway.gateway.kafka.coordinator.refusal import Refused
from mqgateway.gateway.kafka.rights import READING
from mqgateway.gateway.kafka.share_groups.settings import ShareGroupSettings
from mqgateway.gateway.kafka.share_partitions.partition import RENEW, Acknowledgement
from mqgateway.gateway.kafka.share_partitions.records import ShareKey
from mqgateway.gateway.kafka.share_partitions.sessions import MemberKey, TopicPartitionId
from mqgateway.gateway.kafka.share_partitions.table import ShareTable, log_not_written
from mqgateway.gateway.kafka.topics import Admitted, Topics

MEMBER_ID_MAX: Final = 36
"""Length of a member id, a UUID."""
BATCHES_MAX: Final = 10_000
"""Batches of acknowledgements of a partition: more than it may have records in flight."""
RENEW_SINCE: Final = 2
"""Version of both requests from which locks may be renewed."""


class AcknowledgementBatch(Protocol):
    """Acknowledgements of a request, of either API."""

    first_offset: int
    last_offset: int
    acknowledge_types: Sequence[int]


class AcknowledgedPartition(Protocol):
    """A partition of a request, of either API."""

    @property
    def partition_index(self) -> int:
        """Number of the partition."""
        ...

    @property
    def acknowledgement_batches(self) -> Sequence[AcknowledgementBatch]:
        """Acknowledgements in the order of their offsets."""
        ...


class AcknowledgedTopic(Protocol):
    """A topic of a request, of either API."""

    @property
    def topic_id(self) -> bytes:
        """Id of the topic."""
        ...

    @property
    def partitions(self) -> Sequence[AcknowledgedPartition]:
        """Partitions of the topic."""
        ...


class AckError(NamedTuple):
    """The outcome of the acknowledgements of a partition; the message is None without an error."""

    code: ErrorCode
    message: str | None = None


AckErrors = dict[TopicPartitionId, AckError]


class ShareRequests:
    """Checks and acknowledgements of members of share groups."""

    def __init__(
        self,
        table: ShareTable,
        settings: Callable[[str], ShareGroupSettings],
        access: GroupAccess,
        topics: Topics,
    ) -> None:
        self.table = table
        self.settings = settings
        self._access = access
        self._topics = topics

    def refusal(self, call: KafkaCall, group: str | None, member: str | None) -> AckError | None:
        """Return why a request is refused as a whole, None if it is not."""
        if group is None:
            return AckError(ErrorCode.INVALID_REQUEST, "Invalid group id in the request.")
        error = self._access.error(call, group, AclOperation.READ)
        if error:
            return AckError(error)
        if not member or len(member) > MEMBER_ID_MAX:
            return AckError(ErrorCode.INVALID_REQUEST, "Invalid member id in the request.")
        return None if self.table.is_loaded else AckError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)

    def admitted(self, call: KafkaCall, place: TopicPartitionId) -> Admitted | ErrorCode:
        """Return the topic of a partition with a permit to read it, or why it cannot be read."""
        found = self._topics.admitted(call, Use.PULL, READING, "", place.topic_id)
        if not isinstance(found, ErrorCode) and not 0 <= place.partition < found[0].partitions:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return found

    def acknowledge(
        self, call: KafkaCall, member: MemberKey, topics: Iterable[AcknowledgedTopic], is_renewing: bool
    ) -> Steps[Deferred[AckErrors]]:
        """Apply acknowledgements; return the outcome by partition, once what has changed is durable."""
        errors: AckErrors = {}
        changed: list[ShareKey] = []
        kind_max = RENEW if call.version >= RENEW_SINCE else RENEW - 1
        for topic in topics:
            for partition in topic.partitions:
                place = TopicPartitionId(topic.topic_id, partition.partition_index)
                batches = partition.acknowledgement_batches
                errors[place] = self._acknowledged(
                    call, member, place, batches, is_renewing, kind_max, changed
                )
                yield
        written = self.table.write(changed) if changed else succeed(None)
        return written.addCallbacks(lambda _: errors, _not_written, errbackArgs=(errors, changed))

    def _acknowledged(
        self,
        call: KafkaCall,
        member: MemberKey,
        place: TopicPartitionId,
        batches: Sequence[AcknowledgementBatch],
        is_renewing: bool,
        kind_max: int,
        changed: list[ShareKey],
    ) -> AckError:
        """Apply the acknowledgements of one partition, and note its key if it has changed."""
        found = self.admitted(call, place)
        if found is ErrorCode.UNKNOWN_TOPIC_ID:
            return AckError(found)
        if not are_valid(batches, kind_max, is_renewing):
            return AckError(ErrorCode.INVALID_REQUEST)
        if isinstance(found, ErrorCode):
            return AckError(found)
        if not batches:
            return AckError(ErrorCode.NONE)
        key = ShareKey(member.group, *place)
        state = self.table.get(key)
        if state is None:
            return AckError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        wanted = [
            Acknowledgement(one.first_offset, one.last_offset, one.acknowledge_types) for one in batches
        ]
        try:
            settings = self.settings(member.group)
            deadline = self.table.lock_deadline(settings)
            is_changed = state.acknowledge(member.member, wanted, deadline, settings)
        except Refused as error:
            return AckError(error.code, str(error))
        if is_changed:
            changed.append(key)
        self.table.watch(key)
        return AckError(ErrorCode.NONE)

    def close(self, member: MemberKey) -> None:
        """Close a session, and free what its member has acquired."""
        self.table.close_session(member).addErrback(log_not_written)


def are_valid(batches: Sequence[AcknowledgementBatch], kind_max: int, is_renewing: bool) -> bool:
    """Return True if acknowledgements are in order, not too many, and have as many known types as needed."""
    if len(batches) > BATCHES_MAX:
        return False
    end = -1
    for one in batches:
        count, kinds = len(one.acknowledge_types), one.acknowledge_types
        if not end <= one.first_offset <= one.last_offset or not count:
            return False
        if count > 1 and one.last_offset - one.first_offset != count - 1:
            return False
        if min(kinds) < 0 or max(kinds) > kind_max or (RENEW in kinds and not is_renewing):
            return False
        end = one.last_offset
    return True


def _not_written(failure: Failure, errors: AckErrors, changed: Iterable[ShareKey]) -> AckErrors:
    """Report acknowledgements whose record may be in the log or not; they may count or not."""
    error = failure.value
    if not isinstance(error, NotWritten):
        failure.raiseException()
    for key in changed:
        errors[TopicPartitionId(key.topic_id, key.partition)] = AckError(error.code, str(error))
    return errors
