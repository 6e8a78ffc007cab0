"""513 UPDATE_AND_CREATE_STATIC_TOPIC: a topic, and which queues of which brokers its queues are.

Tools work mappings out and tell each broker its own; a broker checks that a mapping follows on what it knows.
Standard: `AdminBrokerProcessor.updateAndCreateStaticTopic`.
"""

from dataclasses import replace

from twisted.internet.defer import Deferred

from mqgateway.engine import lenient_json
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.static_topics.mappings import TopicMapping
from mqgateway.engine.static_topics.pieces import MappingRefused
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.cluster.registration import once_known
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.codec.headers import CreateTopicRequestHeader
from mqgateway.gateway.remoting.call import Call, Reply, RequestError


def update_static_topic(broker: Broker, call: Call) -> Reply | Deferred[Reply]:
    """Take over the topic and its mapping, both or none; answered once the name servers know both."""
    header = call.header
    assert isinstance(header, CreateTopicRequestHeader)
    config = TopicConfig(
        topic_name=header.topic,
        read_queue_nums=header.read_queue_nums,
        write_queue_nums=header.write_queue_nums,
        perm=header.perm,
        topic_filter_type=header.topic_filter_type,
        topic_sys_flag=header.topic_sys_flag or 0,
        order=header.order,
    )
    topics = broker.topics
    problem = topics.why_not(config)
    if problem is not None:
        raise RequestError(ResponseCode.INVALID_PARAMETER, problem)
    known, most = topics.get(header.topic), broker.options.max_topics
    if known is None and len(topics) >= most:
        raise _refused(f"there are {len(topics)} topics, maxTopics allows no more than {most}")
    try:
        mapping = TopicMapping.from_json(lenient_json.loads(call.body))
        if mapping.topic != header.topic:
            raise MappingRefused(f"the mapping is for topic {mapping.topic}")
        broker.mappings.put(mapping, force=header.force)
    except (ValueError, ConfigError, MappingRefused) as error:
        raise _refused(str(error)) from None
    # Even a topic that stays as it is must be told again, or name servers do not look at the mapping.
    topics.put(replace(config, attributes=known.attributes if known is not None else {}))
    return once_known(broker)


def _refused(why: str) -> RequestError:
    return RequestError(ResponseCode.SYSTEM_ERROR, why)
