"""Questions about replicas: what is asked, and how answers are read."""

from __future__ import annotations

from mqgateway.engine.lenient_json import loads
from mqgateway.gateway.client import admin_replicas as replicas
from mqgateway.gateway.codec.bodies import EpochEntryCache, HARuntimeInfo, ReplicasInfo
from mqgateway.gateway.codec.command import RemotingCommand


def answer(body: bytes = b"", **fields: str) -> RemotingCommand:
    command = RemotingCommand.response(0, body=body)
    command.ext_fields.update(fields)
    return command


def test_the_state_of_replication() -> None:
    assert replicas.replication().read(answer(b'{"master":true}')) == HARuntimeInfo(master=True)
    result = replicas.replicates_from().read(answer(masterHaAddress="10.0.0.1:10912", masterFlushOffset="5"))
    assert (result.master_ha_address, result.master_flush_offset) == ("10.0.0.1:10912", 5)
    header = replicas.set_flushed(77).header
    assert header is not None and header.encode() == {"masterFlushOffset": "77"}
    body = b'{"clusterName":"c","brokerName":"b","brokerId":1}'
    assert replicas.epochs().read(answer(body)) == EpochEntryCache("c", "b", 1)


def test_controllers() -> None:
    result = replicas.controllers().read(answer(isLeader="true", controllerLeaderAddress="10.0.0.1:9877"))
    assert result.is_leader and result.controller_leader_address == "10.0.0.1:9877"
    question = replicas.in_sync(["a", "b"])
    assert loads(question.body) == ["a", "b"]
    body = b'{"replicasInfoTable":{"a":{"masterBrokerId":1}}}'
    assert question.read(answer(body)) == {"a": ReplicasInfo(master_broker_id=1)}
    assert replicas.master("a").read(answer(masterBrokerId="2")).master_broker_id == 2
    elected = replicas.elect("c", "a", 2).read(answer(b'{"syncStateSet":[1,2]}', masterEpoch="3"))
    assert elected.header.master_epoch == 3
    assert elected.body is not None and elected.body.sync_state_set == {1, 2}
    assert replicas.elect("c", "a", 2).read(answer()).body is None
    assert replicas.controller_settings().read(answer(b"a=1\n")) == {"a": "1"}
    assert replicas.update_controller_settings({"a": "2"}).body == b"a=2\n"


def test_requests_to_add_and_remove_replicas() -> None:
    header = replicas.forget_replicas("c", "a", [1, 2], living_too=True).header
    assert header is not None
    result = header.encode()
    assert result["brokerControllerIdsToClean"] == "1;2" and result["isCleanLivingBroker"] == "true"
    added = replicas.add_broker("/etc/broker.conf").header
    assert added is not None and added.encode() == {"configPath": "/etc/broker.conf"}
    removed = replicas.remove_broker("c", "a", 1).header
    assert removed is not None and removed.encode()["brokerId"] == "1"
