"""Events in the form of RocketMQ's controllers; texts captured from a log of 5.5.0."""

import pytest

from mqgateway.engine.controller.events import (
    AlterSyncStateSet,
    ApplyBrokerId,
    CleanBrokerData,
    ElectMaster,
    Event,
    UpdateBrokerAddress,
    text,
)


@pytest.mark.parametrize(
    ("event", "written"),
    [
        (
            ApplyBrokerId("brk", "CL", "127.0.0.1:49810", 1, "127.0.0.1:49810;17"),
            '{"brokerAddress":"127.0.0.1:49810","brokerName":"brk","clusterName":"CL",'
            '"eventType":"APPLY_BROKER_ID_EVENT","newBrokerId":1,"registerCheckCode":"127.0.0.1:49810;17"}',
        ),
        (
            ElectMaster("brk", 1),
            '{"brokerName":"brk","eventType":"ELECT_MASTER_EVENT","newMasterBrokerId":1,'
            '"newMasterElected":true}',
        ),
        (
            ElectMaster("brk", None),
            '{"brokerName":"brk","eventType":"ELECT_MASTER_EVENT","newMasterElected":false}',
        ),
        (
            AlterSyncStateSet("brk", frozenset([2, 1])),
            '{"brokerName":"brk","eventType":"ALTER_SYNC_STATE_SET_EVENT","newSyncStateSet":[1,2]}',
        ),
        (CleanBrokerData("brk"), '{"brokerName":"brk","eventType":"CLEAN_BROKER_DATA_EVENT"}'),
        (
            CleanBrokerData("brk", frozenset([3, 2])),
            '{"brokerIdSetToClean":[2,3],"brokerName":"brk","eventType":"CLEAN_BROKER_DATA_EVENT"}',
        ),
        (
            UpdateBrokerAddress("brk", "CL", "a:1", 2),
            '{"brokerAddress":"a:1","brokerId":2,"brokerName":"brk","clusterName":"CL",'
            '"eventType":"UPDATE_BROKER_ADDRESS"}',
        ),
    ],
)
def test_the_text_is_the_standards(event: Event, written: str) -> None:
    assert text(event) == written
