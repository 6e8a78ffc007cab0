"""A group of two whose roles, disks and processes change as a test chooses, while clients use it.

Two members replicate each other's log; a broker of another group receives the deliveries of an acting slave.
The history decides on roles, like a controller: a member becomes master only if the one before was fenced and
its log is complete there, or if its log is the longer one after an accident.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import Any, NamedTuple

from mqgateway.engine.ha.role import RoleKind
from mqgateway.engine.options import BrokerRole, FlushDiskType
from mqgateway.engine.pop import Receipt
from mqgateway.engine.store.record import decode
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import (
    AckMessageRequestHeader,
    PopMessageRequestHeader,
    PopMessageResponseHeader,
)
from tests.support.gateway.broker.acting import Scene
from tests.support.gateway.broker.group import Member
from tests.support.gateway.broker.helpers import send_header
from tests.support.gateway.broker.service_watch import Watched
from tests.support.gateway.broker.transactions import Transactions

MASTER, SLAVE, ACTING, FENCED = RoleKind
INVISIBLE_MILLIS = 10_000
SETTLE_SECONDS = 75
ANSWER_SECONDS = 0.3
FOREVER = 1 << 30
SETTINGS: dict[str, Any] = {"transaction_time_out": 2000, "transaction_check_interval": 5000}


class Promise(NamedTuple):
    """Promise of a profile of settings.

    `power_cuts` names the members whose power cut acknowledged messages survive: any member, or one whose log
    the other one has.
    """

    role: BrokerRole
    settings: dict[str, Any]
    power_cuts: str


PROMISES = {
    "process": Promise(BrokerRole.ASYNC_MASTER, {}, "none"),
    "disk": Promise(BrokerRole.ASYNC_MASTER, {"flush_disk_type": FlushDiskType.SYNC_FLUSH}, "any"),
    "replicas": Promise(BrokerRole.SYNC_MASTER, {"in_sync_replicas": 2, "slave_timeout": 1000}, "copied"),
}
FAULTS: dict[str, tuple[str, str, int, int, float]] = {
    "full": ("write", "/commitlog/", errno.ENOSPC, FOREVER, 0),
    "write": ("write", "/commitlog/", errno.EIO, 1, 0.5),
    "sync": ("sync", "/commitlog/", errno.EIO, 1, 0),
    "tables": ("any", "/config/", errno.EIO, FOREVER, 0),
    "timers": ("write", "/timer", errno.EIO, FOREVER, 0),
}
"""Call, path, error, number of failures, and the fraction that is written all the same."""


class History:
    """Messages sent, accepted, popped and acknowledged, and the roles of the members."""

    def __init__(self, promise: Promise) -> None:
        self.promise = promise
        self.scene = Scene(promise.role, **SETTINGS, **promise.settings)
        self.leader, self.follower = self.scene.master, self.scene.slave
        self.watched: dict[int, Watched] = {}
        for member in (self.leader, self.follower):
            self._watch(member)
        self.epoch = 0
        self.is_calm = True
        """True if there was neither a fault nor an accident."""
        self.tried: set[bytes] = set()
        self.sent: set[bytes] = set()
        self.popped: set[bytes] = set()
        self.transactions = Transactions(lambda: self.leader)

    @property
    def members(self) -> tuple[Member, Member]:
        return self.leader, self.follower

    def _watch(self, member: Member) -> None:
        """Let the history decide whether the member acts."""
        member.service.group.membership.group.serves = lambda now, *, follows: self.kind(member) is ACTING
        self.watched[member.port] = Watched(member.service.broker)

    def become(self, member: Member, kind: RoleKind, broker_id: int | None = None) -> None:
        member.service.broker.role.become(kind, broker_id=broker_id, epoch=self.epoch)

    def kind(self, member: Member) -> RoleKind:
        kind: RoleKind = member.service.broker.role.state.kind
        return kind

    def take(self, step: str, *given: Any) -> None:
        """Take one step of the history, a method of this class."""
        action: Callable[..., None] = getattr(self, step)
        action(*given)
        self.check_services()

    def wait(self, seconds: float) -> None:
        self.scene.group.wait(seconds)
        self.check_services()

    # Clients

    def send(self, kind: str) -> None:
        body = b"%d" % len(self.tried)
        self.tried.add(body)
        properties = {"UNIQ_KEY": body.decode()}
        if kind == "level":
            properties["DELAY"] = "2"
        elif kind == "timer":
            properties["TIMER_DELIVER_MS"] = str(self.scene.group.clock.millis() + 8000)
        header = send_header("T", properties=properties, queue_id=0)
        was_open = self.leader.store.gate is None
        answer = self.leader.ask(RequestCode.SEND_MESSAGE_V2, header, body, ANSWER_SECONDS)
        is_taken = answer is not None and answer.code == 0
        if self.is_calm and self.promise.role is BrokerRole.ASYNC_MASTER:
            assert is_taken or not was_open
        if is_taken:
            assert self.kind(self.leader) is MASTER
            self.sent.add(body)

    def pop(self, acknowledges: bool) -> None:
        """Pop some messages; those that are not acknowledged must be delivered again."""
        header = PopMessageRequestHeader(
            consumer_group="G",
            topic="T",
            queue_id=-1,
            max_msg_nums=8,
            invisible_time=INVISIBLE_MILLIS,
            poll_time=0,
            init_mode=0,
            born_time=self.scene.group.clock.millis(),
        )
        answer = self.leader.ask(RequestCode.POP_MESSAGE, header, seconds=ANSWER_SECONDS)
        if answer is None or answer.code:
            return
        response = PopMessageResponseHeader.decode(answer.ext_fields)
        starts = [one.split(" ") for one in response.start_offset_info.split(";")]
        at = 0
        for (retry, queue_id, start), found in zip(starts, response.msg_offset_info.split(";"), strict=True):
            for offset in found.split(" ")[2].split(","):
                message = decode(answer.body, at)
                at += message.size
                receipt = Receipt(
                    int(start), response.pop_time, response.invisible_time, response.revive_qid, retry, "b1"
                )
                ack = AckMessageRequestHeader(
                    consumer_group="G",
                    topic="T",
                    queue_id=int(queue_id),
                    extra_info=receipt.of_message(int(queue_id), int(offset)),
                    offset=int(offset),
                )
                if acknowledges:
                    self._acknowledge(ack, message.body)

    def _acknowledge(self, ack: AckMessageRequestHeader, body: bytes) -> None:
        answer = self.leader.ask(RequestCode.ACK_MESSAGE, ack, seconds=ANSWER_SECONDS)
        if answer is not None and answer.code == 0:
            self.popped.add(body)

    def pull(self) -> None:
        """Pull from the leader, which serves reads also if it is fenced."""
        answer = self.leader.pull()
        if self.is_calm and self.leader.store.max_offset("T", 0):
            assert answer is not None
            assert answer.code in (0, 20)

    def half(self) -> None:
        """Send a half message."""
        self.transactions.begin()

    def end(self, commits: bool) -> None:
        """End the oldest transaction without an end."""
        self.transactions.end(commits)

    def answer_checks(self) -> None:
        """Answer the broker's checks of transactions."""
        self.transactions.answer_checks()

    # Roles

    def change(self, change: str) -> None:
        leader, follower = self.members
        if change == "fence":
            self.become(leader, FENCED)
        elif change == "restore":
            self.lead(leader)
        elif change == "demote":
            self.become(leader, SLAVE, 7)
        elif change == "act" and self.kind(follower) is SLAVE:
            self.become(follower, ACTING)
        elif change == "stop acting" and self.kind(follower) is ACTING:
            self.become(follower, SLAVE)
        elif change == "hand over":
            self.hand_over()

    def hand_over(self) -> None:
        """Make the follower master, if it has the whole log."""
        leader, follower = self.members
        self.become(leader, FENCED)
        self.wait(1)
        if follower.store.max_physical_offset == leader.store.max_physical_offset:
            self.lead(follower)

    def lead(self, member: Member) -> None:
        """Make a member the master, in a new epoch, and the other one its slave if it has led."""
        self.epoch += 1
        self.become(member, MASTER)
        if member is self.leader:
            return
        self.become(self.leader, SLAVE, 8)
        self.leader, self.follower = self.follower, self.leader
        self._follow()

    def _follow(self) -> None:
        port = self.leader.port
        self.follower.service.group.replication.follow(f"10.0.0.1:{port}", f"10.0.0.1:{port + 1}")

    # Accidents

    def break_disk(self, of_leader: bool, fault: str) -> None:
        """Make a member's disk refuse some writes, or fail once."""
        self.is_calm = False
        call, path, error, times, part = FAULTS[fault]
        member = self.leader if of_leader else self.follower
        member.disk.fail_next(call, path, error, times, part=part)

    def mend_disk(self, of_leader: bool) -> None:
        """Heal the disk; a broker that ran without what it failed to write is restarted."""
        member = self.leader if of_leader else self.follower
        member.disk.heal()
        self.wait(2)
        if member.store.sickness:
            self.kill(of_leader)

    def kill(self, of_leader: bool, seed: int | None = None) -> None:
        """Kill a member's process, or with a seed cut the power of its machine.

        It restarts at once, and the member with the longer log leads.
        """
        self.is_calm = False
        member, other = self.members if of_leader else self.members[::-1]
        if seed is not None and not self._may_lose_power(member, other):
            return
        member.disk.heal()
        member.kill()
        if seed is not None:
            member.disk = member.disk.crash(seed)
        member.begin(BrokerRole.SLAVE, 9)
        self._watch(member)
        if self.kind(other) is ACTING:
            self.become(other, SLAVE)
        shorter, longer = sorted(self.members, key=lambda one: (one.store.raw.position, one is other))
        self.become(longer, FENCED)
        if longer is self.leader:
            self.lead(longer)
            self._follow()
        else:
            self.lead(longer)
        assert self.kind(shorter) is SLAVE

    def _may_lose_power(self, member: Member, other: Member) -> bool:
        """Return True if the settings promise anything for a power cut."""
        if self.promise.power_cuts == "copied":
            return bool(other.store.max_physical_offset >= member.store.max_physical_offset)
        return self.promise.power_cuts == "any"

    # Invariants

    def check_services(self) -> None:
        for member in self.members:
            services = member.service.group.services
            running = self.watched[member.port].running
            if self.kind(member) not in (MASTER, ACTING):
                assert not services.is_on
                assert not any(running.values()), running
            elif services.is_on:
                assert running["timers"]
                assert running["delays"]
                assert running["transactions"] == (self.kind(member) is MASTER)

    def settle(self) -> None:
        """Restore a master, and wait until everything is delivered and popped."""
        for of_leader in (True, False):
            self.mend_disk(of_leader)
        self.lead(self.leader)
        if self.kind(self.follower) is ACTING:
            self.become(self.follower, SLAVE)
        self._follow()
        for _ in range(SETTLE_SECONDS // 5):
            self.wait(5)
            self.answer_checks()
        self.wait(5)
        for _ in range(2 + len(self.tried)):
            self.pop(True)
        # Records that pops leave are written periodically; the follower has them soon after.
        for _ in range(10):
            self.wait(2)
            if self.leader.store.max_physical_offset == self.follower.store.max_physical_offset:
                break

    def check(self) -> None:
        elsewhere = set(self.scene.other.bodies())
        delivered = set(self.leader.bodies()) | elsewhere
        ended = self.transactions
        assert self.sent <= delivered, sorted(self.sent - delivered)
        assert delivered <= self.tried | ended.tried
        assert delivered <= self.popped | elsewhere, sorted(delivered - self.popped - elsewhere)
        assert ended.committed <= delivered, sorted(ended.committed - delivered)
        assert not ended.rolled_back & delivered, sorted(ended.rolled_back & delivered)
        assert not ended.open, ended.open
        assert self.leader.service.group.services.is_on
        end = self.leader.store.max_physical_offset
        assert end == self.follower.store.max_physical_offset, self.follower.problem
        assert self.leader.log()[:end] == self.follower.log()[:end]

    def leave(self) -> None:
        """Fence all members, and check that no service runs."""
        for member in self.members:
            self.become(member, FENCED)
        self.wait(1)
        assert not any(any(one.running.values()) for one in self.watched.values())
