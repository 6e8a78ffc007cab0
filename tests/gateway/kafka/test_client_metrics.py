"""Checks of client-metrics resources."""

from __future__ import annotations

import pytest

from mqgateway.gateway.kafka.client_metrics import check_client_metrics, conditions_of
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.creation import CreationRejected

INVALID, REFUSED = ErrorCode.INVALID_CONFIG, ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    "configs",
    [
        {},
        {"metrics": "*", "interval.ms": "100", "match": ""},
        {"interval.ms": "3600000", "match": " client_id = a.* , client_software_name=lib"},
    ],
)
def test_allowed_settings_are_accepted(configs: dict[str, str]) -> None:
    check_client_metrics("a", configs)


@pytest.mark.parametrize(
    "name, configs, code",
    [
        ("", {}, REFUSED),
        ("a", {"no.such": "1"}, REFUSED),
        ("a", {"interval.ms": "99"}, REFUSED),
        ("a", {"interval.ms": "3600001"}, REFUSED),
        ("a", {"interval.ms": "soon"}, INVALID),
        ("a", {"match": "client_id"}, INVALID),
        ("a", {"match": "client_id="}, INVALID),
        ("a", {"match": "client_id=a=b"}, INVALID),
        ("a", {"match": "client_id=["}, INVALID),
        ("a", {"match": "color=red"}, INVALID),
        ("a", {"match": f"client_id={'a' * 300}"}, INVALID),
    ],
)
def test_other_settings_are_refused(name: str, configs: dict[str, str], code: ErrorCode) -> None:
    with pytest.raises(CreationRejected) as refused:
        check_client_metrics(name, configs)
    assert refused.value.code == code


def test_last_condition_of_an_attribute_counts() -> None:
    conditions = conditions_of("client_id=a, client_id = b.*")
    assert list(conditions) == ["client_id"] and conditions["client_id"].matches("b1")
