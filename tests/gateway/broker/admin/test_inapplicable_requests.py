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


def test_queues_in_a_database_are_being_checked(broker: AdminBroker) -> None:
    header = CheckRocksdbCqWriteProgressRequestHeader(topic="T")
    assert broker.json(RequestCode.CHECK_ROCKSDB_CQ_WRITE_PROGRESS, header) == {"checkStatus": 2}


@pytest.mark.parametrize("kinds", ["topics", "topics;subscriptionGroups;consumerOffsets;", ""])
def test_tables_in_a_database_are_exported_as_soon_as_there_are_none(broker: AdminBroker, kinds: str) -> None:
    header = ExportRocksDBConfigToJsonRequestHeader(config_type=kinds)
    reply = broker.ask(RequestCode.EXPORT_ROCKSDB_CONFIG_TO_JSON, header)
    assert (reply.code, reply.remark) == (ResponseCode.SUCCESS, "export done.")


def test_a_table_that_nobody_knows_is_refused(broker: AdminBroker) -> None:
    header = ExportRocksDBConfigToJsonRequestHeader(config_type="topics;typo")
    reply = broker.ask(RequestCode.EXPORT_ROCKSDB_CONFIG_TO_JSON, header)
    assert (reply.code, reply.remark) == (ResponseCode.SYSTEM_ERROR, "Unknown config type: typo")


def test_epochs_are_for_those_who_have_a_controller(broker: AdminBroker) -> None:
    reply = broker.ask(RequestCode.GET_BROKER_EPOCH_CACHE)
    assert (reply.code, reply.remark) == (ResponseCode.SYSTEM_ERROR, "this request only for controllerMode ")
