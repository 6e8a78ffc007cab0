"""Each port of a broker serves a code, or refuses it with a reason."""

from __future__ import annotations

from mqgateway.engine.options import RemotingOptions
from mqgateway.engine.pop import PointKey
from mqgateway.gateway.access.plain.keeper import AclRulesKeeper
from mqgateway.gateway.access.settings import AccessSettings
from mqgateway.gateway.broker.requests import NOT_ON_FAST_PORT, REQUESTS, UNSUPPORTED
from mqgateway.gateway.broker.serving import access_control, dispatchers, end_of_read, guarded
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand, decode_command
from mqgateway.gateway.codec.version_4 import AclRequestCode
from mqgateway.gateway.namesrv import service as namesrv
from mqgateway.gateway.remoting.dispatch import Dispatcher
from tests.gateway.access.test_control import waits
from tests.support.gateway.broker.helpers import FakePeer, MemoryBroker

PEER = FakePeer("10.0.0.7:5")


def answer(port: Dispatcher, code: int) -> RemotingCommand:
    frame = port.dispatch(RemotingCommand.request(code), PEER)
    assert isinstance(frame, bytes)
    return decode_command(frame[4:])


def test_every_code_is_served_or_refused_with_a_reason() -> None:
    for code in RequestCode:
        places = [code in table for table in (REQUESTS, UNSUPPORTED)]
        assert places.count(True) == 1, code
        assert code in REQUESTS or code in namesrv.REQUESTS or UNSUPPORTED[code]


def test_both_ports_count_refusals_and_the_fast_port_serves_no_pulls() -> None:
    made = MemoryBroker()
    _, table, _ = guarded(made.broker, None, None, waits)
    main, fast = dispatchers(made.context, table, RemotingOptions(), made.clock, [])
    for port in (main, fast):
        port.refuse(RemotingCommand.request(RequestCode.PULL_MESSAGE), PEER)
        assert answer(port, RequestCode.GET_BROKER_RUNTIME_INFO).code == 0
    assert made.broker.flow_control.totals == {"requests in flight": 2}
    for code in NOT_ON_FAST_PORT:
        assert answer(fast, code).code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED


def test_guards_follow_the_settings() -> None:
    made = MemoryBroker(options={"authentication_enabled": True})
    on = made.broker.environment
    settings = AccessSettings.of(on.options, on.disk, "c")
    users = access_control(on, settings, waits)
    assert users is not None
    assert guarded(made.broker, users, None, waits)[::2] == (users, [users])
    admission, _, hooks = guarded(made.broker, None, None, waits)
    assert (admission, hooks) == (None, [])
    off = AccessSettings.of(MemoryBroker().options, on.disk, "c")
    assert access_control(on, off, waits) is None


def test_version_4_accounts_add_their_requests() -> None:
    made = MemoryBroker()
    on = made.broker.environment
    plain = AclRulesKeeper(on.options, on.disk, on.worker, on.clock)
    admission, table, hooks = guarded(made.broker, None, plain, waits)
    assert hooks == [admission]
    assert AclRequestCode.UPDATE_AND_CREATE_ACL_CONFIG in table


def test_acknowledgements_are_stored_before_the_dispatch() -> None:
    made = MemoryBroker()
    notes: list[str] = []
    gathered = made.broker.pop.gathered
    gathered.settle = lambda: notes.append("settled")  # type: ignore[method-assign]
    end = end_of_read(made.broker, lambda: notes.append("dispatched"))
    end()
    gathered.add(PointKey("T", "G", 0, 0, 1000, "broker-a"), 0, 0, 60_000)
    end()
    assert notes == ["dispatched", "settled", "dispatched"]
