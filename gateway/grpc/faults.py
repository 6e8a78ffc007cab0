"""Faults of `testing.faults` for gRPC: a fault for requests applies to the equivalent methods.

A fault for `SEND` also applies to SendMessage, one for a POP code to ReceiveMessage. The Telemetry stream is
a connection rather than a request, so only the end of its connection affects it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred

from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.grpc.call import GrpcCall, Methods, ServerStream, Status, Unary
from mqgateway.gateway.testing.faults import Fault, Faults

LIKE: dict[str, tuple[int, ...]] = {
    "QueryRoute": (RequestCode.GET_ROUTEINFO_BY_TOPIC,),
    "QueryAssignment": (RequestCode.QUERY_ASSIGNMENT,),
    "Heartbeat": (RequestCode.HEART_BEAT,),
    "SendMessage": (RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_MESSAGE, RequestCode.SEND_BATCH_MESSAGE),
    "ReceiveMessage": (RequestCode.POP_MESSAGE,),
    "PullMessage": (RequestCode.PULL_MESSAGE,),
    "AckMessage": (RequestCode.ACK_MESSAGE, RequestCode.BATCH_ACK_MESSAGE),
    "ChangeInvisibleDuration": (RequestCode.CHANGE_MESSAGE_INVISIBLETIME,),
    "ForwardMessageToDeadLetterQueue": (RequestCode.CONSUMER_SEND_MSG_BACK,),
    "EndTransaction": (RequestCode.END_TRANSACTION,),
    "NotifyClientTermination": (RequestCode.UNREGISTER_CLIENT,),
    "RecallMessage": (RequestCode.RECALL_MESSAGE,),
    "UpdateOffset": (RequestCode.UPDATE_CONSUMER_OFFSET,),
    "GetOffset": (RequestCode.QUERY_CONSUMER_OFFSET,),
    "QueryOffset": (RequestCode.SEARCH_OFFSET_BY_TIMESTAMP,),
    "SyncLiteSubscription": (RequestCode.LITE_SUBSCRIPTION_CTL,),
}
"""Remoting requests equivalent to methods."""


class GrpcFaults:
    """Faults of one server, applied before the methods; `cut` aborts the connection of a call."""

    def __init__(self, faults: Faults, cut: Callable[[GrpcCall], None]) -> None:
        self._faults = faults
        self._cut = cut

    def before(self, methods: Methods) -> Methods:
        """Wrap the methods so that ordered faults apply to them."""
        return {path: self._struck(path.rpartition("/")[2], method) for path, method in methods.items()}

    def _struck(self, name: str, method: Any) -> Any:
        codes = LIKE.get(name)
        if codes is None:
            return method

        def answer(request: Any, call: GrpcCall) -> Any:
            fault = self._faults.striking(codes, topics_of(request))
            if fault is None:
                return method.answer(request, call)
            return self._strike(fault, name, method, request, call)

        return type(method)(method.request, answer)

    def _strike(
        self, fault: Fault, name: str, method: Unary | ServerStream, request: Any, call: GrpcCall
    ) -> Any:
        if fault.what == "refuse":
            return _refuse(fault, name, method, call)
        if fault.what == "delay":

            def carry_out(_: None) -> Any:
                answer = method.answer(request, call)
                self._faults.served()
                return answer

            return self._faults.pause(fault.seconds).addCallback(carry_out)
        if fault.what == "cut":
            self._cut(call)
        elif fault.what == "drop_answer":
            method.answer(request, _Unheard(call))
        return Deferred()  # cancelled when the client stops waiting


def _refuse(fault: Fault, name: str, method: Unary | ServerStream, call: GrpcCall) -> Any:
    """Return the answer with the status equivalent to a response code."""
    # Imported late, because it loads the protobuf messages.
    from mqgateway.gateway.grpc import v2
    from mqgateway.gateway.grpc.service.status import status

    codes: dict[int, v2.Code] = {
        ResponseCode.SYSTEM_BUSY: v2.Code.TOO_MANY_REQUESTS,
        ResponseCode.REQUEST_CODE_NOT_SUPPORTED: v2.Code.NOT_IMPLEMENTED,
        ResponseCode.TOPIC_NOT_EXIST: v2.Code.TOPIC_NOT_FOUND,
        ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST: v2.Code.CONSUMER_GROUP_NOT_FOUND,
    }
    why = status(codes.get(fault.code, v2.Code.INTERNAL_SERVER_ERROR), fault.remark)
    answer = getattr(v2, f"{name}Response")(status=why)
    if isinstance(method, Unary):
        return answer
    call.send(answer)
    call.finish()
    return None


class _Unheard:
    """Call whose answers are lost."""

    def __init__(self, call: GrpcCall) -> None:
        self._call = call

    def __getattr__(self, name: str) -> Any:
        return getattr(self._call, name)

    def send(self, *messages: Any) -> None:
        """Drop the answers."""

    def finish(self, status: Status = Status.OK, message: str = "") -> None:
        """Drop the end."""


def topics_of(request: Any) -> tuple[str, ...]:
    """Return the topics that a request names."""
    fields = type(request).DESCRIPTOR.fields_by_name
    if "messages" in fields:
        return tuple(message.topic.name for message in request.messages)
    if "message_queue" in fields:
        return (request.message_queue.topic.name,)
    return (request.topic.name,) if "topic" in fields else ()
