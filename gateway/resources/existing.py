"""Names that have to exist before something is done with them: servers do nothing, successfully, without."""

from __future__ import annotations

from mqgateway.gateway.client import admin_groups as groups
from mqgateway.gateway.client import admin_names as names
from mqgateway.gateway.client import admin_topics as topics
from mqgateway.gateway.client.errors import BrokerError, NoBroker
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.mqadmin.declaration import CommandCall
from mqgateway.gateway.resources import targets


def need_topic(call: CommandCall) -> None:
    """Raise `NoBroker` unless a name server or a broker knows the topic `-t`."""
    topic = call.given.need("t")
    if call.servers.ask_names(names.route(topic)) is not None:
        return
    for _, address in targets.brokers(call):
        try:
            call.servers.ask(topics.config(topic), address)
        except BrokerError as error:
            if error.code != ResponseCode.TOPIC_NOT_EXIST:
                raise
        else:
            return
    raise NoBroker(f"there is no topic {topic}; see the topics: mqgateway topic list --all")


def need_group(call: CommandCall) -> None:
    """Raise `NoBroker` unless a broker has the group `-g`, or one that is there by itself."""
    group = call.given.need("g")
    for _, address in targets.brokers(call):
        if group in call.servers.ask(groups.all_configs(), address):
            return
    raise NoBroker(f"there is no consumer group {group}; see the groups: mqgateway group list")
