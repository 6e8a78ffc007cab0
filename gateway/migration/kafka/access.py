"""Access control lists of a cluster, made in another one, and the users with SCRAM credentials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.create_acls_request import AclCreation, CreateAclsRequest
from mqgateway.gateway.kafka.codec.messages.describe_acls_request import DescribeAclsRequest
from mqgateway.gateway.kafka.codec.messages.describe_user_scram_credentials_request import (
    DescribeUserScramCredentialsRequest,
)
from mqgateway.gateway.migration.kafka.cluster import KafkaCluster
from mqgateway.gateway.migration.kafka.connection import check

ANY: Final = 1
WITHOUT: Final = (
    ErrorCode.SECURITY_DISABLED,
    ErrorCode.UNSUPPORTED_VERSION,
    ErrorCode.RESOURCE_NOT_FOUND,
)
"""Answers of a cluster without an authorizer or without credentials."""


def read_acls(cluster: KafkaCluster) -> list[dict[str, Any]]:
    """Return the entries of the access control lists as rows, empty without an authorizer.

    A row has `type`, `name`, `pattern`, `principal`, `host`, `operation` and `permission`, as Kafka's codes.
    Raises `ClientError`.
    """
    answer = cluster.ask_any(DescribeAclsRequest(ANY, None, ANY, None, None, ANY, ANY))
    if answer.error_code in WITHOUT:
        return []
    check(answer.error_code, "access control lists", answer.error_message)
    return [
        {
            "type": resource.resource_type,
            "name": resource.resource_name,
            "pattern": resource.pattern_type,
            "principal": acl.principal,
            "host": acl.host,
            "operation": acl.operation,
            "permission": acl.permission_type,
        }
        for resource in answer.resources
        for acl in resource.acls
    ]


def create_acls(cluster: KafkaCluster, rows: Sequence[dict[str, Any]]) -> list[str]:
    """Make entries of access control lists; those that exist remain. Return the refusals."""
    if not rows:
        return []
    creations = [
        AclCreation(
            row["type"],
            row["name"],
            row["pattern"],
            row["principal"],
            row["host"],
            row["operation"],
            row["permission"],
        )
        for row in rows
    ]
    results = cluster.ask_at(cluster.controller(), CreateAclsRequest(creations)).results
    return [
        f"rule for {row['principal']} on {row['name']}: {one.error_message or ErrorCode(one.error_code).name}"
        for row, one in zip(rows, results, strict=True)
        if one.error_code
    ]


def scram_users(cluster: KafkaCluster) -> list[str]:
    """Return the names of users with SCRAM credentials; empty if the cluster does not tell."""
    if not cluster.connection(cluster.nodes()[0]).knows(DescribeUserScramCredentialsRequest.KEY):
        return []
    answer = cluster.ask_any(DescribeUserScramCredentialsRequest(None))
    if answer.error_code in WITHOUT:
        return []
    check(answer.error_code, "SCRAM credentials", answer.error_message)
    return sorted(one.user for one in answer.results)
