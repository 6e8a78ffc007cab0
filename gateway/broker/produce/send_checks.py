"""Checks of sends and replies, made before anything else.

RocketMQ: `AbstractSendMessageProcessor.msgCheck`.
"""

from datetime import datetime

from mqgateway.engine.message import RETRY_PREFIX
from mqgateway.engine.names import SEND_FORBIDDEN_TOPICS, validate_topic
from mqgateway.engine.tables.topics import PERM_READ, PERM_WRITE, UNIT_FLAG, UNIT_SUB_FLAG, TopicConfig
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.connection import ClientConnection
from mqgateway.gateway.broker.errors import FAQ, OperationError, Reason
from mqgateway.gateway.broker.moved_partitions import check_not_moved
from mqgateway.gateway.broker.new_message import NewMessage


def checked_topic(
    broker: Broker,
    message: NewMessage,
    topic_config: TopicConfig | None,
    connection: ClientConnection,
    now: int,
) -> TopicConfig:
    """Return the topic to send to, created if that is allowed; raise the refusals in RocketMQ's order.

    `topic_config` is the existing topic, None without one; `now` is the wall time in ms. Raises
    `OperationError`.
    """
    options = broker.options
    if now < options.start_accept_send_request_time_stamp:
        until = _local_time(options.start_accept_send_request_time_stamp)
        raise OperationError(Reason.SYSTEM_ERROR, f"broker unable to service, until {until}")
    topic = message.topic
    if not options.broker_permission & PERM_WRITE and topic_config is not None and topic_config.order:
        raise OperationError(
            Reason.NO_PERMISSION, f"the broker[{options.broker_ip1}] sending message is forbidden"
        )
    if topic_config is None:  # names in the table are always legal
        problem = validate_topic(topic)
        if problem is not None:
            raise OperationError(Reason.INVALID_PARAMETER, problem)
    if topic in SEND_FORBIDDEN_TOPICS:
        raise OperationError(Reason.NO_PERMISSION, f"Sending message to topic[{topic}] is forbidden.")
    if topic_config is None:
        topic_config = _new_topic(broker, message)
    if topic_config.attributes:
        check_not_moved(topic_config)
    queue_id = message.queue_id
    if queue_id >= topic_config.write_queue_nums and queue_id >= topic_config.read_queue_nums:
        raise OperationError(
            Reason.INVALID_PARAMETER,
            f"request queueId[{queue_id}] is illegal, {topic_config} Producer: {connection.address}",
        )
    return topic_config


def _local_time(millis: int) -> str:
    """Format a time like RocketMQ: `UtilAll.timeMillisToHumanString2`."""
    return f"{datetime.fromtimestamp(millis // 1000):%Y-%m-%d %H:%M:%S},{millis % 1000:03d}"


def _new_topic(broker: Broker, message: NewMessage) -> TopicConfig:
    """Create the topic from the template the client names, or as a retry topic."""
    topic = message.topic
    is_retry = topic.startswith(RETRY_PREFIX)
    unit_flag = (UNIT_SUB_FLAG if is_retry else UNIT_FLAG) if message.unit_mode else 0
    created = broker.tables.topics.create_for_send(
        topic, message.default_topic, message.default_topic_queue_nums, unit_flag
    )
    if created is None and is_retry:
        created = broker.tables.topics.create_for_send_back(topic, 1, PERM_READ | PERM_WRITE, unit_flag)
    if created is None:
        raise OperationError(Reason.TOPIC_NOT_EXIST, f"topic[{topic}] not exist, apply first please!{FAQ}")
    return created
