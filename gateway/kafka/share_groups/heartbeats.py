"""Heartbeats of members: the one request by which they join, learn their partitions, and leave.

Standard: `GroupMetadataManager.shareGroupHeartbeat`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from twisted.internet.defer import Deferred, succeed
from twisted.python.failure import Failure

from mqgateway.engine.clock import Clock, elapsed_millis
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from mqgateway.gateway.kafka.codec.messages.share_group_heartbeat_response import (
    Assignment,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)
from mqgateway.gateway.kafka.coordinator.assigned_group import Kind, RecordKey, SubscriptionTooLarge
from mqgateway.gateway.kafka.coordinator.deadlines import Deadlines
from mqgateway.gateway.kafka.coordinator.group_records import by_topic
from mqgateway.gateway.kafka.coordinator.group_table import KafkaGroupTable
from mqgateway.gateway.kafka.coordinator.group_writer import GroupWriter
from mqgateway.gateway.kafka.coordinator.member import RequestSender
from mqgateway.gateway.kafka.coordinator.rebalance import write_error
from mqgateway.gateway.kafka.coordinator.refusal import Refused
from mqgateway.gateway.kafka.coordinator.settings import GroupSettings
from mqgateway.gateway.kafka.coordinator.target_updates import TargetUpdates
from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicCatalog
from mqgateway.gateway.kafka.share_groups.group import ShareGroup
from mqgateway.gateway.kafka.share_groups.initialization import Initialization
from mqgateway.gateway.kafka.share_groups.member import ShareMember
from mqgateway.gateway.kafka.share_groups.requests import (
    LEFT_EPOCH,
    check,
    check_epoch,
    check_room,
    known_member,
    updated,
)
from mqgateway.gateway.kafka.share_groups.settings import ShareGroupSettings

log = logging.getLogger(__name__)

Request = ShareGroupHeartbeatRequest
Response = ShareGroupHeartbeatResponse


class ShareHeartbeats:
    """Heartbeats to the share groups of one coordinator. `settings_of` returns the settings of a group."""

    def __init__(
        self,
        settings: GroupSettings,
        settings_of: Callable[[str], ShareGroupSettings],
        clock: Clock,
        groups: KafkaGroupTable,
        deadlines: Deadlines,
        writer: GroupWriter[ShareGroup],
        catalog: TopicCatalog,
        initialization: Initialization,
        targets: TargetUpdates[ShareGroup],
    ) -> None:
        self._settings = settings
        self._settings_of = settings_of
        self._clock = clock
        self._groups = groups
        self._deadlines = deadlines
        self._writer = writer
        self._catalog = catalog
        self._initialization = initialization
        self._targets = targets

    def heartbeat(self, request: Request, client: RequestSender) -> Deferred[Response]:
        """Answer a heartbeat once what it changed is durable."""
        try:
            check(request, self._settings.group_partitions_max)
            group = self._group(request)
            if request.member_epoch == LEFT_EPOCH:
                answer = self._leave(group, request)
            else:
                answer = self._live(group, request, client)
        except Refused as refused:
            self._discard_unused(request.group_id)
            return succeed(Response(error_code=refused.code, error_message=str(refused)))
        return self._writer.write(group).addCallbacks(lambda _: answer, _failed)

    def _group(self, request: Request) -> ShareGroup:
        """Return the group of a heartbeat; a member that joins makes it. Raises `Refused`."""
        group = self._groups.get(request.group_id)
        if isinstance(group, ShareGroup):
            return group
        not_found = ErrorCode.GROUP_ID_NOT_FOUND
        if group is not None:
            raise Refused(not_found, f"Group {request.group_id} is not a share group.")
        if request.member_epoch != 0:
            kind = "Share group" if request.member_epoch > 0 else "Group"
            raise Refused(not_found, f"{kind} {request.group_id} not found.")
        made = self._groups.create_share_group(request.group_id)
        if made is None:
            raise Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, "There are too many groups.")
        return made

    def _discard_unused(self, group_id: str) -> None:
        """Remove a group that was made for a member that is refused."""
        group = self._groups.get(group_id)
        if isinstance(group, ShareGroup) and group.is_unused:
            self._groups.discard(group_id)

    # Members

    def _live(self, group: ShareGroup, request: Request, client: RequestSender) -> Response:
        """Return the answer to a member that joins or is one. Raises `Refused`."""
        check_room(group, request.member_id, self._settings.share_max_size)
        member = self._member(group, request, client)
        before = member.assigned
        has_changed = self._subscribe(group, member, updated(member, request, client))
        if self._initialization.update(group) or has_changed:
            group.bump()
            has_changed = True
        self._targets.update(group)
        member = group.members[member.id]
        self._reconcile(group, member, has_changed)
        self.expect(group, member)
        is_full = request.member_epoch == 0 or request.subscribed_topic_names is not None
        return self._answer(group, member, is_full or before != member.assigned)

    def _member(self, group: ShareGroup, request: Request, client: RequestSender) -> ShareMember:
        """Return the member of a heartbeat, a new one if it joins. Raises `Refused`."""
        if request.member_epoch != 0 or request.member_id in group.members:
            member = known_member(group, request.member_id)
            check_epoch(member, request.member_epoch)
            return member
        member = ShareMember(request.member_id, client)
        if not self._groups.has_room(updated(member, request, client).size):
            raise Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, "All groups have too many members.")
        return member

    def _subscribe(self, group: ShareGroup, member: ShareMember, changed: ShareMember) -> bool:
        """Take over what a member says; return True if that changes the group. Raises `Refused`."""
        if changed.size > self._settings.metadata_max:
            raise Refused(ErrorCode.INVALID_REQUEST, "The member says too much of itself.")
        is_new = member.id not in group.members
        if is_new or member.metadata != changed.metadata:
            group.put(changed)
            group.mark(RecordKey(Kind.MEMBER, changed.id))
        if not is_new and member.topics == changed.topics:
            return group.follow_topics(self._catalog, self._settings.group_partitions_max)
        try:
            group.refresh_topics(self._catalog, self._settings.group_partitions_max)
        except SubscriptionTooLarge as error:
            if is_new:
                group.remove(changed.id)
            else:
                group.put(member)
            raise Refused(ErrorCode.INVALID_REQUEST, str(error)) from error
        return True

    def _reconcile(self, group: ShareGroup, member: ShareMember, has_changed: bool) -> None:
        """Give a member its target: nothing has to be given up first, as partitions are shared."""
        if member.epoch == group.assignment_epoch and not has_changed:
            return
        target = group.target(member)
        if member.epoch != group.assignment_epoch or member.assigned != target:
            group.move(member, group.assignment_epoch, target)

    def _answer(self, group: ShareGroup, member: ShareMember, shows_assignment: bool) -> Response:
        assignment = None
        if shows_assignment:
            assignment = Assignment([TopicPartitions(*one) for one in by_topic(member.assigned)])
        return Response(
            member_id=member.id,
            member_epoch=member.epoch,
            heartbeat_interval_ms=self._settings_of(group.id).heartbeat_interval,
            assignment=assignment,
        )

    def _leave(self, group: ShareGroup, request: Request) -> Response:
        member = known_member(group, request.member_id)
        self._fence(group, member.id, "it leaves")
        return Response(member_id=member.id, member_epoch=request.member_epoch)

    # What time does

    def expect(self, group: ShareGroup, member: ShareMember) -> None:
        """Expect the next heartbeat of a member within the session timeout."""
        due = elapsed_millis(self._clock) + self._settings_of(group.id).session_timeout
        self._deadlines.set(("session", group.id, member.id), due, lambda: self._expire(group, member.id))

    def _expire(self, group: ShareGroup, member_id: str) -> None:
        if self._groups.get(group.id) is group and member_id in group.members:
            self._fence(group, member_id, "its session timed out")
            self._writer.write_later(group)

    def _fence(self, group: ShareGroup, member_id: str, reason: str) -> None:
        """Remove a member."""
        log.info("member %s is removed from group %s: %s", member_id, group.id, reason)
        self._deadlines.cancel(("session", group.id, member_id))
        group.remove(member_id)
        self._initialization.release(group.id, member_id)
        group.topics_version = None
        group.follow_topics(self._catalog, self._settings.group_partitions_max)
        group.bump()
        if group.is_empty:
            group.set_targets(group.epoch, {}, self._clock.millis())


def _failed(failure: Failure) -> Response:
    code = write_error(failure)
    return Response(error_code=code, error_message="The group is not written.")
