"""Steps of a member before it registers with name servers, so that no work is done twice or forgotten.

A master announces itself to the other members, one by one, and waits until each one's log follows its own. It
then takes back newer state: offsets of consumers, delayed messages and timers from the time it was away. A
slave requests the log address from its master, and waits until it follows. A single member has nothing to
wait for, nor has a slave without a master. A member that is unreachable or does not follow in time is retried
a few times, and then left out and reported: a group without a master serves no one.

The caller carries out `next`, one step at a time, and reports with `members_are`, `done` or `failed`.

RocketMQ: `BrokerPreOnlineService`, which waits forever.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import NamedTuple

from mqgateway.engine.ha.member_group import MASTER_ID

PAUSE_MILLIS = 1000
FOLLOWING_MILLIS = 15_000
"""Maximum time until a member's log follows."""
ATTEMPTS_MAX = 3


class Task(Enum):
    """Kind of the next step."""

    ASK_MEMBERS = auto()
    """Query a name server for the members."""
    ANNOUNCE = auto()
    """Send the member the address of our log."""
    ASK_MASTER = auto()
    """Request the master's log address, and follow it."""
    TAKE_BACK = auto()
    """Request the member's tables."""
    REGISTER = auto()
    """All is done: register with name servers."""


class MemberTask(NamedTuple):
    """A task, and the address of the member it concerns."""

    task: Task
    address: str = ""


class ComingOnline:
    """Progress of one member; `left_out` has the addresses of members that were given up."""

    def __init__(self, own_id: int) -> None:
        self._own_id = own_id
        self._others: list[tuple[int, str]] | None = None
        self._is_busy = False
        self._pause_until = 0
        self._follows_until: int | None = None
        self._announced = ""
        self._attempts: dict[str, int] = {}
        self._finished: set[str] = set()
        self._taken_back = 0
        self.left_out: list[str] = []
        self.is_online = False

    def next(self, now: int, following: int) -> MemberTask | None:
        """Return the next step at `now` (ms); None for nothing yet.

        `following` is the number of logs that follow ours; for a slave 1 if ours follows its master's.
        """
        if self.is_online or self._is_busy or now < self._pause_until:
            return None
        if self._others is None:
            return self._begin(MemberTask(Task.ASK_MEMBERS))
        waiting = [address for _, address in self._others if address not in self._finished]
        if not waiting:
            return self._begin(MemberTask(Task.REGISTER))
        address = waiting[0]
        if self._announced != address:
            return self._begin(MemberTask(Task.ANNOUNCE if self._is_master else Task.ASK_MASTER, address))
        if following <= self._taken_back:
            if self._follows_until is None:
                self._follows_until = now + FOLLOWING_MILLIS
            elif now >= self._follows_until:
                self.failed(now)
            return None
        if self._is_master:
            return self._begin(MemberTask(Task.TAKE_BACK, address))
        self._finished.add(address)
        return self._begin(MemberTask(Task.REGISTER))

    @property
    def _is_master(self) -> bool:
        return self._own_id == MASTER_ID

    def _begin(self, step: MemberTask) -> MemberTask:
        self._is_busy = True
        self._doing = step
        return step

    def members_are(self, members: Mapping[int, str]) -> None:
        """Set the members reported by a name server, by id."""
        self._is_busy = False
        others = sorted((number, address) for number, address in members.items() if number != self._own_id)
        if not self._is_master:
            others = [other for other in others if other[0] == MASTER_ID]
        self._others = others

    def done(self) -> None:
        """Note that the step succeeded."""
        self._is_busy = False
        task, address = self._doing
        if task is Task.TAKE_BACK:
            self._finished.add(address)
            self._taken_back += 1
            self._announced = ""
        elif task is Task.REGISTER:
            self.is_online = True
        else:
            self._announced = address
        self._follows_until = None

    def failed(self, now: int) -> None:
        """Note that the step failed or timed out: restart with a query of the members, after a pause."""
        self._is_busy = False
        self._pause_until = now + PAUSE_MILLIS
        self._announced = ""
        self._follows_until = None
        address = self._doing.address
        self._others = None
        if address:
            attempts = self._attempts[address] = self._attempts.get(address, 0) + 1
            if attempts >= ATTEMPTS_MAX:
                self._finished.add(address)
                self.left_out.append(address)
