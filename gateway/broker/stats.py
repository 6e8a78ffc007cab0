"""Counts of messages put and delivered, by topic and group, sampled over a minute, an hour and a day.

A count only grows. Every 10 seconds, 10 minutes and hour `tick` samples all counts; a rate is the difference
between the first and the last sample kept. Sends and pulls change plain integers: `put` and `got` are a
dictionary look-up and a few additions. A single message of the normal type, as most are, is only noted by its
size; `settle` counts the noted ones together.

RocketMQ: `BrokerStatsManager`, `StatsItem`, `BrokerStats`.
"""

from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Final

from mqgateway.engine.message import SCHEDULE_TOPIC, message_type
from mqgateway.engine.meters import Meters
from mqgateway.engine.names import is_system_topic
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.steps import Steps, in_parts

TOPIC_PUT_NUMS: Final = "TOPIC_PUT_NUMS"
TOPIC_PUT_SIZE: Final = "TOPIC_PUT_SIZE"
GROUP_GET_NUMS: Final = "GROUP_GET_NUMS"
GROUP_GET_SIZE: Final = "GROUP_GET_SIZE"
SNDBCK_PUT_NUMS: Final = "SNDBCK_PUT_NUMS"
BROKER_PUT_NUMS: Final = "BROKER_PUT_NUMS"
BROKER_GET_NUMS: Final = "BROKER_GET_NUMS"
BROKER_PUT_NUMS_WITHOUT_SYSTEM_TOPIC: Final = "BROKER_PUT_NUMS_WITHOUT_SYSTEM_TOPIC"
BROKER_GET_NUMS_WITHOUT_SYSTEM_TOPIC: Final = "BROKER_GET_NUMS_WITHOUT_SYSTEM_TOPIC"
INCONSISTENT_SUBSCRIPTION_NUMS: Final = "INCONSISTENT_SUBSCRIPTION_NUMS"
"""Not in RocketMQ: how often members of a group began to disagree in their subscriptions; by group."""
FLOW_CONTROL_NUMS: Final = "FLOW_CONTROL_NUMS"
"""Not in RocketMQ: requests refused because of overload; by cause."""
TOPIC_PUT_LATENCY: Final = "TOPIC_PUT_LATENCY"
QUEUE_PUT_NUMS: Final = "QUEUE_PUT_NUMS"
QUEUE_PUT_SIZE: Final = "QUEUE_PUT_SIZE"
QUEUE_GET_NUMS: Final = "QUEUE_GET_NUMS"
QUEUE_GET_SIZE: Final = "QUEUE_GET_SIZE"
GROUP_GET_LATENCY: Final = "GROUP_GET_LATENCY"
GROUP_CK_NUMS: Final = "GROUP_CK_NUMS"
GROUP_ACK_NUMS: Final = "GROUP_ACK_NUMS"
BROKER_CK_NUMS: Final = "BROKER_CK_NUMS"
BROKER_ACK_NUMS: Final = "BROKER_ACK_NUMS"
DETAILED: Final = (
    TOPIC_PUT_LATENCY,
    QUEUE_PUT_NUMS,
    QUEUE_PUT_SIZE,
    QUEUE_GET_NUMS,
    QUEUE_GET_SIZE,
    GROUP_GET_LATENCY,
    GROUP_CK_NUMS,
    GROUP_ACK_NUMS,
    BROKER_CK_NUMS,
    BROKER_ACK_NUMS,
)
"""Names counted only while they are queried: `detailed_stats`."""
BY_TOPIC: Final = (TOPIC_PUT_NUMS, TOPIC_PUT_SIZE)
BY_GROUP: Final = (GROUP_GET_NUMS, GROUP_GET_SIZE, SNDBCK_PUT_NUMS)

SCHEDULE_CONSUMER_GROUP: Final = "SCHEDULE_CONSUMER"
"""Group under which the broker reads the schedule topic. RocketMQ: `MixAll.SCHEDULE_CONSUMER_GROUP`."""
_SCHEDULED: Final = (SCHEDULE_TOPIC, SCHEDULE_CONSUMER_GROUP)

EVENTS: Final = (INCONSISTENT_SUBSCRIPTION_NUMS, FLOW_CONTROL_NUMS)

SECONDS_STEP: Final = 10_000
MINUTES_STEP: Final = 600_000
HOUR_STEP: Final = 3_600_000
_COUNTS_A_STEP: Final = 100
_NO_PROPERTIES: Final[Mapping[str, str]] = {}


class Rate:
    """Growth of a count over a span: `sum`, per second (`tps`), and per call (`avgpt`)."""

    __slots__ = ("avgpt", "sum", "tps")

    def __init__(self, total: int, tps: float, avgpt: float) -> None:
        self.sum = total
        self.tps = tps
        self.avgpt = avgpt


_STANDING: Final = Rate(0, 0.0, 0.0)
_Counts = tuple["Count", "Count", "Count | None"]
"""Counts of a put or a pull: messages, bytes, and the total of users' messages."""


class Samples:
    """Samples of a count every `step` ms, the last `kept` of them."""

    __slots__ = ("_kept", "_samples", "_step", "stands")

    def __init__(self, step: int, kept: int) -> None:
        self._step = step
        self._kept = kept
        self._samples: list[tuple[int, int, int]] = []
        self.stands = True
        """True if the count has not changed since the oldest sample, like most of very many counts."""

    def add(self, now: int, value: int, times: int) -> None:
        """Sample the count; before the first sample it was zero one step ago.

        A count that did not change within all samples kept is skipped: so do most of very many counts.
        """
        samples = self._samples
        if not samples:
            samples.append((now - self._step, 0, 0))
        elif len(samples) == self._kept and samples[0][1:] == samples[-1][1:]:
            _, stood, calls = samples[0]
            if stood == value and calls == times:
                return
            samples[:] = [(now - back * self._step, stood, calls) for back in range(self._kept - 1, 0, -1)]
        samples.append((now, value, times))
        if len(samples) > self._kept:
            del samples[0]
        self.stands = samples[0][1:] == (value, times)

    def rate(self) -> Rate:
        """Return the growth between the oldest sample and the latest; zero before the first."""
        if self.stands:
            return _STANDING
        (first, value, times), (last, value_now, times_now) = self._samples[0], self._samples[-1]
        total, calls = value_now - value, times_now - times
        return Rate(
            total, total * 1000 / (last - first) if last > first else 0.0, total / calls if calls else 0.0
        )


class Count:
    """A number that grows: `value` is the sum of the amounts, `times` the number of calls."""

    __slots__ = ("day", "hour", "minute", "times", "value")

    def __init__(self) -> None:
        self.value = 0
        self.times = 0
        self.minute = Samples(SECONDS_STEP, 7)
        self.hour = Samples(MINUTES_STEP, 7)
        self.day = Samples(HOUR_STEP, 25)

    def add(self, amount: int) -> None:
        """Count a call with this amount."""
        self.value += amount
        self.times += 1


class BrokerStats:
    """All counts of a broker. Keys are a topic, `topic@group`, or the cluster for counts of the whole broker.

    At most `maxStatsKeys` keys are kept of each name; further keys count in the broker's totals only. Topics
    for which `is_system` is true do not count in the totals of users' messages.
    """

    def __init__(
        self, options: BrokerOptions, now: int, is_system: Callable[[str], bool] = is_system_topic
    ) -> None:
        self._options = options
        self._is_system = is_system
        self.meters: Meters | None = None
        self._tables: dict[str, dict[str, Count]] = {name: {} for name in (*BY_TOPIC, *BY_GROUP, *EVENTS)}
        self._puts: dict[str, _Counts] = {}
        self._noted: dict[str, list[int]] = {}  # sizes by topic; see `put_plain`
        self._gets: dict[tuple[str, str], _Counts] = {}
        totals = (
            BROKER_PUT_NUMS,
            BROKER_GET_NUMS,
            BROKER_PUT_NUMS_WITHOUT_SYSTEM_TOPIC,
            BROKER_GET_NUMS_WITHOUT_SYSTEM_TOPIC,
        )
        self._totals = {name: Count() for name in totals}
        self._put_total = self._totals[BROKER_PUT_NUMS]
        self._get_total = self._totals[BROKER_GET_NUMS]
        self._tables |= {name: {options.broker_cluster_name: count} for name, count in self._totals.items()}
        self._detail_watchers: list[Callable[[], None]] = []
        self._next_steps = [0, 0, 0]
        self._today = _local_date(now)
        self.batch_put_total = 0
        """Messages of record batches of users put since the start; `put_total` has them too."""
        self.put_total_yesterday_morning = 0
        self.put_total_today_morning = 0
        self.get_total_yesterday_morning = 0
        self.get_total_today_morning = 0

    @property
    def put_total(self) -> int:
        """Messages of users put since the start."""
        self.settle()
        return self._totals[BROKER_PUT_NUMS_WITHOUT_SYSTEM_TOPIC].value

    @property
    def get_total(self) -> int:
        """Messages of users delivered since the start."""
        return self._totals[BROKER_GET_NUMS_WITHOUT_SYSTEM_TOPIC].value

    def put(self, topic: str, messages: int, size: int, properties: Mapping[str, str] | None = None) -> None:
        """Count one put of so many messages and bytes.

        `properties` are those of a producer's message: metrics show its type and sizes too.
        """
        self._add_put(topic, messages, size, 1)
        if properties is not None and self.meters is not None:
            self.meters.put(topic, message_type(properties), messages, size)

    def put_batch(self, topic: str, records: int, size: int) -> None:
        """Count a record batch of a Kafka producer, `size` bytes in the log."""
        of_users = self._totals[BROKER_PUT_NUMS_WITHOUT_SYSTEM_TOPIC]
        before = of_users.value
        self.put(topic, records, size, _NO_PROPERTIES)
        self.batch_put_total += of_users.value - before

    def put_plain(self, topic: str, size: int) -> None:
        """Count one message of the normal type that a producer sent by itself, not in a batch."""
        noted = self._noted.get(topic)
        if noted is not None:
            noted.append(size)
            return
        self.put(topic, 1, size, _NO_PROPERTIES)
        if topic in self._puts:
            self._noted[topic] = []

    def settle(self) -> None:
        """Count the messages that were only noted. Readers of counts call it first, every tick too."""
        all_noted, self._noted = self._noted, {}
        for topic, noted in all_noted.items():
            if not noted:
                continue
            self._add_put(topic, len(noted), sum(noted), len(noted))
            if self.meters is not None:
                self.meters.note(topic, noted)

    def _add_put(self, topic: str, messages: int, size: int, times: int) -> None:
        nums, sizes, total = self._puts.get(topic) or self._new_put(topic)
        nums.value += messages
        nums.times += times
        sizes.value += size
        sizes.times += times
        self._put_total.value += messages
        if total is not None:
            total.value += messages

    def got(self, group: str, topic: str, messages: int, size: int) -> None:
        """Count one pull that delivered so many messages and bytes."""
        counts = self._gets.get((topic, group))
        if counts is None:
            counts = self._new_get(topic, group)
        nums, sizes, total = counts
        nums.value += messages
        nums.times += 1
        sizes.value += size
        sizes.times += 1
        self._get_total.value += messages
        if total is not None:
            total.value += messages

    def delivered(self, topic: str, size: int) -> None:
        """Count the delivery of a delayed message.

        It counts as put into its topic, and as taken from the schedule topic by `SCHEDULE_CONSUMER_GROUP`,
        which the broker's totals leave out. RocketMQ: `ScheduleMessageService.PutResultProcess`.
        """
        nums, sizes, _ = self._gets.get(_SCHEDULED) or self._new_get(*_SCHEDULED)
        nums.add(1)
        sizes.add(size)
        self.put(topic, 1, size)
        if self.meters is not None:
            self.meters.put(topic, "delay", 1, size)

    def timer_delivered(self, topic: str, size: int) -> None:
        """Count the delivery of a timer message as put into its topic."""
        self.put(topic, 1, size)
        if self.meters is not None:
            self.meters.timers_dequeued.add((topic,))

    def delayed_again(self, size: int) -> None:
        """Count a message sent back as put into the schedule topic, which the broker's totals leave out.

        RocketMQ: `AbstractSendMessageProcessor.consumerSendMsgBack`.
        """
        nums, sizes, _ = self._puts.get(SCHEDULE_TOPIC) or self._new_put(SCHEDULE_TOPIC)
        nums.add(1)
        sizes.add(size)

    def sent_back(self, group: str, topic: str) -> None:
        """Count a message that a consumer sent back."""
        self._count(SNDBCK_PUT_NUMS, f"{topic}@{group}").add(1)

    def inconsistent(self, group: str) -> None:
        """Count that the members of a group began to disagree in their subscriptions."""
        self._count(INCONSISTENT_SUBSCRIPTION_NUMS, group).add(1)

    def refused(self, cause: str) -> None:
        """Count a request that was refused because of overload."""
        self._count(FLOW_CONTROL_NUMS, cause).add(1)

    @property
    def names(self) -> list[str]:
        """Names of all counts."""
        return list(self._tables)

    def add(self, name: str, key: str, amount: int) -> None:
        """Add to a `DETAILED` count."""
        if name not in self._tables:
            self._tables[name] = {}
        self._count(name, key).add(amount)

    def count_with(self, meters: Meters) -> None:
        """Count for exported metrics too from now on."""
        self.meters = meters

    def watch_details(self, callback: Callable[[], None]) -> None:
        """Call back when a `DETAILED` count is queried."""
        self._detail_watchers.append(callback)

    def forget_details(self) -> None:
        """Drop all `DETAILED` counts."""
        for name in DETAILED:
            self._tables.pop(name, None)

    def table(self, name: str) -> Mapping[str, Count]:
        """Return all counts of a name by their keys."""
        self.settle()
        return self._tables.get(name, {})

    def item(self, name: str, key: str) -> Count | None:
        """Return the count of a name and key, for request 315; None if there is none."""
        if name in DETAILED:
            for callback in self._detail_watchers:
                callback()
        self.settle()
        return self._tables.get(name, {}).get(key)

    def put_tps(self, topic: str) -> float:
        """Return the messages per second put into a topic, over the last minute."""
        count = self.item(TOPIC_PUT_NUMS, topic)
        return 0.0 if count is None else count.minute.rate().tps

    def get_tps(self, group: str, topic: str) -> float:
        """Return the messages per second a group took from a topic, over the last minute."""
        count = self.item(GROUP_GET_NUMS, f"{topic}@{group}")
        return 0.0 if count is None else count.minute.rate().tps

    def topic_deleted(self, topic: str) -> None:
        """Drop a topic's counts, and those of groups in it."""
        self.settle()
        self._puts.pop(topic, None)
        self._gets = {key: counts for key, counts in self._gets.items() if key[0] != topic}
        for name in BY_TOPIC:
            self._tables[name].pop(topic, None)
        for name in BY_GROUP:
            self._forget(name, lambda key: key.startswith(topic + "@"))
        self._forget_details_of(topic)
        if self.meters is not None:
            self.meters.topic_deleted(topic)

    def group_deleted(self, group: str) -> None:
        """Drop a group's counts in every topic."""
        self._gets = {key: counts for key, counts in self._gets.items() if key[1] != group}
        for name in BY_GROUP:
            self._forget(name, lambda key: key.endswith("@" + group))
        self._forget_details_of(group)
        self._tables[INCONSISTENT_SUBSCRIPTION_NUMS].pop(group, None)
        if self.meters is not None:
            self.meters.group_deleted(group)

    def tick(self, now: int, elapsed: int) -> Steps[None]:
        """Sample the counts at the end of each step, and the totals at the start of each day.

        `now` is wall time, `elapsed` time of the monotonic clock, both in ms. A cooperative task, as there
        may be many counts.
        """
        self.settle()
        for index, (step, span) in enumerate(
            ((SECONDS_STEP, "minute"), (MINUTES_STEP, "hour"), (HOUR_STEP, "day"))
        ):
            if elapsed >= self._next_steps[index]:
                self._next_steps[index] = elapsed + step
                if index == 0:
                    self._note_morning(now)
                for table in list(self._tables.values()):
                    for part in in_parts(list(table.values()), _COUNTS_A_STEP):
                        for count in part:
                            getattr(count, span).add(elapsed, count.value, count.times)
                        yield
                if index == 0 and self.meters is not None:
                    yield from self.meters.settle()

    def _note_morning(self, now: int) -> None:
        today = _local_date(now)
        if today == self._today:
            return
        self._today = today
        self.put_total_yesterday_morning = self.put_total_today_morning
        self.get_total_yesterday_morning = self.get_total_today_morning
        self.put_total_today_morning = self.put_total
        self.get_total_today_morning = self.get_total

    def _new_put(self, topic: str) -> _Counts:
        total = None if self._is_system(topic) else self._totals[BROKER_PUT_NUMS_WITHOUT_SYSTEM_TOPIC]
        counts = self._count(TOPIC_PUT_NUMS, topic), self._count(TOPIC_PUT_SIZE, topic), total
        if topic in self._tables[TOPIC_PUT_NUMS]:
            self._puts[topic] = counts
        return counts

    def _new_get(self, topic: str, group: str) -> _Counts:
        key = f"{topic}@{group}"
        total = None if self._is_system(topic) else self._totals[BROKER_GET_NUMS_WITHOUT_SYSTEM_TOPIC]
        counts = self._count(GROUP_GET_NUMS, key), self._count(GROUP_GET_SIZE, key), total
        if key in self._tables[GROUP_GET_NUMS]:
            self._gets[topic, group] = counts
        return counts

    def _count(self, name: str, key: str) -> Count:
        table = self._tables[name]
        count = table.get(key)
        if count is None:
            count = Count()
            if len(table) < self._options.max_stats_keys:
                table[key] = count
        return count

    def _forget_details_of(self, name: str) -> None:
        for kept in self._tables.keys() & set(DETAILED):
            self._forget(kept, lambda key: name in key.split("@"))

    def _forget(self, name: str, unwanted: Callable[[str], bool]) -> None:
        self._tables[name] = {key: count for key, count in self._tables[name].items() if not unwanted(key)}


def _local_date(now: int) -> date:
    """Return the date in the machine's time zone; RocketMQ's day begins at local midnight."""
    return datetime.fromtimestamp(now / 1000).astimezone().date()
