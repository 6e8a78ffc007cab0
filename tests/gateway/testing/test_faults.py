"""Faults strike what they are for, as often as ordered."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred

from mqgateway.engine.clock import ManualClock
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand, decode_command
from mqgateway.gateway.remoting.call import Call, Reply
from mqgateway.gateway.remoting.dispatch import Dispatcher
from mqgateway.gateway.testing.faults import SEND, Faults

ASKED = RequestCode.GET_BROKER_CONFIG


class Peer:
    address = "10.0.0.9:1"
    aborted = False

    def abort(self) -> None:
        self.aborted = True


class Port:
    """A dispatcher with faults before it."""

    def __init__(self) -> None:
        self.calls: list[RemotingCommand] = []
        self.pauses: list[Deferred[None]] = []
        self.served = 0
        self.ahead = 0
        self.held: Deferred[Reply] | None = None

        def answer(_: Any, call: Call) -> Any:
            self.calls.append(call.command)
            return self.held or Reply(remark="done")

        table = {ASKED: answer, RequestCode.SEND_MESSAGE_V2: answer}
        self.dispatcher = Dispatcher(None, table, {}, clock=ManualClock())
        self.faults = Faults(self.pause, self.count, lambda: self.ahead)
        self.faults.attach(self.dispatcher)

    def pause(self, seconds: float) -> Deferred[None]:
        self.pauses.append(Deferred())
        return self.pauses[-1]

    def count(self) -> None:
        self.served += 1

    def ask(self, code: int = ASKED, **fields: str) -> Any:
        command = RemotingCommand.request(code, ext=fields)
        return self.dispatcher.dispatch(command, Peer())  # type: ignore[arg-type]


def remark(frame: bytes) -> str | None:
    return decode_command(frame[4:]).remark


def test_without_faults_everything_is_carried_out() -> None:
    port = Port()
    assert remark(port.ask()) == "done"


def test_a_fault_strikes_as_often_as_ordered() -> None:
    port = Port()
    fault = port.faults.order("drop", ASKED, 2)
    assert [port.ask(), port.ask()] == [None, None] and remark(port.ask()) == "done"
    assert fault.hits == 2 and len(port.calls) == 1


def test_a_fault_is_for_its_codes_and_topic_only() -> None:
    port = Port()
    by_code = port.faults.order("drop", SEND, None)
    assert remark(port.ask()) == "done"
    by_code.heal()
    by_topic = port.faults.order("drop", None, None, topic="T")
    assert remark(port.ask(topic="U")) == "done"
    assert port.ask(topic="T") is None and port.ask(b="T") is None
    assert (by_code.hits, by_topic.hits) == (0, 2)


def test_a_fault_ends_with_its_block() -> None:
    port = Port()
    with port.faults.order("refuse", ASKED, None, code=14, remark="full"):
        assert remark(port.ask()) == "full" and port.calls == []
    assert remark(port.ask()) == "done"
    port.faults.order("drop", None, None)
    port.faults.heal()
    assert remark(port.ask()) == "done"


def test_an_answer_may_be_lost() -> None:
    port = Port()
    port.faults.order("drop_answer", ASKED, 2)
    assert port.ask() is None and len(port.calls) == 1
    port.held = Deferred()
    later = port.ask()
    port.held.callback(Reply())
    assert later.result is None and len(port.calls) == 2


def test_a_request_may_be_late() -> None:
    port = Port()
    port.faults.order("delay", ASKED, 1, seconds=5.0)
    answers: list[bytes] = []
    port.ask().addCallback(answers.append)
    assert port.calls == [] and answers == []
    port.pauses[0].callback(None)
    assert remark(answers[0]) == "done" and port.served == 1


def test_a_connection_may_break() -> None:
    port, peer = Port(), Peer()
    port.faults.order("cut", ASKED, 1)
    command = RemotingCommand.request(ASKED)
    assert port.dispatcher.dispatch(command, peer) is None  # type: ignore[arg-type]
    assert peer.aborted and port.calls == []


def test_messages_are_dated_in_the_servers_time() -> None:
    port = Port()
    port.ahead = 60_000
    for given, dated in (("1000", "61000"), ("never", "never")):
        command = RemotingCommand.request(RequestCode.SEND_MESSAGE_V2, ext={"g": given})
        port.dispatcher.dispatch(command, Peer())  # type: ignore[arg-type]
        assert command.ext_fields["g"] == dated
