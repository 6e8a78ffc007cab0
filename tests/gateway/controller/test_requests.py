"""Every request with its codes, remarks, fields and bodies, as answered by 5.5.0 on the wire."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.engine.controller.decisions import ControllerReason
from mqgateway.engine.worker import MemoryWorker
from mqgateway.gateway.codec import headers
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.controller.requests import CODES
from tests.support.gateway.controller.world import PORT, ControllerWorld


def parts(answer: RemotingCommand) -> tuple[int, dict[str, str], bytes]:
    """Return code, fields and body of an answer."""
    return answer.code, dict(answer.ext_fields), answer.body


def refused(answer: RemotingCommand) -> tuple[int, str | None]:
    return answer.code, answer.remark


def test_every_reason_has_its_code() -> None:
    assert set(CODES) == set(ControllerReason)
    assert (
        CODES[ControllerReason.FENCED_MASTER_EPOCH] == 2000
        and CODES[ControllerReason.BROKER_ID_INVALID] == 2014
    )


def test_metadata_is_returned_to_any_caller() -> None:
    answer = ControllerWorld().caller().ask(RequestCode.CONTROLLER_GET_METADATA_INFO)
    assert parts(answer) == (
        0,
        {
            "group": "g1",
            "controllerLeaderId": "n0",
            "controllerLeaderAddress": f"127.0.0.1:{PORT}",
            "isLeader": "true",
            "peers": f"n0:127.0.0.1:{PORT};",
        },
        b"",
    )


NAMES = {"clusterName": "CL", "brokerName": "brk"}


def test_first_start_of_broker() -> None:
    broker = ControllerWorld().broker(1)
    assert parts(broker.next_id()) == (0, NAMES | {"nextBrokerId": "1"}, b"")
    assert parts(broker.apply()) == (0, NAMES, b"")
    assert parts(broker.apply()) == (0, NAMES, b"")
    assert parts(broker.next_id()) == (0, NAMES | {"nextBrokerId": "2"}, b"")
    assert parts(broker.register()) == (0, NAMES, b'{"syncStateSet":[],"syncStateSetEpoch":0}')
    assert parts(broker.info()) == (0, {"masterEpoch": "0"}, b'{"syncStateSet":[],"syncStateSetEpoch":0}')
    broker.heartbeat()
    elected = broker.elect()
    fields = {
        "masterBrokerId": "1",
        "masterAddress": "127.0.0.1:10910",
        "masterEpoch": "1",
        "syncStateSetEpoch": "1",
    }
    group = b'{"brokerAddrs":{"1":"127.0.0.1:10910"},"brokerName":"brk","cluster":"CL"}'
    assert parts(elected) == (0, fields, b'{"brokerMemberGroup":' + group + b',"syncStateSet":[1]}')


def test_second_broker_gets_master() -> None:
    world = ControllerWorld()
    first, second = world.broker(1), world.broker(2)
    first.start()
    first.elect()
    assert parts(second.start()) == (
        0,
        NAMES
        | {
            "masterBrokerId": "1",
            "masterAddress": "127.0.0.1:10910",
            "masterEpoch": "1",
            "syncStateSetEpoch": "1",
        },
        b'{"syncStateSet":[1],"syncStateSetEpoch":1}',
    )


def test_moved_broker_has_new_address() -> None:
    world = ControllerWorld()
    first, second = world.pair()
    assert first.register(broker_address="127.0.0.1:19").code == 0
    assert parts(second.info())[1]["masterAddress"] == "127.0.0.1:19"


def test_unavailable_ids_are_refused() -> None:
    broker = ControllerWorld().broker(1)
    assert refused(broker.apply(broker_name="nn", applied_broker_id=5)) == (
        2014,
        "Broker-set: nn hasn't been registered in controller, but broker try to apply brokerId: 5",
    )
    broker.apply()
    answer = broker.apply(register_check_code="other:1;1")
    assert refused(answer) == (2014, "Fail to apply brokerId: 1 in broker-set: brk")
    assert dict(answer.ext_fields) == NAMES
    assert broker.apply(cluster_name=None).code == 1


def test_invalid_registrations_are_refused() -> None:
    broker = ControllerWorld().broker(1)
    answer = broker.register(broker_name="nn")
    assert refused(answer) == (2010, "Broker-set: nn hasn't been registered in controller")
    assert dict(answer.ext_fields) == {"clusterName": "CL", "brokerName": "nn"}
    broker.apply()
    assert refused(broker.register(broker_id=5)) == (
        2010,
        "BrokerId: 5 hasn't been registered in broker-set: brk",
    )


def test_unknown_broker_set_is_refused() -> None:
    answer = ControllerWorld().broker(1).info("nn")
    assert refused(answer) == (2008, "Broker metadata is not existed")
    assert (dict(answer.ext_fields), answer.body) == ({}, b"")


def test_live_master_is_not_replaced() -> None:
    _first, second = ControllerWorld().pair()
    answer = second.elect()
    assert refused(answer) == (
        2011,
        "The old master 1 is still alive, not need to elect new master for broker brk",
    )
    assert dict(answer.ext_fields) == {
        "masterBrokerId": "1",
        "masterAddress": "127.0.0.1:10910",
        "masterEpoch": "1",
        "syncStateSetEpoch": "2",
    }
    assert answer.body == b'{"syncStateSet":[1,2]}'


def test_designated_election_changes_master() -> None:
    world = ControllerWorld()
    first, second = world.pair()
    answer = world.broker(9).elect(broker_id=2, designate_elect=True)
    assert parts(answer)[:2] == (
        0,
        {
            "masterBrokerId": "2",
            "masterAddress": "127.0.0.1:10920",
            "masterEpoch": "2",
            "syncStateSetEpoch": "3",
        },
    )
    for broker in (first, second):
        (notice,) = broker.listens.heard()
        assert (notice.code, notice.is_oneway) == (RequestCode.NOTIFY_BROKER_ROLE_CHANGED, True)
        assert notice.ext_fields == {
            "masterAddress": "127.0.0.1:10920",
            "masterBrokerId": "2",
            "masterEpoch": "2",
            "syncStateSetEpoch": "3",
        }
        assert notice.body == b'{"syncStateSet":[2],"syncStateSetEpoch":3}'


def test_impossible_elections_fail() -> None:
    first, second = ControllerWorld().pair()
    failed = (2012, "Failed to elect a new master")
    assert refused(second.elect(broker_id=7, designate_elect=True)) == failed
    assert refused(second.elect(broker_name="nn")) == (2010, "Broker hasn't been registered")
    second.lose()
    first.lose()
    third = first.world.broker(3)
    assert refused(third.elect(broker_id=1)) == failed
    assert refused(third.elect(broker_id=-1)) == (
        2004,
        "Old master has down and failed to elect a new broker master",
    )
    assert parts(third.info())[1] == {"masterEpoch": "2"}


def test_sync_state_set_is_altered() -> None:
    world = ControllerWorld()
    first, second = world.broker(1), world.broker(2)
    first.start()
    first.elect()
    second.start()
    assert parts(first.alter("[1,2]", 1)) == (
        0,
        {"newSyncStateSetEpoch": "2"},
        b'{"syncStateSet":[1,2],"syncStateSetEpoch":2}',
    )
    assert parts(first.info()) == (
        0,
        {"masterBrokerId": "1", "masterAddress": "127.0.0.1:10910", "masterEpoch": "1"},
        b'{"syncStateSet":[1,2],"syncStateSetEpoch":2}',
    )


REJECTING = "Rejecting alter syncStateSet request because the "


def test_invalid_sync_state_sets_are_refused() -> None:
    """In RocketMQ's order; every refusal has epoch 0."""
    first, second = ControllerWorld().pair()
    answers = [
        (
            first.alter("[2,1]", 9, 9),
            2013,
            "The newSyncStateSet is equal with oldSyncStateSet, no needed to update syncStateSet",
        ),
        (second.alter("[1]", 9, 9), 2002, REJECTING + "current leader is:{1}, not {2}"),
        (first.alter("[1]", 9, 2), 2000, REJECTING + "current master epoch is:{1}, not {2}"),
        (first.alter("[1]", 7), 2001, REJECTING + "current syncStateSet epoch is:{2}, not {7}"),
        (first.alter("[1,7]", 2), 2003, REJECTING + "replicas {7} don't exist"),
        (first.alter("[2]", 2), 2013, REJECTING + "newSyncStateSet don't contains origin leader {1}"),
        (first.alter("[1]", 2, broker_name="nn"), 2013, "Broker metadata is not existed"),
    ]
    for answer, code, remark in answers:
        assert refused(answer) == (code, remark)
        assert dict(answer.ext_fields) == {"newSyncStateSetEpoch": "0"}
    second.lose()
    assert first.alter("[1]", 2).code == 0
    answer = first.alter("[1,2]", 3)
    assert refused(answer) == (2006, REJECTING + "replicas {2} don't alive")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"syncStateSet":7}'])
def test_malformed_sync_state_set_is_refused(body: bytes) -> None:
    first, _ = ControllerWorld().pair()
    header = headers.AlterSyncStateSetRequestHeader(broker_name="brk", master_broker_id=1, master_epoch=1)
    answer = first.ask(RequestCode.CONTROLLER_ALTER_SYNC_STATE_SET, header, body)
    assert answer.code in (ResponseCode.SYSTEM_ERROR, 2001)
    assert parts(first.info())[2] == b'{"syncStateSet":[1,2],"syncStateSetEpoch":2}'


def test_sync_state_data_has_liveness() -> None:
    first, second = ControllerWorld().pair()
    second.lose()
    first.alter("[1]", 2)
    answer = first.ask(RequestCode.CONTROLLER_GET_SYNC_STATE_DATA, body=b'["brk","nn"]')
    here = b'{"alive":true,"brokerAddress":"127.0.0.1:10910","brokerId":1,"brokerName":"brk"}'
    gone = b'{"alive":false,"brokerAddress":"127.0.0.1:10920","brokerId":2,"brokerName":"brk"}'
    assert parts(answer) == (
        0,
        {},
        b'{"replicasInfoTable":{"brk":{"inSyncReplicas":[' + here + b'],"masterAddress":"127.0.0.1:10910",'
        b'"masterBrokerId":1,"masterEpoch":1,"notInSyncReplicas":[' + gone + b'],"syncStateSetEpoch":3}}}',
    )
    unknown = first.ask(RequestCode.CONTROLLER_GET_SYNC_STATE_DATA, body=b'["nn"]')
    assert parts(unknown) == (0, {}, b'{"replicasInfoTable":{}}')


@pytest.mark.parametrize("body", [b"", b"[]"])
def test_empty_list_of_sets_is_refused(body: bytes) -> None:
    answer = ControllerWorld().caller().ask(RequestCode.CONTROLLER_GET_SYNC_STATE_DATA, body=body)
    assert refused(answer) == (1, "not set any response code")


@pytest.mark.parametrize("body", [b"{", b"{}", b"7"])
def test_malformed_list_of_sets_is_refused(body: bytes) -> None:
    answer = ControllerWorld().caller().ask(RequestCode.CONTROLLER_GET_SYNC_STATE_DATA, body=body)
    assert answer.code == 1 and "the body is no" in (answer.remark or "")


def clean(world: ControllerWorld, name: str = "brk", **fields: Any) -> RemotingCommand:
    header = headers.CleanControllerBrokerDataRequestHeader(cluster_name="CL", broker_name=name, **fields)
    return world.caller().ask(RequestCode.CLEAN_BROKER_DATA, header)


def test_data_of_brokers_is_cleaned() -> None:
    world = ControllerWorld()
    first, second = world.pair()
    assert refused(clean(world)) == (2009, "Broker brk is still alive, clean up failure")
    assert refused(clean(world, broker_controller_ids_to_clean="2")) == (
        2009,
        "Broker [brk,  2] is still alive, clean up failure",
    )
    assert clean(world, broker_controller_ids_to_clean="x").remark == (
        "Please set the option <brokerControllerIdsToClean> according to the format, exception: "
        'java.lang.NumberFormatException: For input string: "x"'
    )
    assert refused(clean(world, "zz", is_clean_living_broker=True)) == (
        2009,
        "Broker zz is not existed,clean broker data failure.",
    )
    second.lose()
    assert parts(clean(world, broker_controller_ids_to_clean="2")) == (0, {}, b"")
    assert parts(first.info())[2] == b'{"syncStateSet":[1],"syncStateSetEpoch":2}'
    assert clean(world, is_clean_living_broker=True).code == 0
    assert first.info().code == 2008


def test_two_way_heartbeat_is_answered() -> None:
    world = ControllerWorld()
    header = headers.BrokerHeartbeatRequestHeader(cluster_name="CL", broker_name="brk", broker_addr="a:1")
    answer = world.caller().ask(RequestCode.BROKER_HEARTBEAT, header)
    assert refused(answer) == (2005, "Heart beat with empty brokerId")
    header.broker_id = 3
    assert refused(world.caller().ask(RequestCode.BROKER_HEARTBEAT, header)) == (0, "Heart beat success")


def test_number_of_live_brokers_is_limited() -> None:
    world = ControllerWorld(max_brokers=1)
    header = headers.BrokerHeartbeatRequestHeader(
        cluster_name="CL", broker_name="brk", broker_addr="a:1", broker_id=1
    )
    assert world.caller().ask(RequestCode.BROKER_HEARTBEAT, header).code == 0
    header.broker_id = 2
    answer = world.caller().ask(RequestCode.BROKER_HEARTBEAT, header)
    assert answer.code == 1 and "maxBrokers" in (answer.remark or "")


def test_settings_are_shown_and_changed() -> None:
    world = ControllerWorld()
    caller = world.caller()
    body = b"enableElectUncleanMaster=true\nnoSuchThing=1\n"
    assert parts(caller.ask(RequestCode.UPDATE_CONTROLLER_CONFIG, body=body)) == (0, {}, b"")
    assert world.options.enable_elect_unclean_master
    shown = caller.ask(RequestCode.GET_CONTROLLER_CONFIG).body.decode().splitlines()
    assert {"enableElectUncleanMaster=true", "controllerDLegerGroup=g1"} <= set(shown)
    kept = world.disk.read_bytes("/controller/controller.properties").decode()
    assert "enableElectUncleanMaster=true" in kept.splitlines()


@pytest.mark.parametrize(
    ("body", "code", "remark"),
    [
        (b"configStorePath=/x", 16, "Can not update config in black list."),
        (b"rocketmqHome=/x", 16, "Can not update config in black list."),
        (b"x=\\u12", 1, "string2Properties error"),
    ],
)
def test_invalid_settings_are_refused(body: bytes, code: int, remark: str) -> None:
    answer = ControllerWorld().caller().ask(RequestCode.UPDATE_CONTROLLER_CONFIG, body=body)
    assert refused(answer) == (code, remark)


def test_start_up_settings_cannot_be_changed() -> None:
    world = ControllerWorld()
    answer = world.caller().ask(RequestCode.UPDATE_CONTROLLER_CONFIG, body=b"controllerStorePath=/x")
    assert answer.code == 1 and "restart" in (answer.remark or "")
    answer = world.caller().ask(RequestCode.UPDATE_CONTROLLER_CONFIG, body=b"electMasterMaxRetryCount=no")
    assert answer.code == 1 and world.options.elect_master_max_retry_count == 3


@pytest.mark.parametrize("code", [*range(1014, 1019), 105, 10, 4711])
def test_requests_of_other_servers_are_not_supported(code: int) -> None:
    answer = ControllerWorld().caller().ask(code)
    assert refused(answer) == (3, f" request type {code} not supported")


def test_controller_that_cannot_write_does_not_lead() -> None:
    world = ControllerWorld()
    first, second = world.pair()
    world.disk.fail_next("any", times=10_000)
    assert first.alter("[1]", 2).code == 1
    not_leading = (2007, "The controller is not in leader state")
    for answer in (
        first.alter("[1]", 2),
        first.elect(),
        first.register(),
        first.info(),
        first.next_id(),
        first.apply(),
        clean(world),
        first.ask(RequestCode.CONTROLLER_GET_SYNC_STATE_DATA, body=b'["brk"]'),
    ):
        assert refused(answer) == not_leading
    metadata = parts(world.caller().ask(RequestCode.CONTROLLER_GET_METADATA_INFO))[1]
    assert metadata == {"group": "g1", "isLeader": "false", "peers": f"n0:127.0.0.1:{PORT};"}
    assert world.caller().ask(RequestCode.GET_CONTROLLER_CONFIG).code == 0
    first.heartbeat()
    second.heartbeat()
    world.disk.heal()
    world.net.settle(1.5)
    assert first.info().code == 0
    assert first.alter("[1]", 2).code == 0


def test_answers_wait_for_disk_in_order() -> None:
    worker = MemoryWorker()
    world = ControllerWorld(worker=worker)
    worker.perform_all()
    broker = world.broker(1)
    apply = headers.ApplyBrokerIdRequestHeader(
        cluster_name="CL", broker_name="brk", applied_broker_id=1, register_check_code="a:1;1"
    )
    assert broker.send(RequestCode.CONTROLLER_APPLY_BROKER_ID, apply) == []
    following = headers.GetNextBrokerIdRequestHeader(cluster_name="CL", broker_name="brk")
    assert broker.send(RequestCode.CONTROLLER_GET_NEXT_BROKER_ID, following) == []
    worker.perform_all()
    world.net.settle()
    first, second = broker.talker.take()
    assert first.code == 0
    assert second.ext_fields["nextBrokerId"] == "2"
