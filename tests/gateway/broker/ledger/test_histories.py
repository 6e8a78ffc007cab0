"""Groups whose members die, lose power, freeze and are cut off: nothing acknowledged is lost, and all agree.

MQGATEWAY_LEDGER_HISTORIES is the number of histories, for long runs.
"""

from __future__ import annotations

import os
from random import Random

import pytest

from mqgateway.gateway.raft import service
from tests.support.gateway.broker.ledgers import LedgerBroker, LedgerGroup
from tests.support.gateway.remoting.pair import Talker

HISTORIES = int(os.environ.get("MQGATEWAY_LEDGER_HISTORIES", "2"))
STEPS = 12


class History:
    """One history: what is sent all the time, and what happens meanwhile."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.group = LedgerGroup()
        self.group.wait_for_leader().create("T")
        self.sent: list[tuple[bytes, Talker]] = []
        self.taken: set[bytes] = set()

    def live(self) -> None:
        for _ in range(STEPS):
            broker = self.random.choice(list(self.group.brokers.values()))
            self.random.choice([self.send, self.send, self.kill, self.cut, self.freeze, self.mend])(broker)
            self.group.wait(self.random.choice((0.5, 1, 4)))
            self.look()

    def send(self, _broker: LedgerBroker) -> None:
        """A few messages to each broker that takes them for a master's."""
        for one in self.group.brokers.values():
            if one.leads and not (one.host.is_dead or one.host.is_cut):
                for _ in range(self.random.randrange(1, 9)):
                    body = b"%d " % len(self.sent) * self.random.randrange(1, 200)
                    self.sent.append((body, one.ask_later(body)))

    def kill(self, broker: LedgerBroker) -> None:
        if not broker.host.is_dead:
            self.unfreeze(broker)
            broker.kill(self.random.choice((None, self.random.randrange(1 << 30))))
        else:
            broker.again()

    def cut(self, broker: LedgerBroker) -> None:
        broker.host.is_cut = not broker.host.is_cut

    def freeze(self, broker: LedgerBroker) -> None:
        if broker.host.is_frozen:
            broker.host.thaw()
        elif not broker.host.is_dead:
            broker.host.is_frozen = True

    def unfreeze(self, broker: LedgerBroker) -> None:
        if broker.host.is_frozen:
            broker.host.thaw()

    def mend(self, _broker: LedgerBroker) -> None:
        for one in self.group.brokers.values():
            self.unfreeze(one)
            one.host.is_cut = False
            if one.host.is_dead:
                one.again()

    def look(self) -> None:
        """Note the answered sends, and check that no two members read different messages."""
        for body, talker in self.sent:
            if any(answer.code == 0 for answer in talker.take()):
                self.taken.add(body)
        read = [one.bodies() for one in self.group.brokers.values() if not one.host.is_dead]
        longest = max(read, key=len, default=[])
        assert all(bodies == longest[: len(bodies)] for bodies in read)

    def check(self) -> None:
        self.mend(next(iter(self.group.brokers.values())))
        # The leader may have to adopt the term of a member that was away, and is elected once more.
        answers = (self.group.wait_for_leader(60).try_to_send(b"last", 2) for _ in range(10))
        assert any(answer is not None and answer.code == 0 for answer in answers)
        self.group.wait(15)
        leader = self.group.leader
        self.look()
        bodies = leader.bodies()
        assert self.taken <= set(bodies)
        for one in self.group.brokers.values():
            assert (one.log(), one.index()) == (leader.log(), leader.index())
            assert one.bodies() == bodies


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_nothing_acknowledged_is_lost_and_all_agree(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    elections = Random(seed)
    monkeypatch.setattr(service, "Random", lambda: elections)
    history = History(seed)
    history.live()
    history.check()
