"""From a command to the bytes of its answer: every way a function can end has its reply."""

import logging
from collections.abc import Generator
from typing import Any

import pytest
from twisted.internet.defer import Deferred, succeed

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.steps import Steps, run
from mqgateway.gateway.codec.codes import V5_3_1, RequestCode, ResponseCode, SerializeType
from mqgateway.gateway.codec.command import ONEWAY_FLAG, RemotingCommand, decode_command
from mqgateway.gateway.codec.fields import Header, Int, request_header
from mqgateway.gateway.remoting.call import NO_REPLY, Call, Peer, Reply, RequestError
from mqgateway.gateway.remoting.dispatch import AT_ONCE_STEPS, CarryOut, Dispatcher, Interceptor
from tests.support.gateway.remoting.pair import StillPeer

CODE = 987_001
PEER = StillPeer()


class ProbeRequestHeader(Header, code=CODE):
    """A header of this test's own."""

    name: str
    count: Int = 3


class ProbeResponseHeader(Header):
    """Its answer's."""

    doubled: Int


def dispatcher(function: Any, context: Any = None, **more: Any) -> Dispatcher:
    return Dispatcher(context, {CODE: function}, {}, clock=ManualClock(5000), **more)


def probe(**ext: str) -> RemotingCommand:
    return RemotingCommand.request(CODE, ext={"name": "n", **ext}, body=b"body")


def answer_to(served: Dispatcher, command: RemotingCommand) -> RemotingCommand:
    frame = served.dispatch(command, PEER)
    assert isinstance(frame, bytes)
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    return decode_command(frame[4:])


def test_a_function_gets_context_header_body_peer_and_time() -> None:
    seen: list[Any] = []

    def function(context: str, call: Call) -> Reply:
        seen.extend((context, call.header, call.body, call.peer, call.now))
        return Reply()

    answer_to(dispatcher(function, "the context"), probe(count="8"))
    assert seen == ["the context", ProbeRequestHeader(name="n", count=8), b"body", PEER, 5000]


def test_a_reply_is_written_with_header_fields_ext_body_and_remark() -> None:
    reply = Reply(19, ProbeResponseHeader(doubled=6), b"found", "remark", {"extra": "e"})
    command = probe()
    command.opaque = 77
    answer = answer_to(dispatcher(lambda context, call: reply), command)
    assert answer.is_response
    assert (answer.code, answer.opaque, answer.remark, answer.body) == (19, 77, "remark", b"found")
    assert answer.ext_fields == {"doubled": "6", "extra": "e"}


def test_the_fields_of_a_reply_object_are_not_changed_by_writing_it() -> None:
    ext = {"extra": "e"}
    reply = Reply(0, ProbeResponseHeader(doubled=6), ext=ext)
    served = dispatcher(lambda context, call: reply)
    assert answer_to(served, probe()) == answer_to(served, probe())
    assert ext == {"extra": "e"}


def test_the_answer_has_the_form_of_the_request() -> None:
    served = Dispatcher(None, {105: lambda context, call: Reply()}, {}, clock=ManualClock())
    command = RemotingCommand(105, serialize_type=SerializeType.ROCKETMQ, ext_fields={"topic": "T"})
    assert answer_to(served, command).serialize_type is SerializeType.ROCKETMQ


def test_a_refusal_becomes_its_code_remark_and_header() -> None:
    def function(context: None, call: Call) -> Reply:
        raise RequestError(ResponseCode.NO_PERMISSION, "forbidden", ProbeResponseHeader(doubled=1))

    answer = answer_to(dispatcher(function), probe())
    assert (answer.code, answer.remark, answer.ext_fields) == (16, "forbidden", {"doubled": "1"})


def test_a_wrong_header_is_answered_with_its_remark_and_the_function_is_not_called() -> None:
    def function(context: None, call: Call) -> Reply:
        raise AssertionError("called")

    answer = answer_to(dispatcher(function), RemotingCommand.request(CODE, ext={"count": "1"}))
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert answer.remark is not None
    assert "name" in answer.remark


def test_an_unknown_code_is_not_supported(caplog: pytest.LogCaptureFixture) -> None:
    served = Dispatcher(None, {}, {2003: "cold data is not kept apart"}, clock=ManualClock())
    with caplog.at_level(logging.INFO):
        for code in (2003, 2003, 424242):
            answer = answer_to(served, RemotingCommand.request(code))
            assert (answer.code, answer.remark) == (3, f" request type {code} not supported")
    assert len([r for r in caplog.records if "cold data is not kept apart" in r.getMessage()]) == 1


@pytest.mark.parametrize("later", [False, True])
def test_an_unexpected_error_is_described_and_logged(caplog: pytest.LogCaptureFixture, later: bool) -> None:
    waiting: Deferred[Reply] = Deferred()

    def function(context: None, call: Call) -> Reply | Deferred[Reply]:
        if later:
            return waiting
        raise KeyError("topic")

    answer = dispatcher(function).dispatch(probe(), PEER)
    if later:
        frames: list[Any] = []
        assert isinstance(answer, Deferred)
        answer.addCallback(frames.append)
        waiting.errback(KeyError("topic"))
        (answer,) = frames
    assert isinstance(answer, bytes)
    command = decode_command(answer[4:])
    assert (command.code, command.remark) == (1, "KeyError, 'topic'")
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert record.exc_info is not None
    assert record.exc_info[0] is KeyError


def test_a_reply_that_comes_later_is_a_deferred_of_the_frame() -> None:
    waiting: Deferred[Reply] = Deferred()
    answer = dispatcher(lambda context, call: waiting).dispatch(probe(), PEER)
    assert isinstance(answer, Deferred)
    frames: list[Any] = []
    answer.addCallback(frames.append)
    assert frames == []
    waiting.callback(Reply(remark="at last"))
    assert decode_command(frames[0][4:]).remark == "at last"


@pytest.mark.parametrize("step_count", [1, AT_ONCE_STEPS + 1])
def test_steps_that_end_in_deferred_are_answered_with_its_reply(step_count: int) -> None:
    waiting: Deferred[Reply] = Deferred()

    def function(context: None, call: Call) -> Steps[Reply | Deferred[Reply]]:
        for _ in range(step_count):
            yield
        return waiting

    answer: Any = dispatcher(function).dispatch(probe(), PEER)
    if isinstance(answer, Generator):
        answer = run(answer)
    frames: list[bytes] = []
    answer.addCallback(frames.append)
    assert frames == []
    waiting.callback(Reply(remark="at last"))
    assert decode_command(frames[0][4:]).remark == "at last"


def test_a_refusal_that_comes_later_is_a_refusal() -> None:
    waiting: Deferred[Reply] = Deferred()
    answer = dispatcher(lambda context, call: waiting).dispatch(probe(), PEER)
    assert isinstance(answer, Deferred)
    frames: list[Any] = []
    answer.addCallback(frames.append)
    waiting.errback(RequestError(ResponseCode.POLLING_FULL, "full"))
    assert decode_command(frames[0][4:]).code == ResponseCode.POLLING_FULL


def test_a_cancelled_reply_is_none_and_no_error(caplog: pytest.LogCaptureFixture) -> None:
    """The peer went away: nothing is written and nothing is wrong."""
    answer = dispatcher(lambda context, call: Deferred()).dispatch(probe(), PEER)
    assert isinstance(answer, Deferred)
    frames: list[Any] = []
    answer.addCallback(frames.append)
    answer.cancel()
    assert frames == [None]
    assert caplog.records == []


@pytest.mark.parametrize(
    "outcome", [Reply(), NO_REPLY, RequestError(1, "no"), ValueError("no"), succeed(Reply())]
)
def test_oneway_requests_are_never_answered(outcome: Any) -> None:
    def function(context: None, call: Call) -> Reply:
        if isinstance(outcome, Exception):
            raise outcome
        return outcome  # type: ignore[no-any-return]

    command = probe()
    command.flag |= ONEWAY_FLAG
    answer = dispatcher(function).dispatch(command, PEER)
    if isinstance(answer, Deferred):
        frames: list[Any] = []
        answer.addCallback(frames.append)
        (answer,) = frames
    assert answer is None


def test_oneway_requests_of_unknown_code_are_not_answered() -> None:
    served = Dispatcher(None, {}, {}, clock=ManualClock())
    assert served.dispatch(RemotingCommand.request(5, oneway=True), PEER) is None


def test_no_reply_is_no_reply() -> None:
    assert dispatcher(lambda context, call: NO_REPLY).dispatch(probe(), PEER) is None


def test_a_function_that_forgets_its_reply_is_answered_for(caplog: pytest.LogCaptureFixture) -> None:
    answer = answer_to(dispatcher(lambda context, call: None), probe())
    assert (answer.code, answer.remark) == (1, "the reply cannot be given")
    assert caplog.records


def test_a_remark_that_cannot_be_written_is_replaced() -> None:
    answer = answer_to(dispatcher(lambda context, call: Reply(remark="\ud800")), probe())
    assert (answer.code, answer.remark) == (1, "the reply cannot be given")


def test_a_stopping_server_sends_those_away_who_understand_it() -> None:
    served = dispatcher(lambda context, call: Reply())
    served.stopping = True
    command = probe()
    command.version = V5_3_1 + 1
    answer = answer_to(served, command)
    assert (answer.code, answer.remark) == (1500, "please go away")
    command.version = V5_3_1
    assert answer_to(served, command).code == 0


def test_refused_request_is_answered_with_system_busy() -> None:
    notified: list[tuple[RemotingCommand, Peer]] = []
    served = dispatcher(
        lambda context, call: Reply(), on_refused=lambda command, peer: notified.append((command, peer))
    )
    frame = served.refuse(probe(), PEER)
    assert frame is not None
    answer = decode_command(frame[4:])
    assert (answer.code, answer.remark) == (2, "[OVERLOAD]system busy, start flow control for a while")
    assert [(command.code, peer) for command, peer in notified] == [(probe().code, PEER)]


class Watcher:
    """A hook that notes what it sees and refuses when told to."""

    def __init__(self, name: str, notes: list[str], refusal: RequestError | None = None) -> None:
        self.name, self.notes, self.refusal = name, notes, refusal

    def before(self, call: Call) -> None:
        assert call.header is None
        self.notes.append(f"{self.name} before")
        if self.refusal is not None:
            raise self.refusal

    def after(self, call: Call, reply: Reply) -> None:
        self.notes.append(f"{self.name} after {int(reply.code)}")


def test_hooks_see_every_request_from_outside_in_and_back() -> None:
    notes: list[str] = []

    def function(context: None, call: Call) -> Reply:
        notes.append("function")
        return Reply(19)

    answer_to(dispatcher(function, hooks=[Watcher("a", notes), Watcher("b", notes)]), probe())
    assert notes == ["a before", "b before", "function", "b after 19", "a after 19"]


def test_a_hook_that_refuses_keeps_the_function_from_being_called() -> None:
    notes: list[str] = []
    refusal = RequestError(ResponseCode.NO_PERMISSION, "signature")
    served = dispatcher(lambda context, call: Reply(), hooks=[Watcher("acl", notes, refusal)])
    assert answer_to(served, probe()).remark == "signature"
    assert notes == ["acl before", "acl after 16"]


@pytest.mark.parametrize(("oneway", "code"), [(False, ResponseCode.SYSTEM_ERROR), (True, None)])
def test_failed_hook_is_answered_unless_request_is_oneway(oneway: bool, code: int | None) -> None:
    class Failing(Watcher):
        def after(self, call: Call, reply: Reply) -> None:
            raise OSError("metrics")

    served = dispatcher(lambda context, call: Reply(), hooks=[Failing("a", [])])
    command = RemotingCommand.request(CODE, ext={"name": "n"}, oneway=oneway)
    frame = served.dispatch(command, PEER)
    assert (decode_command(frame[4:]).code if isinstance(frame, bytes) else frame) == code


def test_every_request_header_is_known_to_the_dispatcher() -> None:
    """Importing the dispatcher fills the registry of headers."""
    assert request_header(RequestCode.PULL_MESSAGE) is not None


def test_an_error_of_the_context_is_answered_as_the_context_says() -> None:
    def function(context: None, call: Call) -> Reply:
        raise LookupError("gone")

    def refusal(error: BaseException) -> Reply | None:
        return Reply(ResponseCode.NO_MESSAGE, remark=str(error)) if isinstance(error, LookupError) else None

    answer = answer_to(dispatcher(function, refusal=refusal), probe())
    assert (answer.code, answer.remark) == (ResponseCode.NO_MESSAGE, "gone")


def test_an_error_of_which_the_context_knows_nothing_is_one_of_the_system() -> None:
    def function(context: None, call: Call) -> Reply:
        raise LookupError("gone")

    answer = answer_to(dispatcher(function, refusal=lambda _: None), probe())
    assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, "LookupError, gone")


def test_a_refusal_may_wait_until_its_time_has_come() -> None:
    until: Deferred[None] = Deferred()

    def function(context: Any, call: Call) -> Reply:
        raise RequestError(ResponseCode.NO_PERMISSION, "forbidden", until=until)

    answer: Any = dispatcher(function).dispatch(probe(), PEER)
    frames: list[bytes] = []
    answer.addCallback(frames.append)
    assert not frames
    until.callback(None)
    assert decode_command(frames[0][4:]).remark == "forbidden"


def test_a_refusal_that_waits_goes_with_its_peer() -> None:
    def function(context: Any, call: Call) -> Reply:
        raise RequestError(ResponseCode.NO_PERMISSION, "forbidden", until=Deferred())

    answer: Any = dispatcher(function).dispatch(probe(), PEER)
    frames: list[bytes | None] = []
    answer.addCallback(frames.append)
    answer.cancel()
    assert frames == [None]


def test_interceptors_see_requests_from_the_newest_to_the_oldest() -> None:
    served, seen = dispatcher(lambda _, call: Reply()), list[str]()

    def interceptor(name: str) -> Interceptor:
        def intercept(command: RemotingCommand, peer: Peer, carry_out: CarryOut) -> Any:
            seen.append(name)
            return carry_out(command, peer)

        return intercept

    served.intercept_with(interceptor("older"))
    served.intercept_with(interceptor("newer"))
    assert answer_to(served, probe()).code == ResponseCode.SUCCESS
    assert seen == ["newer", "older"]
