"""Heartbeats of clients to a broker, and checks of their expressions.

Enum members are sent as their names, by clients in C++ as their ordinals in Java's declaration:
`consume_type` CONSUME_ACTIVELY or CONSUME_PASSIVELY, `message_model` BROADCASTING, CLUSTERING or
LITE_SELECTIVE, `consume_from_where` CONSUME_FROM_LAST_OFFSET, CONSUME_FROM_FIRST_OFFSET or
CONSUME_FROM_TIMESTAMP. RocketMQ: `HeartbeatData` and its parts, `CheckClientRequestBody`.
"""

from dataclasses import field
from typing import Any, Self

from mqgateway.engine import lenient_json
from mqgateway.engine.steps import Steps
from mqgateway.gateway.codec.bodies.body import Body, Int, body, wired
from mqgateway.gateway.codec.bodies.enums import ConsumeFromWhere, ConsumeType, MessageModel
from mqgateway.gateway.codec.errors import BodyError

_CONSUMERS, _PRODUCERS, _SUBSCRIPTIONS = "consumerDataSet", "producerDataSet", "subscriptionDataSet"


@body
class SubscriptionData(Body):
    """A topic with the filter on it.

    `sub_string` is the expression, `tags_set` and `code_set` its tags and their Java hashes; `sub_version`
    is the time of subscribing in ms since the epoch.
    """

    topic: str
    sub_string: str | None = None
    sub_version: int = 0
    expression_type: str | None = "TAG"
    tags_set: list[str] = field(default_factory=list)
    code_set: list[Int] = field(default_factory=list)
    class_filter_mode: bool = False


@body
class ConsumerData(Body):
    """A consumer group of a client."""

    group_name: str
    consume_type: ConsumeType | None = None
    message_model: MessageModel | None = None
    consume_from_where: ConsumeFromWhere | None = None
    subscription_data_set: list[SubscriptionData] = field(default_factory=list)
    unit_mode: bool = False


@body
class ProducerData(Body):
    """A producer group of a client."""

    group_name: str


@body
class HeartbeatData(Body):
    """A client with its groups; the last two members belong to the second kind of heartbeat."""

    client_id: str = field(metadata=wired("clientID"))
    producer_data_set: list[ProducerData] = field(default_factory=list)
    consumer_data_set: list[ConsumerData] = field(default_factory=list)
    heartbeat_fingerprint: Int = 0
    without_sub: bool = False

    @classmethod
    def read(cls, data: bytes, groups_max: int, subscriptions_max: int) -> Steps[Self]:
        """Parse the body in JSON text as a cooperative task, one group per step. Raises BodyError.

        If there are more groups, or subscriptions of a group, than allowed, one too many is read and no
        further.
        """
        groups: dict[str, list[Any]] = {_CONSUMERS: [], _PRODUCERS: []}

        def take(path: lenient_json.Path, value: Any) -> None:
            kept = groups.get(path[0])
            if kept is None or len(kept) > groups_max:
                return
            if path[0] == _PRODUCERS:
                kept.append(ProducerData.from_json(value))
                return
            subscriptions = value.get(_SUBSCRIPTIONS) if isinstance(value, dict) else None
            if isinstance(subscriptions, list):
                del subscriptions[subscriptions_max + 1 :]
            kept.append(ConsumerData.from_json(value))

        try:
            value = yield from lenient_json.loads_in_steps(data, depth=2, take=take)
        except ValueError as error:
            raise BodyError("", f"{cls.__name__} is not JSON: {error}") from None
        if isinstance(value, dict):
            value |= {name: [] for name in groups if isinstance(value.get(name), list)}
        body = cls.from_json(value)
        body.consumer_data_set, body.producer_data_set = groups[_CONSUMERS], groups[_PRODUCERS]
        return body


@body
class CheckClientRequestBody(Body):
    """A subscription whose expression the broker is to check."""

    client_id: str | None = None
    group: str | None = None
    subscription_data: SubscriptionData | None = None
    namespace: str | None = None
