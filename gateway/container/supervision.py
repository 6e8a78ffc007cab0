"""What becomes of the brokers of a container: who is to be started, again and when, who is to be killed.

A broker that was never up is forgotten when it ends: whoever added it is told why. One that was up is wanted
until it is removed, so it is started again, after a wait that doubles with each end soon after a start. One
that does not stop in time is killed. Nothing here runs anything: the caller tells what happened, and does
what `due` gives.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, StrEnum

from mqgateway.engine.clock import Clock
from mqgateway.engine.options.container import ContainerOptions
from mqgateway.gateway.container.plan import BrokerIdentity, BrokerPlan, BrokerRejected

DOUBLINGS_MAX = 30
"""Beyond as many the wait is the longest one in any case."""


class ChildState(StrEnum):
    """What a broker of the container is doing."""

    STARTING = "starting"
    UP = "up"
    WAITING = "waiting to be started again"
    STOPPING = "stopping"


class ChildAction(Enum):
    """What is to be done with a broker now."""

    START = 1
    KILL = 2


class End(Enum):
    """What the end of a broker's process was."""

    WANTED = 1
    """It was removed."""
    FAILED = 2
    """It was not up yet: the broker has not been added."""
    CRASHED = 3
    """It will be started again."""


@dataclass
class Charge:
    """One broker that the container looks after; times are monotonic seconds, `delay` seconds as well."""

    plan: BrokerPlan
    state: ChildState = ChildState.STARTING
    since: float = 0.0
    due: float | None = None
    delay: float = 0.0
    pid: int = 0
    address: str = ""
    was_up: bool = False
    starts: int = 0
    failures: int = 0
    last_end: str = ""

    def describe(self) -> str:
        """One line for people."""
        words = [str(self.state)]
        if self.state is not ChildState.WAITING:
            words.append(f"process {self.pid}")
        if self.state is ChildState.UP:
            words.append(self.address)
        words.append(f"restarts {max(0, self.starts - 1)}")
        if self.last_end:
            words.append(f"last end: {self.last_end}")
        return ", ".join(words)


class Supervision:
    """All brokers of one container, by identity."""

    def __init__(self, options: ContainerOptions, clock: Clock) -> None:
        self._options = options
        self._clock = clock
        self._charges: dict[BrokerIdentity, Charge] = {}
        self._is_stopping = False

    def __len__(self) -> int:
        return len(self._charges)

    def __iter__(self) -> Iterator[Charge]:
        return iter(list(self._charges.values()))

    def get(self, identity: BrokerIdentity) -> Charge | None:
        """The broker of that identity, if it is here."""
        return self._charges.get(identity)

    def add(self, plan: BrokerPlan) -> Charge:
        """Take a broker, which is to be started at once. Raises `Refusal`."""
        if self._is_stopping:
            raise BrokerRejected("the container stops")
        if plan.identity in self._charges:
            name = plan.identity.canonical_name
            raise BrokerRejected(f"{name} has already been added to current broker container")
        if len(self._charges) >= self._options.max_brokers:
            raise BrokerRejected(f"there are {len(self._charges)} brokers already, which is maxBrokers")
        charge = self._charges[plan.identity] = Charge(plan)
        return charge

    def launched(self, charge: Charge, pid: int) -> None:
        """Its process runs."""
        charge.state, charge.since, charge.due = ChildState.STARTING, self._clock.monotonic(), None
        charge.pid = pid
        charge.starts += 1

    def up(self, charge: Charge, address: str) -> None:
        """It serves clients."""
        if charge.state is ChildState.STARTING:
            charge.state, charge.since, charge.address = ChildState.UP, self._clock.monotonic(), address
            charge.was_up = True

    def ended(self, charge: Charge, cause: str) -> End:
        """Its process is gone."""
        if charge.state is ChildState.STOPPING:
            del self._charges[charge.plan.identity]
            return End.WANTED
        if not charge.was_up:
            del self._charges[charge.plan.identity]
            return End.FAILED
        now, longest = self._clock.monotonic(), self._options.broker_restart_delay_max
        if charge.state is ChildState.UP and (now - charge.since) * 1000 >= longest:
            charge.failures = 0
        delay = self._options.broker_restart_delay << min(charge.failures, DOUBLINGS_MAX)
        charge.failures += 1
        charge.state, charge.since, charge.last_end = ChildState.WAITING, now, cause
        charge.delay = min(delay, longest) / 1000
        charge.due = now + charge.delay
        return End.CRASHED

    def remove(self, charge: Charge) -> bool:
        """It is not wanted any more; whether it has a process, which must be told to stop."""
        if charge.state is ChildState.WAITING:
            del self._charges[charge.plan.identity]
            return False
        if charge.state is not ChildState.STOPPING:
            now = self._clock.monotonic()
            charge.state, charge.since = ChildState.STOPPING, now
            charge.due = now + self._options.broker_stop_timeout / 1000
        return True

    def stop(self) -> None:
        """No more brokers are taken."""
        self._is_stopping = True

    def due(self) -> list[tuple[Charge, ChildAction]]:
        """What is to be done now; each is given once."""
        now, acts = self._clock.monotonic(), []
        for charge in self:
            if charge.due is None or charge.due > now:
                continue
            charge.due = None
            acts.append(
                (charge, ChildAction.START if charge.state is ChildState.WAITING else ChildAction.KILL)
            )
        return acts

    def wait(self) -> float | None:
        """Seconds until something is due; None when nothing is."""
        times = [charge.due for charge in self if charge.due is not None]
        return max(0.0, min(times) - self._clock.monotonic()) if times else None
