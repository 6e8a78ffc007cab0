"""ShareAcknowledge: outcomes of records that members have acquired, without a fetch.

Standard: `KafkaApis.handleShareAcknowledgeRequest`.
"""

from __future__ import annotations

from typing import Final

from mqgateway.engine.steps import Steps
from mqgateway.gateway.kafka.api import Answer, Handlers
from mqgateway.gateway.kafka.api.share_requests import AckErrors, ShareRequests
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.share_acknowledge_request import ShareAcknowledgeRequest
from mqgateway.gateway.kafka.codec.messages.share_acknowledge_response import (
    PartitionData,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
)
from mqgateway.gateway.kafka.share_partitions.sessions import (
    CLOSING_EPOCH,
    OPENING_EPOCH,
    MemberKey,
    ShareSessionError,
)

SHARE_ACKNOWLEDGE: Final = 79


class ShareAcknowledge:
    """Acknowledgements of members of share groups."""

    def __init__(self, requests: ShareRequests) -> None:
        self._requests = requests

    def handlers(self) -> Handlers:
        """Return the functions by API key."""
        return {SHARE_ACKNOWLEDGE: self.acknowledge}

    def acknowledge(self, call: KafkaCall, request: ShareAcknowledgeRequest) -> Steps[Answer]:
        """Answer ShareAcknowledge once what it changed is durable."""
        refusal = self._requests.refusal(call, request.group_id, request.member_id)
        if refusal is not None:
            return ShareAcknowledgeResponse(error_code=refusal.code, error_message=refusal.message)
        member = MemberKey(request.group_id or "", request.member_id or "")
        epoch = request.share_session_epoch
        try:
            self._check_session(member, epoch)
        except ShareSessionError as error:
            return ShareAcknowledgeResponse(error_code=error.code)
        acknowledging = self._requests.acknowledge(call, member, request.topics, request.is_renew_ack)
        done = yield from acknowledging
        if epoch == CLOSING_EPOCH:
            self._requests.close(member)
        return done.addCallback(self._answer, self._requests.settings(member.group).record_lock_duration)

    def _check_session(self, member: MemberKey, epoch: int) -> None:
        """Check the session of a request. Raises `ShareSessionError`."""
        sessions = self._requests.table.sessions
        if epoch == OPENING_EPOCH:
            raise ShareSessionError(ErrorCode.INVALID_SHARE_SESSION_EPOCH)
        if epoch == CLOSING_EPOCH:
            sessions.found(member)
        else:
            sessions.next(member, epoch)

    def _answer(self, errors: AckErrors, lock_duration: int) -> ShareAcknowledgeResponse:
        by_topic: dict[bytes, list[PartitionData]] = {}
        for place, error in errors.items():
            data = PartitionData(place.partition, error.code, error.message)
            by_topic.setdefault(place.topic_id, []).append(data)
        return ShareAcknowledgeResponse(
            acquisition_lock_timeout_ms=lock_duration,
            responses=[ShareAcknowledgeTopicResponse(*topic) for topic in by_topic.items()],
        )
