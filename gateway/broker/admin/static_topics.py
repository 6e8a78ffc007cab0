"""Static topics: the mapping of a topic's queues to queues of brokers.

Tools compute mappings and send each broker its own; a broker checks that a mapping is a successor of its
current one. RocketMQ: `AdminBrokerProcessor.updateAndCreateStaticTopic`.
"""

from dataclasses import replace

from twisted.internet.defer import Deferred

from mqgateway.engine.static_topics.items import MappingRefused
from mqgateway.engine.static_topics.mappings import TopicQueueMappingDetail
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.errors import OperationError, Reason


def update_static_topic(
    broker: Broker, config: TopicConfig, mapping: TopicQueueMappingDetail, *, force: bool = False
) -> Deferred[None]:
    """Store the topic and its mapping, both or none; fires once the name servers have both.

    The topic keeps its attributes. `force` accepts an older mapping too. Raises `OperationError`.
    """
    topics = broker.tables.topics
    problem = topics.why_not(config)
    if problem is not None:
        raise OperationError(Reason.INVALID_PARAMETER, problem)
    known, most = topics.get(config.topic_name), broker.options.max_topics
    if known is None and len(topics) >= most:
        raise OperationError(
            Reason.SYSTEM_ERROR, f"there are {len(topics)} topics, maxTopics allows no more than {most}"
        )
    if mapping.topic != config.topic_name:
        raise OperationError(Reason.SYSTEM_ERROR, f"the mapping is for topic {mapping.topic}")
    try:
        broker.tables.mappings.update(mapping, force=force)
    except MappingRefused as error:
        raise OperationError(Reason.SYSTEM_ERROR, str(error)) from None
    # A topic must be announced again even if unchanged, or name servers ignore the mapping.
    topics.put(replace(config, attributes=known.attributes if known is not None else {}))
    return broker.cluster.registration.heard()
