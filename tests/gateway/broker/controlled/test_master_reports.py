"""Reports of a controller, parsed from its answers."""

from mqgateway.gateway.broker.controlled.master_reports import (
    ReportedMaster,
    by_election,
    by_notice,
    by_question,
    by_registration,
)
from mqgateway.gateway.codec.bodies import SyncStateSet
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import NotifyBrokerRoleChangedRequestHeader

MASTER = {"masterBrokerId": "2", "masterAddress": "a:1", "masterEpoch": "4", "syncStateSetEpoch": "7"}
SET = b'{"syncStateSet":[1,2],"syncStateSetEpoch":7}'
EXPECTED = ReportedMaster(2, "a:1", 4, frozenset({1, 2}), 7)


def answer(ext: dict[str, str], body: bytes = b"") -> RemotingCommand:
    command = RemotingCommand.response(0, body=body)
    command.ext_fields = ext
    return command


def test_all_answers_are_read_alike() -> None:
    assert by_registration(answer(MASTER, SET)) == EXPECTED
    assert by_election(answer(MASTER, b'{"syncStateSet":[1,2]}')) == EXPECTED
    assert by_question(answer({**MASTER, "syncStateSetEpoch": "0"}, SET)) == EXPECTED
    header = NotifyBrokerRoleChangedRequestHeader(
        master_address="a:1", master_epoch=4, sync_state_set_epoch=7, master_broker_id=2
    )
    assert by_notice(header, SyncStateSet({1, 2}, 7).encode()) == EXPECTED


def test_a_set_without_a_master() -> None:
    no_master = ReportedMaster(None, "", 0, frozenset(), 0)
    assert by_registration(answer({"brokerName": "b1"})) == no_master
    assert by_question(answer({"masterEpoch": "3"}, SET)) == ReportedMaster(None, "", 3, frozenset({1, 2}), 7)
    assert by_election(answer({})) == no_master
