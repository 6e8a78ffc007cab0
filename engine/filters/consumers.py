"""Filter expressions of consumer groups by topic; kept in a file across restarts.

A heartbeat registers a group's subscriptions; a pull uses the newest. The entry of a group that is gone is
kept, dead, for a day: if the group returns with the same subscription, it finds its entry. Entries are
versioned by the time of the client's subscription. RocketMQ: `ConsumerFilterManager`, `ConsumerFilterData`.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from mqgateway.engine.clock import Clock
from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import FilterError
from mqgateway.engine.filters.bloom import BloomFilter
from mqgateway.engine.filters.expressions import Expression, compile_expression
from mqgateway.engine.filters.tags import SQL92_TYPE, is_tag_type
from mqgateway.engine.lenient_json import dumps
from mqgateway.engine.message import PROPERTY_RETRY_TOPIC
from mqgateway.engine.tables.jsonfile import TableFile
from mqgateway.engine.worker import Worker

if TYPE_CHECKING:
    from mqgateway.engine.filters.evaluation import Properties
    from mqgateway.engine.options import BrokerOptions

log = logging.getLogger(__name__)

LOADED_DEAD_MILLIS = 30_000
"""After a restart all groups count as gone for this time, until they are heard from."""


class Subscribed(Protocol):
    """The fields used of a subscription; `sub_version` is in ms since the epoch."""

    @property
    def topic(self) -> str:
        """Topic of the subscription."""
        ...

    @property
    def sub_string(self) -> str | None:
        """Expression, or tags; None for all messages."""
        ...

    @property
    def expression_type(self) -> str | None:
        """Language of the expression; None for tags."""
        ...

    @property
    def sub_version(self) -> int:
        """Version: time of the subscription, in ms."""
        ...


@dataclass(slots=True)
class FilterData:
    """A group's expression for a topic.

    `client_version` is the time of the client's subscription, `born_time` when the broker received the
    expression, `dead_time` when the group was gone (0: never); all in ms since the epoch. `bits` are the
    group's positions in the bit maps of messages.
    """

    topic: str
    group: str
    expression: Expression
    client_version: int
    born_time: int
    bits: tuple[int, ...]
    dead_time: int = 0

    @property
    def is_dead(self) -> bool:
        """True if the group is gone."""
        return self.dead_time >= self.born_time

    def to_json(self, bit_count: int) -> dict[str, Any]:
        """Return the entry in the file's format."""
        return {
            "bloomFilterData": {"bitNum": bit_count, "bitPos": list(self.bits)},
            "bornTime": self.born_time,
            "clientVersion": self.client_version,
            "consumerGroup": self.group,
            "dead": self.is_dead,
            "deadTime": self.dead_time,
            "expression": self.expression.text,
            "expressionType": SQL92_TYPE,
            "topic": self.topic,
        }


class ConsumerFilters:
    """The expressions of all groups, by group and topic."""

    def __init__(
        self, options: BrokerOptions, disk: Disk, path: str, clock: Clock, worker: Worker | None = None
    ) -> None:
        self._options = options
        self._clock = clock
        self._file = TableFile(disk, path, worker)
        self._groups: dict[str, dict[str, FilterData]] = {}
        self._refusals: dict[str, dict[str, str]] = {}
        self._count = 0
        self._is_dirty = False
        self._bloom = BloomFilter(
            options.max_error_rate_of_bloom_filter, options.expect_consumer_num_use_filter
        )

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[FilterData]:
        for topics in self._groups.values():
            yield from topics.values()

    def get(self, topic: str, group: str) -> FilterData | None:
        """Return a group's filter for a topic, dead or alive."""
        topics = self._groups.get(group)
        return None if topics is None else topics.get(topic)

    def refusal(self, topic: str, group: str) -> str:
        """Return the reason why the group's last expression was refused, or ""."""
        return self._refusals.get(group, {}).get(topic, "")

    def register(self, group: str, subscriptions: Collection[Subscribed]) -> None:
        """Register the subscriptions of a member of a group; other entries of the group are marked dead."""
        for subscription in subscriptions:
            if not is_tag_type(subscription.expression_type) and subscription.sub_string:
                self._register(group, subscription, subscription.sub_string)
        topics = {subscription.topic for subscription in subscriptions}
        refusals = self._refusals.pop(group, None)
        if refusals:
            self._refusals[group] = {topic: why for topic, why in refusals.items() if topic in topics}
        known = self._groups.get(group)
        if known:
            self._end(data for data in known.values() if data.topic not in topics)

    def unregister(self, group: str) -> None:
        """Mark the entries dead, as the last member of a group is gone."""
        self._end(self._groups.get(group, {}).values())
        self._refusals.pop(group, None)

    def matches_retried(self, group: str, properties: Properties) -> bool:
        """Return True if a message of a retry topic matches the group's filter for the original topic.

        RocketMQ: `ExpressionForRetryMessageFilter`.
        """
        data = self.get(properties.get(PROPERTY_RETRY_TOPIC, ""), group)
        return data is None or data.expression.matches(properties)

    def clean(self) -> None:
        """Remove entries that have been dead for `filterDataCleanTimeSpan`."""
        latest = self._clock.millis() - self._options.filter_data_clean_time_span
        for data in [data for data in self if data.is_dead and data.dead_time <= latest]:
            log.info(
                "the filter of group %s for topic %s was unused for too long and is removed",
                data.group,
                data.topic,
            )
            self._remove(data)

    def load(self) -> None:
        """Load the file; nothing is loaded if the size of the bit maps has changed.

        Raises `ConfigError` if the file cannot be read.
        """
        table = self._file.load() or {}
        dead_since = self._clock.millis() - LOADED_DEAD_MILLIS
        for topic, of_topic in (table.get("filterDataByTopic") or {}).items():
            for group, entry in ((of_topic or {}).get("groupFilterData") or {}).items():
                try:
                    data = self._loaded(topic, group, entry, dead_since)
                except FilterError as error:
                    log.error("the filter of group %s for topic %s is skipped: %s", group, topic, error)
                    continue
                if data is None:
                    log.info("the size of filter bitmaps has changed, stored filters are removed")
                    self._groups.clear()
                    self._count = 0
                    return
                self._put(data)

    def persist(self) -> None:
        """Clean up dead entries; write the file if it has changed, or the last write failed."""
        self.clean()
        if self._is_dirty or self._file.has_failed:
            self._is_dirty = False
            self._file.save(self._text)

    def _text(self) -> bytes:
        topics: dict[str, Any] = {}
        for data in self:
            of_topic = topics.setdefault(data.topic, {"groupFilterData": {}, "topic": data.topic})
            of_topic["groupFilterData"][data.group] = data.to_json(self._bloom.bits)
        return dumps({"filterDataByTopic": topics}, indent=True)

    def _loaded(self, topic: str, group: str, entry: dict[str, Any], dead_since: int) -> FilterData | None:
        bits = self._bloom.positions(f"{group}#{topic}")
        bloom = entry.get("bloomFilterData") or {}
        if bloom.get("bitNum") != self._bloom.bits or len(bloom.get("bitPos") or ()) != len(bits):
            return None
        born_time = int(entry.get("bornTime", 0))
        return FilterData(
            topic,
            group,
            compile_expression(entry.get("expression"), entry.get("expressionType")),
            int(entry.get("clientVersion", 0)),
            born_time,
            bits,
            int(entry.get("deadTime", 0)) or max(born_time, dead_since),
        )

    def _register(self, group: str, entry: Subscribed, text: str) -> None:
        topic, version = entry.topic, entry.sub_version
        old = self.get(topic, group)
        if old is not None and version <= old.client_version:
            if old.expression.text != text:
                log.info(
                    "group %s sent the filter '%.200s' for topic %s, which is older than '%.200s' and is "
                    "ignored",
                    group,
                    text,
                    topic,
                    old.expression.text,
                )
            if version == old.client_version:
                self._revive(old)
            return
        if old is not None and old.expression.text == text:
            old.client_version = version
            self._is_dirty = True
            self._revive(old)
            return
        self._replace(old, group, topic, version, text, entry.expression_type)

    def _replace(
        self,
        old: FilterData | None,
        group: str,
        topic: str,
        version: int,
        text: str,
        expression_type: str | None,
    ) -> None:
        self._refusals.get(group, {}).pop(topic, None)
        if old is not None:
            self._remove(old)
        try:
            expression = compile_expression(text, expression_type)
            if self._count >= self._options.max_filter_data:
                self._make_room()
        except FilterError as error:
            log.error(
                "group %s subscribes to topic %s with the invalid filter %.200r: %s",
                group,
                topic,
                text,
                error,
            )
            self._refusals.setdefault(group, {})[topic] = str(error)
            return
        bits = self._bloom.positions(f"{group}#{topic}")
        log.info("group %s subscribes to topic %s with the filter: %.200s", group, topic, text)
        self._put(FilterData(topic, group, expression, version, self._clock.millis(), bits))
        self._is_dirty = True

    def _make_room(self) -> None:
        """Evict the entry that is dead for the longest time. Raises `FilterError` if all live."""
        dead = [data for data in self if data.is_dead]
        if not dead:
            raise FilterError(f"{self._count} expressions are in use, no more are allowed (maxFilterData)")
        self._remove(min(dead, key=lambda data: data.dead_time))

    def _put(self, data: FilterData) -> None:
        self._groups.setdefault(data.group, {})[data.topic] = data
        self._count += 1

    def _remove(self, data: FilterData) -> None:
        topics = self._groups[data.group]
        del topics[data.topic]
        if not topics:
            del self._groups[data.group]
        self._count -= 1
        self._is_dirty = True

    def _revive(self, data: FilterData) -> None:
        if data.is_dead:
            data.dead_time = 0
            self._is_dirty = True

    def _end(self, gone: Collection[FilterData] | Iterator[FilterData]) -> None:
        for data in gone:
            if not data.is_dead:
                data.dead_time = max(self._clock.millis(), data.born_time)  # the clock may have been set back
                self._is_dirty = True
