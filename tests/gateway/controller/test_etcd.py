"""Requests to etcd and its answers; the answers are those of etcd 3.4.23."""

from __future__ import annotations

import json
from base64 import b64encode

import pytest

from mqgateway.engine.controller.key_values import (
    Delete,
    Kept,
    KeyRange,
    KeyValue,
    Lease,
    Outcome,
    Put,
    Transaction,
    Unanswered,
)
from mqgateway.engine.errors import ConfigError
from mqgateway.gateway.controller import etcd
from mqgateway.gateway.controller.etcd import EtcdEndpoint, endpoints_of

HEADER = '"header":{"cluster_id":"32","member_id":"33","revision":"2","raft_term":"2"}'


def test_endpoints_are_parsed() -> None:
    found = endpoints_of("http://10.0.0.1:2379; https://etcd-b:2380/ ;http://[::1]:1;")
    assert found == [
        EtcdEndpoint(False, "10.0.0.1", 2379),
        EtcdEndpoint(True, "etcd-b", 2380),
        EtcdEndpoint(False, "::1", 1),
    ]
    assert [one.url for one in found] == ["http://10.0.0.1:2379", "https://etcd-b:2380", "http://[::1]:1"]


@pytest.mark.parametrize(
    "text",
    ["10.0.0.1:2379", "http://a", "http://:1", "ftp://a:1", "http://a:1/v3", "http://a:x", "http://u@a:1"],
)
def test_invalid_endpoint_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="write it as http://10"):
        endpoints_of(text)


def test_transaction_is_encoded() -> None:
    wanted = Transaction(
        {"a": 5, "b": 0}, [Put("a", b"b", 7), Delete("b")], [KeyRange("a"), KeyRange("a", "b", 9)]
    )
    a, b = b64encode(b"a").decode(), b64encode(b"b").decode()
    assert etcd.transaction(wanted) == {
        "compare": [
            {"target": "MOD", "result": "EQUAL", "key": a, "mod_revision": "5"},
            {"target": "MOD", "result": "EQUAL", "key": b, "mod_revision": "0"},
        ],
        "success": [
            {"request_put": {"key": a, "value": b, "lease": "7"}},
            {"request_delete_range": {"key": b}},
        ],
        "failure": [
            {"request_range": {"key": a}},
            {"request_range": {"key": a, "range_end": b, "limit": "9"}},
        ],
    }


def test_outcome_is_parsed() -> None:
    good = json.loads(
        f'{{{HEADER},"succeeded":true,"responses":[{{"response_put":{{"header":{{"revision":"2"}}}}}},'
        '{"response_range":{"header":{"revision":"2"},"kvs":[{"key":"YQ==","create_revision":"2",'
        '"mod_revision":"2","version":"1","value":"Yg==","lease":"2324035566077645319"}],"count":"1"}}]}'
    )
    assert etcd.outcome(good) == Outcome(True, 2, [[KeyValue("a", b"b", 2, 2324035566077645319)]], "33")
    nothing = json.loads(f'{{{HEADER},"responses":[{{"response_range":{{"header":{{"revision":"2"}}}}}}]}}')
    assert etcd.outcome(nothing) == Outcome(False, 2, [[]], "33")
    assert etcd.outcome(json.loads(f"{{{HEADER}}}")) == Outcome(False, 2, [], "33")


def test_leases_and_tokens_are_parsed() -> None:
    assert etcd.granted({"ID": "2324035566077645317", "TTL": "2"}) == Lease(2324035566077645317, 2)
    header = json.loads(f"{{{HEADER}}}")
    assert etcd.kept({"result": {**header, "ID": "7", "TTL": "5"}}) == Kept(5, "33")
    assert etcd.kept({"result": {**header, "ID": "123"}}) == Kept(0, "33")
    assert etcd.token({"token": "t"}) == "t"


@pytest.mark.parametrize("read", [etcd.outcome, etcd.granted, etcd.kept, etcd.token])
@pytest.mark.parametrize("answer", [{}, {"result": 7}, {"header": None}, {"ID": "x", "TTL": "1"}])
def test_malformed_answer_raises_unanswered(read: object, answer: dict[str, object]) -> None:
    with pytest.raises(Unanswered, match="not what etcd answers"):
        read(answer)  # type: ignore[operator]
