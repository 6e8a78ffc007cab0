"""Quotas of clients of a cluster, set in another one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages import alter_client_quotas_request as altering
from mqgateway.gateway.kafka.codec.messages.describe_client_quotas_request import DescribeClientQuotasRequest
from mqgateway.gateway.migration.kafka.cluster import KafkaCluster
from mqgateway.gateway.migration.kafka.connection import check

DEFAULT: Final = "<default>"
"""Stands for the entity of all that have no quotas of their own."""


def read_quotas(cluster: KafkaCluster) -> list[dict[str, Any]]:
    """Return the quotas as rows; none of a broker before Kafka 2.6, which does not know the request.

    A row has `entity`, names by the types of entities (None for the default), and `values` by the names of
    quotas. Raises `ClientError`.
    """
    if not cluster.connection(cluster.nodes()[0]).knows(DescribeClientQuotasRequest.KEY):
        return []
    answer = cluster.ask_any(DescribeClientQuotasRequest())
    check(answer.error_code, "quotas", answer.error_message)
    return [
        {
            "entity": {one.entity_type: one.entity_name for one in entry.entity},
            "values": {one.key: one.value for one in entry.values},
        }
        for entry in answer.entries or ()
    ]


def set_quotas(cluster: KafkaCluster, rows: Sequence[dict[str, Any]]) -> list[str]:
    """Set quotas; others of the same entities remain. Return the refusals. Raises `ClientError`."""
    if not rows:
        return []
    entries = [
        altering.EntryData(
            [altering.EntityData(kind, name) for kind, name in row["entity"].items()],
            [altering.OpData(key, value) for key, value in row["values"].items()],
        )
        for row in rows
    ]
    answer = cluster.ask_at(cluster.controller(), altering.AlterClientQuotasRequest(entries))
    return [
        f"quotas of {_shown(row['entity'])}: {one.error_message or ErrorCode(one.error_code).name}"
        for row, one in zip(rows, answer.entries, strict=True)
        if one.error_code
    ]


def _shown(entity: dict[str, str | None]) -> str:
    return ", ".join(f"{kind} {DEFAULT if name is None else name}" for kind, name in sorted(entity.items()))
