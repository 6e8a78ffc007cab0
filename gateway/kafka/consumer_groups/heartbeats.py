"""Heartbeats of members: the one request by which they join, learn their partitions, and leave.

Standard: `GroupMetadataManager.consumerGroupHeartbeat`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence, Set

from twisted.internet.defer import Deferred, succeed
from twisted.python.failure import Failure

from mqgateway.engine.clock import Clock, elapsed_millis
from mqgateway.engine.steps import Steps, mapped
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.consumer_group_heartbeat_request import (
    ConsumerGroupHeartbeatRequest,
)
from mqgateway.gateway.kafka.codec.messages.consumer_group_heartbeat_response import (
    Assignment,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from mqgateway.gateway.kafka.codec.messages.leave_group_request import MemberIdentity
from mqgateway.gateway.kafka.consumer_groups.group import ModernGroup
from mqgateway.gateway.kafka.consumer_groups.member import STATIC_LEFT_EPOCH, AssignmentState, ModernMember
from mqgateway.gateway.kafka.consumer_groups.reconciliation import reconciled
from mqgateway.gateway.kafka.consumer_groups.requests import (
    check,
    check_epoch,
    former_self,
    is_full,
    known_member,
    owned_partitions,
    updated,
)
from mqgateway.gateway.kafka.consumer_groups.settings import ConsumerGroupSettings
from mqgateway.gateway.kafka.consumer_groups.subscriptions import GroupSubscriptions, Shows
from mqgateway.gateway.kafka.coordinator.assigned_group import Kind, RecordKey, SubscriptionTooLarge
from mqgateway.gateway.kafka.coordinator.deadlines import Deadlines
from mqgateway.gateway.kafka.coordinator.group import Group
from mqgateway.gateway.kafka.coordinator.group_records import by_topic
from mqgateway.gateway.kafka.coordinator.group_table import KafkaGroupTable
from mqgateway.gateway.kafka.coordinator.group_writer import GroupWriter
from mqgateway.gateway.kafka.coordinator.member import RequestSender
from mqgateway.gateway.kafka.coordinator.rebalance import Rebalances, write_error
from mqgateway.gateway.kafka.coordinator.refusal import Refused
from mqgateway.gateway.kafka.coordinator.settings import GroupSettings
from mqgateway.gateway.kafka.coordinator.target_updates import TargetUpdates
from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicPartition

log = logging.getLogger(__name__)

Request = ConsumerGroupHeartbeatRequest
Response = ConsumerGroupHeartbeatResponse


class Heartbeats:
    """Heartbeats to the groups of one coordinator.

    `settings_of` returns the settings of a group, `new_id` an id for a member without one.
    """

    def __init__(
        self,
        settings: GroupSettings,
        settings_of: Callable[[str], ConsumerGroupSettings],
        clock: Clock,
        groups: KafkaGroupTable,
        deadlines: Deadlines,
        rebalances: Rebalances,
        writer: GroupWriter[ModernGroup],
        subscriptions: GroupSubscriptions,
        targets: TargetUpdates[ModernGroup],
        new_id: Callable[[], str],
    ) -> None:
        self._settings = settings
        self._settings_of = settings_of
        self._clock = clock
        self._groups = groups
        self._deadlines = deadlines
        self._rebalances = rebalances
        self._writer = writer
        self._subscriptions = subscriptions
        self._targets = targets
        self._new_id = new_id

    def heartbeat(
        self, request: Request, client: RequestSender, version: int, shows: Shows
    ) -> Deferred[Response]:
        """Answer a heartbeat once what it changed is durable.

        `shows` returns True for the topics that the client may see.
        """
        try:
            check(request, version, self._settings.group_partitions_max)
            if request.subscribed_topic_regex:
                self._subscriptions.check(request.subscribed_topic_regex)
            group = self._group(request)
            if request.member_epoch < 0:
                answer = self._leave(group, request)
            else:
                answer = self._live(group, request, client, shows)
        except Refused as refused:
            return succeed(Response(error_code=refused.code, error_message=str(refused)))
        return self._writer.write(group).addCallbacks(lambda _: answer, _failed)

    def _group(self, request: Request) -> ModernGroup:
        """Return the group of a heartbeat. A member that joins makes it, also from a classic one without
        members. Raises `Refused`."""
        group = self._groups.get(request.group_id)
        if isinstance(group, ModernGroup):
            return group
        not_found = ErrorCode.GROUP_ID_NOT_FOUND
        if request.member_epoch != 0:
            if group is not None:
                raise Refused(not_found, f"Group {request.group_id} is not a consumer group.")
            kind = "Consumer group" if request.member_epoch > 0 else "Group"
            raise Refused(not_found, f"{kind} {request.group_id} not found.")
        if group is None:
            made = self._groups.create_consumer_group(request.group_id)
            if made is None:
                raise Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, "There are too many groups.")
            return made
        if not isinstance(group, Group) or not group.is_vacant:
            raise Refused(not_found, f"Group {request.group_id} is not a consumer group.")
        return self._rebalances.convert(group)

    # Members

    def _live(self, group: ModernGroup, request: Request, client: RequestSender, shows: Shows) -> Response:
        """Return the answer to a member that joins or is one. Raises `Refused`."""
        owned = owned_partitions(request)
        if request.member_epoch == 0:
            member = self._joining(group, request, client)
        else:
            member = known_member(group, request.member_id, request.instance_id)
            check_epoch(member, request.member_epoch, owned)
        before = member.position.assigned
        self._subscribe(group, member, updated(member, request, client), shows)
        member = group.members[member.id]
        self._targets.update(group)
        self._reconcile(group, member, owned)
        self.expect(group, member)
        shows_assignment = request.member_epoch == 0 or is_full(request) or before != member.position.assigned
        return self._answer(group, member, shows_assignment)

    def _joining(self, group: ModernGroup, request: Request, client: RequestSender) -> ModernMember:
        """Return a member that joins: one that begins again, or a new one. Raises `Refused`."""
        member_id = request.member_id or self._new_id()
        former = former_self(group, request)
        known = group.members.get(member_id)
        if known is not None:
            return known
        if former is not None:
            self._forget_deadlines(group, former.id)
            member = former.renamed(member_id)
            group.replace(former, member)
            return member
        if len(group.members) >= self._settings.max_size:
            raise Refused(
                ErrorCode.GROUP_MAX_SIZE_REACHED,
                f"The consumer group has reached its maximum capacity of {self._settings.max_size} members.",
            )
        member = ModernMember(member_id, client, instance_id=request.instance_id)
        if not self._groups.has_room(updated(member, request, client).size):
            raise Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, "All groups have too many members.")
        return member

    def _subscribe(
        self, group: ModernGroup, member: ModernMember, changed: ModernMember, shows: Shows
    ) -> None:
        """Take over what a member says; begin an epoch if that changes the group. Raises `Refused`."""
        if changed.size > self._settings.metadata_max:
            raise Refused(ErrorCode.INVALID_REQUEST, "The member says too much of itself.")
        regex = changed.regex
        if regex and not group.subscribes_by(regex) and group.patterns >= self._settings.group_regexes_max:
            raise Refused(ErrorCode.INVALID_REQUEST, "The group has too many regular expressions.")
        is_new = member.id not in group.members
        if is_new or member.metadata != changed.metadata:
            group.put(changed)
            group.mark(RecordKey(Kind.MEMBER, changed.id))
        if regex:
            self._subscriptions.resolve(group, regex, shows)
        if not is_new and member.subscription == changed.subscription:
            if self._subscriptions.refresh(group):
                group.bump()
            return
        try:
            self._subscriptions.look_up(group)
        except SubscriptionTooLarge as error:
            if is_new:
                group.remove(changed.id)
            else:
                group.put(member)
            raise Refused(ErrorCode.INVALID_REQUEST, str(error)) from error
        group.forget_regexes()
        group.bump()

    def _reconcile(self, group: ModernGroup, member: ModernMember, owned: Set[TopicPartition] | None) -> None:
        position = reconciled(
            member.position,
            group.target(member.id),
            lambda partition: group.owner(partition) in (None, member.id),
            owned,
        )
        if position != member.position:
            group.move(member, position)

    def _answer(self, group: ModernGroup, member: ModernMember, shows_assignment: bool) -> Response:
        assignment = None
        if shows_assignment:
            topics = by_topic(member.position.assigned)
            assignment = Assignment([TopicPartitions(*one) for one in topics])
        return Response(
            member_id=member.id,
            member_epoch=member.position.epoch,
            heartbeat_interval_ms=self._settings_of(group.id).heartbeat_interval,
            assignment=assignment,
        )

    def _leave(self, group: ModernGroup, request: Request) -> Response:
        member = known_member(group, request.member_id, request.instance_id)
        if request.member_epoch == STATIC_LEFT_EPOCH:
            log.info("static member %s leaves group %s for a while", member.id, group.id)
            group.move(member, member.position._replace(epoch=STATIC_LEFT_EPOCH))
            self._deadlines.cancel(("revocation", group.id, member.id))
        else:
            self.fence(group, member.id, "it leaves")
        return Response(member_id=member.id, member_epoch=request.member_epoch)

    # Administrators

    def dismiss(
        self, group: ModernGroup, leaving: Sequence[MemberIdentity]
    ) -> Steps[Deferred[list[ErrorCode]]]:
        """Remove members as an administrator does by LeaveGroup; return their codes once that is durable.

        A static member is named by its instance id alone, or with its member id. Fails with `NotWritten`.
        """
        codes = yield from mapped(lambda one: self._dismiss(group, one), leaving)
        return self._writer.write(group).addCallback(lambda _: codes)

    def _dismiss(self, group: ModernGroup, one: MemberIdentity) -> ErrorCode:
        instance_id = one.group_instance_id
        member_id = one.member_id or group.static.get(instance_id or "", "")
        try:
            member = known_member(group, member_id, instance_id)
        except Refused as refused:
            return refused.code
        self.fence(group, member.id, f"an administrator removes it: {one.reason or 'not provided'}")
        return ErrorCode.NONE

    # What time does

    def expect(self, group: ModernGroup, member: ModernMember) -> None:
        """Expect the next heartbeat of a member within the session timeout. If it has to give up partitions,
        expect that within its rebalance timeout, from the answer that said so."""
        self._expect(group, member, "session", self._settings_of(group.id).session_timeout)
        if member.position.state is not AssignmentState.UNREVOKED_PARTITIONS:
            self._deadlines.cancel(("revocation", group.id, member.id))
        elif ("revocation", group.id, member.id) not in self._deadlines:
            self._expect(group, member, "revocation", member.rebalance_timeout)

    def _expect(self, group: ModernGroup, member: ModernMember, kind: str, within: int) -> None:
        due = elapsed_millis(self._clock) + within
        self._deadlines.set((kind, group.id, member.id), due, lambda: self._expire(group, kind, member.id))

    def _expire(self, group: ModernGroup, kind: str, member_id: str) -> None:
        if self._groups.get(group.id) is group and member_id in group.members:
            self.fence(group, member_id, f"its {kind} timed out")
            self._writer.write_later(group)

    def fence(self, group: ModernGroup, member_id: str, reason: str) -> None:
        """Remove a member; its partitions are free."""
        log.info("member %s is removed from group %s: %s", member_id, group.id, reason)
        self._forget_deadlines(group, member_id)
        group.remove(member_id)
        group.topics_version = None
        self._subscriptions.refresh(group)
        group.bump()
        if group.is_empty:
            group.set_targets(group.epoch, {}, self._clock.millis())

    def _forget_deadlines(self, group: ModernGroup, member_id: str) -> None:
        for kind in ("session", "revocation"):
            self._deadlines.cancel((kind, group.id, member_id))


def _failed(failure: Failure) -> Response:
    code = write_error(failure)
    return Response(error_code=code, error_message="The group is not written.")
