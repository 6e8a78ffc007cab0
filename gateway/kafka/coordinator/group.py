"""A classic group: its members, its state, and the rules that need nothing else. Standard: `ClassicGroup`."""

from __future__ import annotations

from collections import Counter
from enum import Enum

from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from mqgateway.gateway.kafka.codec.messages.join_group_response import (
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from mqgateway.gateway.kafka.codec.messages.sync_group_response import SyncGroupResponse
from mqgateway.gateway.kafka.codec.plans import decode
from mqgateway.gateway.kafka.coordinator.member import (
    JoinReply,
    Member,
    MemberTally,
    Protocols,
    names_of,
    size_of,
)

CONSUMER = "consumer"
"""The protocol type of consumers, whose subscriptions can be read."""
INT_MAX = 2**31 - 1


class GroupState(Enum):
    """A state of a group; the values are what Kafka calls them."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


PRECEDING = {
    GroupState.EMPTY: (GroupState.PREPARING,),
    GroupState.PREPARING: (GroupState.STABLE, GroupState.COMPLETING, GroupState.EMPTY),
    GroupState.COMPLETING: (GroupState.PREPARING,),
    GroupState.STABLE: (GroupState.COMPLETING,),
    GroupState.DEAD: (
        GroupState.STABLE,
        GroupState.PREPARING,
        GroupState.COMPLETING,
        GroupState.EMPTY,
        GroupState.DEAD,
    ),
}
"""States from which a state is reached."""


class Group:
    """One group. `state_time` is the wall time of the last change of its state, ms.

    `pending` are ids that were given to clients which have not joined with them yet, `unsynced` the members
    of this generation that have not asked for their assignment.
    """

    def __init__(self, group_id: str, state_time: int, tally: MemberTally) -> None:
        self.id = group_id
        self._tally = tally
        self.state = GroupState.EMPTY
        self.previous = GroupState.DEAD
        self.state_time = state_time
        self.generation = 0
        self.protocol_type: str | None = None
        self.protocol: str | None = None
        self.leader: str | None = None
        self.members: dict[str, Member] = {}
        self.static: dict[str, str] = {}
        self.pending: set[str] = set()
        self.unsynced: set[str] = set()
        self.has_new_member = False
        self.topics: frozenset[str] | None = None
        self._support: Counter[str] = Counter()
        self._joining = 0

    @property
    def joining(self) -> int:
        """Number of members whose join waits."""
        return self._joining

    @property
    def is_simple(self) -> bool:
        """True if it only has offsets, and never had members."""
        return self.protocol_type is None

    @property
    def is_empty(self) -> bool:
        """True if it is in the state of a group without members."""
        return self.state is GroupState.EMPTY

    @property
    def is_vacant(self) -> bool:
        """True if it has no members, and none is on its way."""
        return self.state is GroupState.EMPTY and not self.pending

    @property
    def rebalance_timeout(self) -> int:
        """The longest rebalance timeout of a member."""
        return max((member.rebalance_timeout for member in self.members.values()), default=0)

    def move(self, state: GroupState, now: int) -> None:
        """Change the state."""
        assert self.state in PRECEDING[state], f"{self.id} from {self.state} to {state}"
        self.previous, self.state, self.state_time = self.state, state, now

    def add(self, member: Member, join: JoinReply | None = None) -> None:
        """Add a member, whose join waits."""
        if not self.members:
            self.protocol_type = member.protocol_type
        self.members[member.id] = member
        self._forget_id(member.id)
        self._tally.members += 1
        self._tally.bytes += member.size
        if member.instance_id is not None:
            self.static[member.instance_id] = member.id
        if self.leader is None:
            self.leader = member.id
        self._support.update(names_of(member.protocols))
        self._await(member, join)

    def await_id(self, member_id: str) -> None:
        """Reserve an id, with which a client is to join."""
        self.pending.add(member_id)
        self._tally.members += 1

    def _forget_id(self, member_id: str) -> None:
        if member_id in self.pending:
            self.pending.remove(member_id)
            self._tally.members -= 1

    def clear(self) -> None:
        """Remove all members and ids, of a group that is no more."""
        for member_id in (*self.members, *self.pending):
            self.remove(member_id)

    def remove(self, member_id: str) -> None:
        """Remove a member, or an id that is pending."""
        member = self.members.pop(member_id, None)
        self._forget_id(member_id)
        self.unsynced.discard(member_id)
        if member is None:
            return
        self._tally.members -= 1
        self._tally.bytes -= member.size
        self._support -= Counter(names_of(member.protocols))
        self._await(member, None)
        if member.instance_id is not None:
            self.static.pop(member.instance_id, None)
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)

    def update(
        self,
        member: Member,
        protocols: Protocols,
        rebalance_timeout: int,
        session_timeout: int,
        join: JoinReply,
    ) -> None:
        """Take over what a member says when it joins again; a join of it that waits already ends."""
        self.answer_join(
            member, JoinGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS, member_id=member.id)
        )
        self._support -= Counter(names_of(member.protocols))
        self._tally.bytes += size_of(protocols) - member.size
        member.protocols = protocols
        self._support.update(names_of(protocols))
        member.rebalance_timeout, member.session_timeout = rebalance_timeout, session_timeout
        self._await(member, join)

    def replace(self, old: Member, member_id: str) -> Member:
        """Give a static member a new id; what waits under the old one is answered with an error."""
        del self.members[old.id]
        fenced = ErrorCode.FENCED_INSTANCE_ID
        self.answer_join(old, JoinGroupResponse(error_code=fenced, member_id=old.id))
        self.answer_sync(old, SyncGroupResponse(error_code=fenced))
        member = Member(
            member_id,
            old.instance_id,
            old.client,
            old.protocol_type,
            old.protocols,
            rebalance_timeout=old.rebalance_timeout,
            session_timeout=old.session_timeout,
            assignment=old.assignment,
        )
        self.members[member_id] = member
        assert old.instance_id is not None
        self.static[old.instance_id] = member_id
        if old.id in self.unsynced:
            self.unsynced.remove(old.id)
            self.unsynced.add(member_id)
        if self.leader == old.id:
            self.leader = member_id
        return member

    def answer_join(self, member: Member, answer: JoinGroupResponse) -> None:
        """Answer the join of a member, if one waits."""
        join = member.join
        self._await(member, None)
        if join is not None:
            join(answer)

    def answer_sync(self, member: Member, answer: SyncGroupResponse) -> bool:
        """Answer the sync of a member; return True if one waited."""
        sync, member.sync = member.sync, None
        if sync is not None:
            sync(answer)
        return sync is not None

    def _await(self, member: Member, join: JoinReply | None) -> None:
        self._joining += (join is not None) - (member.join is not None)
        member.join = join

    def have_all_joined(self) -> bool:
        """Return True if the join of every member waits, and no id is pending."""
        return self._joining == len(self.members) and not self.pending

    def elect_joined_leader(self) -> bool:
        """Return True if the leader's join waits, or that of another member, which becomes the leader."""
        if self.leader is not None and self.members[self.leader].join is not None:
            return True
        joined = next((member.id for member in self.members.values() if member.join is not None), None)
        if joined is not None:
            self.leader = joined
        return joined is not None

    def member_error(self, member_id: str, instance_id: str | None) -> ErrorCode:
        """Return why a request of a member is not of this group, `NONE` if it is."""
        if instance_id is not None:
            known = self.static.get(instance_id)
            if known is not None and known != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
            if known is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
        return ErrorCode.NONE if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    def supports(self, protocol_type: str, protocols: Protocols) -> bool:
        """Return True if a member with these protocols agrees with the others."""
        if self.state is GroupState.EMPTY:
            return bool(protocol_type and protocols)
        size = len(self.members)
        return self.protocol_type == protocol_type and any(
            self._support[name] == size for name in names_of(protocols)
        )

    def choose_protocol(self) -> str:
        """Return the protocol that most members like best, of those that all support."""
        size = len(self.members)
        candidates = {name for name, count in self._support.items() if count == size}
        votes = Counter(member.vote(candidates) for member in self.members.values())
        return votes.most_common(1)[0][0]

    def begin_generation(self, now: int) -> None:
        """Begin the next generation with the members there are."""
        self.generation = 0 if self.generation == INT_MAX else self.generation + 1
        self.protocol = self.choose_protocol() if self.members else None
        self.topics = self.subscribed_topics()
        self.move(GroupState.COMPLETING if self.members else GroupState.EMPTY, now)
        self.unsynced.clear()

    def subscribed_topics(self) -> frozenset[str] | None:
        """Return the topics that its members subscribe to, None if that is not known."""
        if self.protocol_type != CONSUMER:
            return None
        topics: set[str] = set()
        try:
            for member in self.members.values():
                topics.update(_subscription(member.metadata(self.protocol)).topics)
        except CodecError:
            return None
        return frozenset(topics)

    def subscribes_to(self, topic: str) -> bool:
        """Return True if a member subscribes to a topic, or may do so."""
        return self.protocol_type == CONSUMER if self.topics is None else topic in self.topics

    def keeps_offsets(self, topic: str) -> bool:
        """Return True if offsets of a topic do not expire, because members may use them."""
        if self.state is GroupState.EMPTY:
            return False
        return self.topics is None or self.state is not GroupState.STABLE or self.subscribes_to(topic)

    def retained_since(self, time: int) -> int:
        """Return since when an offset that was committed at a time is retained, ms."""
        return time if self.is_simple or self.state is not GroupState.EMPTY else self.state_time

    def member_list(self) -> tuple[JoinGroupResponseMember, ...]:
        """Return the members with what each says with the chosen protocol, for the leader."""
        return tuple(
            JoinGroupResponseMember(member.id, member.instance_id, member.metadata(self.protocol))
            for member in self.members.values()
        )


def _subscription(metadata: bytes) -> ConsumerProtocolSubscription:
    """Return what a consumer subscribes to; later versions begin as version 0."""
    version = int.from_bytes(metadata[:2], "big", signed=True)
    if len(metadata) < 2 or version < 0:
        raise CodecError(f"version {version} of a subscription")
    return decode(ConsumerProtocolSubscription, metadata, 0, 2)
