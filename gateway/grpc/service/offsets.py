"""PullMessage, UpdateOffset, GetOffset, QueryOffset: queues read by offset, which RocketMQ's proxy lacks.

A queue is one of this broker's, by its number; a message carries its queue and offset, and no handle.
"""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.engine.errors import FilterError
from mqgateway.engine.filters import TopicSubscription
from mqgateway.engine.pop.names import MESSAGES_MAX
from mqgateway.gateway.broker.operations import (
    OperationError,
    Operations,
    Permit,
    PullOutcome,
    PullOutcomeStatus,
    PullRequest,
    Reason,
)
from mqgateway.gateway.grpc import v2
from mqgateway.gateway.grpc.service.caller import CallConnection
from mqgateway.gateway.grpc.service.names import checked_group, checked_topic, is_time, millis_of
from mqgateway.gateway.grpc.service.properties import received_message
from mqgateway.gateway.grpc.service.receiving import is_tagged, records_in, subscription_of
from mqgateway.gateway.grpc.service.status import OK, CallRefused, Code, status, topic_not_found
from mqgateway.gateway.runtime.outcomes import pending, then

DEADLINE_RESERVE_MILLIS = 100
"""Time before its deadline at which a pull is answered."""


class OffsetMethods:
    """Answers for one broker."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations

    def pull(
        self, request: v2.PullMessageRequest, caller: CallConnection, permit: Permit
    ) -> Deferred[None] | None:
        """Return messages from an offset on, or the offset to continue from. Raises `CallRefused`."""
        topic, group = self._topic(request.message_queue), checked_group(request.group)
        try:
            subscription = subscription_of(topic, request.filter_expression)
        except FilterError as error:
            raise CallRefused(Code.ILLEGAL_FILTER_EXPRESSION, str(error)) from None
        if request.offset < 0:
            raise CallRefused(Code.ILLEGAL_OFFSET, f"an offset cannot be {request.offset}")
        pull = PullRequest(
            group,
            topic,
            request.message_queue.id,
            request.offset,
            min(max(request.batch_size, 1), MESSAGES_MAX),
            self._poll_time(request, caller),
            subscription.sub_string,
            subscription.expression_type,
            is_lite=True,
        )
        caller.watch()
        outcome = self._operations.consume.pull(permit, pull)
        waiting = pending(outcome)
        if waiting is not None:
            caller.on_lost(lambda _: waiting.cancel())

        def failed(failure: Failure) -> Failure | None:
            return failure if caller.is_open else None

        return then(outcome, lambda found: self._give(caller, subscription, found), failed)

    def update(
        self, request: v2.UpdateOffsetRequest, permit: Permit
    ) -> v2.UpdateOffsetResponse | Deferred[v2.UpdateOffsetResponse]:
        """Commit the offset of a group."""
        topic, group = self._topic(request.message_queue), checked_group(request.group)
        if request.offset < 0:
            raise CallRefused(Code.ILLEGAL_OFFSET, f"an offset cannot be {request.offset}")
        if self._operations.groups.find(group) is None:
            raise CallRefused(Code.CONSUMER_GROUP_NOT_FOUND, f"Group {group} not exist!")
        done = self._operations.offsets.commit(permit, group, topic, request.message_queue.id, request.offset)
        return then(done, lambda _: v2.UpdateOffsetResponse(status=OK))

    def get(
        self, request: v2.GetOffsetRequest, permit: Permit
    ) -> v2.GetOffsetResponse | Deferred[v2.GetOffsetResponse]:
        """Return the offset that a group committed. Raises `CallRefused`."""
        topic, group = self._topic(request.message_queue), checked_group(request.group)
        try:
            offset = self._operations.offsets.committed(permit, group, topic, request.message_queue.id)
        except OperationError as error:
            if error.reason is Reason.QUERY_NOT_FOUND:
                raise CallRefused(Code.OFFSET_NOT_FOUND, error.message) from None
            raise
        return then(offset, lambda one: v2.GetOffsetResponse(status=OK, offset=one))

    def query(
        self, request: v2.QueryOffsetRequest, permit: Permit
    ) -> v2.QueryOffsetResponse | Deferred[v2.QueryOffsetResponse]:
        """Return an end of a queue, or the offset of a time."""
        topic, queue_id = self._topic(request.message_queue), request.message_queue.id
        offsets = self._operations.offsets
        if request.query_offset_policy == v2.QueryOffsetPolicy.END:
            offset = offsets.end(permit, topic, queue_id)
        elif request.query_offset_policy == v2.QueryOffsetPolicy.TIMESTAMP:
            if not request.HasField("timestamp") or not is_time(request.timestamp):
                raise CallRefused(Code.BAD_REQUEST, "the timestamp is missing")
            offset = offsets.at_time(permit, topic, queue_id, millis_of(request.timestamp))
        else:
            offset = offsets.earliest(permit, topic, queue_id)
        return then(offset, lambda one: v2.QueryOffsetResponse(status=OK, offset=one))

    def _topic(self, queue: v2.MessageQueue) -> str:
        """Return the topic of a queue that exists. Raises `CallRefused`."""
        topic = checked_topic(queue.topic)
        config = self._operations.topics.get(topic)
        if config is None:
            raise topic_not_found(topic)
        if not 0 <= queue.id < config.read_queue_nums:
            raise CallRefused(Code.BAD_REQUEST, f"topic {topic} has no queue {queue.id} that is read")
        return topic

    def _poll_time(self, request: v2.PullMessageRequest, caller: CallConnection) -> int:
        longest = self._operations.options.grpc_client_consumer_max_long_polling_timeout_millis
        remaining = caller.call.remaining()
        if remaining is not None:
            longest = min(longest, int(remaining * 1000) - DEADLINE_RESERVE_MILLIS)
        return max(0, min(millis_of(request.long_polling_timeout), longest))

    def _give(self, caller: CallConnection, subscription: TopicSubscription, outcome: PullOutcome) -> None:
        call = caller.call
        if outcome.status is PullOutcomeStatus.FOUND:
            call.send(v2.PullMessageResponse(status=status(Code.OK)))
            for stored in records_in(outcome.body):
                if not is_tagged(subscription, stored):  # another tag with the same hash
                    continue
                now, inflated_max = (
                    self._operations.clock.millis(),
                    self._operations.options.max_inflated_body,
                )
                call.send(v2.PullMessageResponse(message=received_message(stored, now, inflated_max)))
        elif outcome.status is PullOutcomeStatus.OFFSET_MOVED:
            why = status(Code.ILLEGAL_OFFSET, f"the queue goes on at {outcome.next_offset}")
            call.send(v2.PullMessageResponse(status=why))
        else:
            call.send(v2.PullMessageResponse(status=status(Code.MESSAGE_NOT_FOUND, "no new message")))
        call.send(v2.PullMessageResponse(next_offset=outcome.next_offset))
        call.finish()
