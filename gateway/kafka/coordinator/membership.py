"""The requests of members: join, sync, heartbeat, leave.

Standard: `GroupCoordinatorService`, `GroupMetadataManager.classicGroupJoin` and its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from twisted.python.failure import Failure

from mqgateway.engine.clock import Clock
from mqgateway.engine.steps import Steps, mapped
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.heartbeat_request import HeartbeatRequest
from mqgateway.gateway.kafka.codec.messages.join_group_request import JoinGroupRequest
from mqgateway.gateway.kafka.codec.messages.join_group_response import JoinGroupResponse
from mqgateway.gateway.kafka.codec.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from mqgateway.gateway.kafka.codec.messages.leave_group_response import LeaveGroupResponse, MemberResponse
from mqgateway.gateway.kafka.codec.messages.sync_group_request import SyncGroupRequest
from mqgateway.gateway.kafka.codec.messages.sync_group_response import SyncGroupResponse
from mqgateway.gateway.kafka.consumer_groups.group import ModernGroup
from mqgateway.gateway.kafka.coordinator.group import Group, GroupState
from mqgateway.gateway.kafka.coordinator.group_table import KafkaGroupTable
from mqgateway.gateway.kafka.coordinator.member import (
    JoinReply,
    Member,
    Protocols,
    RequestSender,
    SyncReply,
    protocols_of,
    size_of,
)
from mqgateway.gateway.kafka.coordinator.rebalance import Rebalances, joined, write_error
from mqgateway.gateway.kafka.coordinator.settings import GroupSettings
from mqgateway.gateway.kafka.share_groups.group import ShareGroup

ID_REQUIRED_SINCE = 4
"""Version of JoinGroup from which a dynamic member joins with an id that it was given."""
SEVERAL_LEAVE_SINCE = 3
"""Version of LeaveGroup from which several members leave together."""
SKIPS_SINCE = 9
"""Version of JoinGroup from which a leader that came back is asked to assign nothing."""


class Membership:
    """Requests of members of the groups of one coordinator. `new_id` returns the random part of an id.

    `retire` removes a consumer group without members, whose place a classic one takes.
    """

    def __init__(
        self,
        settings: GroupSettings,
        clock: Clock,
        groups: KafkaGroupTable,
        rebalances: Rebalances,
        new_id: Callable[[], str],
        retire: Callable[[ModernGroup], None],
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._groups = groups
        self._rebalances = rebalances
        self._new_id = new_id
        self._retire = retire

    # Join

    def join(self, request: JoinGroupRequest, client: RequestSender, version: int, reply: JoinReply) -> None:
        """Join a group; the answer is given once the group has a generation, or at once."""
        error, group = self._joinable(request)
        if group is None:
            reply(JoinGroupResponse(error_code=error, member_id=request.member_id))
            return
        protocols = protocols_of(request)
        if not request.member_id:
            self._join_as_new(group, request, protocols, client, version, reply)
        elif request.member_id in group.pending and request.group_instance_id is None:
            self._add(group, request.member_id, request, protocols, client, reply)
        else:
            self._rejoin(group, request, protocols, reply)

    def _joinable(self, request: JoinGroupRequest) -> tuple[ErrorCode, Group | None]:
        """Return the group of a join, or why it cannot be joined."""
        settings = self._settings
        if not request.group_id:
            return ErrorCode.INVALID_GROUP_ID, None
        if not settings.min_session_timeout <= request.session_timeout_ms <= settings.max_session_timeout:
            return ErrorCode.INVALID_SESSION_TIMEOUT, None
        protocols = protocols_of(request)
        if len(protocols) > settings.protocols_max or size_of(protocols) > settings.metadata_max:
            return ErrorCode.INVALID_REQUEST, None
        consumers = self._groups.get(request.group_id)
        if isinstance(consumers, ShareGroup) or (
            isinstance(consumers, ModernGroup) and not consumers.is_empty
        ):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL, None
        group = self._groups.classic(request.group_id)
        if group is None:
            if request.member_id:
                return ErrorCode.UNKNOWN_MEMBER_ID, None
            if not (request.protocol_type and protocols):
                return ErrorCode.INCONSISTENT_GROUP_PROTOCOL, None
            if isinstance(consumers, ModernGroup):
                self._retire(consumers)
            group = self._groups.create(request.group_id, self._clock.millis())
            if group is None:
                return ErrorCode.COORDINATOR_NOT_AVAILABLE, None
        elif not self._accepts(group, request):
            self._rebalances.forget(group, request.member_id)
            self._rebalances.complete_if_joined(group)
            return ErrorCode.GROUP_MAX_SIZE_REACHED, None
        elif not group.supports(request.protocol_type, protocols):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL, None
        if request.member_id not in group.members and not self._groups.has_room(size_of(protocols)):
            return ErrorCode.COORDINATOR_NOT_AVAILABLE, None
        return ErrorCode.NONE, group

    def _accepts(self, group: Group, request: JoinGroupRequest) -> bool:
        """Return True if the size of a group allows a member.

        While it rebalances, those count that have joined, so that the last ones of too many are refused.
        """
        limit, member_id = self._settings.max_size, request.member_id
        if not member_id:
            if request.group_instance_id in group.static:
                return True
            if len(group.pending) >= limit:
                return False
        if group.state is GroupState.EMPTY:
            return True
        member = group.members.get(member_id)
        if group.state is GroupState.PREPARING:
            return (member is not None and member.join is not None) or group.joining < limit
        return member is not None or len(group.members) < limit

    def _join_as_new(
        self,
        group: Group,
        request: JoinGroupRequest,
        protocols: Protocols,
        client: RequestSender,
        version: int,
        reply: JoinReply,
    ) -> None:
        instance_id = request.group_instance_id
        member_id = f"{client.id if instance_id is None else instance_id}-{self._new_id()}"
        if instance_id is not None and instance_id in group.static:
            self._replace(group, member_id, request, protocols, version, reply)
        elif instance_id is None and version >= ID_REQUIRED_SINCE:
            self._rebalances.expect_id(group, member_id, request.session_timeout_ms)
            reply(JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id=member_id))
        else:
            self._add(group, member_id, request, protocols, client, reply)

    def _add(
        self,
        group: Group,
        member_id: str,
        request: JoinGroupRequest,
        protocols: Protocols,
        client: RequestSender,
        reply: JoinReply,
    ) -> None:
        member = Member(
            member_id,
            request.group_instance_id,
            client,
            request.protocol_type,
            protocols,
            rebalance_timeout=_rebalance_timeout(request),
            session_timeout=request.session_timeout_ms,
        )
        member.is_new = True
        if group.state is GroupState.PREPARING and group.previous is GroupState.EMPTY:
            group.has_new_member = True
        group.add(member, reply)
        # Its client does not know its id and cannot send heartbeats. If the client is gone, it must not be
        # waited for without end.
        self._rebalances.expect(group, member, self._settings.new_member_timeout)
        self._rebalances.prepare_or_complete(group, f"member {member_id} joins")

    def _rejoin(
        self, group: Group, request: JoinGroupRequest, protocols: Protocols, reply: JoinReply
    ) -> None:
        error = group.member_error(request.member_id, request.group_instance_id)
        member = group.members.get(request.member_id)
        if error or member is None:
            reply(JoinGroupResponse(error_code=error, member_id=request.member_id))
            return
        is_same = member.protocols == protocols
        has_changed = group.state is GroupState.STABLE and group.leader == member.id
        if group.state is not GroupState.PREPARING and is_same and not has_changed:
            # It may not have received the answer to its last join.
            reply(joined(group, member))
            return
        group.update(member, protocols, _rebalance_timeout(request), request.session_timeout_ms, reply)
        self._rebalances.prepare_or_complete(group, f"member {member.id} joins again")

    def _replace(
        self,
        group: Group,
        member_id: str,
        request: JoinGroupRequest,
        protocols: Protocols,
        version: int,
        reply: JoinReply,
    ) -> None:
        """Let a static member that came back take the place of its former self."""
        former_leader = group.leader
        old = group.members[group.static[request.group_instance_id or ""]]
        self._rebalances.forget_deadline(group, old.id)
        member = group.replace(old, member_id)
        self._rebalances.expect(group, member)
        group.update(member, protocols, _rebalance_timeout(request), request.session_timeout_ms, reply)
        if group.state is GroupState.STABLE and group.protocol == group.choose_protocol():
            self._keep_assignment(group, member, version, former_leader or "")
        elif group.state is GroupState.PREPARING:
            self._rebalances.complete_if_joined(group)
        else:
            self._rebalances.prepare(group, f"static member {member_id} comes back")

    def _keep_assignment(self, group: Group, member: Member, version: int, former_leader: str) -> None:
        """Answer a static member that came back to a stable group: there is no rebalance."""
        assignments = {one.id: one.assignment for one in group.members.values()}

        def written(_: object) -> None:
            if version >= SKIPS_SINCE:
                group.answer_join(member, joined(group, member, skips=True))
            else:
                # As the leader, it would assign; so the answer names the former leader.
                group.answer_join(member, joined(group, member, leader=former_leader))

        def failed(failure: Failure) -> None:
            answer = JoinGroupResponse(error_code=write_error(failure), generation_id=group.generation)
            group.answer_join(member, answer)

        self._rebalances.write(group, assignments).addCallbacks(written, failed)

    # Sync

    def sync(self, request: SyncGroupRequest, reply: SyncReply) -> None:
        """Ask for the assignment of a generation; the leader brings that of all members."""
        group = self._groups.classic(request.group_id)
        error = self._sync_error(group, request)
        if error or group is None:
            reply(SyncGroupResponse(error_code=error))
            return
        member = group.members[request.member_id]
        self._rebalances.synced(group, member.id)
        if group.state is GroupState.STABLE:
            reply(SyncGroupResponse(0, 0, group.protocol_type, group.protocol, member.assignment))
            return
        group.answer_sync(member, SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
        member.sync = reply
        if group.leader == member.id:
            brought = {one.member_id: one.assignment for one in request.assignments}
            self._rebalances.assign(group, {one: brought.get(one, b"") for one in group.members})

    def _sync_error(self, group: Group | None, request: SyncGroupRequest) -> ErrorCode:
        if not request.group_id:
            return ErrorCode.INVALID_GROUP_ID
        if group is None or group.state is GroupState.EMPTY:
            return ErrorCode.UNKNOWN_MEMBER_ID
        error = group.member_error(request.member_id, request.group_instance_id)
        if error:
            return error
        if request.generation_id != group.generation:
            return ErrorCode.ILLEGAL_GENERATION
        if _differs(request.protocol_type, group.protocol_type) or _differs(
            request.protocol_name, group.protocol
        ):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        if group.state is GroupState.PREPARING:
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    # Heartbeat and leave

    def heartbeat(self, request: HeartbeatRequest) -> ErrorCode:
        """Take a sign of life."""
        if not request.group_id:
            return ErrorCode.INVALID_GROUP_ID
        group = self._groups.classic(request.group_id)
        if group is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        error = group.member_error(request.member_id, request.group_instance_id)
        if error:
            return error
        if request.generation_id != group.generation:
            return ErrorCode.ILLEGAL_GENERATION
        self._rebalances.expect(group, group.members[request.member_id])
        return ErrorCode.REBALANCE_IN_PROGRESS if group.state is GroupState.PREPARING else ErrorCode.NONE

    def leave(self, request: LeaveGroupRequest, version: int) -> Steps[LeaveGroupResponse]:
        """Remove members, which leave by themselves or are removed by an administrator."""
        if not request.group_id:
            return LeaveGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID)
        leaving = leaving_members(request, version)
        group = self._groups.classic(request.group_id)
        errors = yield from mapped(lambda one: self._leave(group, one), leaving)
        if group is not None and ErrorCode.NONE in errors:
            if group.state in (GroupState.STABLE, GroupState.COMPLETING):
                self._rebalances.prepare(group, f"{errors.count(ErrorCode.NONE)} members leave")
            else:
                self._rebalances.complete_if_joined(group)
        return left_answer(leaving, errors, version)

    def _leave(self, group: Group | None, one: MemberIdentity) -> ErrorCode:
        if group is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if one.member_id in group.pending:
            self._rebalances.forget(group, one.member_id)
            return ErrorCode.NONE
        member_id = one.member_id or group.static.get(one.group_instance_id or "", "")
        error = group.member_error(member_id, one.group_instance_id)
        if not error:
            self._rebalances.dismiss(group, group.members[member_id])
        return error


def leaving_members(request: LeaveGroupRequest, version: int) -> Sequence[MemberIdentity]:
    """Return the members that leave."""
    return request.members if version >= SEVERAL_LEAVE_SINCE else (MemberIdentity(request.member_id),)


def left_answer(
    leaving: Sequence[MemberIdentity], errors: Sequence[ErrorCode], version: int
) -> LeaveGroupResponse:
    """Return the answer to members that leave, by their codes."""
    if version < SEVERAL_LEAVE_SINCE:
        return LeaveGroupResponse(error_code=errors[0])
    return LeaveGroupResponse(
        members=tuple(
            MemberResponse(one.member_id, one.group_instance_id, error)
            for one, error in zip(leaving, errors, strict=True)
        )
    )


def _rebalance_timeout(request: JoinGroupRequest) -> int:
    """Return the rebalance timeout; version 0 of JoinGroup has none."""
    timeout = request.rebalance_timeout_ms
    return request.session_timeout_ms if timeout < 0 else timeout


def _differs(named: str | None, known: str | None) -> bool:
    return named is not None and known is not None and named != known
