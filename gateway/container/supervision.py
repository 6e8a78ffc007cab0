"""Supervision of the brokers of a container: when to start them, start them again, or kill them.

A broker that ends before it is up is removed, and the request that added it fails with the reason. A broker
that was up is started again until it is removed, after a backoff that doubles with each end soon after a
start. A broker that does not stop in time is killed, and so is one whose start makes no progress. A broker
that is restarted is stopped, and started again when its process has ended. This module runs nothing: the
caller reports events, and performs the actions that `due` returns.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, StrEnum

from mqgateway.engine.clock import Clock
from mqgateway.engine.options.container import SupervisionOptions
from mqgateway.gateway.container.plan import BrokerIdentity, BrokerPlan, BrokerRejected

DOUBLINGS_MAX = 30
"""Maximum doublings of the backoff; after as many it has reached its maximum in any case."""


class ChildState(StrEnum):
    """State of a broker of the container."""

    STARTING = "starting"
    UP = "up"
    WAITING = "waiting to be started again"
    STOPPING = "stopping"
    RESTARTING = "stopping to be started again"


class ChildAction(Enum):
    """Action that is due for a broker."""

    START = 1
    KILL = 2


class End(Enum):
    """Meaning of the end of a broker's process."""

    WANTED = 1
    """The broker was removed."""
    FAILED = 2
    """The broker was not up yet, so it is not added."""
    CRASHED = 3
    """The broker will be started again after a backoff."""
    RESTARTED = 4
    """The broker was stopped to be started again, which is due at once."""


@dataclass
class Charge:
    """One supervised broker. Times are monotonic, in seconds; `delay` is in seconds."""

    plan: BrokerPlan
    state: ChildState = ChildState.STARTING
    since: float = 0.0
    due: float | None = None
    delay: float = 0.0
    pid: int = 0
    address: str = ""
    progress: str = ""
    was_up: bool = False
    starts: int = 0
    failures: int = 0
    last_end: str = ""

    def describe(self) -> str:
        """Return state, process, address and restarts in one line."""
        words = [str(self.state)]
        if self.progress:
            words.append(self.progress)
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

    def __init__(self, options: SupervisionOptions, clock: Clock) -> None:
        self._options = options
        self._clock = clock
        self._charges: dict[BrokerIdentity, Charge] = {}
        self.is_stopping = False
        """True once all brokers are being stopped."""

    def __len__(self) -> int:
        return len(self._charges)

    def __iter__(self) -> Iterator[Charge]:
        return iter(list(self._charges.values()))

    def get(self, identity: BrokerIdentity) -> Charge | None:
        """Return the broker of that identity, None if unknown."""
        return self._charges.get(identity)

    def add(self, plan: BrokerPlan) -> Charge:
        """Add a broker, which the caller starts at once. Raises `BrokerRejected`."""
        if self.is_stopping:
            raise BrokerRejected("the container stops")
        if plan.identity in self._charges:
            name = plan.identity.canonical_name
            raise BrokerRejected(f"{name} has already been added to current broker container")
        if len(self._charges) >= self._options.max_brokers:
            raise BrokerRejected(f"there are {len(self._charges)} brokers already, which is maxBrokers")
        charge = self._charges[plan.identity] = Charge(plan)
        return charge

    def launched(self, charge: Charge, pid: int) -> None:
        """Record that the broker's process runs."""
        charge.state, charge.since = ChildState.STARTING, self._clock.monotonic()
        charge.pid = pid
        charge.starts += 1
        self._expect_progress(charge)

    @property
    def start_seconds(self) -> float:
        """Time in seconds after which a start without progress is ended."""
        return self._options.broker_start_timeout / 1000

    def progressed(self, charge: Charge, progress: str) -> None:
        """Record the progress of the broker's start, in words."""
        if charge.state is ChildState.STARTING:
            charge.progress = progress
            self._expect_progress(charge)

    def _expect_progress(self, charge: Charge) -> None:
        charge.due = self._clock.monotonic() + self.start_seconds

    def up(self, charge: Charge, address: str) -> None:
        """Record that the broker serves clients at `address`."""
        if charge.state is ChildState.STARTING:
            charge.state, charge.since, charge.address = ChildState.UP, self._clock.monotonic(), address
            charge.was_up, charge.due, charge.progress = True, None, ""

    def ended(self, charge: Charge, cause: str) -> End:
        """Record the end of the broker's process, and schedule a restart if the broker was up."""
        if charge.state is ChildState.STOPPING:
            del self._charges[charge.plan.identity]
            return End.WANTED
        if not charge.was_up:
            del self._charges[charge.plan.identity]
            return End.FAILED
        now, longest = self._clock.monotonic(), self._options.broker_restart_delay_max
        charge.progress = ""
        if charge.state is ChildState.RESTARTING:
            charge.state, charge.since, charge.last_end, charge.due = ChildState.WAITING, now, cause, now
            return End.RESTARTED
        if charge.state is ChildState.UP and (now - charge.since) * 1000 >= longest:
            charge.failures = 0
        delay = self._options.broker_restart_delay << min(charge.failures, DOUBLINGS_MAX)
        charge.failures += 1
        charge.state, charge.since, charge.last_end = ChildState.WAITING, now, cause
        charge.delay = min(delay, longest) / 1000
        charge.due = now + charge.delay
        return End.CRASHED

    def remove(self, charge: Charge) -> bool:
        """Remove a broker. Return True if it has a process, which the caller must stop."""
        if charge.state is ChildState.WAITING:
            del self._charges[charge.plan.identity]
            return False
        if charge.state is ChildState.RESTARTING:
            charge.state = ChildState.STOPPING
        elif charge.state is not ChildState.STOPPING:
            self._stop(charge, ChildState.STOPPING)
        return True

    def restart(self, charge: Charge) -> bool:
        """Begin the restart of a broker. Return True if the caller must stop its process: it is up."""
        if charge.state is not ChildState.UP:
            return False
        self._stop(charge, ChildState.RESTARTING)
        return True

    def until_settled(self, seconds: float) -> float:
        """Return the seconds until all brokers have been up for `seconds`; 0 if they have.

        Raises `BrokerRejected` if one is not up.
        """
        for charge in self:
            if charge.state is not ChildState.UP:
                raise BrokerRejected(f"{charge.plan.identity.canonical_name} is not up")
        latest = max((charge.since for charge in self), default=0.0)
        return max(0.0, latest + seconds - self._clock.monotonic())

    def _stop(self, charge: Charge, state: ChildState) -> None:
        now = self._clock.monotonic()
        charge.state, charge.since = state, now
        charge.due = now + self._options.broker_stop_timeout / 1000

    def stop(self) -> None:
        """Reject further brokers."""
        self.is_stopping = True

    def hurry(self, seconds: float) -> None:
        """Let brokers that are being stopped be killed after `seconds`, unless that is due earlier."""
        latest = self._clock.monotonic() + seconds
        for charge in self:
            if charge.state is ChildState.STOPPING and charge.due is not None:
                charge.due = min(charge.due, latest)

    def due(self) -> list[tuple[Charge, ChildAction]]:
        """Return the actions that are due; each is returned once."""
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
        """Return the seconds until the next action is due, None if there is none."""
        times = [charge.due for charge in self if charge.due is not None]
        return max(0.0, min(times) - self._clock.monotonic()) if times else None
