"""Commands that show connected producers and consumers.

Standard: the packages `command.connection` and `command.producer` of the module `tools`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mqgateway.engine.message import RETRY_PREFIX
from mqgateway.gateway.client import admin_consumers as consumers
from mqgateway.gateway.client.errors import BrokerError, ClientError
from mqgateway.gateway.codec.bodies import Connection, ConsumerConnection
from mqgateway.gateway.codec.codes import ResponseCode, version_name
from mqgateway.gateway.mqadmin.declaration import CommandCall, CommandOption, NameKind, Row, command
from mqgateway.gateway.mqadmin.rendering import each, shown
from mqgateway.gateway.mqadmin.servers import reachable


def connection_row(connection: Connection) -> dict[str, object]:
    """Return a connection as a row."""
    return {
        "clientId": connection.client_id,
        "clientAddr": connection.client_addr,
        "language": connection.language,
        "version": version_name(connection.version),
    }


def online(call: CommandCall, group: str, broker: str | None = None) -> ConsumerConnection:
    """Return the members of a consumer group as a broker knows them: this one, or one that has its retry
    topic.

    Raises `NoBroker` for a group that has none, `BrokerError` for one that is not connected.
    """
    if broker is None:
        _, broker = next(reachable(call.servers.route(RETRY_PREFIX + group).broker_datas))
    found = call.servers.ask(consumers.connections(group), broker)
    if not found.connection_set:
        raise BrokerError(ResponseCode.CONSUMER_NOT_ONLINE, "Not found the consumer group connection", broker)
    return found


def _producers_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    for number, row in enumerate(rows, 1):
        yield f"{number:04}  " + shown("{clientId:<32} {clientAddr:<22} {language:<8} {version}\n", row)


@command(
    "producerConnection",
    CommandOption("g", "producerGroup", "producer group", required=True),
    CommandOption("t", "topic", "topic that the group sends to", required=True, values=NameKind.TOPIC),
    text=_producers_text,
)
def producer_connections(call: CommandCall) -> Iterator[Row]:
    """Standard: `ProducerConnectionSubCommand`, which asks one broker of the topic by chance; this asks the
    first one that knows the group."""
    group, found = call.given.need("g"), call.servers.route(call.given.need("t"))
    failure = ClientError(f"no broker has producers of the group {group}")
    for _, address in reachable(found.broker_datas):
        try:
            known = call.servers.ask(consumers.producer_connections(group), address)
        except BrokerError as error:
            failure = error
            continue
        yield from (connection_row(one) for one in known.connection_set)
        return
    raise failure


_SUBSCRIPTION = "{topic:<20} {subString}\n"


def _consumers_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    found = list(rows)
    yield f"{'#ClientId':<36} {'#ClientAddr':<22} {'#Language':<10} #Version\n"
    for row in found:
        yield shown("{clientId:<36} {clientAddr:<22} {language:<10} {version}\n", row)
    yield f"\nBelow is subscription:\n{'#Topic':<20} #SubExpression\n"
    for one in call.summary["subscriptions"]:
        yield shown(_SUBSCRIPTION, one)
    yield shown(
        "\nConsumeType: {consumeType}\nMessageModel: {messageModel}\nConsumeFromWhere: {consumeFromWhere}\n",
        call.summary,
    )


@command(
    "consumerConnection",
    CommandOption("b", "brokerAddr", "broker to query, as host:port", values=NameKind.ADDRESS),
    CommandOption("g", "consumerGroup", "consumer group", required=True, values=NameKind.GROUP),
    text=_consumers_text,
)
def consumer_connections(call: CommandCall) -> Iterator[Row]:
    """Standard: `ConsumerConnectionSubCommand`."""
    found = online(call, call.given.need("g"), call.given.text("b"))
    call.summary["subscriptions"] = [
        {"topic": one.topic, "subString": one.sub_string}
        for _, one in sorted(found.subscription_table.items())
    ]
    call.summary["consumeType"] = found.consume_type
    call.summary["messageModel"] = found.message_model
    call.summary["consumeFromWhere"] = found.consume_from_where
    yield from (connection_row(one) for one in found.connection_set)


@command(
    "producer",
    CommandOption("b", "broker", "broker as host:port", required=True, values=NameKind.ADDRESS),
    text=each(
        "producer group ({group}) instance : clientId={clientId},remoteIP={clientAddr}, "
        "language={language}, version={versionNumber}, lastUpdateTimestamp={lastUpdateTimestamp}\n"
    ),
)
def producers(call: CommandCall) -> Iterator[Row]:
    """Standard: `ProducerSubCommand`."""
    for group, found in sorted(call.servers.ask(consumers.producers(), call.given.need("b")).items()):
        for one in found:
            yield {
                "group": group,
                "clientId": one.client_id,
                "clientAddr": one.remote_ip,
                "language": one.language,
                "version": version_name(one.version),
                "versionNumber": one.version,
                "lastUpdateTimestamp": one.last_update_timestamp,
            }
