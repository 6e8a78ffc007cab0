"""All kinds of requests to a broker at once: `python -m bench.scale_mixed NAMESRV BROKER`.

Sends, batches, delays, timers, transactions, push and POP consumers, topics and groups that are created and
deleted, clients that connect and disconnect. It runs until the input ends. Each line of input is answered,
after the given seconds, with the work done in that time; see `bench.scale_load`.
"""

import asyncio
import gc
import itertools
import json
import logging
import os
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

from bench.scale_part import percentiles
from bench.topics import connected, send_frame
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.client import ClientError, TransactionState, admin_groups
from mqgateway.gateway.client.aio import Admin, Message, Producer, PushConsumer, TransactionProducer
from mqgateway.gateway.client.message import ReceivedMessage

BROKER_NAME = "broker-a"
CLUSTER = "DefaultCluster"
KINDS = ("plain", "batch", "delay", "timer", "transaction", "pop")
BODY = os.urandom(1024)
PROBED = "bench_probed"
PROBE_EVERY_SECONDS = 0.01
BATCH = 16
TIMERS_MILLIS = (2_000, 3_000, 5_000, 8_000)
ROLLED_BACK = 5
"""One transaction in this many is rolled back."""
VISIT_SECONDS = 3.0


class Fates:
    """Outcomes of transactions: most are committed."""

    def __init__(self) -> None:
        self._numbers = itertools.count()

    async def execute(self, message: Message, argument: object) -> TransactionState:
        """Return the outcome immediately."""
        is_bad = next(self._numbers) % ROLLED_BACK == 0
        return TransactionState.ROLLBACK if is_bad else TransactionState.COMMIT

    async def check(self, message: ReceivedMessage) -> TransactionState:
        """Return COMMIT for every check."""
        return TransactionState.COMMIT


class Mixed:
    """The load on one server; each public method is a command or a kind of repeated work."""

    def __init__(self, namesrv: str, port: int) -> None:
        self._namesrv = namesrv
        self._port = port
        self._numbers = itertools.count()
        self._counts: Counter[str] = Counter()
        self._latencies: list[float] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._producer = Producer("bench_producers", namesrv)
        self._transactions = TransactionProducer("bench_transactions", Fates(), namesrv)
        self._admin = Admin(namesrv)
        self._consumers: list[PushConsumer] = []

    async def start(self) -> dict[str, float]:
        """Create the topics, start the permanent clients and the repeated work."""
        for client in (self._admin, self._producer, self._transactions):
            await client.start()
        for kind in KINDS:
            await self._admin.create_topic(TopicConfig(f"bench_{kind}", 4, 4), cluster=CLUSTER)
        await self._admin.ask(admin_groups.set_mode("bench_poppers", "bench_pop", "POP"), BROKER_NAME)
        for group, kinds in (("bench_readers", KINDS[:-1]), ("bench_others", KINDS[:2])):
            self._consumers.append(await self._consumer(group, kinds))
        self._consumers.append(await self._consumer("bench_poppers", ("pop",), client_rebalance=False))
        for work, seconds in (
            (self.plain, 0.005),
            (self.batch, 0.1),
            (self.delayed, 0.05),
            (self.transaction, 0.05),
            (self.topic, 0.25),
            (self.producer, 1.0),
            (self.visitor, 2.0),
        ):
            self._tasks.append(asyncio.create_task(self._again(work, seconds)))
        self._tasks.append(asyncio.create_task(self._probe()))
        return {}

    async def watch(self, seconds: float) -> dict[str, float]:
        """Return the work done in `seconds`: counts by kind, and latencies of the probe."""
        self._counts.clear()
        self._latencies.clear()
        began = time.perf_counter()
        await asyncio.sleep(seconds)
        took = time.perf_counter() - began
        counts = {f"{name}_count": float(count) for name, count in self._counts.items()}
        return {**counts, **percentiles(self._latencies), "seconds": took}

    async def plain(self) -> None:
        """Send two messages, one of them for the POP consumer."""
        for kind in ("plain", "pop"):
            await self._send(Message(f"bench_{kind}", BODY, tags="a", keys=f"k{next(self._numbers)}"))

    async def batch(self) -> None:
        """Send a batch."""
        await self._producer.send_batch([Message("bench_batch", BODY) for _ in range(BATCH)])
        self._counts["sent"] += BATCH

    async def delayed(self) -> None:
        """Send a message with a delay level and one with a timer."""
        number = next(self._numbers)
        await self._send(Message("bench_delay", BODY, delay_level=1 + number % 2))
        millis = TIMERS_MILLIS[number % len(TIMERS_MILLIS)]
        await self._send(Message("bench_timer", BODY, delay_millis=millis))

    async def transaction(self) -> None:
        """Send a transaction; most of them are committed."""
        await self._transactions.send_in_transaction(Message("bench_transaction", BODY))
        self._counts["transactions"] += 1

    async def topic(self) -> None:
        """Create a topic, send to it and delete it."""
        name = f"bench_short_{next(self._numbers)}"
        await self._admin.create_topic(TopicConfig(name, 2, 2), cluster=CLUSTER)
        await self._send(Message(name, BODY))
        await self._admin.delete_topic(name)
        self._counts["topics"] += 1

    async def producer(self) -> None:
        """Start a producer, send with it and close it."""
        number = next(self._numbers)
        async with Producer(f"bench_guests_{number}", self._namesrv, instance_name=f"g{number}") as guest:
            await guest.send(Message("bench_plain", BODY))
        self._counts["clients"] += 1

    async def visitor(self) -> None:
        """Start a consumer with its own group, close it after a while, and delete the group."""
        group = f"bench_visitors_{next(self._numbers)}"
        visitor = await self._consumer(group, ("plain",), instance_name=group)
        await asyncio.sleep(VISIT_SECONDS)
        await visitor.close()
        await self._admin.delete_group(group)
        self._counts["clients"] += 1

    async def _send(self, message: Message) -> None:
        await self._producer.send(message)
        self._counts["sent"] += 1

    async def _consumer(
        self,
        group: str,
        kinds: Sequence[str],
        *,
        client_rebalance: bool = True,
        instance_name: str = "DEFAULT",
    ) -> PushConsumer:
        async def listen(messages: Sequence[ReceivedMessage], context: object) -> None:
            self._counts["consumed"] += len(messages)

        consumer = PushConsumer(
            group,
            listen,
            self._namesrv,
            client_rebalance=client_rebalance,
            instance_name=instance_name,
        )
        for kind in kinds:
            await consumer.subscribe(f"bench_{kind}")
        return await consumer.start()

    async def _again(self, work: Callable[[], Awaitable[None]], seconds: float) -> None:
        """Repeat `work` every `seconds`; count and print its failures."""
        while True:
            began = time.perf_counter()
            try:
                await work()
            except ClientError as error:
                self._counts["failed"] += 1
                print(f"{work}: {error}", file=sys.stderr, flush=True)
            await asyncio.sleep(max(0.001, seconds - (time.perf_counter() - began)))

    async def _probe(self) -> None:
        sender = await connected(self._port)
        while True:
            began = time.perf_counter()
            await sender.send(send_frame(PROBED))
            took = time.perf_counter() - began
            self._latencies.append(took)
            await asyncio.sleep(max(0.0, PROBE_EVERY_SECONDS - took))


async def main(namesrv: str, port: int) -> None:
    """Do what the input says."""
    lines = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    mixed = Mixed(namesrv, port)
    while line := await lines.readline():
        name, arguments = json.loads(line)
        answer = await getattr(mixed, name)(**arguments)
        print(json.dumps(answer), flush=True)
    os._exit(0)  # the permanent clients need no clean shutdown


if __name__ == "__main__":
    logging.basicConfig(level=logging.ERROR)
    gc.freeze()
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
