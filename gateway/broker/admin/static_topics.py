"""Static topics: which queues of which brokers the queues of a topic are.

Tools work mappings out and tell each broker its own; a broker checks that a mapping follows on what it knows.
Standard: `AdminBrokerProcessor.updateAndCreateStaticTopic`.
"""

from dataclasses import replace

from twisted.internet.defer import Deferred

from mqgateway.engine.static_topics.mappings import TopicMapping
from mqgateway.engine.static_topics.pieces import MappingRefused
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.errors import OperationError, Reason


def update_static_topic(
    broker: Broker, config: TopicConfig, mapping: TopicMapping, *, force: bool = False
) -> Deferred[None]:
    """Take over the topic and its mapping, both or none; fires once the name servers know both.

    The topic keeps the attributes it has. `force` takes over an older mapping too.
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
    # Even a topic that stays as it is must be told again, or name servers do not look at the mapping.
    topics.put(replace(config, attributes=known.attributes if known is not None else {}))
    return broker.cluster.registration.heard()
