"""Telemetry, Heartbeat, NotifyClientTermination: clients announce themselves, stay alive, and leave.

The stream of a Telemetry stays open for the client's life. Its first command has the settings, which make the
client a member of its groups in the broker's tables. RocketMQ: `ClientActivity`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from twisted.internet.defer import Deferred

from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.errors import FilterError
from mqgateway.gateway.broker.operations import (
    CLUSTERING,
    CONSUME_ACTIVELY,
    CONSUME_PASSIVELY,
    GroupClient,
    OperationError,
    Operations,
    Permit,
)
from mqgateway.gateway.codec.bodies.heartbeat import (
    ConsumerData,
    HeartbeatData,
    ProducerData,
    SubscriptionData,
)
from mqgateway.gateway.codec.codes import CURRENT_VERSION
from mqgateway.gateway.grpc import NAME, v2
from mqgateway.gateway.grpc.call import CallFailed, Status
from mqgateway.gateway.grpc.service.caller import CallConnection
from mqgateway.gateway.grpc.service.lite import LiteSubscribers, checked_bound
from mqgateway.gateway.grpc.service.names import checked_group, checked_topic
from mqgateway.gateway.grpc.service.pushes import GrpcOutgoing
from mqgateway.gateway.grpc.service.receiving import subscription_of
from mqgateway.gateway.grpc.service.sessions import (
    CONSUMERS,
    LITE_CONSUMERS,
    ClientSession,
    ClientSessions,
    no_settings,
)
from mqgateway.gateway.grpc.service.settings import answered
from mqgateway.gateway.grpc.service.status import OK, CallRefused, Code, status
from mqgateway.gateway.grpc.service.transactions import TransactionEnds
from mqgateway.gateway.runtime.outcomes import then

RELEASE = re.compile(r"\d{1,3}(\.\d{1,3}){1,3}")
"""Versions that can be shown."""
LITE_SELECTIVE = "LITE_SELECTIVE"
FROM_THE_LATEST = "CONSUME_FROM_LAST_OFFSET"
FAILED = "process client telemetryCommand failed. "
NO_SETTINGS = "there is no publishing or subscription data in settings"
_ACTIVE = (v2.ClientType.SIMPLE_CONSUMER, v2.ClientType.PULL_CONSUMER, v2.ClientType.LITE_SIMPLE_CONSUMER)
_CLIENT_FAULTS = range(Code.BAD_REQUEST, Code.INTERNAL_ERROR)


class TelemetryClients:
    """The clients of one broker; see the module."""

    def __init__(
        self, operations: Operations, sessions: ClientSessions, transactions: TransactionEnds
    ) -> None:
        self._operations = operations
        self._clients = operations.clients
        self._sessions = sessions
        self._transactions = transactions
        self.lite = LiteSubscribers(operations)

    def outgoing(self, session: ClientSession) -> GrpcOutgoing:
        """Return the way to a client."""
        return GrpcOutgoing(self._operations, session, self._transactions.checked)

    def settings(self, settings: v2.Settings, caller: CallConnection, permit: Permit) -> ClientSession:
        """Take a client's settings: it becomes a member of its groups, and gets commands by this stream.

        Raises `CallRefused`, and `OperationError`.
        """
        now = elapsed_millis(self._operations.clock)
        if settings.HasField("publishing"):
            for topic in settings.publishing.topics:
                checked_topic(topic)
            subscriptions: list[SubscriptionData] = []
        else:
            subscriptions = self._subscriptions(settings)
        session = self._sessions.of(caller, now)
        before = _groups(session.settings)
        session.settings.CopyFrom(settings)
        session.subscriptions = subscriptions
        self._leave(session, before - _groups(settings), permit)
        try:
            self._register(session, permit)
        except OperationError:
            session.close("it cannot be a member of its groups")
            raise
        session.speak_by(caller)
        return session

    def send(self, session: ClientSession) -> bool:
        """Send a client its current settings; False if there is no stream."""
        sent = answered(self._operations, session.settings)
        return session.send(v2.TelemetryCommand(status=status(Code.OK), settings=sent))

    def answered(self, caller: CallConnection, nonce: str, status: v2.Status, text: str) -> None:
        """Take a client's answer to a command."""
        session = self._sessions.get(caller.client_id)
        if session is not None:
            session.answer(nonce, status, text)

    def heartbeat(
        self, request: v2.HeartbeatRequest, caller: CallConnection, permit: Permit
    ) -> v2.HeartbeatResponse:
        """Take a client's heartbeat. Raises `CallRefused`, and `OperationError`.

        The first heartbeat sends the client its settings again: Node's client (1.0.8) waits for them only
        after it has queried the routes of all its topics, and loses earlier ones.
        """
        session = self._sessions.known(caller.client_id)
        settings = session.settings
        if session.is_consumer:
            checked_group(request.group)
        elif settings.client_type != v2.ClientType.PRODUCER:
            raise CallRefused(Code.UNRECOGNIZED_CLIENT_TYPE, v2.ClientType.Name(settings.client_type))
        session.heard(caller, elapsed_millis(self._operations.clock))
        self._register(session, permit)
        if not session.was_updated:
            session.was_updated = self.send(session)
        return v2.HeartbeatResponse(status=OK)

    def terminate(
        self, request: v2.NotifyClientTerminationRequest, caller: CallConnection, permit: Permit
    ) -> v2.NotifyClientTerminationResponse:
        """Remove a client that leaves. Raises `CallRefused`."""
        session = self._sessions.get(caller.client_id)
        if session is None:
            raise no_settings()
        self._leave(session, _groups(session.settings), permit)
        session.close("it has gone")
        if not session.has_settings:
            raise no_settings()
        if session.is_consumer:
            checked_group(request.group)
        return v2.NotifyClientTerminationResponse(status=OK)

    def lost(self, caller: CallConnection) -> None:
        """End the stream of a client. A client of lite topics sends them again when it is back."""
        session = self._sessions.get(caller.client_id)
        if session is not None and session.is_lite and not session.has_stream:
            self.lite.left(session, self.outgoing(session))

    def _subscriptions(self, settings: v2.Settings) -> list[SubscriptionData]:
        """Return the subscriptions of a consumer. Raises `CallRefused`."""
        operations, subscription = self._operations, settings.subscription
        group = checked_group(subscription.group)
        if settings.client_type not in CONSUMERS:
            kind = v2.ClientType.Name(settings.client_type)
            raise CallRefused(Code.INTERNAL_SERVER_ERROR, f"Client type is not consumer, type: {kind}")
        is_lite = settings.client_type in LITE_CONSUMERS
        if is_lite != (operations.groups.bound_topic(group) is not None):
            why = (
                f"regular group cannot use LITE mode: {group}"
                if is_lite
                else f"lite group must use LITE mode: {group}"
            )
            raise CallRefused(Code.ILLEGAL_CONSUMER_GROUP, why)
        now, sent = operations.clock.millis(), []
        for entry in subscription.subscriptions:
            topic = entry.topic.name
            if is_lite:
                checked_bound(operations, group, topic)
            try:
                one = subscription_of(topic, entry.expression)
            except FilterError as error:
                raise CallRefused(
                    Code.ILLEGAL_FILTER_EXPRESSION, "expression format is not correct"
                ) from error
            tags, codes = sorted(one.tags_set), sorted(one.code_set)
            sent.append(SubscriptionData(topic, one.sub_string, now, one.expression_type, tags, codes))
        return sent

    def _leave(self, session: ClientSession, groups: Iterable[Membership], permit: Permit) -> None:
        """Remove a client from these groups."""
        for consumes, name in groups:
            if consumes:
                self._clients.leave_consumers(permit, session, session.client_id, name)
            else:
                self._clients.leave_producers(permit, session, name)

    def _register(self, session: ClientSession, permit: Permit) -> None:
        """Enter a client in the tables, or renew its entry. Raises `OperationError`."""
        heartbeat = HeartbeatData(session.client_id)
        settings = session.settings
        published: dict[str, None] = {}
        if session.is_consumer:
            is_active = settings.client_type in _ACTIVE
            heartbeat.consumer_data_set = [
                ConsumerData(
                    session.group,
                    CONSUME_ACTIVELY if is_active else CONSUME_PASSIVELY,
                    LITE_SELECTIVE if session.is_lite else CLUSTERING,
                    FROM_THE_LATEST,
                    session.subscriptions,
                )
            ]
        else:
            published = dict.fromkeys(topic.name for topic in settings.publishing.topics)
            heartbeat.producer_data_set = [ProducerData(name) for name in published]
        outgoing = self.outgoing(session)

        def client(client_id: str) -> GroupClient:
            release = f"v{session.version.replace('.', '_')}" if RELEASE.fullmatch(session.version) else ""
            version, may_use = CURRENT_VERSION, published.__contains__
            return GroupClient(
                session, client_id, session.language, version, outgoing, NAME, release, may_use
            )

        self._clients.register(permit, session, heartbeat, client)


Membership = tuple[bool, str]
"""Kind of membership, consumer or not, and the name of the group."""


def _groups(settings: v2.Settings) -> set[Membership]:
    """Return the groups that settings make a client a member of."""
    if settings.HasField("subscription"):
        return {(True, settings.subscription.group.name)}
    return {(False, topic.name) for topic in settings.publishing.topics}


Refusal = v2.Status | Deferred[v2.Status]
"""The refusal of a command, which may be sent a little later."""


class TelemetryStream:
    """One Telemetry: the commands of its client, each of which `admit` accepts or refuses."""

    def __init__(
        self,
        clients: TelemetryClients,
        caller: CallConnection,
        admit: Callable[[v2.TelemetryCommand], Permit | Refusal],
    ) -> None:
        self._clients = clients
        self._caller = caller
        self._admit = admit
        caller.on_lost(clients.lost)

    def received(self, command: v2.TelemetryCommand) -> None:
        """Take a command of the client. Raises `CallFailed`."""
        admitted = self._admit(command)
        if isinstance(admitted, Permit):
            self._take(command, admitted)
        else:
            then(admitted, self._refuse)

    def half_closed(self) -> None:
        """Close the stream: the client sends nothing more, and receives nothing more."""
        self._caller.call.finish()

    def _refuse(self, refusal: v2.Status) -> None:
        self._caller.call.send(v2.TelemetryCommand(status=refusal))
        self._caller.call.finish()

    def _take(self, command: v2.TelemetryCommand, permit: Permit) -> None:
        kind, clients, caller = command.WhichOneof("command"), self._clients, self._caller
        if kind == "settings":
            self._settings(command.settings, permit)
        elif kind == "thread_stack_trace":
            trace = command.thread_stack_trace
            clients.answered(caller, trace.nonce, command.status, trace.thread_stack_trace)
        elif kind == "verify_message_result":
            clients.answered(caller, command.verify_message_result.nonce, command.status, "")

    def _settings(self, settings: v2.Settings, permit: Permit) -> None:
        if settings.WhichOneof("pub_sub") is None:
            raise CallFailed(Status.INVALID_ARGUMENT, NO_SETTINGS)
        try:
            session = self._clients.settings(settings, self._caller, permit)
        except CallRefused as refusal:
            kind = Status.INVALID_ARGUMENT if refusal.code in _CLIENT_FAULTS else Status.INTERNAL
            raise CallFailed(kind, FAILED + refusal.message) from None
        except OperationError as error:
            raise CallFailed(Status.INTERNAL, FAILED + error.message) from None
        self._clients.send(session)
