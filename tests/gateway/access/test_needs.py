"""Tables of needs: what their parts read."""

from __future__ import annotations

from mqgateway.gateway.access.needs import GET, SUB, USERS, group_in, needs_in, topic_in, whole_cluster
from mqgateway.gateway.access.requests import REQUESTS


def test_a_row_reads_fields_and_each_name_of_a_list() -> None:
    table = {1: (topic_in("topics", GET, between=";"), group_in("group", SUB), whole_cluster(GET))}
    fields = {"topics": "a;;%RETRY%g", "group": "%RETRY%h"}
    needs = [str(need.resource) for need in needs_in(table, 1, fields, "c")]
    assert needs == ["Topic:a", "Group:g", "Group:h", "Cluster:c"]
    assert needs_in(table, 2, fields, "c") == []


def test_a_retry_topic_is_left_out_where_its_group_is_asked_for_anyway() -> None:
    table = {1: (topic_in("topic", SUB, skip_retry=True), group_in("group", SUB))}
    fields = {"topic": "%RETRY%g", "group": "g"}
    assert [str(need.resource) for need in needs_in(table, 1, fields, "c")] == ["Group:g"]


def test_every_request_about_users_has_its_needs() -> None:
    assert USERS.keys() == REQUESTS.keys()
