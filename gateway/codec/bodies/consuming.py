"""Running information of a consumer, and a broker's view of its queues.

Times are ms since the epoch. RocketMQ: `ConsumerRunningInfo`, `ConsumeMessageDirectlyResult`,
`QueryConsumeQueueResponseBody`, `QuerySubscriptionResponseBody`, `GroupForbidden`.
"""

from dataclasses import field

from mqgateway.gateway.codec.bodies.body import Body, Int, body, wired
from mqgateway.gateway.codec.bodies.enums import CMResult
from mqgateway.gateway.codec.bodies.heartbeat import SubscriptionData
from mqgateway.gateway.codec.bodies.message_queue import MessageQueue


@body
class ProcessQueueInfo(Body):
    """Messages of a queue that a pull consumer holds."""

    commit_offset: int = 0
    cached_msg_min_offset: int = 0
    cached_msg_max_offset: int = 0
    cached_msg_count: Int = 0
    cached_msg_size_in_mib: Int = field(default=0, metadata=wired("cachedMsgSizeInMiB"))
    transaction_msg_min_offset: int = 0
    transaction_msg_max_offset: int = 0
    transaction_msg_count: Int = 0
    locked: bool = False
    try_unlock_times: int = 0
    last_lock_timestamp: int = 0
    droped: bool = False
    last_pull_timestamp: int = 0
    last_consume_timestamp: int = 0


@body
class PopProcessQueueInfo(Body):
    """Messages of a queue that a pop consumer holds."""

    wait_ack_count: Int = 0
    droped: bool = False
    last_pop_timestamp: int = 0


@body
class ConsumeStatus(Body):
    """Rates a second and mean times in ms of a consumer on one topic."""

    pull_rt: float = field(default=0.0, metadata=wired("pullRT"))
    pull_tps: float = field(default=0.0, metadata=wired("pullTPS"))
    consume_rt: float = field(default=0.0, metadata=wired("consumeRT"))
    consume_ok_tps: float = field(default=0.0, metadata=wired("consumeOKTPS"))
    consume_failed_tps: float = field(default=0.0, metadata=wired("consumeFailedTPS"))
    consume_failed_msgs: int = 0


@body
class ConsumerRunningInfo(Body):
    """Internal state of a consumer; `jstack` is the stacks of its threads, if requested."""

    properties: dict[str, str] = field(default_factory=dict)
    subscription_set: list[SubscriptionData] = field(default_factory=list)
    mq_table: dict[MessageQueue, ProcessQueueInfo] = field(default_factory=dict)
    mq_pop_table: dict[MessageQueue, PopProcessQueueInfo] = field(default_factory=dict)
    status_table: dict[str, ConsumeStatus] = field(default_factory=dict)
    user_consumer_info: dict[str, str] = field(default_factory=dict)
    jstack: str | None = None


@body
class ConsumeMessageDirectlyResult(Body):
    """Result of one message; `consume_result` is CR_SUCCESS, CR_LATER, CR_THROW_EXCEPTION and so on."""

    order: bool = False
    auto_commit: bool = True
    consume_result: CMResult | None = None
    remark: str | None = None
    spent_time_mills: int = 0


@body
class ConsumeQueueData(Body):
    """One entry of a consume queue."""

    physic_offset: int = 0
    physic_size: Int = 0
    tags_code: int = 0
    extend_data_json: str | None = None
    bit_map: str | None = None
    eval: bool = False
    msg: str | None = None


@body
class QueryConsumeQueueResponseBody(Body):
    """Entries of a consume queue, and their evaluation by a group's subscription."""

    subscription_data: SubscriptionData | None = None
    filter_data: str | None = None
    queue_data: list[ConsumeQueueData] = field(default_factory=list)
    max_queue_index: int = 0
    min_queue_index: int = 0


@body
class QuerySubscriptionResponseBody(Body):
    """The subscription of a group to a topic."""

    group: str | None = None
    topic: str | None = None
    subscription_data: SubscriptionData | None = None


@body
class GroupForbidden(Body):
    """Permission of a group to read a topic."""

    topic: str
    group: str
    readable: bool | None = None
