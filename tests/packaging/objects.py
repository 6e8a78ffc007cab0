"""Objects of Kubernetes, as tests look at them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import kubernetes_validate

Object = Mapping[str, Any]
KUBERNETES = "1.37"
OF_PROMETHEUS = "monitoring.coreos.com/v1"
"""Objects of its operator have no schema among Kubernetes' own."""


def validate(one: Object) -> None:
    """Raise where an object is none, or has a field that is none."""
    if one["apiVersion"] != OF_PROMETHEUS:
        kubernetes_validate.validate(one, KUBERNETES, strict=True)


def pod_templates(objects: list[Object]) -> Iterator[Object]:
    """Labels and specification of each kind of pod."""
    for one in objects:
        if one["kind"] == "StatefulSet":
            yield one["spec"]["template"]
        elif one["kind"] == "Pod":
            yield one


def of_kind(objects: list[Object], kind: str) -> list[Object]:
    """The objects of one kind."""
    return [one for one in objects if one["kind"] == kind]


def matches(labels: Mapping[str, str], selector: Mapping[str, str]) -> bool:
    """Return True if all labels of a selector are among these."""
    return selector.items() <= labels.items()
