"""A service of the remoting protocol stops its server and its client together."""

from __future__ import annotations

from twisted.internet.defer import Deferred

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.options import RemotingOptions, TlsMode, TlsOptions
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.worker import InlineWorker
from mqgateway.gateway.codec.command import RemotingCommand, encode_command
from mqgateway.gateway.remoting.call import Call, Reply
from mqgateway.gateway.remoting.dispatch import Dispatcher
from mqgateway.gateway.remoting.service import RemotingService
from mqgateway.gateway.runtime.service import Runtime
from tests.support.gateway.remoting.pair import Net, Talker

CODE, PORT = 105, 1234


class Relay(RemotingService):
    """Asks another server, which never answers, and answers what comes of it."""

    def __init__(self, net: Net, remoting: RemotingOptions, tls: TlsOptions | None = None) -> None:
        super().__init__(Runtime(net, ManualClock(), CrashDisk(), InlineWorker()), remoting, tls)
        self.client = self._make_client()
        self.server = self._make_server(Dispatcher(self, {CODE: Relay.relay}, {}, clock=self._runtime.clock))

    def _begin(self) -> None:
        self.server.listen("", PORT)

    def relay(self, call: Call) -> Deferred[Reply]:
        asked = self.client.request("10.0.0.9:1", RemotingCommand.request(CODE), 300)
        return asked.addCallbacks(lambda _: Reply(), lambda failure: Reply(code=7))


def test_a_request_that_waits_for_another_server_is_answered_when_the_service_stops() -> None:
    net = Net()
    net.unreachable.add(1)
    service = Relay(net, RemotingOptions(enable_shutdown_gracefully=True, shutdown_wait_time_seconds=60))
    service.start()
    talker = Talker()
    net.meet(PORT, talker)
    talker.transport.write(encode_command(RemotingCommand.request(CODE)))
    net.settle()
    stopped: list[None] = []
    service.stop().addCallback(stopped.append)
    net.settle(2)
    assert [answer.code for answer in talker.take()] == [7]
    assert stopped == [None] and not net.ports
    assert not [call for call in net.getDelayedCalls() if call.active()]


def test_tls_is_that_of_the_options_and_none_without_them() -> None:
    assert not Relay(Net(), RemotingOptions()).server.requires_tls
    enforcing = TlsOptions(tls_server_mode=TlsMode.ENFORCING)
    assert Relay(Net(), RemotingOptions(), enforcing).server.requires_tls
