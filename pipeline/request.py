"""The request of a source query, read from its options once and validated as a whole; pure.

Refused are options that exclude one another, and options without a sensible meaning: a batch that begins at
the end or ends before it begins, a stream with an end, an expression that no broker can parse.
`needs_all_queues` keeps the stock connector's rule that offsets given as JSON name every queue of a topic.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from mqgateway.engine.errors import FilterError
from mqgateway.engine.filters.expressions import compile_expression
from mqgateway.gateway.client.subscriptions import Sql
from mqgateway.gateway.codec.bodies import MessageQueue
from mqgateway.pipeline import columns
from mqgateway.pipeline.errors import BadOption
from mqgateway.pipeline.offsets import (
    EARLIEST,
    EARLIEST_POSITION,
    LATEST,
    LATEST_POSITION,
    Position,
    PositionKind,
    parse_position,
    parse_time,
    parse_times,
)
from mqgateway.pipeline.options import SourceOptions, check_names, check_servers, names, parse
from mqgateway.pipeline.planning import shown

TAG, SQL92 = "TAG", "SQL92"


@dataclass(frozen=True)
class ReadRequest:
    """The data to be read: topics or a pattern, begin and end, filter expression, columns."""

    options: SourceOptions
    topics: tuple[str, ...]
    pattern: re.Pattern[str] | None
    start: Position
    end: Position
    wanted: str | Sql
    columns: tuple[str, ...]

    def has(self, topic: str) -> bool:
        """Return True if a topic is requested."""
        return bool(self.pattern.fullmatch(topic)) if self.pattern is not None else topic in self.topics

    @property
    def is_filtered(self) -> bool:
        """True if the broker filters messages out."""
        return self.wanted != "*"


def read_request(given: Mapping[str, str], *, is_stream: bool) -> ReadRequest:
    """Return the validated request of a query's options. Raises `BadOption`."""
    options = parse(SourceOptions, given)
    check_servers(options, given)
    check_names("consumerGroup", options.consumer_group, [options.consumer_group], is_group=True)
    topics, pattern = _topics(options)
    start = _position(options, "starting", LATEST_POSITION if is_stream else EARLIEST_POSITION)
    end = _position(options, "ending", LATEST_POSITION)
    if is_stream:
        _refuse_stream(options)
    else:
        _refuse_batch(options, start, end)
    if options.max_offsets_per_trigger and options.max_messages_per_trigger:
        value = str(options.max_messages_per_trigger)
        raise BadOption("maxMessagesPerTrigger", value, "is the same as maxOffsetsPerTrigger", "give one")
    chosen = columns.chosen(options.include_columns, columns.SOURCE)
    return ReadRequest(options, topics, pattern, start, end, _wanted(options), chosen)


def needs_all_queues(position: Position, name: str, queues: Iterable[MessageQueue]) -> None:
    """Check that offsets given by queue name each existing queue, and no other. Raises `BadOption`."""
    if position.kind not in (PositionKind.OFFSETS, PositionKind.TIMES):
        return
    present, named = set(queues), set(position.offsets)
    for what, which in (("are not named", present - named), ("do not exist", named - present)):
        if which:
            listed = ", ".join(f"{one.topic}/{one.broker_name}/{one.queue_id}" for one in sorted(which))
            raise BadOption(name, "...", f"queues {what}: {listed}", "name all queues of every topic")


def _topics(options: SourceOptions) -> tuple[tuple[str, ...], re.Pattern[str] | None]:
    if options.topic and options.topic_pattern:
        raise BadOption("topicPattern", options.topic_pattern, "topic is given as well", "give one of them")
    if options.topic_pattern:
        try:
            return (), re.compile(options.topic_pattern)
        except re.error as error:
            raise BadOption(
                "topicPattern", options.topic_pattern, f"is not a regular expression: {error}"
            ) from None
    topics = tuple(names(options.topic))
    if not topics:
        raise BadOption("topic", options.topic, "is needed", "name a topic, or give topicPattern")
    check_names("topic", options.topic, topics)
    return topics, None


def _position(options: SourceOptions, side: str, default: Position) -> Position:
    readers = {
        f"{side}Offsets": (parse_position, getattr(options, f"{side}_offsets")),
        f"{side}Timestamp": (parse_time, getattr(options, f"{side}_timestamp")),
        f"{side}OffsetsByTimestamp": (parse_times, getattr(options, f"{side}_offsets_by_timestamp")),
    }
    given = [name for name, (_, text) in readers.items() if text]
    if len(given) > 1:
        raise BadOption(given[1], readers[given[1]][1], f"{given[0]} is given as well", "give one of them")
    if not given:
        return default
    read, text = readers[given[0]]
    return read(given[0], text)


def _refuse_stream(options: SourceOptions) -> None:
    for name in ("ending_offsets", "ending_timestamp", "ending_offsets_by_timestamp"):
        if value := getattr(options, name):
            shown = "ending" + "".join(part.capitalize() for part in name.split("_")[1:])
            raise BadOption(
                shown, value, "a stream has no end", "leave it out, or use trigger(availableNow=True)"
            )
    if options.push_down_filters:
        raise BadOption("pushDownFilters", "true", "Spark pushes filters into batches only", "leave it out")


def _refuse_batch(options: SourceOptions, start: Position, end: Position) -> None:
    if start == LATEST_POSITION or LATEST in start.offsets.values():
        right = "write earliest, an offset, or -2 for the earliest"
        raise BadOption("startingOffsets", options.starting_offsets, "a batch cannot begin at the end", right)
    if end == EARLIEST_POSITION or EARLIEST in end.offsets.values():
        right = "write latest, an offset, or -1 for the latest"
        raise BadOption("endingOffsets", options.ending_offsets, "a batch cannot end at the begin", right)
    if start.kind is end.kind is PositionKind.TIME and end.time < start.time:
        what = f"lies before startingTimestamp {options.starting_timestamp}"
        raise BadOption("endingTimestamp", options.ending_timestamp, what, "let it end after it begins")
    for queue, low in start.offsets.items():
        high = end.offsets.get(queue, LATEST) if start.kind is end.kind else LATEST
        if 0 <= high < low:
            name = "endingOffsets" if end.kind is PositionKind.OFFSETS else "endingOffsetsByTimestamp"
            what = f"{shown(queue)} is to end at {high}, before it begins at {low}"
            raise BadOption(name, "...", what, "let every queue end after it begins")


def _wanted(options: SourceOptions) -> str | Sql:
    kind = options.expression_type.upper()
    if kind not in (TAG, SQL92):
        raise BadOption("expressionType", options.expression_type, f"not one of {TAG}, {SQL92}")
    text = options.sub_expression.strip() or "*"
    if kind == TAG:
        return text
    try:
        compile_expression(text)
    except FilterError as error:
        right = "for example: a > 3 AND b IS NOT NULL"
        raise BadOption("subExpression", text, f"is not an SQL92 expression: {error}", right) from None
    return Sql(text)
