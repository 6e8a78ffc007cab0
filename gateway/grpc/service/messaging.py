"""apache.rocketmq.v2.MessagingService: the paths of the methods, and the checks before all of them.

A call is authorized (`access`), must name its client, and its method may need a role of the broker. A failure
is a status in the answer. RocketMQ: `GrpcMessagingApplication`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.options.access import AuthorizationProfile
from mqgateway.gateway.broker.operations import NotAdmitted, Operations, Permit, Principal, Use
from mqgateway.gateway.grpc import v2
from mqgateway.gateway.grpc.call import Bidirectional, GrpcCall, Methods, ServerStream, Unary
from mqgateway.gateway.grpc.service import access
from mqgateway.gateway.grpc.service.acks import Acknowledger
from mqgateway.gateway.grpc.service.caller import CallConnection
from mqgateway.gateway.grpc.service.handles import Handles
from mqgateway.gateway.grpc.service.offsets import OffsetMethods
from mqgateway.gateway.grpc.service.pushes import reconnect
from mqgateway.gateway.grpc.service.receiving import Receivers, end
from mqgateway.gateway.grpc.service.routes import Routes
from mqgateway.gateway.grpc.service.sending import Senders
from mqgateway.gateway.grpc.service.sessions import ClientSession, ClientSessions
from mqgateway.gateway.grpc.service.status import CallRefused, Code, status, status_of, status_of_failure
from mqgateway.gateway.grpc.service.telemetry import Refusal, TelemetryClients, TelemetryStream
from mqgateway.gateway.grpc.service.transactions import TransactionEnds
from mqgateway.gateway.runtime.outcomes import recovered

T = TypeVar("T")

SERVICE = "apache.rocketmq.v2.MessagingService"
PACKAGE = "apache.rocketmq.v2"
TICK_SECONDS = 1.0

NO_CLIENT = status(Code.CLIENT_ID_REQUIRED, "client id cannot be empty")

Answer = Callable[[Any, CallConnection, Permit], Any]


class Messaging:
    """The service over one broker. `tick` every `TICK_SECONDS`; `stop` before the broker stops.

    `port` returns the port that clients reach the service on.
    """

    def __init__(
        self,
        operations: Operations,
        port: Callable[[], int] = lambda: 0,
    ) -> None:
        options = operations.options
        self._operations = operations
        self._gate = operations.gate
        self._is_strict = options.authorization_profile is AuthorizationProfile.STRICT
        self._handles = Handles(options.broker_name, options.receipt_handle_key)
        self.sessions = ClientSessions(options)
        self.transactions = TransactionEnds(operations)
        self.acknowledger = Acknowledger(operations, self._handles, self.sessions)
        self._clients = TelemetryClients(operations, self.sessions, self.transactions)
        self._routes = Routes(operations, port)
        self._senders = Senders(operations, self.transactions)
        self._receivers = Receivers(operations, self._handles, self.acknowledger)
        self._offsets = OffsetMethods(operations)

    def tick(self) -> None:
        """Renew received messages, and end the sessions of silent clients."""
        self.sessions.tick(elapsed_millis(self._operations.clock))
        self.acknowledger.renewals.tick()

    def stop(self) -> None:
        """Request all clients to reconnect, to another server or here after the restart."""
        for session in self.sessions:
            reconnect(session)

    def methods(self) -> Methods:
        """Return all methods, by path."""
        routes, senders, acks = self._routes, self._senders, self.acknowledger
        clients, offsets, transactions = self._clients, self._offsets, self.transactions
        unary: dict[str, tuple[Use, Answer]] = {
            "QueryRoute": (Use.QUERY, lambda request, caller, _: routes.query_route(request, caller.call)),
            "QueryAssignment": (
                Use.QUERY,
                lambda request, caller, _: routes.query_assignment(request, caller.call),
            ),
            "Heartbeat": (Use.CONNECT, clients.heartbeat),
            "SendMessage": (Use.SEND, senders.send),
            "AckMessage": (Use.ACKNOWLEDGE, acks.acknowledge),
            "ForwardMessageToDeadLetterQueue": (Use.DEAD_LETTER, acks.forward),
            "EndTransaction": (
                Use.END_TRANSACTION,
                lambda request, _, permit: transactions.end(request, permit),
            ),
            "NotifyClientTermination": (Use.CONNECT, clients.terminate),
            "ChangeInvisibleDuration": (Use.CHANGE_INVISIBLE_TIME, acks.change),
            "RecallMessage": (Use.RECALL, senders.recall),
            "SyncLiteSubscription": (Use.CONNECT, self._sync_lite),
            "UpdateOffset": (Use.COMMIT_OFFSET, lambda request, _, permit: offsets.update(request, permit)),
            "GetOffset": (Use.QUERY, lambda request, _, permit: offsets.get(request, permit)),
            "QueryOffset": (Use.QUERY, lambda request, _, permit: offsets.query(request, permit)),
        }
        return {
            **{_path(name): self._unary(name, *method) for name, method in unary.items()},
            _path("ReceiveMessage"): ServerStream(v2.ReceiveMessageRequest, self._receive),
            _path("PullMessage"): ServerStream(v2.PullMessageRequest, self._pull),
            _path("Telemetry"): Bidirectional(v2.TelemetryCommand, self._telemetry),
        }

    def _unary(self, name: str, use: Use, answer: Answer) -> Unary:
        request_type, answer_type = getattr(v2, f"{name}Request"), getattr(v2, f"{name}Response")
        full_name = f"{PACKAGE}.{name}Request"
        echoes = name == "ChangeInvisibleDuration"

        def refused(why: v2.Status, request: Any) -> Any:
            if echoes and why.code == Code.TOO_MANY_REQUESTS:
                return answer_type(status=why, receipt_handle=request.receipt_handle)
            return answer_type(status=why)

        def serve(request: Any, call: GrpcCall) -> Any:
            caller = CallConnection(call)
            try:
                permit = self._admit(request, full_name, caller, use)
                outcome = answer(request, caller, permit)
            except Exception as error:
                return _later(error, lambda why: refused(why, request))
            return recovered(outcome, lambda failure: refused(status_of_failure(failure), request))

        return Unary(request_type, serve)

    def _receive(self, request: v2.ReceiveMessageRequest, call: GrpcCall) -> Deferred[None] | None:
        def receive(caller: CallConnection, permit: Permit) -> Deferred[None] | None:
            session = self.sessions.of(caller, elapsed_millis(self._operations.clock))
            return self._receivers.receive(request, session, caller, permit)

        def refuse(caller: CallConnection, why: v2.Status) -> None:
            end(caller, why, self._operations)

        return self._stream("ReceiveMessage", request, CallConnection(call), Use.RECEIVE, receive, refuse)

    def _pull(self, request: v2.PullMessageRequest, call: GrpcCall) -> Deferred[None] | None:
        def refuse(caller: CallConnection, why: v2.Status) -> None:
            caller.call.send(v2.PullMessageResponse(status=why))
            caller.call.finish()

        def pull(caller: CallConnection, permit: Permit) -> Deferred[None] | None:
            return self._offsets.pull(request, caller, permit)

        return self._stream("PullMessage", request, CallConnection(call), Use.PULL, pull, refuse)

    def _stream(
        self,
        name: str,
        request: Any,
        caller: CallConnection,
        use: Use,
        serve: Callable[[CallConnection, Permit], Deferred[None] | None],
        refuse: Callable[[CallConnection, v2.Status], None],
    ) -> Deferred[None] | None:
        """Serve a call with a stream of answers, which ends with the status of a failure, if there is one."""
        try:
            permit = self._admit(request, f"{PACKAGE}.{name}Request", caller, use)
            outcome = serve(caller, permit)
        except Exception as error:
            return _later(error, lambda why: refuse(caller, why))
        if outcome is None:
            return None

        def failed(failure: Failure) -> None:
            refuse(caller, status_of_failure(failure))

        return outcome.addErrback(failed)

    def _telemetry(self, call: GrpcCall) -> TelemetryStream:
        caller = CallConnection(call)

        def admit(command: v2.TelemetryCommand) -> Permit | Refusal:
            try:
                return self._admit(command, f"{PACKAGE}.TelemetryCommand", caller, Use.CONNECT)
            except Exception as error:
                refusal: Refusal = _later(error, lambda why: why)
                return refusal

        return TelemetryStream(self._clients, caller, admit)

    def _sync_lite(
        self, request: v2.SyncLiteSubscriptionRequest, caller: CallConnection, permit: Permit
    ) -> Deferred[v2.SyncLiteSubscriptionResponse]:
        session = self.sessions.get(caller.client_id)
        # A client without settings reads nothing; its subscriptions end as those of a silent client.
        client = ClientSession(caller, 0) if session is None else session
        return self._clients.lite.sync(request, caller.client_id, self._clients.outgoing(client), permit)

    def _admit(self, request: Any, name: str, caller: CallConnection, use: Use) -> Permit:
        """Admit a request. Raises `CallRefused`, `NotAdmitted`, `OperationError`."""
        return self._gate.admit(
            Principal(caller, lambda: access.front_end_caller(caller, name)),
            use,
            lambda: access.needs_of(request, self._is_strict),
            lambda: self._check_client(caller),
        )

    def _check_client(self, caller: CallConnection) -> None:
        """Refuse a request that does not name its client. Raises `CallRefused`."""
        client_id = caller.client_id
        if not client_id.strip():
            raise CallRefused(Code.CLIENT_ID_REQUIRED, NO_CLIENT.message)
        if len(client_id) > self._operations.options.max_name_length:
            raise CallRefused(Code.BAD_REQUEST, "the client id is too long")


def _path(name: str) -> str:
    return f"/{SERVICE}/{name}"


def _later(error: Exception, answer: Callable[[v2.Status], T]) -> T | Deferred[T]:
    """Return the answer made of the status of an error; for some refusals of access control after a delay."""
    why = status_of(error)
    if isinstance(error, NotAdmitted) and error.until is not None:
        return error.until.addCallback(lambda _: answer(why))
    return answer(why)
