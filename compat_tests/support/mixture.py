"""Messages of every kind, each of which can be verified when it is read.

A body begins with the message's name and its length; the rest is derived from these. So a message that is
read can be verified without a copy of the sent message. A seed determines a mixture.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from typing import Any

from compat_tests.support.driver import Producer, message

CHUNK = 200
LARGEST = 100_000


DELAYED = 2
LARGE = 2
TOGETHER = 20
"""Percentages of messages that are delayed, may be larger than 2,000 bytes, are sent in batches of five."""


def body_of(name: str, length: int) -> str:
    """Return the body of a message: at least its head, else exactly ``length`` characters."""
    head = f"{name}:{length}:"
    filler = f"{name}~"
    return (head + filler * (length // len(filler) + 1))[: max(length, len(head))]


def name_in(body: str) -> str:
    """Return the name of the message with this body; check that the body is unchanged."""
    name, length, _ = body.split(":", 2)
    assert body == body_of(name, int(length)), f"the body of {name} was changed"
    return name


class Mixture:
    """Sender that keeps the names of the acknowledged messages by topic."""

    def __init__(self, topics: Sequence[str], batched: str | None, seed: int) -> None:
        self.topics = list(topics)
        self.batched = batched
        self.acknowledged: dict[str, set[str]] = {topic: set() for topic in self._all_topics()}
        self.delayed: set[str] = set()
        self.tags: dict[str, str] = {}
        self.keys: dict[str, tuple[str, str]] = {}
        self._random = random.Random(seed)
        self._number = 0
        self.last_sent = 0

    def _all_topics(self) -> list[str]:
        return [*self.topics, *([self.batched] if self.batched else [])]

    def names(self) -> set[str]:
        """Return the names of all acknowledged messages."""
        return set().union(*self.acknowledged.values())

    def send(self, producer: Producer, count: int) -> None:
        """Send `count` messages, in the order and the ways that the seed determines."""
        while count > 0:
            singles = [self._single() for _ in range(min(count, CHUNK))]
            count -= len(singles)
            for sent in producer.send(singles, "async"):
                assert sent.status == "SEND_OK"
            self._note(singles)
            for _ in range(CHUNK * TOGETHER // 500):
                topic = self._random.choice(self._all_topics())
                batch = [self._message(topic, self._random.randint(10, 2000)) for _ in range(5)]
                assert producer.send(batch, "batch")[0].status == "SEND_OK"
                self._note(batch)
                count -= len(batch)

    def _single(self) -> dict[str, Any]:
        dice = self._random.randrange(100)
        length = self._random.randint(1, LARGEST if dice < LARGE else 2000)
        single = self._message(self._random.choice(self.topics), length)
        if dice >= 100 - DELAYED:
            single["delayLevel"] = self._random.choice((1, 2))
        return single

    def _message(self, topic: str, length: int) -> dict[str, Any]:
        self._number += 1
        name = f"m{self._number}"
        made = message(topic, body_of(name, length), properties={"number": str(self._number)})
        if self._random.random() < 0.7:
            made["tags"] = self._random.choice(("red", "green", "größer"))
        if self._random.random() < 0.5:
            made["keys"] = f"key-{name} all-{self._number % 10}"
        return made

    def _note(self, messages: Sequence[dict[str, Any]]) -> None:
        now = int(time.time() * 1000)
        for one in messages:
            name = name_in(one["body"])
            self.acknowledged[one["topic"]].add(name)
            if "tags" in one:
                self.tags[name] = one["tags"]
            if "delayLevel" in one:
                self.delayed.add(name)
            elif "keys" in one and one["topic"] != self.batched:
                self.keys[name] = (one["topic"], f"key-{name}")
        self.last_sent = now

    def samples(self, count: int) -> Iterator[tuple[str, str, str]]:
        """Yield name, topic and key of some messages that have a key, old and new ones."""
        names = sorted(self.keys, key=lambda name: int(name[1:]))
        for name in names[:: max(1, len(names) // count)]:
            yield name, *self.keys[name]
