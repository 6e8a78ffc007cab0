"""DescribeAcls, CreateAcls and DeleteAcls over the policies of a broker."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.gateway.access.administration import AccessAdministration
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.access.policies import PolicyType, read_policies
from mqgateway.gateway.access.tables import AccessTables
from mqgateway.gateway.codec.bodies import PolicyEntryInfo, PolicyInfo
from mqgateway.gateway.kafka.acl_bindings import ANY, LITERAL, MATCH, PREFIXED
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode as E
from mqgateway.gateway.kafka.codec.messages.create_acls_request import AclCreation, CreateAclsRequest
from mqgateway.gateway.kafka.codec.messages.delete_acls_request import DeleteAclsFilter, DeleteAclsRequest
from mqgateway.gateway.kafka.codec.messages.describe_acls_request import DescribeAclsRequest
from mqgateway.gateway.kafka.dispatch import UnservableRequest
from tests.support.gateway.kafka.broker import KafkaBroker

TOPIC, GROUP = 2, 3
READ, WRITE, ALTER, DESCRIBE = 3, 4, 7, 8
DENY, ALLOW = 2, 3
Row = tuple[int, str, int, str, str, int, int]


def broker(**given: Any) -> KafkaBroker:
    """Return a broker with the user `alice`, who has no policies."""
    kafka = KafkaBroker(options={"authorization_enabled": True})
    tables = AccessTables(CrashDisk(), "/config", kafka.clock, None)
    tables.load()
    access = AccessAdministration(tables, BrokerOptions(**given))
    access.create_user("", "alice", "s", None, None)
    kafka.broker.access = access
    return kafka


def row(
    name: str = "t",
    *,
    kind: int = TOPIC,
    pattern: int = LITERAL,
    principal: str = "User:alice",
    host: str = "*",
    operation: int = READ,
    permission: int = ALLOW,
) -> Row:
    """Return a binding, by default that alice may read the topic `t`."""
    return kind, name, pattern, principal, host, operation, permission


def create(kafka: KafkaBroker, *rows: Row, version: int = 3) -> list[E]:
    """Create bindings, and return the error codes."""
    answer = kafka.ask(CreateAclsRequest([AclCreation(*each) for each in rows]), version)
    return [E(result.error_code) for result in answer.results]


def describe(kafka: KafkaBroker, *given: Any, version: int = 3) -> list[Row]:
    """Return the bindings that a filter has, by default all."""
    answer = kafka.ask(DescribeAclsRequest(*given or (ANY, None, ANY, None, None, ANY, ANY)), version)
    assert answer.error_code == 0, answer.error_message
    return [
        (
            resource.resource_type,
            resource.resource_name,
            resource.pattern_type,
            acl.principal,
            acl.host,
            acl.operation,
            acl.permission_type,
        )
        for resource in answer.resources
        for acl in resource.acls
    ]


def delete(kafka: KafkaBroker, *filters: tuple[Any, ...]) -> list[list[tuple[E, str]]]:
    """Delete bindings, and return error and name of the resource of each that a filter had."""
    answer = kafka.ask(DeleteAclsRequest([DeleteAclsFilter(*each) for each in filters]))
    assert all(result.error_code == 0 for result in answer.filter_results)
    return [
        [(E(acl.error_code), acl.resource_name) for acl in result.matching_acls]
        for result in answer.filter_results
    ]


def custom(kafka: KafkaBroker, *actions: str, resource: str = "Topic:t") -> None:
    """Give alice an entry of ACL 2.0."""
    access = kafka.broker.access
    assert access is not None
    entry = PolicyEntryInfo(resource, list(actions), None, "Allow")
    access.update_acl("alice", read_policies([PolicyInfo("Custom", [entry])]))


@pytest.mark.parametrize("version", [1, 2, 3])
def test_created_bindings_are_described(version: int) -> None:
    kafka = broker()
    rows = [
        row(),
        row(operation=WRITE, host="10.0.0.1"),
        row(operation=WRITE, host="10.0.0.1", permission=DENY),
        row("orders.", pattern=PREFIXED, principal="User:*"),
        row("g", kind=GROUP, principal="User:bob"),
    ]
    assert create(kafka, *rows, rows[0], version=version) == [E.NONE] * 6
    assert sorted(describe(kafka, version=version)) == sorted(rows)
    assert describe(kafka, TOPIC, "t", LITERAL, None, None, WRITE, DENY) == [rows[2]]
    assert describe(kafka, TOPIC, "orders.eu", MATCH, None, None, ANY, ANY) == [rows[3]]
    assert describe(kafka, TOPIC, "orders.eu", LITERAL, None, None, ANY, ANY) == []


def test_bindings_are_policies_that_rocketmqs_tools_show_and_delete() -> None:
    kafka = broker()
    create(kafka, row(), row(operation=DESCRIBE), row("u"))
    access = kafka.broker.access
    assert access is not None
    acl = access.acl("alice")
    assert acl is not None
    [policy] = acl.info().policies
    assert policy.policy_type == "Kafka"
    assert [(entry.resource, entry.actions) for entry in policy.entries] == [
        ("Topic:t", ["Read", "Describe"]),
        ("Topic:u", ["Read"]),
    ]
    [resource] = {one.resource for one in acl.bindings.entries.values() if one.resource.name == "t"}
    access.delete_acl("alice", PolicyType.CUSTOM, resource)
    assert describe(kafka) == [row("u")]


def test_invalid_bindings_are_refused_and_others_are_added() -> None:
    kafka = broker()
    wrong = [row(""), row(kind=4), row(principal="alice"), row(host="somewhere"), row(operation=99)]
    assert create(kafka, row(), *wrong, row("u")) == [E.NONE, *[E.INVALID_REQUEST] * 5, E.NONE]
    assert describe(kafka) == [row(), row("u")]


def test_unset_elements_end_the_connection() -> None:
    kafka = broker()
    with pytest.raises(UnservableRequest):
        create(kafka, row(), row(operation=0))
    with pytest.raises(UnservableRequest):
        describe(kafka, ANY, None, 0, None, None, ANY, ANY)
    with pytest.raises(UnservableRequest):
        delete(kafka, (ANY, None, ANY, None, None, ANY, 0))
    assert describe(kafka) == []


def test_limits_refuse_the_bindings_of_a_user() -> None:
    kafka = broker(max_policy_entries_per_user=1, max_users=1)
    other = row(principal="User:bob")
    assert create(kafka, row(), row("u"), other) == [E.INVALID_REQUEST, E.INVALID_REQUEST, E.NONE]
    assert create(kafka, row(), row(principal="User:eve")) == [E.NONE, E.INVALID_REQUEST]
    assert describe(kafka) == [other, row()]


def test_deleted_bindings_are_returned_for_each_filter() -> None:
    kafka = broker()
    create(kafka, row(), row(operation=WRITE), row("u"), row("v", principal="User:*"))
    of_topic = (TOPIC, "t", LITERAL, None, None, ANY, ANY)
    of_alice = (ANY, None, ANY, "User:alice", None, READ, ANY)
    nothing = (GROUP, None, ANY, None, None, ANY, ANY)
    assert delete(kafka, of_topic, of_alice, nothing) == [
        [(E.NONE, "t"), (E.NONE, "t")],
        [(E.NONE, "t"), (E.NONE, "u")],
        [],
    ]
    assert describe(kafka) == [row("v", principal="User:*")]
    delete(kafka, (ANY, None, ANY, None, None, ANY, ANY))
    access = kafka.broker.access
    assert describe(kafka) == [] and access is not None and access.acls() == []


def test_entries_of_acl_2_are_described_and_deleted_as_a_whole() -> None:
    kafka = broker()
    custom(kafka, "Sub", "Pub")
    custom(kafka, "All", resource="*")
    create(kafka, row(operation=WRITE))
    shown = describe(kafka)
    assert row() in shown and row(operation=WRITE) in shown and len(shown) == 2 + 6
    only_read = (TOPIC, "t", LITERAL, None, None, READ, ANY)
    assert delete(kafka, only_read) == [[(E.INVALID_REQUEST, "t")]] and describe(kafka) == shown
    of_topics = (TOPIC, None, ANY, None, None, ANY, ANY)
    assert sorted(delete(kafka, of_topics)[0]) == [(E.NONE, "t"), (E.NONE, "t"), (E.INVALID_REQUEST, "*")]
    assert len(describe(kafka)) == 6
    delete(kafka, (ANY, None, ANY, None, None, ANY, ANY))
    assert describe(kafka) == []


def test_a_part_of_an_entry_stays_but_the_binding_goes() -> None:
    kafka = broker()
    custom(kafka, "Sub", "Pub")
    create(kafka, row())
    assert delete(kafka, (TOPIC, "t", LITERAL, None, None, READ, ANY)) == [[(E.INVALID_REQUEST, "t")]]
    access = kafka.broker.access
    acl = access.acl("alice") if access is not None else None
    assert acl is not None and list(acl.policies) == [PolicyType.CUSTOM]


def test_lists_need_describe_and_changes_alter_of_the_cluster() -> None:
    kafka = broker()
    everything = (ANY, None, ANY, None, None, ANY, ANY)
    kafka.rights.denied = {("DefaultCluster", AclOperation.DESCRIBE), ("DefaultCluster", AclOperation.ALTER)}
    code = E.CLUSTER_AUTHORIZATION_FAILED
    described = kafka.ask(DescribeAclsRequest(*everything))
    assert described.error_code == code and described.error_message
    assert create(kafka, row(), row("u")) == [code] * 2
    answer = kafka.ask(DeleteAclsRequest([DeleteAclsFilter(*everything)]))
    assert [result.error_code for result in answer.filter_results] == [code]


def test_without_access_control_there_is_no_authorizer() -> None:
    kafka = KafkaBroker()
    everything = (ANY, None, ANY, None, None, ANY, ANY)
    answer = kafka.ask(DescribeAclsRequest(*everything))
    assert (answer.error_code, answer.error_message) == (E.SECURITY_DISABLED, "No Authorizer is configured.")
    assert create(kafka, row()) == [E.SECURITY_DISABLED]
    [result] = kafka.ask(DeleteAclsRequest([DeleteAclsFilter(*everything)])).filter_results
    assert result.error_code == E.SECURITY_DISABLED


def test_changes_are_in_the_audit_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "mqgateway.audit.administration")
    kafka = broker()
    create(kafka, row(), row(host="somewhere"))
    delete(kafka, (ANY, None, ANY, None, None, ANY, ANY))
    first, second = (
        record.getMessage() for record in caplog.records if record.name == "mqgateway.audit.administration"
    )
    assert "request=CreateAcls what=subject:User:alice,resource:Topic:t result=42 reason=" in first
    assert "request=DeleteAcls what=subject:User:alice,resource:Topic:t result=0" in second
