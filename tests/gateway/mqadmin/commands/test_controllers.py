"""Commands for controllers, against fixed answers of one."""

from __future__ import annotations

from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from tests.support.gateway.mqadmin.answers import answering, body, fields

METADATA = fields(
    group="g", controllerLeaderId="n0", controllerLeaderAddress="k:2", isLeader="true", peers="n0-k:2;n1-k:3"
)
REPLICA = {"brokerName": "broker-a", "brokerId": 2, "brokerAddress": "a:1", "alive": True}
IN_SYNC = {
    "replicasInfoTable": {
        "broker-a": {
            "masterBrokerId": 2,
            "masterAddress": "a:1",
            "masterEpoch": 3,
            "syncStateSetEpoch": 4,
            "inSyncReplicas": [REPLICA],
            "notInSyncReplicas": [{**REPLICA, "brokerId": 3, "alive": False}],
        }
    }
}


def test_the_leader_and_its_peers_are_shown() -> None:
    tool = answering({RequestCode.CONTROLLER_GET_METADATA_INFO: METADATA})
    assert tool.run("getControllerMetaData -a k:1") == 0
    assert tool.out == (
        "\n#ControllerGroup\tg\n#ControllerLeaderId\tn0\n#ControllerLeaderAddress\tk:2"
        "\n#Peer:\tn0-k:2\n#Peer:\tn1-k:3\n"
    )


def test_settings_are_shown_and_changed() -> None:
    settings = RemotingCommand.response(0, body=b"b=2\na=1\n")
    tool = answering({RequestCode.GET_CONTROLLER_CONFIG: settings})
    assert tool.run("getControllerConfig -a k:1;k:2") == 0
    assert tool.out.split("\n")[:3] == ["============k:1============", f"{'a':<50}=  1", f"{'b':<50}=  2"]
    assert tool.run("updateControllerConfig -a k:1;k:2 -k a -v 3") == 0
    assert tool.out == "update controller config success![k:1, k:2]\na : 3\n"
    assert tool.asked[-1][1].body == b"a=3\n"


def test_the_leader_is_asked_to_elect() -> None:
    elected = body({"brokerMemberGroup": {"brokerAddrs": {"0": "a:1", "3": "a:2"}}})
    elected.ext_fields = {
        "masterAddress": "a:1",
        "masterBrokerId": "2",
        "masterEpoch": "5",
        "syncStateSetEpoch": "6",
    }
    tool = answering(
        {
            RequestCode.CONTROLLER_GET_METADATA_INFO: METADATA,
            RequestCode.CONTROLLER_ELECT_MASTER: elected,
        }
    )
    assert tool.run("electMaster -a k:1 -c C -bn broker-a -b 2") == 0
    assert tool.out == (
        "\n#ClusterName\tC\n#BrokerName\tbroker-a\n#BrokerMasterAddr\ta:1\n#MasterEpoch\t5\n"
        "#SyncStateSetEpoch\t6\n\t#Broker\t0\ta:1\n\t#Broker\t3\ta:2\n"
    )
    address, request = tool.asked[-1]
    assert address == "k:2" and request.ext_fields["brokerId"] == "2"


def test_replicas_are_forgotten() -> None:
    tool = answering({RequestCode.CONTROLLER_GET_METADATA_INFO: METADATA})
    assert tool.run("cleanBrokerMetadata -a k:1 -bn broker-a -c C -b 1;2") == 0
    assert tool.out == "clear broker broker-a metadata from controller success! \n"
    assert tool.asked[-1][1].ext_fields["brokerControllerIdsToClean"] == "1;2"
    assert tool.run("cleanBrokerMetadata -a k:1 -bn broker-a") == 2
    assert tool.run("cleanBrokerMetadata -a k:1 -bn broker-a -l -b 1,2") == 2
    before = len(tool.asked)
    assert tool.run("cleanBrokerMetadata -a k:1 -bn broker-a -l --dry-run") == 0
    assert "CLEAN_BROKER_DATA" in tool.out and len(tool.asked) == before + 1


def test_replicas_in_sync_are_shown() -> None:
    tool = answering({RequestCode.CONTROLLER_GET_SYNC_STATE_DATA: body(IN_SYNC)})
    assert tool.run("getSyncStateSet -a k:1;k:2 -c C") == 0
    assert tool.out == (
        "\n#brokerName\tbroker-a\n#MasterBrokerId\t2\n#MasterAddr\ta:1\n#MasterEpoch\t3\n#SyncStateSetEpoch\t4"
        "\n#SyncStateSetNums\t1\n"
        "\nInSyncReplica:\t"
        "ReplicaIdentity{brokerName='broker-a', brokerId=2, brokerAddress='a:1', alive=true}\n"
        "\nNotInSyncReplica:\t"
        "ReplicaIdentity{brokerName='broker-a', brokerId=3, brokerAddress='a:1', alive=false}\n"
    )
    assert tool.asked[-1][0] == "k:1" and tool.asked[-1][1].body == b'["broker-a"]'
    assert tool.run("getSyncStateSet -a k:1") == 2


def test_the_last_epoch_ends_where_the_log_does() -> None:
    epochs = {
        "clusterName": "C",
        "brokerName": "broker-a",
        "brokerId": 0,
        "maxOffset": 90,
        "epochList": [
            {"epoch": 1, "startOffset": 0, "endOffset": 50},
            {"epoch": 2, "startOffset": 50, "endOffset": 2**63 - 1},
        ],
    }
    tool = answering({RequestCode.GET_BROKER_EPOCH_CACHE: body(epochs)})
    assert tool.run("getBrokerEpoch -b broker-a") == 0
    assert tool.out.startswith(
        "\n#clusterName\tC\n#brokerName\tbroker-a\n#brokerAddr\ta:1\n#brokerId\t0"
        "\n#Epoch: EpochEntry{epoch=1, startOffset=0, endOffset=50}"
        "\n#Epoch: EpochEntry{epoch=2, startOffset=50, endOffset=90}\n"
    )
    assert len(tool.json("getBrokerEpoch -c C")["rows"]) == 2
