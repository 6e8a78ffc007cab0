"""Operations imply others where they are allowed, not where they are denied."""

from __future__ import annotations

import pytest

from mqgateway.gateway.access.operations import AclOperation, allows, denies

OP = AclOperation


@pytest.mark.parametrize(
    ("operation", "implying"),
    [
        (OP.DESCRIBE, {OP.READ, OP.WRITE, OP.DELETE, OP.ALTER}),
        (OP.DESCRIBE_CONFIGS, {OP.ALTER_CONFIGS}),
        (OP.READ, set()),
        (OP.TWO_PHASE_COMMIT, set()),
    ],
)
def test_operations_imply_others(operation: AclOperation, implying: set[AclOperation]) -> None:
    assert {one for one in OP if allows([one], operation)} == implying | {operation, OP.ALL}
    assert {one for one in OP if denies([one], operation)} == {operation, OP.ALL}


def test_one_of_several_operations_is_enough() -> None:
    assert allows([OP.CREATE, OP.READ], OP.DESCRIBE) and not allows([OP.CREATE], OP.DESCRIBE)
    assert denies([OP.CREATE, OP.DESCRIBE], OP.DESCRIBE) and not denies([], OP.DESCRIBE)
