"""Classic groups: their coordinator, their members, and what administrators see of them.

Standard: `KafkaApis`, `GroupCoordinatorService`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import TypeVar

from twisted.internet.defer import Deferred, gatherResults, succeed
from twisted.python.failure import Failure

from mqgateway.engine.steps import Steps, mapped
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.broker.operations import NotAdmitted, OperationError, Operations, Use
from mqgateway.gateway.kafka.api import Answer, Handlers
from mqgateway.gateway.kafka.api.transaction_access import SHOWING, id_error
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.cluster_view import ClusterView
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.delete_groups_request import DeleteGroupsRequest
from mqgateway.gateway.kafka.codec.messages.delete_groups_response import (
    DeletableGroupResult,
    DeleteGroupsResponse,
)
from mqgateway.gateway.kafka.codec.messages.describe_groups_request import DescribeGroupsRequest
from mqgateway.gateway.kafka.codec.messages.describe_groups_response import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsResponse,
)
from mqgateway.gateway.kafka.codec.messages.find_coordinator_request import FindCoordinatorRequest
from mqgateway.gateway.kafka.codec.messages.find_coordinator_response import Coordinator as Found
from mqgateway.gateway.kafka.codec.messages.find_coordinator_response import FindCoordinatorResponse
from mqgateway.gateway.kafka.codec.messages.heartbeat_request import HeartbeatRequest
from mqgateway.gateway.kafka.codec.messages.heartbeat_response import HeartbeatResponse
from mqgateway.gateway.kafka.codec.messages.join_group_request import JoinGroupRequest
from mqgateway.gateway.kafka.codec.messages.join_group_response import JoinGroupResponse
from mqgateway.gateway.kafka.codec.messages.leave_group_request import LeaveGroupRequest
from mqgateway.gateway.kafka.codec.messages.leave_group_response import LeaveGroupResponse
from mqgateway.gateway.kafka.codec.messages.list_groups_request import ListGroupsRequest
from mqgateway.gateway.kafka.codec.messages.list_groups_response import ListedGroup, ListGroupsResponse
from mqgateway.gateway.kafka.codec.messages.sync_group_request import SyncGroupRequest
from mqgateway.gateway.kafka.codec.messages.sync_group_response import SyncGroupResponse
from mqgateway.gateway.kafka.codec.schema import Message
from mqgateway.gateway.kafka.consumer_groups.group import ModernGroup
from mqgateway.gateway.kafka.coordinator.coordinator import Coordinator
from mqgateway.gateway.kafka.coordinator.group import Group, GroupState
from mqgateway.gateway.kafka.coordinator.member import RequestSender
from mqgateway.gateway.kafka.coordinator.membership import leaving_members, left_answer
from mqgateway.gateway.kafka.coordinator.rebalance import write_error
from mqgateway.gateway.kafka.coordinator_partitions import CoordinatorPartitions
from mqgateway.gateway.kafka.coordinator_queue import make_topic
from mqgateway.gateway.kafka.group_names import store_group
from mqgateway.gateway.kafka.rights import group_bits, on_cluster, on_group
from mqgateway.gateway.kafka.share_groups.group import ShareGroup

log = logging.getLogger(__name__)

M = TypeVar("M", bound=Message)

FIND_COORDINATOR, JOIN_GROUP, HEARTBEAT, LEAVE_GROUP, SYNC_GROUP = 10, 11, 12, 13, 14
DESCRIBE_GROUPS, LIST_GROUPS, DELETE_GROUPS = 15, 16, 42
GROUP_KEYS, TRANSACTION_KEYS = 0, 1
"""Types of keys whose coordinator is asked for."""
BATCHED_SINCE = 4
"""Version of FindCoordinator from which many keys may be asked for."""
NAMED_PROTOCOL_SINCE = 7
"""Version of JoinGroup from which there may be no protocol."""
AGREED_SINCE = 5
"""Version of SyncGroup from which a member has to name type and protocol of its generation."""
NOT_FOUND_SINCE = 6
"""Version of DescribeGroups from which an unknown group is an error."""
CLASSIC = "classic"
TYPES = {Group: CLASSIC, ModernGroup: "consumer", ShareGroup: "share"}
"""Types of groups."""


class GroupAccess:
    """Checks of requests about groups: rights, role of the broker, whether its broker group coordinates the
    group, and what RocketMQ's tables allow."""

    def __init__(
        self, operations: Operations, coordinator: Coordinator, partitions: CoordinatorPartitions
    ) -> None:
        self._operations = operations
        self._coordinator = coordinator
        self._partitions = partitions

    def error(self, call: KafkaCall, group_id: str, operation: AclOperation) -> ErrorCode:
        """Return why a request about a group is refused: rights, role of the broker, another coordinator,
        groups not read yet."""
        error = self.rights_error(call, group_id, operation) or self._partitions.error(group_id)
        if error:
            return error
        return ErrorCode.NONE if self._coordinator.is_loaded else ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

    def rights_error(self, call: KafkaCall, group_id: str, operation: AclOperation) -> ErrorCode:
        """Return why a request that names a group is refused, wherever the group is coordinated: rights, or
        the role of the broker."""
        try:
            call.admit(Use.COORDINATE, on_group(store_group(group_id), operation))
        except NotAdmitted:
            return ErrorCode.GROUP_AUTHORIZATION_FAILED
        except OperationError:
            return ErrorCode.NOT_COORDINATOR
        return ErrorCode.NONE

    def create_error(self, group_id: str) -> ErrorCode:
        """Return why a group cannot have members or offsets: it is not in RocketMQ's table of groups, and it
        may not be made on use, or its name is too long."""
        found = self._operations.groups.find(store_group(group_id)) if group_id else None
        return ErrorCode.INVALID_GROUP_ID if found is None else ErrorCode.NONE

    def commit_error(self, group_id: str, generation: int) -> ErrorCode:
        """Return why a group cannot have offsets; see `create_error`. A member's commit, which has a
        generation or an epoch, makes no group: the coordinator refuses it if the group is unknown."""
        makes = generation < 0 or self._coordinator.groups.get(group_id) is not None
        return self.create_error(group_id) if makes else ErrorCode.NONE

    def share_error(self, group_id: str) -> ErrorCode:
        """Return why a group cannot be a share group with members or offsets: it is one of RocketMQ's, or it
        cannot be made."""
        group, shared = self._coordinator.groups.get(group_id), self._coordinator.shared
        if group is None:
            is_foreign = shared.has_group(group_id)
        else:
            is_foreign = group.is_empty and shared.has_members(group_id)
        return ErrorCode.GROUP_ID_NOT_FOUND if is_foreign else self.create_error(group_id)


class Groups:
    """Requests of members and administrators of groups.

    `partitions` are those of groups, `transactional` those of transactional ids.
    """

    def __init__(
        self,
        operations: Operations,
        coordinator: Coordinator,
        access: GroupAccess,
        cluster: ClusterView,
        partitions: CoordinatorPartitions,
        transactional: CoordinatorPartitions,
    ) -> None:
        self._operations = operations
        self._coordinator = coordinator
        self._access = access
        self._cluster = cluster
        self._partitions = partitions
        self._coordinated = {GROUP_KEYS: partitions, TRANSACTION_KEYS: transactional}

    def handlers(self) -> Handlers:
        """Return the functions by API key."""
        return {
            FIND_COORDINATOR: self.find_coordinator,
            JOIN_GROUP: self.join,
            HEARTBEAT: self.heartbeat,
            LEAVE_GROUP: self.leave,
            SYNC_GROUP: self.sync,
            DESCRIBE_GROUPS: self.describe,
            LIST_GROUPS: self.list_groups,
            DELETE_GROUPS: self.delete,
        }

    # Coordinator

    def find_coordinator(
        self, call: KafkaCall, request: FindCoordinatorRequest
    ) -> Steps[FindCoordinatorResponse]:
        """Answer FindCoordinator: the leader of the broker group that has the partition of a key."""
        if call.version >= BATCHED_SINCE:
            found = yield from mapped(
                lambda key: self._find(call, request.key_type, key), request.coordinator_keys
            )
            return FindCoordinatorResponse(coordinators=found)
        one = self._find(call, request.key_type, request.key)
        if not one.error_code:
            one.error_message = ErrorCode.NONE.name  # as Apache Kafka does
        return FindCoordinatorResponse(0, one.error_code, one.error_message, one.node_id, one.host, one.port)

    def _find(self, call: KafkaCall, kind: int, key: str) -> Found:
        """Return the coordinator of a key; its topic is made, as clients may look for it from then on."""
        partitions = self._coordinated.get(kind)
        if partitions is None:
            return Found(key, -1, "", -1, ErrorCode.INVALID_REQUEST, "")
        if kind == GROUP_KEYS:
            error = self._access.rights_error(call, key, AclOperation.DESCRIBE)
        else:
            error = id_error(call, key, SHOWING)
        if error not in (ErrorCode.NONE, ErrorCode.NOT_COORDINATOR):  # a slave knows the coordinator too
            return Found(key, -1, "", -1, error, "")
        is_made = bool(error) or self._has_topic(partitions.name)
        place = partitions.place(key) if is_made else None
        leader = None if place is None else self._cluster.leader(call, place.group)
        if leader is None:
            return Found(key, -1, "", -1, ErrorCode.COORDINATOR_NOT_AVAILABLE, "")
        return Found(key, leader.id, leader.host, leader.port, ErrorCode.NONE, "")

    def _has_topic(self, topic: str) -> bool:
        """Return True if a topic of coordinators is there; made now, if there is only this broker's group."""
        if self._operations.peers is not None or not self._cluster.leads:
            return True
        try:
            make_topic(self._operations, topic)
        except OperationError as error:
            log.info("topic %s is not made: %s", topic, error)
            return False
        return True

    # Members

    def join(self, call: KafkaCall, request: JoinGroupRequest) -> Answer:
        """Answer JoinGroup once the group has a generation."""
        error = self._member_error(call, request.group_id)
        if not error and request.group_id:
            error = self._join_error(request.group_id)
        waiting, reply = _waiting(JoinGroupResponse)

        def shaped(answer: JoinGroupResponse) -> None:
            if answer.error_code:
                answer.protocol_name = None
            if call.version < NAMED_PROTOCOL_SINCE:
                answer.protocol_name = answer.protocol_name or ""
            reply(answer)

        if error:
            shaped(JoinGroupResponse(error_code=error, member_id=request.member_id))
        else:
            client = RequestSender(call.client_id, f"/{call.client_host}")
            self._coordinator.membership.join(request, client, call.version, shaped)
        return waiting

    def _join_error(self, group_id: str) -> ErrorCode:
        """Return why a group accepts no members of Kafka's: RocketMQ's are in it, or it cannot be made."""
        group = self._coordinator.groups.get(group_id)
        is_empty = group is None or group.is_empty
        if is_empty and self._coordinator.shared.has_members(group_id):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        return self._access.create_error(group_id)

    def sync(self, call: KafkaCall, request: SyncGroupRequest) -> Answer:
        """Answer SyncGroup once the leader has assigned."""
        if call.version >= AGREED_SINCE and None in (request.protocol_type, request.protocol_name):
            error = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        else:
            error = self._member_error(call, request.group_id)
        waiting, reply = _waiting(SyncGroupResponse)
        if error:
            reply(SyncGroupResponse(error_code=error))
        else:
            self._coordinator.membership.sync(request, reply)
        return waiting

    def heartbeat(self, call: KafkaCall, request: HeartbeatRequest) -> HeartbeatResponse:
        """Answer Heartbeat. While groups are read from the log, every member is believed to be one."""
        error = self._member_error(call, request.group_id)
        if error == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            error = ErrorCode.NONE
        elif not error:
            error = self._coordinator.membership.heartbeat(request)
        return HeartbeatResponse(error_code=error)

    def leave(self, call: KafkaCall, request: LeaveGroupRequest) -> Steps[Answer]:
        """Answer LeaveGroup; administrators remove members of consumer groups (KIP-848) by it too."""
        error = self._member_error(call, request.group_id)
        if error:
            return LeaveGroupResponse(error_code=error)
        group = self._coordinator.groups.get(request.group_id)
        if not isinstance(group, ModernGroup):
            left = yield from self._coordinator.membership.leave(request, call.version)
            return left
        leaving = leaving_members(request, call.version)
        removed = yield from self._coordinator.consumers.heartbeats.dismiss(group, leaving)
        done: Deferred[Message] = removed.addCallbacks(
            lambda codes: left_answer(leaving, codes, call.version),
            lambda failure: LeaveGroupResponse(error_code=write_error(failure)),
        )
        return done

    def _member_error(self, call: KafkaCall, group_id: str) -> ErrorCode:
        return self._access.error(call, group_id, AclOperation.READ)

    # Administrators

    def list_groups(self, call: KafkaCall, request: ListGroupsRequest) -> ListGroupsResponse:
        """Answer ListGroups; groups that only RocketMQ's clients use are among them. A slave has none, and
        neither has a group of brokers that does not coordinate."""
        if not self._partitions.coordinates():
            return ListGroupsResponse()
        if not self._coordinator.is_loaded:
            return ListGroupsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        states = {state.lower() for state in request.states_filter}
        kinds = {kind.lower() for kind in request.types_filter}
        shows_all = self._is_allowed(call)
        groups = [
            listed
            for listed in self._listed()
            if (not states or listed.group_state.lower() in states)
            and (not kinds or listed.group_type in kinds)
            and (
                shows_all
                or self._access.error(call, listed.group_id, AclOperation.DESCRIBE) == ErrorCode.NONE
            )
        ]
        return ListGroupsResponse(groups=groups)

    def _listed(self) -> Iterator[ListedGroup]:
        for group in self._coordinator.groups:
            yield ListedGroup(group.id, group.protocol_type or "", group.state.value, TYPES[type(group)])
        for group_id in sorted(self._coordinator.shared.groups()):
            if self._coordinator.groups.get(group_id) is None and not self._partitions.error(group_id):
                yield ListedGroup(group_id, "", self._foreign_state(group_id), CLASSIC)

    def _foreign_state(self, group_id: str) -> str:
        """Return the state of a group that only RocketMQ's clients use."""
        state = GroupState.STABLE if self._coordinator.shared.has_members(group_id) else GroupState.EMPTY
        return str(state.value)

    def _is_allowed(self, call: KafkaCall) -> bool:
        """Return True if the client may see all groups."""
        try:
            call.admit(Use.QUERY, on_cluster(self._operations, AclOperation.DESCRIBE))
        except NotAdmitted:
            return False
        return True

    def describe(self, call: KafkaCall, request: DescribeGroupsRequest) -> Steps[DescribeGroupsResponse]:
        """Answer DescribeGroups."""
        asks = request.include_authorized_operations
        groups = yield from mapped(lambda group_id: self._describe(call, group_id, asks), request.groups)
        return DescribeGroupsResponse(groups=groups)

    def _describe(self, call: KafkaCall, group_id: str, asks: bool) -> DescribedGroup:
        error = self._access.error(call, group_id, AclOperation.DESCRIBE)
        if error:
            return DescribedGroup(error, None, group_id)
        group = self._coordinator.groups.get(group_id)
        described = DescribedGroup(ErrorCode.NONE, None, group_id)
        if isinstance(group, Group):
            described.group_state = group.state.value
            described.protocol_type = group.protocol_type or ""
            is_stable = group.state is GroupState.STABLE
            described.protocol_data = (group.protocol or "") if is_stable else ""
            described.members = _members(group, is_stable)
        elif group is None and self._coordinator.shared.has_group(group_id):
            described.group_state = self._foreign_state(group_id)
        else:
            described.group_state = GroupState.DEAD.value
            if call.version >= NOT_FOUND_SINCE:
                described.error_code = ErrorCode.GROUP_ID_NOT_FOUND
                missing = "not found" if group is None else "is not a classic group"
                described.error_message = f"Group {group_id} {missing}."
        if asks and not described.error_code:
            described.authorized_operations = group_bits(call, store_group(group_id))
        return described

    def delete(self, call: KafkaCall, request: DeleteGroupsRequest) -> Steps[Answer]:
        """Answer DeleteGroups: only groups without members are deleted."""
        names = tuple(dict.fromkeys(request.groups_names))
        done = gatherResults((yield from mapped(lambda name: self._delete(call, name), names)))
        return done.addCallback(
            lambda errors: DeleteGroupsResponse(
                results=[DeletableGroupResult(*result, None) for result in zip(names, errors, strict=True)]
            )
        )

    def _delete(self, call: KafkaCall, group_id: str) -> Deferred[ErrorCode]:
        error = self._access.error(call, group_id, AclOperation.DELETE)
        if error:
            return succeed(error)
        shares, commits = self._coordinator.shares, self._coordinator.commits
        group = shares.get(group_id)
        if group is None or not group.is_empty:
            return commits.delete_group(group_id).addErrback(failed)
        return shares.offsets.delete_all(group_id).addCallback(
            lambda error: error or commits.delete_group(group_id).addErrback(failed)
        )


def failed(failure: Failure) -> ErrorCode:
    """Return the error code of records that were not written."""
    return write_error(failure)


def _members(group: Group, is_stable: bool) -> list[DescribedGroupMember]:
    return [
        DescribedGroupMember(
            member.id,
            member.instance_id,
            member.client.id,
            member.client.host,
            member.metadata(group.protocol) if is_stable else b"",
            member.assignment,
        )
        for member in group.members.values()
    ]


def _waiting(of: type[M]) -> tuple[Deferred[Message], Callable[[M], None]]:
    """Return an answer that is not there yet, and the function that gives it. Too late, it does nothing."""
    waiting: Deferred[Message] = Deferred()

    def reply(answer: M) -> None:
        if not waiting.called:
            waiting.callback(answer)

    return waiting, reply
