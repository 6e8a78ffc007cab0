"""Administration through operations."""

from __future__ import annotations

import pytest

from mqgateway.engine.ha.role import RoleKind
from mqgateway.engine.options import Setting
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.broker.operations import OperationError, Reason, Restart, Use
from mqgateway.gateway.broker.replication.write_gate import closed_gate
from tests.support.gateway.broker.operating import OperatedBroker


@pytest.fixture
def operated() -> OperatedBroker:
    return OperatedBroker()


def test_topics_are_created_and_deleted(operated: OperatedBroker) -> None:
    administration, permit = operated.operations.administration, operated.permit(Use.ADMINISTER)
    assert administration.put_topic(permit, TopicConfig("New", 2, 2)).called
    assert operated.operations.topics.known("New").read_queue_nums == 2
    administration.delete_topic(permit, "New")
    with pytest.raises(OperationError) as refused:
        operated.operations.topics.known("New")
    assert refused.value.reason is Reason.TOPIC_NOT_EXIST


def test_groups_are_created_and_deleted(operated: OperatedBroker) -> None:
    administration, permit = operated.operations.administration, operated.permit(Use.ADMINISTER)
    administration.put_group(permit, SubscriptionGroupConfig("New", retry_max_times=3))
    assert operated.operations.groups.known("New").retry_max_times == 3
    administration.delete_group(permit, "New")
    assert operated.operations.groups.get("New") is None


def test_group_is_restarted_and_forgotten(operated: OperatedBroker) -> None:
    operated.send(b"a")
    administration, permit = operated.operations.administration, operated.permit(Use.ADMINISTER)
    targets = administration.restart_targets(operated.permit(Use.QUERY), Restart("G", "T", -1))
    assert targets == {0: 1}
    administration.set_offsets(permit, "G", "T", targets)
    assert operated.broker.tables.offsets.query("G", "T", 0) == 1
    administration.forget_offsets(permit, "G", "T")
    assert operated.broker.tables.offsets.query("G", "T", 0) == -1


def test_settings_are_changed_or_refused(operated: OperatedBroker) -> None:
    administration, permit = operated.operations.administration, operated.permit(Use.CONFIGURE)
    administration.change_settings(permit, [Setting("traceOn", "false")])
    assert not operated.broker.options.trace_on
    with pytest.raises(OperationError) as refused:
        administration.change_settings(permit, [Setting("noSuchSetting", "1")])
    assert refused.value.reason is Reason.INVALID_PARAMETER


def test_figures_are_shown_without_replicas(operated: OperatedBroker) -> None:
    administration = operated.operations.administration
    assert administration.runtime_info()["brokerActive"] == "true"
    assert administration.replication() is None


def test_fenced_broker_refuses_changes_of_tables(operated: OperatedBroker) -> None:
    permit = operated.permit(Use.ADMINISTER)
    operated.broker.role.become(RoleKind.FENCED)
    operated.broker.store.gate = closed_gate(RoleKind.FENCED)
    with pytest.raises(OperationError) as refused:
        operated.operations.administration.delete_topic(permit, "T")
    assert refused.value.reason is Reason.SERVICE_NOT_AVAILABLE
    assert operated.operations.topics.get("T") is not None
