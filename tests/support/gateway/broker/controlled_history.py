"""Three brokers and a controller through whatever a seed brings: they die, with or without their power, are
cut off, frozen and made masters by hand, the controller among them, while messages are sent to all of them.

What must hold: what was acknowledged is in the log of whoever leads in the end, at the offset that was told;
no two brokers acknowledge in one epoch; all is well again within `HEAL_SECONDS` after the last fault, with
one master, everybody in sync, and logs that are alike byte for byte.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.options import FlushDiskType
from tests.support.gateway.broker.controlled import BrokerSet, Replica
from tests.support.gateway.remoting.pair import Talker

BROKERS = (1, 2, 3)
HEAL_SECONDS = 60


class Sent:
    """A message under way to a broker."""

    def __init__(self, replica: Replica, body: bytes) -> None:
        self.replica, self.body, self.host = replica, body, replica.host
        self.talker: Talker = replica.ask_later(body)


class History:
    """One seed. With `power` disks are synced before answers, and machines lose power."""

    def __init__(self, seed: int, *, power: bool = False, **settings: Any) -> None:
        self.random = random.Random(seed)
        self.power = power
        flush = FlushDiskType.SYNC_FLUSH if power else FlushDiskType.ASYNC_FLUSH
        self.brokers = BrokerSet(flush_disk_type=flush, **settings)
        self.members = [self.brokers.join(number) for number in BROKERS]
        self.members[0].create("T")
        self.brokers.wait(4)
        # Logs that part before everybody has anything have no epoch in common, and are not cut.
        self.members[0].send(1, body=b"first")
        self.dead: list[Replica] = []
        self.under_way: list[Sent] = []
        self.acknowledged: dict[bytes, int] = {}
        self.by_epoch: dict[int, Replica] = {}
        self.leading: dict[Replica, int] = {}
        """Who led when it was last listened, in which epoch: what was answered since was answered in it."""
        self.told: list[str] = []
        self.number = 0
        self.faults: Counter[str] = Counter()
        self.checks: Counter[str] = Counter()
        """How often each invariant was looked at."""

    def run(self, steps: int) -> None:
        for _ in range(steps):
            for _ in range(self.random.randrange(4)):
                self.send()
            if self.random.random() < 0.5:
                self.fault()
            self.wait(self.random.choice((0.5, 0.5, 1, 3, 8)))
        self.heal()
        self.check()

    @property
    def millis(self) -> int:
        """How much time has passed in it."""
        return elapsed_millis(self.brokers.clock)

    def wait(self, seconds: float) -> None:
        self.told.append(f"{seconds} s")
        for _ in range(max(1, int(seconds * 2))):
            self.brokers.wait(0.5)
            self.listen()

    # Clients.

    def send(self) -> None:
        """To any broker that is there: whoever does not lead has to say so."""
        there = [one for one in self.members if one not in self.dead]
        leading = [one for one in there if one.leads]
        if there:
            replica = self.random.choice(leading if leading and self.random.random() < 0.8 else there)
            self.number += 1
            self.under_way.append(Sent(replica, b"m%d" % self.number))

    def listen(self) -> None:
        """Take note of what was answered."""
        waiting = []
        before, self.leading = (
            self.leading,
            {one: one.controlled.epoch for one in self.members if one not in self.dead and one.leads},
        )
        for sent in self.under_way:
            answers = sent.talker.take()
            if not answers:
                if not sent.host.is_dead:
                    waiting.append(sent)
            elif answers[0].code == 0:
                self.acknowledged[sent.body] = int(answers[0].ext_fields["queueOffset"])
                epoch = self.leading.get(sent.replica)
                if epoch is not None and before.get(sent.replica) == epoch:
                    first = self.by_epoch.setdefault(epoch, sent.replica)
                    self.checks["one master acknowledges in an epoch"] += 1
                    assert first is sent.replica, f"two masters in epoch {epoch}"
        self.under_way = waiting

    # Faults.

    def fault(self) -> None:
        choice = self.random.choice(
            ("kill", "kill", "cut", "freeze", "freeze", "elect", "controller", *["mend"] * 8)
        )
        member = self.random.choice(self.members)
        self.told.append(f"{choice} {member.controlled.number}")
        self.faults[choice] += choice != "mend"
        if choice == "mend":
            self.mend(member)
            self.brokers.mend_controller()
        elif choice == "controller":
            self.random.choice((self.brokers.turn_controller, self.brokers.isolate_controller))()
        elif choice == "elect":
            if self.brokers.has_controller:
                self.brokers.elect(member.controlled.number)
        elif member not in self.dead:
            if choice == "kill":
                self.kill(member)
            elif choice == "cut":
                member.host.is_cut = True
            else:
                member.host.is_frozen = True

    def kill(self, member: Replica) -> None:
        member.kill(self.random.randrange(1000) if self.power and self.random.random() < 0.5 else None)
        self.dead.append(member)

    def mend(self, member: Replica) -> None:
        if member in self.dead:
            self.dead.remove(member)
            member.again()
            return
        member.host.is_cut = False
        if member.host.is_frozen:
            member.host.thaw()

    # The end.

    def heal(self) -> None:
        self.told.append("heal")
        for member in self.members:
            self.mend(member)
        self.brokers.mend_controller()
        for _ in range(HEAL_SECONDS * 2):
            self.brokers.wait(0.5)
            self.listen()
            if self.is_whole:
                self.checks[f"whole within {HEAL_SECONDS} s"] += 1
                break
        else:
            states = [(one.controlled.number, one.kind.value, one.in_sync) for one in self.members]
            raise AssertionError(f"the set does not heal: {states}, {[one.why for one in self.members]}")

    @property
    def is_whole(self) -> bool:
        leading = [one for one in self.members if one.leads]
        if len(leading) != 1 or leading[0].in_sync != {1, 2, 3}:
            return False
        ends = {one.store.max_physical_offset for one in self.members}
        return len(ends) == 1 and leading[0].try_to_send(b"last") == 0

    def check(self) -> None:
        self.brokers.wait(2)
        (master,) = [one for one in self.members if one.leads]
        bodies = master.bodies()
        for body, offset in self.acknowledged.items():
            self.checks["acknowledged is there, at its offset"] += 1
            assert bodies[offset] == body, f"{body!r} was acknowledged at {offset}"
        logs = [one.log() for one in self.members]
        self.checks["logs are alike byte for byte"] += 1
        assert logs[0] == logs[1] == logs[2]
        assert all(one.bodies() == bodies for one in self.members)
        self.checks["no message is twice in a log"] += 1
        named = [body for body in bodies if body != b"last"]
        assert len(named) == len(set(named))
