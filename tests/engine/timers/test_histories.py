"""Generated lives of timers against a plain model: set, delete, wait, restart, kill, set the clock.

The model has of each timer when it was set and when it is due. A delivered timer must be due and must not
have been delivered before, and none that was due a step ago may be missing.
"""

import os
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.engine.timers.bench import Bench

EXAMPLES = int(os.environ.get("TIMER_HISTORIES", "25"))
PRECISION = 100
WINDOW = 3000

steps = st.one_of(
    st.tuples(st.just("set"), st.integers(1, 9000), st.integers(1, 3)),
    st.tuples(st.just("delete"), st.integers(0, 50), st.just(0)),
    st.tuples(st.just("pass"), st.integers(1, 3000), st.sampled_from([7, 100, 950])),
    st.tuples(st.just("restart"), st.just(0), st.just(0)),
    st.tuples(st.just("kill"), st.just(0), st.just(0)),
    st.tuples(st.just("jump"), st.integers(-4000, 8000), st.just(0)),
)


class Life:
    """A bench, and its timers: due times by body."""

    def __init__(self) -> None:
        self.bench = Bench(
            timer_precision_ms=PRECISION, timer_roll_window_slot=WINDOW // PRECISION, max_timers_per_tick=5
        )
        self.due: dict[bytes, int] = {}
        self.latest: dict[bytes, int] = {}
        self.far: set[bytes] = set()
        self.doomed: set[bytes] = set()
        self.maybe: set[bytes] = set()
        self.seen: list[bytes] = []

    def add(self, delay: int, count: int) -> None:
        for _ in range(count):
            body = b"%d" % len(self.due)
            self.due[body] = self.latest[body] = self.bench.steady
            self.due[body] += delay
            if delay > WINDOW - 2 * PRECISION:
                self.far.add(body)
            self.bench.set_at(body, self.bench.now + delay, body.decode())

    def delete(self, number: int) -> None:
        body = b"%d" % number
        if body not in self.due or body in self.seen:
            return
        out_time = (self.due[body] - 1) // PRECISION * PRECISION
        if self.bench.delete(body.decode(), out_time + 1 - self.bench.store.steady.ahead) is None:
            self.maybe.add(body)
            # One that must be rescheduled before may miss its time when the clock jumps over that.
            if self.bench.steady < out_time and body not in self.far:
                self.bench.tick()
                self.doomed.add(body)

    def look(self) -> None:
        """Check that deliveries since the last call were due at some time since they were set, and are
        new.
        """
        now = self.bench.steady
        for body in self.latest:
            self.latest[body] = max(self.latest[body], now)
        bodies = self.bench.bodies()
        assert bodies[: len(self.seen)] == self.seen
        for body in bodies[len(self.seen) :]:
            assert self.due[body] <= self.latest[body], "early"
            assert body not in self.doomed, "deleted"
        self.seen = bodies
        assert len(set(bodies)) == len(bodies), "twice"
        late = {body for body, due in self.due.items() if due + PRECISION <= now}
        assert late - self.maybe <= set(bodies), "late"

    def step(self, name: str, number: int, more: int) -> None:
        bench = self.bench
        if name == "set":
            self.add(number, more)
        elif name == "delete":
            self.delete(number)
        elif name == "pass":
            while number > 0:
                bench.clock.advance(min(more, number))
                number -= more
                bench.tick()
                self.look()
        elif name == "jump":
            bench.jump(number)
            self.look()
        elif name == "restart":
            self.bench = bench.restart()
        else:
            self.bench = bench.kill()


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.lists(steps, max_size=25))
def test_once_and_on_time(history: list[tuple[str, int, int]]) -> None:
    life = Life()
    for step in history:
        life.step(*step)
    life.bench.tick()
    life.look()
    life.step("pass", 30_000, 1000)
    assert set(life.due) - life.maybe <= set(life.seen)
    assert life.bench.timers.pending == 0
    was_set_back = any(name == "jump" and number < 0 for name, number, _ in history)
    if not life.maybe and not was_set_back:
        assert not any(life.bench.timers.metrics.counts().values())


SEEDS = int(os.environ.get("TIMER_SEEDS", "40"))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_no_timer_is_early_by_the_true_time_over_kills_and_clocks_set_back(seed: int) -> None:
    """Steady time, which the other test uses, must itself never lead the true time.

    Deliveries are checked after each step; the true time is that of the monotonic clock.
    """
    chance = Random(seed)
    bench = Bench(timer_precision_ms=1000)
    bench.clock.advance(chance.randrange(1000))
    due: dict[bytes, float] = {}
    seen: list[bytes] = []
    for _ in range(40):
        what = chance.choice(["set", "set", "pass", "pass", "kill", "kill", "restart", "back"])
        if what == "set":
            delay = chance.randrange(1, 4000)
            due[body := b"%d" % len(due)] = bench.clock.monotonic() + delay / 1000
            bench.set_at(body, bench.now + delay)
        elif what == "pass":
            bench.pass_time(chance.randrange(20, 900), chance.choice([20, 70, 300]))
        elif what == "back":
            bench.jump(-chance.randrange(500))
        else:
            bench = bench.kill() if what == "kill" else bench.restart()
        bench.tick()
        bodies = bench.bodies()
        early = [
            (body, due[body]) for body in bodies[len(seen) :] if due[body] > bench.clock.monotonic() + 1e-6
        ]
        assert not early
        seen = bodies
    bench.pass_time(60_000, 500)
    assert sorted(bench.bodies()) == sorted(due)
