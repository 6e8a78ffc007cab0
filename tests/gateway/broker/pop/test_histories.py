"""Whatever happens to popped messages, each comes until it is acknowledged; the model is a dictionary.

A history is a list of steps: messages sent, popped, acknowledged one by one or together, their time changed,
time, clean restarts, kills, power cuts, a disk that takes nothing for a while. All along

    hidden    a message that a consumer has is not delivered to another before its time is up
    gone      a message whose acknowledgement was answered in time never comes again
    back      a message that no consumer has, or one had for too long, is delivered to the next pop

and in the end, when whatever comes is acknowledged, everything that was sent was acknowledged and nothing
comes any more. A power cut may take what was answered in the last seconds: then a message may come again that
was gone or hidden, but none is lost that is still in the log. MQGATEWAY_HISTORIES is the number of histories,
for long runs.
"""

import errno
import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mqgateway.gateway.codec.codes import ResponseCode
from tests.support.gateway.broker.pop import GRACE, PopBroker, Popped

HISTORIES = int(os.environ.get("MQGATEWAY_HISTORIES", "60"))
LONGEST = 20_000
STALE = ResponseCode.NO_MESSAGE
CALM = 6_000
"""Milliseconds after which a start or a sick disk delays nothing any more."""

STEPS = [
    st.tuples(st.just("send"), st.integers(0, 1)),
    st.tuples(st.just("pop"), st.integers(1, 6), st.sampled_from([500, 3000, 10_000]), st.integers(0, 99)),
    st.tuples(st.just("ack"), st.integers(0, 9)),
    st.tuples(st.just("batch"), st.integers(0, 9)),
    st.tuples(st.just("change"), st.integers(0, 9), st.sampled_from([200, 4000, LONGEST])),
    st.tuples(st.just("wait"), st.sampled_from([100, 900, 2500, 6000, 15_000])),
    st.tuples(st.just("restart")),
    st.tuples(st.just("full"), st.sampled_from([False, False, True])),
]
ACCIDENTS = [st.tuples(st.just("kill")), st.tuples(st.just("crash"), st.integers(0, 1 << 30))]
PEACEFUL, VIOLENT = st.one_of(*STEPS), st.one_of(*STEPS, *ACCIDENTS)


class Message:
    """A message in the model: the time (ms) until which it is hidden, if it is gone, if neither is sure."""

    def __init__(self, queue_id: int, offset: int) -> None:
        self.place = (queue_id, offset)
        self.hidden_until = 0
        self.is_gone = False
        self.is_unsure = False
        self.was_acknowledged = False


class Poppers:
    """One group that pops the topic."""

    def __init__(self, is_v2: bool) -> None:
        self.broker = PopBroker(options={"enable_retry_topic_v2": is_v2})
        self.sent: dict[bytes, Message] = {}
        self.out: list[Popped] = []
        self.calm_since = 0
        self.is_full = False

    @property
    def now(self) -> int:
        return self.broker.clock.millis()

    def do(self, step: tuple[Any, ...]) -> None:
        getattr(self, "_" + step[0])(*step[1:])

    def _send(self, queue_id: int) -> None:
        body = b"%d" % len(self.sent)
        answer = self.broker.send("T", body, queue_id=queue_id, properties={"UNIQ_KEY": body.decode()})
        if answer.code == 0:
            self.sent[body] = Message(queue_id, int(answer.ext["queueOffset"]))

    def _pop(self, most: int, invisible: int, chance: int) -> list[Popped]:
        self.broker.chance = chance
        before = self.now
        answer = self.broker.ask_pop(max_msg_nums=most, invisible_time=invisible)
        if answer.code == 1:
            assert self.is_full
            return []
        found = self.broker.popped(answer)
        for message in found:
            self._delivered(message, before + invisible)
        # Every other pop looks into retry topics of the old kind only, where there are new ones.
        if len(found) < most and self.now - self.calm_since >= CALM and chance % 2:
            self._check_back(before)
        return found

    def _delivered(self, message: Popped, hidden_until: int) -> None:
        known = self.sent[message.body]
        assert known.is_unsure or not known.is_gone, f"{message.body!r} was acknowledged"
        assert known.is_unsure or known.hidden_until <= self.now, f"{message.body!r} is hidden"
        known.hidden_until = max(hidden_until, known.hidden_until)
        self.out = [one for one in self.out if one.body != message.body] + [message]

    def _check_back(self, now: int) -> None:
        """Check that every visible message was delivered: the answer had room for more."""
        for body, known in self.sent.items():
            if not known.is_gone and not known.is_unsure:
                assert known.hidden_until + GRACE > now, f"{body!r} did not come"

    def _ack(self, number: int) -> None:
        if self.out:
            message = self.out.pop(number % len(self.out))
            self._acknowledged([message], self.broker.ack(message).code)

    def _batch(self, number: int) -> None:
        """All messages of one queue of one pop."""
        if self.out:
            chosen = self.out[number % len(self.out)]
            together = [one for one in self.out if _pop_of(one) == _pop_of(chosen)]
            self.out = [one for one in self.out if one not in together]
            self._acknowledged(together, self.broker.batch_ack(*together).code)

    def _acknowledged(self, messages: list[Popped], code: int) -> None:
        """A batch with a receipt that is not current is refused; its other messages are acknowledged."""
        acknowledged = [self.sent[message.body] for message in messages]
        assert code == 0 or self.is_full or self._is_stale(code, acknowledged)
        if code == 0 or (code == STALE and len(messages) > 1):
            for known in acknowledged:
                known.was_acknowledged = True
                if known.hidden_until > self.now:
                    known.is_gone = True
                else:
                    known.is_unsure = True

    def _is_stale(self, code: int, messages: list[Message]) -> bool:
        """Return True if a refusal is right: a receipt expired, or was lost in an accident."""
        return code == STALE and any(one.is_unsure or one.hidden_until <= self.now for one in messages)

    def _change(self, number: int, millis: int) -> None:
        if not self.out:
            return
        at = number % len(self.out)
        message, known = self.out[at], self.sent[self.out[at].body]
        answer = self.broker.change(message, millis)
        if answer.code != 0 or known.hidden_until <= self.now:
            # Half of it may have been done; or it came too late, and the message comes twice.
            known.is_unsure = True
        if answer.code != 0:
            assert self.is_full or self._is_stale(answer.code, [known])
            return
        known.hidden_until = self.now + millis
        self.out[at] = self.broker.with_receipt(message, answer)

    def _wait(self, millis: int) -> None:
        """Offsets are written every five seconds, which may be now."""
        self.broker.pass_time(millis)
        self.broker.persist()

    def _restart(self) -> None:
        self._full(False)
        self.broker = self.broker.restart()
        self.calm_since = self.now

    def _kill(self) -> None:
        self._full(False)
        self.broker = self.broker.kill()
        self.calm_since = self.now

    def _crash(self, seed: int) -> None:
        """Lose everything that was not durable: messages, checkpoints, acknowledgements."""
        self._full(False)
        self.broker = self.broker.crash(seed)
        self.calm_since = self.now
        stored = {queue_id: self.broker.stored("T", queue_id, count=1000) for queue_id in (0, 1)}
        there = {(one.queue_id, one.queue_offset): one.body for queue in stored.values() for one in queue}
        self.sent = {body: known for body, known in self.sent.items() if there.get(known.place) == body}
        self.out = [one for one in self.out if one.body in self.sent]
        for known in self.sent.values():
            known.is_unsure = True

    def _full(self, yes: bool) -> None:
        self.broker.disk.heal()  # type: ignore[attr-defined]
        if self.is_full:
            self.broker.pass_time(1000)
            self.calm_since = self.now
        self.is_full = yes
        if yes:
            self.broker.disk.fail_next(  # type: ignore[attr-defined]
                "write", "/commitlog/", errno.ENOSPC, times=1 << 30, part=0
            )

    def settle(self) -> None:
        """Whatever comes is acknowledged, until nothing comes for longer than anything is hidden."""
        self._full(False)
        quiet = 0
        while quiet <= LONGEST + CALM + GRACE:
            found = [one for _ in range(3) for one in self._pop(32, 10_000, 51)]
            for message in found:
                self._acknowledged([message], self.broker.ack(message).code)
            quiet = 0 if found else quiet + 1000
            self._wait(1000)

    def check(self) -> None:
        lost = [body for body, known in self.sent.items() if not known.was_acknowledged]
        assert not lost
        log = self.broker.broker.pop.log
        assert not log.is_waiting
        assert not log.is_behind
        for queue_id, queue in enumerate(log._queues):
            assert queue.progress + 1 == self.broker.broker.store.max_offset(log.topic, queue_id)


def _pop_of(message: Popped) -> tuple[str, int, list[str]]:
    return message.topic, message.queue_id, message.receipt.split(" ")[:6]


@pytest.mark.timeout(300)  # each history has a timer wheel of the size that the product's has
@settings(
    max_examples=HISTORIES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=HISTORIES <= 60,
)
@given(
    st.one_of(*(st.lists(kind, min_size=10, max_size=60) for kind in (PEACEFUL, VIOLENT))),
    st.booleans(),
)
def test_every_message_comes_until_it_is_acknowledged(history: list[tuple[Any, ...]], is_v2: bool) -> None:
    poppers = Poppers(is_v2)
    for step in history:
        poppers.do(step)
    poppers.settle()
    poppers.check()
