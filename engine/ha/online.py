"""What a member of a group does before name servers hear of it, so that nothing is done twice or forgotten.

A master announces itself to every other member, one after the other, and waits until that one's log follows
its own; then it takes back what the member knows better: how far consumers, delayed messages and timers went
while the master was away. A slave asks its master where its log is, and waits until it follows. Who is alone
has nothing to wait for, nor has a slave without a master. Who cannot be reached or does not follow in time is
tried again a few times, and then left out, and said so: a group without a master serves nobody.

The caller does what `next` says, one thing at a time, and reports with `members_are`, `done` or `failed`.
Standard: `BrokerPreOnlineService`, which waits for ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import NamedTuple

from mqgateway.engine.ha.member_group import MASTER_ID

PAUSE_MILLIS = 1000
FOLLOWING_MILLIS = 15_000
"""How long a member may take until its log follows."""
ATTEMPTS_MAX = 3


class Task(Enum):
    """What is to be done next."""

    ASK_MEMBERS = auto()
    """Ask a name server who is there."""
    ANNOUNCE = auto()
    """Tell the member where our log is."""
    ASK_MASTER = auto()
    """Ask the master where its log is, and follow it."""
    TAKE_BACK = auto()
    """Ask the member for its tables."""
    REGISTER = auto()
    """All is done: name servers may hear of us."""


class Step(NamedTuple):
    """A task, and the address of the member it is about."""

    task: Task
    address: str = ""


class ComingOnline:
    """The way of one member; `left_out` are the addresses of those that were waited for in vain."""

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

    def next(self, now: int, following: int) -> Step | None:
        """What is to be done at `now` (ms); None for nothing yet. `following` is how many logs follow ours,
        for a slave 1 when ours follows its master's."""
        if self.is_online or self._is_busy or now < self._pause_until:
            return None
        if self._others is None:
            return self._begin(Step(Task.ASK_MEMBERS))
        waiting = [address for _, address in self._others if address not in self._finished]
        if not waiting:
            return self._begin(Step(Task.REGISTER))
        address = waiting[0]
        if self._announced != address:
            return self._begin(Step(Task.ANNOUNCE if self._is_master else Task.ASK_MASTER, address))
        if following <= self._taken_back:
            if self._follows_until is None:
                self._follows_until = now + FOLLOWING_MILLIS
            elif now >= self._follows_until:
                self.failed(now)
            return None
        if self._is_master:
            return self._begin(Step(Task.TAKE_BACK, address))
        self._finished.add(address)
        return self._begin(Step(Task.REGISTER))

    @property
    def _is_master(self) -> bool:
        return self._own_id == MASTER_ID

    def _begin(self, step: Step) -> Step:
        self._is_busy = True
        self._doing = step
        return step

    def members_are(self, members: Mapping[int, str]) -> None:
        """A name server said who is there, by id."""
        self._is_busy = False
        others = sorted((number, address) for number, address in members.items() if number != self._own_id)
        if not self._is_master:
            others = [other for other in others if other[0] == MASTER_ID]
        self._others = others

    def done(self) -> None:
        """The step was taken."""
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
        """The step could not be taken, or took too long: begin again with who is there, after a while."""
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
