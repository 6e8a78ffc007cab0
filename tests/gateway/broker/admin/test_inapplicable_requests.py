"""Requests to a broker about things that it does not have."""

import pytest

from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.headers import (
    CheckRocksdbCqWriteProgressRequestHeader,
    ExportRocksDBConfigToJsonRequestHeader,
)
from tests.support.gateway.broker.admin import AdminBroker


@pytest.fixture
def broker() -> AdminBroker:
    return AdminBroker()


def test_rocksdb_check_is_reported_as_started(broker: AdminBroker) -> None:
    header = CheckRocksdbCqWriteProgressRequestHeader(topic="T")
    assert broker.json(RequestCode.CHECK_ROCKSDB_CQ_WRITE_PROGRESS, header) == {"checkStatus": 2}


@pytest.mark.parametrize("kinds", ["topics", "topics;subscriptionGroups;consumerOffsets;", ""])
def test_rocksdb_export_of_nothing_succeeds(broker: AdminBroker, kinds: str) -> None:
    header = ExportRocksDBConfigToJsonRequestHeader(config_type=kinds)
    reply = broker.ask(RequestCode.EXPORT_ROCKSDB_CONFIG_TO_JSON, header)
    assert (reply.code, reply.remark) == (ResponseCode.SUCCESS, "export done.")


def test_unknown_table_is_refused(broker: AdminBroker) -> None:
    header = ExportRocksDBConfigToJsonRequestHeader(config_type="topics;typo")
    reply = broker.ask(RequestCode.EXPORT_ROCKSDB_CONFIG_TO_JSON, header)
    assert (reply.code, reply.remark) == (ResponseCode.SYSTEM_ERROR, "Unknown config type: typo")


def test_epochs_without_a_controller_are_refused(broker: AdminBroker) -> None:
    reply = broker.ask(RequestCode.GET_BROKER_EPOCH_CACHE)
    assert (reply.code, reply.remark) == (ResponseCode.SYSTEM_ERROR, "this request only for controllerMode ")
