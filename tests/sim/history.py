"""A cluster under the random faults of a seed, and its invariants.

Brokers, controllers and name servers die, some as their machine loses power; they are frozen for a long or a
short time, cut off in one direction or in both; disks and lines are slow, clocks run at different speeds,
operators have masters elected. Meanwhile clients send, read and commit. The invariants:

- an acknowledged message is in the log at the end, at its acknowledged offset, and no message is in it twice;
- a message that a consumer has read stays at its offset, and in the end every consumer has read all
  acknowledged messages;
- no two brokers acknowledge in one epoch, and no broker acknowledges after another one has been master for
  longer than a lease may last beyond that;
- the cluster heals within `HEAL_SECONDS` after the last fault: one master, every broker in sync, logs equal
  byte for byte, epochs equal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mqgateway.engine.ha.role import RoleKind, RoleState
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import ElectMasterRequestHeader
from tests.sim.clients import Client, Consumer, Producer
from tests.sim.machines import SET, TOPIC, Addresses, Broker, Controller, Etcd, Machine, NameServer
from tests.sim.world import World
from tests.support.topics import topic_header

HEAL_SECONDS = 60
BEYOND_SECONDS = 2.0
"""Maximum overlap of a silent master with its elected successor, in seconds. A report of a broker in sync
counts for six tenths of 2.5 s, on a clock with its own speed."""
BEYOND_OPERATORS_SECONDS = 8.0
"""Maximum overlap after an operator's election, which a master may learn only from its next request."""
WRITES = (RequestCode.SEND_MESSAGE_V2, RequestCode.UPDATE_CONSUMER_OFFSET)


@dataclass
class Profile:
    """The parts of a cluster, and its faults. With `power` logs are synced before an acknowledgement, and the
    machines of brokers lose power."""

    brokers: int = 3
    controllers: int = 1
    name_servers: int = 1
    power: bool = False
    settings: dict[str, Any] = field(default_factory=dict)


PROFILES = {
    "processes die": Profile(),
    "machines lose power": Profile(power=True),
    "minInSyncReplicas=2, five brokers": Profile(5, name_servers=2, settings={"min_in_sync_replicas": 2}),
    "three controllers": Profile(controllers=3, name_servers=2),
}
"""All with `allAckInSyncStateSet=true`."""


class Broken(AssertionError):
    """A violated invariant."""


class History:
    """One seed in one profile. `events` lists the events, `checks` counts the checks of each invariant."""

    def __init__(self, seed: int, profile: Profile) -> None:
        self.profile = profile
        self.world = World(seed)
        self.random = self.world.random
        self.events: list[str] = []
        self.faults: Counter[str] = Counter()
        self.checks: Counter[str] = Counter()
        self._by_epoch: dict[int, Broker] = {}
        self._reigns: list[tuple[float, int, Broker]] = []
        self._operators_election = -BEYOND_OPERATORS_SECONDS
        self._broken: list[str] = []
        """Violations found in callbacks, where an exception would be taken for an answer."""
        cluster = Addresses(profile.controllers, profile.name_servers)
        self.etcd = Etcd(self.world) if profile.controllers > 1 else None
        self.name_servers = [NameServer(self.world, number) for number in range(profile.name_servers)]
        self.controllers = [Controller(self.world, number, cluster) for number in range(profile.controllers)]
        self.run(2)
        self.brokers: list[Broker] = []
        for number in range(profile.brokers):
            self.brokers.append(self._broker(number + 1, cluster))
            self.run(4)
        self.machines: list[Machine] = [*self.brokers, *self.controllers, *self.name_servers]
        self._begin_traffic(cluster)

    def _broker(self, number: int, cluster: Addresses) -> Broker:
        profile = self.profile
        return Broker(
            self.world, number, cluster, self._took, self._answered, power=profile.power, **profile.settings
        )

    def _begin_traffic(self, cluster: Addresses) -> None:
        world, places = self.world, [one.place for one in self.brokers]
        given = cluster.name_server_list, places
        self.producers = [Producer(world, number, *given, 1.0) for number in (1, 2)]
        self.consumers = [Consumer(world, number, *given, 1.0, on_changed=self._changed) for number in (3, 4)]
        self.clients: list[Client] = [*self.producers, *self.consumers]
        leading = next(one for one in self.brokers if one.leads)
        self.ask(leading.place, RequestCode.UPDATE_AND_CREATE_TOPIC, topic_header(TOPIC))
        # Logs that diverge before every broker has data share no epoch, and are not truncated.
        self._until(lambda: len(self.acknowledged) > 0 and self._is_whole(), "the set is not whole at first")

    @property
    def acknowledged(self) -> dict[bytes, int]:
        """Return the acknowledged offsets of all producers."""
        return {body: at for one in self.producers for body, at in one.acknowledged.items()}

    @property
    def sent(self) -> int:
        """Return the number of messages that were sent."""
        return sum(one.sent for one in self.producers)

    def ask(self, address: str, code: RequestCode, header: Any) -> None:
        """Send a request as a client and ignore the answer."""
        asked = self.producers[0]._remoting.request(address, RemotingCommand.request(code, header))
        asked.addErrback(lambda _: None)

    def run(self, seconds: float) -> None:
        """Advance the time. Raises `Broken`."""
        self.world.run(seconds)
        if self._broken:
            raise Broken(self._broken[0])

    def play(self, steps: int) -> None:
        """Play `steps` faults and pauses, then heal and check. Raises `Broken`."""
        for _ in range(steps):
            if self.random.random() < 0.7:
                self.fault()
            seconds = self.random.choice((0.2, 0.5, 1, 3, 8))
            self.events.append(f"{seconds} s")
            self.run(seconds)
        self.heal()
        self.check()

    # Continuous checks.

    def _took(self, broker: Broker, role: RoleState) -> None:
        if role.kind is RoleKind.MASTER and all(epoch != role.epoch for _, epoch, _ in self._reigns):
            self._reigns.append((self.world.now, role.epoch, broker))

    def _answered(self, broker: Broker, code: int) -> None:
        if code not in WRITES:
            return
        kind, _, epoch = broker.role
        if kind is not RoleKind.MASTER:
            if code == RequestCode.SEND_MESSAGE_V2:
                self._broken.append(f"{broker}, which is {kind.value}, acknowledges in epoch {epoch}")
            return
        if code == RequestCode.SEND_MESSAGE_V2:
            self.checks["one master acknowledges in an epoch"] += 1
            if self._by_epoch.setdefault(epoch, broker) is not broker:
                self._broken.append(f"{broker} and {self._by_epoch[epoch]} acknowledge in epoch {epoch}")
        self.checks["nobody acknowledges beside its successor"] += 1
        now = self.world.now
        if now - self._operators_election < BEYOND_OPERATORS_SECONDS:
            return
        for since, other, successor in self._reigns:
            if other > epoch and successor is not broker and now - since > BEYOND_SECONDS:
                self._broken.append(
                    f"{broker} acknowledges {code} in epoch {epoch}, {now - since:.1f} s after {successor} "
                    f"has become master in epoch {other}"
                )

    def _changed(self, offset: int, before: bytes, after: bytes) -> None:
        self._broken.append(f"{before!r} was read at {offset}, where {after!r} is now")

    # Faults.

    def fault(self) -> None:
        """Cause a random fault or, nearly as often, mend a random machine."""
        if self.random.random() < 0.45:
            machine = self.random.choice(self.machines)
            self._report("mend", machine)
            self.mend(machine)
            return
        faults = self.possible_faults()
        name = self.random.choice(tuple(faults))
        leading = [one for one in self.brokers if one.leads]
        machine = self.random.choice(
            self.random.choice((self.machines, self.brokers, leading or self.brokers))
        )
        if not machine.is_dead:
            self._report(name, machine)
            self.faults[name] += 1
            faults[name](self, machine)

    def possible_faults(self) -> dict[str, Callable[[Any, Any], None]]:
        """Return the faults by name; each is given this history and a machine."""
        return FAULTS

    def _report(self, what: str, machine: Machine) -> None:
        self.events.append(f"{what} {machine}")

    def kill(self, machine: Machine) -> None:
        """Kill the process. A machine with synced files, a controller's or with `power` a broker's, may lose
        power."""
        is_synced = isinstance(machine, Controller) or (isinstance(machine, Broker) and self.profile.power)
        machine.die(self.random.randrange(1000) if is_synced and self.random.random() < 0.5 else None)

    def freeze(self, machine: Machine) -> None:
        """Stop the process until it is mended."""
        machine.process.freeze()

    def stall(self, machine: Machine) -> None:
        """Stop the process for a short time."""
        process = machine.process
        process.freeze()
        self.world.at(self.random.choice((0.2, 0.6, 1.0, 2.0, 4.0)), None, process.thaw)

    def cut_off(self, machine: Machine) -> None:
        """Cut a machine off from the other machines in both directions; clients still reach it."""
        for other in self.machines:
            self.world.cuts |= {(machine.address, other.address), (other.address, machine.address)}

    def cut(self, machine: Machine) -> None:
        """Cut one direction between a machine and another one."""
        other = self.random.choice([one for one in self.machines if one is not machine])
        pair = (machine.address, other.address)
        self.world.cuts.add(pair if self.random.random() < 0.5 else pair[::-1])

    def deafen(self, machine: Machine) -> None:
        """Cut all lines from the other machines, or all lines to them."""
        is_deaf = self.random.random() < 0.5
        for other in self.machines:
            pair = (other.address, machine.address)
            self.world.cuts.add(pair if is_deaf else pair[::-1])

    def slow_disk(self, machine: Machine) -> None:
        """Delay all work that waits for the disk."""
        machine.disk_seconds = self.random.choice((0.05, 0.3, 1.0, 3.0))

    def slow_line(self, machine: Machine) -> None:
        """Delay all bytes to and from the machine."""
        self.world.slowness[machine.address] = self.random.choice((0.05, 0.2, 0.7))

    def drift(self, machine: Machine) -> None:
        """Change the speed of the clock."""
        machine.drift(self.random.uniform(0.96, 1.04))

    def elect(self, machine: Machine) -> None:
        """Elect a master as an operator."""
        leading = [one for one in self.controllers if one.leads]
        member = self.random.choice(self.brokers)
        if not leading or member.is_dead:
            return
        self._operators_election = self.world.now
        header = ElectMasterRequestHeader(
            cluster_name="DefaultCluster", broker_name=SET, broker_id=member.number, designate_elect=True
        )
        place = f"{leading[0].address}:{leading[0].service.peer.port}"
        self.ask(place, RequestCode.CONTROLLER_ELECT_MASTER, header)

    def mend(self, machine: Machine) -> None:
        """Restore a machine, except the speed of its clock."""
        machine.disk_seconds = 0
        self.world.mend(machine.address)
        if machine.is_dead:
            machine.start()
        else:
            machine.process.thaw()

    # The end.

    def heal(self) -> None:
        """Mend everything and wait until the cluster is whole. Raises `Broken` if it does not heal."""
        self.events.append("heal")
        for machine in self.machines:
            self.mend(machine)
        self._until(self._is_whole, "the set does not heal")
        for one in self.producers:
            one.is_over = True
        self.run(4)
        self._until(self._is_whole, "the set does not stay whole")
        self._until(self._is_read, "consumers do not come to the end")
        self.checks[f"whole within {HEAL_SECONDS} s"] += 1

    def _until(self, holds: Callable[[], bool], problem: str, seconds: int = HEAL_SECONDS) -> None:
        for _ in range(seconds * 2):
            self.run(0.5)
            if holds():
                return
        states = [(one, one.role, one.in_sync, one.store.max_physical_offset) for one in self.brokers]
        raise Broken(f"{problem}: {states}")

    def _is_whole(self) -> bool:
        leading = [one for one in self.brokers if one.leads]
        if len(leading) != 1 or len(leading[0].in_sync) != len(self.brokers):
            return False
        return len({one.store.max_physical_offset for one in self.brokers}) == 1

    def _is_read(self) -> bool:
        end = self.brokers[0].store.max_offset(TOPIC, 0)
        return all(one.offset >= end for one in self.consumers)

    def check(self) -> None:
        """Check the final state. Raises `Broken`."""
        (master,) = [one for one in self.brokers if one.leads]
        bodies = master.bodies()
        for body, offset in self.acknowledged.items():
            self.checks["acknowledged is there, at its offset"] += 1
            if offset >= len(bodies) or bodies[offset] != body:
                raise Broken(f"{body!r} was acknowledged at {offset}")
        self.checks["no message is twice in a log"] += 1
        if len(bodies) != len(set(bodies)):
            raise Broken("a message is twice in the log")
        for consumer in self.consumers:
            self._check_read(consumer, bodies)
        self.check_members()

    def check_members(self) -> None:
        """Check that all brokers have the same log and the same epochs. Raises `Broken`."""
        logs = [one.log() for one in self.brokers]
        self.checks["logs are alike byte for byte"] += 1
        if any(log != logs[0] for log in logs):
            raise Broken("logs differ")
        epochs = [one.service.group.controlled.epochs.entries for one in self.brokers]  # type: ignore[union-attr]
        if any(one != epochs[0] for one in epochs):
            raise Broken(f"epochs differ: {epochs}")

    def _check_read(self, consumer: Consumer, bodies: list[bytes]) -> None:
        for offset, body in consumer.read.items():
            self.checks["what was read stays"] += 1
            if offset >= len(bodies) or bodies[offset] != body:
                raise Broken(f"{body!r} was read at {offset}, and is not there")
        self.checks["all that was acknowledged was read"] += 1
        missing = self.acknowledged.keys() - set(consumer.read.values())
        if missing:
            raise Broken(f"{sorted(missing)[:3]} were never read")


FAULTS: dict[str, Callable[[Any, Any], None]] = {
    "kill": History.kill,
    "freeze": History.freeze,
    "stall": History.stall,
    "cut off": History.cut_off,
    "cut": History.cut,
    "deafen": History.deafen,
    "slow disk": History.slow_disk,
    "slow line": History.slow_line,
    "drift": History.drift,
    "elect": History.elect,
}
