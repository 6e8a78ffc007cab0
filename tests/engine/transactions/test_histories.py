"""In any history each transaction ends as its producer decided; compared with a dictionary as model.

A history is a list of steps: half messages, ends, checks answered or not, time, producers that connect and
disconnect, clean restarts, kills, power cuts, a disk that refuses writes for a while. In the end the
producers are connected and answer every check with their decision. Then every commit was delivered, no
rollback was, and nothing is open. Without a kill or a power cut each commit was delivered once.

MQGATEWAY_HISTORIES is the number of histories, for long runs.
"""

import errno
import os
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mqgateway.engine.transactions import CheckBack
from tests.support.engine.transactions.transactions import INTERVAL, Bench, question_of

HISTORIES = int(os.environ.get("MQGATEWAY_HISTORIES", "40"))
COMMIT, ROLLBACK = True, False
OPTIONS = {"transaction_check_max": 1000, "max_transactions_checked_per_tick": 4}

STEPS = [
    st.tuples(st.just("send"), st.sampled_from(["", "", "20", "100"])),
    st.tuples(st.just("end"), st.integers(0, 9), st.booleans()),
    st.tuples(st.just("answer"), st.integers(0, 5), st.booleans()),
    st.tuples(st.just("wait"), st.sampled_from([500, 3000, 31_000, 65_000])),
    st.tuples(st.just("reach"), st.sampled_from([False, True, True])),
    st.tuples(st.just("restart")),
    st.tuples(st.just("full"), st.sampled_from([False, False, True])),
]
ACCIDENTS = [st.tuples(st.just("kill")), st.tuples(st.just("crash"), st.integers(0, 1 << 30))]
PEACEFUL, VIOLENT = st.one_of(*STEPS), st.one_of(*STEPS, *ACCIDENTS)


class Producers:
    """The model: messages sent, their positions, and their producers' decisions."""

    def __init__(self, most: int) -> None:
        self.bench = Bench(options={**OPTIONS, "max_waiting_transactions": most})
        self.sent: dict[bytes, int] = {}
        self.decided: dict[bytes, bool] = {}
        self.ended: set[bytes] = set()
        self.forgotten: set[bytes] = set()
        self.questions: list[CheckBack] = []
        # With little room a check may concern a transaction that was ended already.
        self.is_exact = most > 100

    def do(self, step: tuple[Any, ...]) -> None:
        getattr(self, "_" + step[0])(*step[1:])

    def _send(self, patience: str) -> None:
        body = b"%d" % len(self.sent)
        wish = {"CHECK_IMMUNITY_TIME_IN_SECONDS": patience} if patience else {}
        before = self.bench.store.max_physical_offset
        at = self.bench.send(body, **wish)
        if self.bench.store.max_physical_offset > before:
            self.sent[body] = at

    def _end(self, number: int, outcome: bool) -> None:
        if self.sent:
            body = sorted(self.sent)[number % len(self.sent)]
            self._decide(body, self.sent[body], self.decided.setdefault(body, outcome))

    def _answer(self, number: int, outcome: bool) -> None:
        if self.questions:
            question = self.questions.pop(number % len(self.questions))
            body = question_of(question).body
            self._decide(body, question.physical_offset, self.decided.setdefault(body, outcome))

    def _decide(self, body: bytes, at: int, outcome: bool) -> None:
        half = self.bench.log.find(at)
        if half is None or half.stored.body != body or body in self.forgotten:
            return
        if outcome is ROLLBACK:
            self.bench.roll_back(at)
            self.ended.add(body)
            return
        before = self.bench.delivered.count(body)
        self.bench.commit(at)
        if self.bench.delivered.count(body) > before:
            self.ended.add(body)

    def _wait(self, millis: int) -> None:
        """Offsets are written every 5 seconds, which may be now."""
        self.questions += self.bench.wait(millis, step=500)
        self.bench.offsets.persist()

    def _reach(self, yes: bool) -> None:
        self.bench.reachable = {"PG"} if yes else set()

    def _restart(self) -> None:
        """Answers in flight are lost, and completed work is not repeated."""
        self.bench.disk.heal()
        self.questions.clear()
        if self.is_exact:
            self.forgotten |= self.ended
        self.bench = self.bench.restart()

    def _kill(self) -> None:
        """Ends may have to be repeated: a check comes again if they were not recorded."""
        self.is_exact = False
        self.bench.disk.heal()
        self.bench = self.bench.kill()

    def _crash(self, seed: int) -> None:
        """Data that was not durable is gone: of half messages their producers learn that too."""
        self.is_exact = False
        self.bench.disk.heal()
        self.bench = self.bench.crash(seed)
        for body, at in list(self.sent.items()):
            half = self.bench.log.find(at)
            if half is None or half.stored.body != body:
                del self.sent[body]
                self.decided.pop(body, None)
        self.questions = [each for each in self.questions if question_of(each).body in self.sent]

    def _full(self, yes: bool) -> None:
        self.bench.disk.heal()
        if yes:
            self.bench.disk.fail_next("write", "/commitlog/", errno.ENOSPC, times=1 << 30, part=0)

    def settle(self) -> None:
        """All producers are connected, and answer with their decisions; one without a decision commits."""
        self.bench.disk.heal()
        self._reach(True)
        quiet = 0
        for _ in range(20):
            self._wait(INTERVAL)
            quiet = 0 if self.questions else quiet + 1
            while self.questions:
                self._answer(0, COMMIT)
            if quiet == 5:
                return
        raise AssertionError("questions do not end")

    def check(self) -> None:
        delivered = self.bench.delivered
        for body in self.sent:
            times = delivered.count(body)
            if self.decided.get(body) is COMMIT:
                assert times == 1 if self.is_exact else times >= 1, (body, times)
            else:
                assert self.decided.get(body) is ROLLBACK, "nobody was asked"
                assert times == 0
        assert self.bench.given_up == []
        assert self.bench.log._halves.settled.progress == self.bench.store.max_offset(
            "RMQ_SYS_TRANS_HALF_TOPIC", 0
        )
        assert not self.bench.log._halves.held
        assert not self.bench.log._halves.newest
        if self.is_exact:
            assert self.bench.log.counts.count("T") == 0


@settings(
    max_examples=HISTORIES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=HISTORIES <= 40,
)
@given(
    st.one_of(*(st.lists(kind, min_size=8, max_size=40) for kind in (PEACEFUL, VIOLENT))),
    st.sampled_from([2, 1000, 1000]),
)
def test_every_transaction_ends_as_it_was_decided(steps: list[tuple[Any, ...]], most: int) -> None:
    producers = Producers(most)
    for step in steps:
        producers.do(step)
    producers.settle()
    producers.check()
