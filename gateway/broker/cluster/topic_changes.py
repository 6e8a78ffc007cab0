"""Changes of topics at a whole cluster: one at this broker is repeated at the masters of the other groups.

RocketMQ: `mqadmin updateTopic -c`, which sends the same request to each master.
"""

from __future__ import annotations

from mqgateway.engine.ha.member_group import MASTER_ID
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.broker.cluster.broker_directory import BrokerDirectory
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.topic_header import create_topic_header
from mqgateway.gateway.remoting.call import RequestError


async def repeat_change(
    directory: BrokerDirectory, options: BrokerOptions, config: TopicConfig
) -> dict[str, str]:
    """Create or change a topic at the other brokers; keys of its attributes are changes, `+name` or `-name`.

    Return the reasons of the brokers that refused it, by name.
    """
    reasons: dict[str, str] = {}
    for group in await directory.groups():
        name = group.broker_name
        is_other = name != options.broker_name and group.cluster == options.broker_cluster_name
        if is_other and MASTER_ID in group.broker_addrs:
            try:
                answer = await directory.ask(name, creation_request(config))
            except RequestError as error:
                reasons[name] = error.remark
            else:
                if answer.code != ResponseCode.SUCCESS:
                    reasons[name] = answer.remark or str(answer.code)
    return reasons


def creation_request(config: TopicConfig) -> RemotingCommand:
    """Return the request that creates or changes a topic; keys of its attributes are changes."""
    header = create_topic_header(config, config.attributes)
    return RemotingCommand.request(RequestCode.UPDATE_AND_CREATE_TOPIC, header)
