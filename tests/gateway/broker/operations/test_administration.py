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
    assert administration.withdraw_topic(permit, "New").called
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


def test_figures_count_messages_and_clients(operated: OperatedBroker) -> None:
    administration = operated.operations.administration
    before = administration.figures()
    operated.send(b"a")
    operated.memory.subscribe("G", "T")
    figures = administration.figures()
    assert figures.messages_in == before.messages_in + 1 and figures.log_end > before.log_end
    assert (figures.consumers, figures.producers, figures.waiting) == (1, 0, 0)


def test_settings_are_listed_with_what_forbids_a_change(operated: OperatedBroker) -> None:
    found = {one.name: one for one in operated.operations.administration.settings()}
    assert (found["traceOn"].value, found["traceOn"].why_fixed) == ("true", "")
    assert found["brokerConfigPath"].why_fixed == "on the black list"
    assert found["traceOn"].option.meaning


def test_refusals_are_counted_by_cause(operated: OperatedBroker) -> None:
    administration = operated.operations.administration
    operated.broker.flow_control.count("requests in flight", "x")
    assert administration.refusals() == {"requests in flight": 1}


def test_fenced_broker_is_unhealthy_and_no_writable_master(operated: OperatedBroker) -> None:
    administration = operated.operations.administration
    assert administration.is_writable_master and administration.name_servers() == {}
    assert all(check.is_fine for check in administration.health().values())
    operated.broker.role.become(RoleKind.FENCED)
    assert administration.role.kind is RoleKind.FENCED and not administration.is_writable_master
    assert not administration.health()["role"].is_fine
