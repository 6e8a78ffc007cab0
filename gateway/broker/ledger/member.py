"""A broker whose role follows its member of a DLedger group.

A broker whose member follows is a slave. One whose member leads becomes the master once all of the log is
committed and in queues: then everything the earlier leader acknowledged can be read, and queue offsets
continue after it. While there is no leader yet the broker is fenced, and not registered with name servers. A
send is acknowledged once the group has committed it. RocketMQ: `DLedgerRoleChangeHandler`,
`DLedgerCommitLog`.
"""

from __future__ import annotations

import logging

from twisted.internet.defer import Deferred, succeed

from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.errors import EngineError
from mqgateway.engine.ha.role import RoleKind
from mqgateway.engine.options import RemotingOptions
from mqgateway.engine.raft.ledger_log import LedgerLog, opening
from mqgateway.engine.raft.messages import Answer, Code, LeadershipTransfer, TransferAnswer
from mqgateway.engine.raft.quorum import AppendRefused
from mqgateway.engine.raft.quorum_replicas import QuorumReplicas
from mqgateway.engine.raft.settings import MemberSettings
from mqgateway.engine.raft.state import RaftRole
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.ledger.settings import follower_id
from mqgateway.gateway.raft.service import RaftService
from mqgateway.gateway.raft.wire import RaftCode
from mqgateway.gateway.runtime.loop import Reactor
from mqgateway.gateway.runtime.service import Runtime

log = logging.getLogger(__name__)

SETTLE_MILLIS = 3000
"""Milliseconds a stop waits until the group has the last records."""
SERVED = [code for code in RaftCode if code is not RaftCode.APPEND]
"""Raft codes that a broker's member answers.

It accepts no foreign appends, as entries must be records that contain their own position.
"""


class NotHandedOver(EngineError):
    """No other member has become the leader."""


class LedgerMember:
    """One broker of a group; its member takes part from `start` to `stop`."""

    def __init__(
        self,
        broker: Broker,
        ledger: LedgerLog,
        replicas: QuorumReplicas,
        settings: MemberSettings,
        reactor: Reactor,
    ) -> None:
        self._broker = broker
        self._ledger = ledger
        self._replicas = replicas
        self._settings = settings
        self._reactor = reactor
        self.number = follower_id(settings.self_id)
        """The number of this member, from 1 on; its broker id while it follows."""
        self._committed = -1
        self._settled: Deferred[None] | None = None
        self._settle_until = 0
        self._is_over = False
        self._remoting: RemotingOptions | None = None
        self.service: RaftService | None = None
        """The Raft service of the member, once it takes part."""
        ledger.serve(broker.store, self)

    def start(self, remoting: RemotingOptions) -> Deferred[None]:
        """Take part, once the store is open.

        The start is postponed while the disk accepts no writes, as a vote must be on disk. Fails with
        `twisted.internet.error.CannotListenError`.
        """
        self._remoting = remoting
        on = self._broker.environment
        if self.service is not None or self._broker.store.sickness:
            return succeed(None)
        service = RaftService(
            self._settings,
            self._ledger.entries,
            remoting,
            Runtime(self._reactor, on.clock, on.disk, on.worker),
            opening=opening(on.clock, on.store_host),
            served=SERVED,
            on_carried_out=self._follow_member,
            on_ended=self._end,
        )

        def started(_: None) -> None:
            self.service = service

        return service.start().addCallback(started)

    def tick(self) -> None:
        """Start the member if the disk delayed that; called with every tick."""
        if self.service is None and self._remoting is not None:
            self.start(self._remoting).addErrback(
                lambda failure: log.error("the member cannot take part: %s", failure.getErrorMessage())
            )

    def stop(self) -> Deferred[None]:
        """Stop taking part, with the log and its commit index synced to disk."""
        if self.service is None or self._is_over:
            return succeed(None)
        self._is_over = True
        stopped = self.service.stop()
        entries = self._ledger.entries
        work = entries.unsynced(thorough=True)
        try:
            if work is not None:
                work.sync()
                entries.note_synced(work)
        except OSError as error:
            log.error("the log cannot be synced: %s", error)
        return stopped.addCallback(lambda _: None)

    def _end(self) -> None:
        """Fence the broker until its next start: the content of its log on disk is unknown."""
        self._is_over = True
        self._broker.role.become(RoleKind.FENCED)

    def is_following(self) -> bool:
        """Return True if the member follows a leader."""
        return self.service is not None and self.service.member.role is RaftRole.FOLLOWER

    def term(self) -> int:
        """Return the term of the group as far as the member knows it; 0 before it takes part."""
        return 0 if self.service is None else self.service.member.term

    # State of the member

    def _follow_member(self) -> None:
        """Follow the member's role and commit index, and answer requests that wait for them."""
        if self.service is None or self._is_over:
            return
        broker, member = self._broker, self.service.member
        role = broker.role
        if member.role is RaftRole.FOLLOWER or (role.is_master and member.role is RaftRole.CANDIDATE):
            role.become(RoleKind.SLAVE, broker_id=self.number)
        if self._ledger.committed != self._committed:
            self._committed = self._ledger.committed
            broker.store.dispatch()
            self._replicas.acknowledged()
        if member.role is RaftRole.LEADER and not role.is_master and self._is_even():
            role.become(RoleKind.MASTER)
        self._look_settled()

    def _is_even(self) -> bool:
        """Return True if all of the log is committed, and in queues."""
        return self._has_all_committed() and not self._broker.store.is_behind

    def _has_all_committed(self) -> bool:
        entries = self._ledger.entries
        return entries.committed_index == entries.end_index

    # Appending

    def check(self) -> None:
        """Raise `AppendRefused` if the member accepts no entries."""
        if self.service is None or self._is_over:
            raise AppendRefused(Code.NOT_LEADER)
        self.service.member.check()

    def append(self, body: bytes) -> None:
        """Append an entry with a record. Raises `AppendRefused`."""
        self.check()
        assert self.service is not None
        self.service.member.append(body, None, self._now())

    def push(self) -> None:
        """Send new entries to the other members, and have them synced here; `after_read` does so too."""
        if self.service is not None and not self._is_over:
            self.service.member.push(self._now())
            self.service.carry_out()

    def after_read(self) -> None:
        """Dispatch and push after the requests of one read."""
        self._broker.store.dispatch()
        self.push()

    def _now(self) -> int:
        return elapsed_millis(self._broker.clock)

    # Stop

    async def hand_over(self) -> None:
        """Transfer the leadership to the member that has most of the log, before this one stops.

        No-op if this member does not lead, or no other one is near enough. Raises `NotHandedOver`.
        """
        service = self.service
        if service is None or service.member.role is not RaftRole.LEADER:
            return
        member, own = service.member, self._settings.self_id
        marks = {one: member.water_mark(one) for one in self._settings.peers if one != own}
        nearest = max(marks, key=lambda one: marks[one], default=None)
        if nearest is None or marks[nearest] < self._ledger.entries.begin_index:
            return
        answered: Deferred[Answer] = Deferred()
        end = self._ledger.entries.end_index
        member.receive(LeadershipTransfer(own, nearest, member.term, end), answered, self._now())
        service.carry_out()
        answer = await answered
        if not isinstance(answer, TransferAnswer) or answer.code is not Code.SUCCESS:
            raise NotHandedOver(f"{nearest} does not lead")

    def settle(self) -> Deferred[None]:
        """Return a Deferred that fires when the group has everything, or after some seconds; for a stop."""
        self._settled = settled = Deferred[None]()
        self._settle_until = self._now() + SETTLE_MILLIS
        self.push()
        self._look_settled()
        return settled

    def _look_settled(self) -> None:
        settled, service = self._settled, self.service
        if settled is None:
            return
        leads = service is not None and not self._is_over and service.member.role is RaftRole.LEADER
        if not leads or self._has_all_committed() or self._now() >= self._settle_until:
            self._settled = None
            settled.callback(None)
