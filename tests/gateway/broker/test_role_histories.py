"""Roles that change while a group works, in any order: nothing acknowledged is lost, no service runs twice.

Two brokers of one group have each other's log; a third one takes what an acting slave delivers. The test is
who decides on roles, so the members' own decisions are off. A broker is made master only where the one before
was fenced and its log is all there, which is what a controller sees to.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mqgateway.engine.ha.role import RoleKind
from mqgateway.engine.pop import Receipt
from mqgateway.engine.store.record import decode
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import (
    AckMessageRequestHeader,
    PopMessageRequestHeader,
    PopMessageResponseHeader,
)
from tests.support.gateway.broker.acting import Scene
from tests.support.gateway.broker.group import Member
from tests.support.gateway.broker.helpers import send_header

pytestmark = pytest.mark.usefixtures("short_wheel")

MASTER, SLAVE, ACTING, FENCED = RoleKind
INVISIBLE_MILLIS = 10_000
SETTLE_SECONDS = 60
KINDS = ("plain", "level", "timer")
CHANGES = ("fence", "restore", "demote", "act", "stop acting", "hand over")
STEPS = st.one_of(
    st.tuples(st.just("send"), st.sampled_from(KINDS)),
    st.tuples(st.just("pop"), st.booleans()),
    st.tuples(st.just("pull"), st.just(0)),
    st.tuples(st.just("wait"), st.sampled_from((0.1, 0.5, 3, 12))),
    st.tuples(st.just("change"), st.sampled_from(CHANGES)),
)


class Watched:
    """Counts a broker's services: each begins when it is loaded, and ends when it is handed back."""

    def __init__(self, broker: Broker) -> None:
        self.running = {"timers": broker.role.is_master, "transactions": broker.role.is_master}
        self._begins_steps(broker.timers, "loading", "timers")
        self._begins_steps(broker.timers, "take_over", "timers")
        self._ends(broker.timers, "hand_back", "timers")
        self._begins(broker.transactions, "load", "transactions")
        self._ends(broker.transactions, "stand_by", "transactions")

    def _begin(self, name: str) -> None:
        assert not self.running[name], f"{name} run twice"
        self.running[name] = True

    def _begins(self, owner: Any, method: str, name: str) -> None:
        inner: Callable[[], None] = getattr(owner, method)

        def begin() -> None:
            inner()
            self._begin(name)

        setattr(owner, method, begin)

    def _begins_steps(self, owner: Any, method: str, name: str) -> None:
        inner: Callable[..., Generator[None, None, None]] = getattr(owner, method)

        def begin(*given: Any) -> Generator[None, None, None]:
            yield from inner(*given)
            self._begin(name)

        setattr(owner, method, begin)

    def _ends(self, owner: Any, method: str, name: str) -> None:
        inner: Callable[[], None] = getattr(owner, method)

        def end() -> None:
            inner()
            self.running[name] = False

        setattr(owner, method, end)


class History:
    """What was sent and taken, what was popped and what of it acknowledged."""

    def __init__(self) -> None:
        self.scene = Scene()
        self.leader, self.follower = self.scene.master, self.scene.slave
        self.watched = {}
        for member in (self.leader, self.follower):
            self._decides_nothing(member)
            self.watched[member.port] = Watched(member.service.broker)
        self.epoch = 0
        self.sent: set[bytes] = set()
        self.popped: set[bytes] = set()
        self.count = 0

    def _decides_nothing(self, member: Member) -> None:
        """Whether the member acts is not for it to say."""
        member.service.group.membership.group.serves = lambda now, *, follows: self.kind(member) is ACTING

    def become(self, member: Member, kind: RoleKind, broker_id: int | None = None) -> None:
        member.service.broker.role.become(kind, broker_id=broker_id, epoch=self.epoch)

    def kind(self, member: Member) -> RoleKind:
        kind: RoleKind = member.service.broker.role.state.kind
        return kind

    def wait(self, seconds: float) -> None:
        self.scene.group.wait(seconds)
        self.check_services()

    def take(self, step: str, what: Any) -> None:
        """One step of the history."""
        actions: dict[str, Callable[[Any], None]] = {
            "send": self.send,
            "pop": self.pop,
            "pull": lambda _: self.check_pull(),
            "wait": self.wait,
            "change": self.change,
        }
        actions[step](what)
        self.check_services()

    # Clients.

    def send(self, kind: str) -> None:
        self.count += 1
        body = b"%d" % self.count
        properties = {"UNIQ_KEY": body.decode()}
        if kind == "level":
            properties["DELAY"] = "2"
        elif kind == "timer":
            properties["TIMER_DELIVER_MS"] = str(self.scene.group.clock.millis() + 8000)
        code = self.leader.code(
            RequestCode.SEND_MESSAGE_V2, send_header("T", properties=properties, queue_id=0), body
        )
        assert (code == 0) == (self.leader.store.gate is None)
        if code == 0:
            assert self.kind(self.leader) is MASTER
            self.sent.add(body)

    def pop(self, acknowledges: bool) -> None:
        """Take some messages, and acknowledge them or not: those must come again."""
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
        answer = self.leader.ask(RequestCode.POP_MESSAGE, header, seconds=0.2)
        if answer is None or answer.code:
            return
        told = PopMessageResponseHeader.decode(answer.ext_fields)
        starts = [one.split(" ") for one in told.start_offset_info.split(";")]
        at = 0
        for (retry, queue_id, start), found in zip(starts, told.msg_offset_info.split(";"), strict=True):
            for offset in found.split(" ")[2].split(","):
                message = decode(answer.body, at)
                at += message.size
                receipt = Receipt(
                    int(start), told.pop_time, told.invisible_time, told.revive_qid, retry, "b1"
                )
                ack = AckMessageRequestHeader(
                    consumer_group="G",
                    topic="T",
                    queue_id=int(queue_id),
                    extra_info=receipt.of_message(int(queue_id), int(offset)),
                    offset=int(offset),
                )
                if acknowledges and self.leader.code(RequestCode.ACK_MESSAGE, ack) == 0:
                    self.popped.add(message.body)

    def check_pull(self) -> None:
        """Whoever leads or is fenced can be read, and gives what was sent without delay in its order."""
        answer = self.leader.pull()
        if self.leader.store.max_offset("T", 0):
            assert answer is not None
            assert answer.code in (0, 20)

    # Roles.

    def change(self, change: str) -> None:
        leader, follower = self.leader, self.follower
        if change == "fence":
            self.become(leader, FENCED)
        elif change == "restore":
            self.epoch += 1
            self.become(leader, MASTER)
        elif change == "demote":
            self.become(leader, SLAVE, 7)
        elif change == "act" and self.kind(follower) is SLAVE:
            self.become(follower, ACTING)
        elif change == "stop acting" and self.kind(follower) is ACTING:
            self.become(follower, SLAVE)
        elif change == "hand over":
            self.hand_over()

    def hand_over(self) -> None:
        """The follower becomes master, if it has everything."""
        leader, follower = self.leader, self.follower
        self.become(leader, FENCED)
        self.wait(1)
        if follower.store.max_physical_offset != leader.store.max_physical_offset:
            return
        self.epoch += 1
        self.become(follower, MASTER)
        self.become(leader, SLAVE, 8)
        self.leader, self.follower = follower, leader
        leader.service.group.replication.follow(f"10.0.0.1:{follower.port}", f"10.0.0.1:{follower.port + 1}")

    # What must hold.

    def check_services(self) -> None:
        for member in (self.leader, self.follower):
            services = member.service.group.services
            running = self.watched[member.port].running
            if self.kind(member) not in (MASTER, ACTING):
                assert not services.is_on
                assert not any(running.values()), running
            elif services.is_on:
                assert running["timers"]
                assert running["transactions"] == (self.kind(member) is MASTER)

    def settle(self) -> None:
        """There is a master again, and time passes until everything is delivered and popped."""
        self.epoch += 1
        self.become(self.leader, MASTER)
        if self.kind(self.follower) is ACTING:
            self.become(self.follower, SLAVE)
        self.wait(SETTLE_SECONDS)
        for _ in range(2 + self.count):
            self.pop(True)

    def check(self) -> None:
        elsewhere = set(self.scene.other.bodies())
        delivered = set(self.leader.bodies()) | elsewhere
        assert delivered == self.sent
        assert self.sent <= self.popped | elsewhere
        assert self.leader.service.group.services.is_on
        assert self.leader.log() == self.follower.log()


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(STEPS, min_size=4, max_size=14))
def test_nothing_acknowledged_is_lost_and_no_service_runs_twice(steps: list[tuple[str, Any]]) -> None:
    history = History()
    for step, what in steps:
        history.take(step, what)
    history.settle()
    history.check()
    for member in (history.leader, history.follower):
        history.become(member, FENCED)
    history.wait(1)
    assert not any(any(one.running.values()) for one in history.watched.values())
