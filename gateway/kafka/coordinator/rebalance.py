"""Rebalances of groups, and the ends of deadlines.

Standard: `GroupMetadataManager`, its methods of classic groups.
"""

from __future__ import annotations

import logging

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.engine.clock import Clock, elapsed_millis
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.join_group_response import JoinGroupResponse
from mqgateway.gateway.kafka.codec.messages.sync_group_response import SyncGroupResponse
from mqgateway.gateway.kafka.consumer_groups.group import ModernGroup
from mqgateway.gateway.kafka.coordinator.deadlines import Action, Deadlines
from mqgateway.gateway.kafka.coordinator.group import Group, GroupState
from mqgateway.gateway.kafka.coordinator.group_table import AnyGroup, KafkaGroupTable
from mqgateway.gateway.kafka.coordinator.journal import RecordJournal
from mqgateway.gateway.kafka.coordinator.member import Member
from mqgateway.gateway.kafka.coordinator.records import group_key, group_value
from mqgateway.gateway.kafka.coordinator.records_log import NotWritten, Records
from mqgateway.gateway.kafka.coordinator.settings import GroupSettings

log = logging.getLogger(__name__)


class Rebalances:
    """Rebalances of the groups of one coordinator, and their deadlines."""

    def __init__(
        self,
        settings: GroupSettings,
        clock: Clock,
        groups: KafkaGroupTable,
        deadlines: Deadlines,
        journal: RecordJournal,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._groups = groups
        self._deadlines = deadlines
        self._journal = journal

    def prepare_or_complete(self, group: Group, reason: str) -> None:
        """Begin a rebalance; if there is one, end its join phase once all members have joined."""
        if group.state is GroupState.PREPARING:
            self.complete_if_joined(group)
        else:
            self.prepare(group, reason)

    def prepare(self, group: Group, reason: str) -> None:
        """Begin a rebalance."""
        if group.state is GroupState.COMPLETING:
            for member in group.members.values():
                member.assignment = b""
            self._propagate(group, ErrorCode.REBALANCE_IN_PROGRESS)
        group.unsynced.clear()
        self._deadlines.cancel(("sync", group.id))
        is_first = group.state is GroupState.EMPTY
        group.move(GroupState.PREPARING, self._clock.millis())
        log.info("group %s rebalances after generation %d: %s", group.id, group.generation, reason)
        delay = self._settings.initial_rebalance_delay if is_first else 0
        if delay:
            self._await_others(group, delay, max(group.rebalance_timeout - delay, 0))
        elif is_first or group.have_all_joined():
            self.complete(group)
        else:
            self._await_joins(group)

    def _await_joins(self, group: Group) -> None:
        self._set(("join", group.id), group.rebalance_timeout, lambda: self.complete(group))

    def _await_others(self, group: Group, delay: int, left: int) -> None:
        """Complete the first rebalance of a group after a delay. Members that come meanwhile prolong it."""

        def due() -> None:
            if group.has_new_member and left:
                group.has_new_member = False
                more = min(self._settings.initial_rebalance_delay, left)
                self._await_others(group, more, max(left - delay, 0))
            else:
                self.complete(group)

        self._set(("join", group.id), delay, due)

    def complete_if_joined(self, group: Group) -> None:
        """End the join phase if all members have joined. The first one of a group ends by its delay only."""
        if (
            group.state is GroupState.PREPARING
            and group.previous is not GroupState.EMPTY
            and group.have_all_joined()
        ):
            self.complete(group)

    def complete(self, group: Group) -> None:
        """End the join phase: begin a generation, without the dynamic members that have not joined."""
        if group.state is not GroupState.PREPARING:
            return
        self._deadlines.cancel(("join", group.id))
        late = [one for one in group.members.values() if one.join is None and one.instance_id is None]
        for member in late:
            self.forget(group, member.id)
        if late:
            log.info("group %s removes %d members that have not joined", group.id, len(late))
        if group.members and not group.elect_joined_leader():
            log.warning("group %s has only static members, and none of them joined", group.id)
            self._await_joins(group)
            return
        group.begin_generation(self._clock.millis())
        group.has_new_member = False
        if not group.members:
            log.info("group %s has no members", group.id)
            self.write(group, {}).addErrback(_not_written, group)
            return
        log.info("group %s has %d members in generation %d", group.id, len(group.members), group.generation)
        for member in tuple(group.members.values()):
            group.unsynced.add(member.id)
            member.is_new = False
            self.expect(group, member)
        for member in tuple(group.members.values()):
            group.answer_join(member, joined(group, member))
        generation = group.generation
        self._set(("sync", group.id), group.rebalance_timeout, lambda: self._expire_syncs(group, generation))

    def _expire_syncs(self, group: Group, generation: int) -> None:
        if generation != group.generation or group.state not in (GroupState.COMPLETING, GroupState.STABLE):
            return
        if group.unsynced:
            late = tuple(group.unsynced)
            for member_id in late:
                self.forget(group, member_id)
            self.prepare(group, f"{len(late)} members have not asked for their assignment")

    def synced(self, group: Group, member_id: str) -> None:
        """Record that a member has asked for its assignment."""
        group.unsynced.discard(member_id)
        if not group.unsynced:
            self._deadlines.cancel(("sync", group.id))

    def assign(self, group: Group, assignments: dict[str, bytes]) -> None:
        """Write what the leader assigned, then give it to the members that wait."""
        generation = group.generation

        def is_current() -> bool:
            return group.state is GroupState.COMPLETING and group.generation == generation

        def written(_: object) -> None:
            if is_current():
                for member in group.members.values():
                    member.assignment = assignments.get(member.id, b"")
                group.move(GroupState.STABLE, self._clock.millis())
                self._propagate(group, ErrorCode.NONE)

        def failed(failure: Failure) -> None:
            _not_written(failure, group)
            if is_current():
                for member in group.members.values():
                    member.assignment = b""
                self._propagate(group, write_error(failure))
                self.prepare(group, "its assignment cannot be written")

        self.write(group, assignments).addCallbacks(written, failed)

    def _propagate(self, group: Group, error: ErrorCode) -> None:
        named = error is ErrorCode.NONE
        for member in tuple(group.members.values()):
            answer = SyncGroupResponse(
                error_code=error,
                protocol_type=group.protocol_type if named else None,
                protocol_name=group.protocol if named else None,
                assignment=member.assignment,
            )
            if group.answer_sync(member, answer):
                self.expect(group, member)

    def write(self, group: Group, assignments: dict[str, bytes]) -> Deferred[None]:
        """Write the record of a group. Fails with `NotWritten`."""
        record = group_key(group.id), group_value(group, assignments)
        return self._journal.write(Records([record]), self._clock.millis())

    # Members

    def expect(self, group: Group, member: Member, timeout: int | None = None) -> None:
        """Expect a sign of life of a member within its session timeout."""
        within = member.session_timeout if timeout is None else timeout
        self._set(("member", group.id, member.id), within, lambda: self._expire(group, member.id))

    def expect_id(self, group: Group, member_id: str, timeout: int) -> None:
        """Expect that a client joins with the id that it was given."""
        group.await_id(member_id)
        self._set(("member", group.id, member_id), timeout, lambda: self._expire(group, member_id))

    def _expire(self, group: Group, member_id: str) -> None:
        if member_id in group.pending:
            group.remove(member_id)
            self.complete_after_loss(group)
            return
        member = group.members.get(member_id)
        if member is None or member.is_waiting:
            return
        self.dismiss(group, member)
        reason = f"member {member_id} is silent"
        if group.state in (GroupState.STABLE, GroupState.COMPLETING):
            self.prepare(group, reason)
        else:
            self.complete_after_loss(group)

    def complete_after_loss(self, group: Group) -> None:
        """End the join phase if those that it waited for have gone."""
        if group.state is GroupState.PREPARING and group.have_all_joined():
            self.complete(group)

    def dismiss(self, group: Group, member: Member) -> None:
        """Remove a member; requests of it that wait are answered."""
        unknown = ErrorCode.UNKNOWN_MEMBER_ID
        group.answer_join(member, JoinGroupResponse(error_code=unknown))
        group.answer_sync(member, SyncGroupResponse(error_code=unknown))
        self.forget(group, member.id)

    def forget(self, group: Group, member_id: str) -> None:
        """Remove a member, or a pending id, with its deadline."""
        self.forget_deadline(group, member_id)
        group.remove(member_id)

    def forget_deadline(self, group: Group, member_id: str) -> None:
        """Expect nothing any more of an id."""
        self._deadlines.cancel(("member", group.id, member_id))

    def end(self, group: AnyGroup) -> None:
        """End a group without members that is deleted."""
        if not isinstance(group, Group):
            self._groups.discard(group.id)
            return
        for member_id in tuple(group.pending):
            self.forget(group, member_id)
        for kind in ("join", "sync"):
            self._deadlines.cancel((kind, group.id))
        group.move(GroupState.DEAD, self._clock.millis())
        self._groups.discard(group.id)

    def convert(self, group: Group) -> ModernGroup:
        """Put a consumer group in the place of one without members."""
        if not group.is_simple:
            records = Records([(group_key(group.id), None)])
            self._journal.write(records, self._clock.millis()).addErrback(_not_written, group)
        self.end(group)
        made = self._groups.create_consumer_group(group.id)
        assert made is not None  # there is room for it, as one has gone
        return made

    def abandon(self, group: Group) -> None:
        """End a group that another broker coordinates now; requests of its members that wait are answered."""
        self.refuse_waiting(group)
        group.move(GroupState.DEAD, self._clock.millis())

    def refuse_waiting(self, group: Group) -> None:
        """Answer the requests of a group's members that wait: they have to look for the coordinator."""
        error = ErrorCode.NOT_COORDINATOR
        for member in tuple(group.members.values()):
            group.answer_join(member, JoinGroupResponse(error_code=error, member_id=member.id))
            group.answer_sync(member, SyncGroupResponse(error_code=error))

    def _set(self, key: tuple[str, ...], delay: int, action: Action) -> None:
        self._deadlines.set(key, elapsed_millis(self._clock) + delay, action)


def joined(
    group: Group, member: Member, *, skips: bool = False, leader: str | None = None
) -> JoinGroupResponse:
    """Return the answer to a join. The leader gets the members."""
    is_leader = group.leader == member.id
    return JoinGroupResponse(
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol,
        leader=(group.leader or "") if leader is None else leader,
        skip_assignment=skips and is_leader,
        member_id=member.id,
        members=group.member_list() if is_leader and leader is None else (),
    )


def write_error(failure: Failure) -> ErrorCode:
    """Return the error code for a record that was not written."""
    error = failure.value
    return error.code if isinstance(error, NotWritten) else ErrorCode.UNKNOWN_SERVER_ERROR


def _not_written(failure: Failure, group: Group) -> None:
    if isinstance(failure.value, NotWritten):
        log.warning("group %s is not written: %s", group.id, failure.getErrorMessage())
    else:
        log.error("group %s is not written: %s", group.id, failure.getTraceback())
