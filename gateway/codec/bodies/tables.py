"""Tables of topics and groups, as brokers and tools exchange them.

The configurations of topics and groups themselves are plain JSON values here, since `engine.tables.topics`
and `engine.tables.groups` own them; so are data versions (`engine.tables.data_version`) and the mappings of
static topics.
RocketMQ: `TopicConfigSerializeWrapper`, `TopicConfigAndMappingSerializeWrapper`, `SubscriptionGroupWrapper`,
`CreateTopicListRequestBody`, `SubscriptionGroupList`.
"""

from collections.abc import Callable
from dataclasses import field
from typing import Any, Final

from mqgateway.engine import lenient_json
from mqgateway.engine.steps import Steps
from mqgateway.gateway.codec.bodies.body import Body, Int, body
from mqgateway.gateway.codec.errors import BodyError

LAGS_FIELD: Final = "groupLags"
"""Field of request 201, `true` for an answer with the groups' lags. RocketMQ ignores it."""

FIGURES_FIELD: Final = "topicFigures"
"""Field of request 21, `true` for an answer with figures of the topics. RocketMQ ignores it."""


@body
class TopicFigures(Body):
    """The messages in a topic's queues at a broker, and the messages a second stored over the last minute."""

    messages: Int = 0
    put_tps: float = 0.0


@body
class TopicConfigSerializeWrapper(Body):
    """Topics by name, and the version of the table."""

    topic_config_table: dict[str, dict[str, Any]] = field(default_factory=dict)
    data_version: dict[str, Any] | None = None


@body
class TopicConfigAndMappingSerializeWrapper(TopicConfigSerializeWrapper):
    """Topics with the mappings of static topics.

    RocketMQ has neither `deleted_topics`, the log offsets at which deleted topics ended, nor
    `topic_figures`: figures of each topic, if the request has the field `FIGURES_FIELD`.
    """

    topic_queue_mapping_info_map: dict[str, Any] = field(default_factory=dict)
    topic_queue_mapping_detail_map: dict[str, Any] = field(default_factory=dict)
    mapping_data_version: dict[str, Any] | None = None
    deleted_topics: dict[str, dict[str, Any]] | None = None
    topic_figures: dict[str, TopicFigures] | None = None


@body
class SubscriptionGroupWrapper(Body):
    """Groups by name, their forbidden topics, and the version of the table.

    `group_lags` has the lag of each group in messages, if the request has the field `LAGS_FIELD`; RocketMQ
    has neither.
    """

    subscription_group_table: dict[str, dict[str, Any]] = field(default_factory=dict)
    forbidden_table: dict[str, dict[str, Int]] = field(default_factory=dict)
    data_version: dict[str, Any] | None = None
    group_lags: dict[str, int] | None = None


@body
class CreateTopicListRequestBody(Body):
    """Topics to create or change."""

    topic_config_list: list[dict[str, Any]] = field(default_factory=list)


@body
class SubscriptionGroupList(Body):
    """Groups to create or change."""

    group_config_list: list[dict[str, Any]] = field(default_factory=list)


def read_list(body: type[Body], member: str, data: bytes, take: Callable[[Any], None]) -> Steps[None]:
    """Pass on the entries of a body's only list one by one, in a cooperative task. Raises BodyError."""

    def put(path: lenient_json.Path, value: Any) -> None:
        if path[0] == member:
            take(value)

    try:
        value = yield from lenient_json.loads_in_steps(data, depth=2, take=put)
    except ValueError as error:
        raise BodyError("", f"{body.__name__} is not JSON: {error}") from None
    if isinstance(value, dict) and isinstance(value.get(member), list):
        value[member] = []
    body.from_json(value)
