"""Our bodies accept what RocketMQ's reader accepts for each Java type, and read the same.

`java_reads.json` was measured: `python -m compat_tests.support.body_reads` makes it, and
`compat_tests/test_body_reads.py` checks that it is still true.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from mqgateway.engine import lenient_json
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.codec import bodies
from mqgateway.gateway.codec.errors import BodyError

TABLE: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "java_reads.json").read_text())
TABLES = {"SubscriptionGroupConfig": SubscriptionGroupConfig, "TopicConfig": TopicConfig}
"""Entries of tables instead of bodies, read with `engine.json_members`."""

OTHERWISE = {
    # Text of large numbers: what they looked like is not kept.
    ("String, subString", "3e9"): "3000000000.0",
    ("String, subString", "1e19"): "1e+19",
    # No client sends a group without a name: RocketMQ accepts it and fails a little later.
    **{
        ("Set of objects, producerDataSet", form): "refused"
        for form in ("{}", '{"a":"b"}', '{"a":1}', '{"1":"x"}')
    },
    ("Set of objects, producerDataSet", '"null"'): [],
}
"""Our results that differ from RocketMQ's."""


def read(name: str, form: str) -> Any:
    """Return our value of a member, or "refused"."""
    case = TABLE[name]
    text = case["text"].replace("?", form).encode()
    try:
        if case["class"] in TABLES:
            found = TABLES[case["class"]].from_json(lenient_json.loads(text)).to_json()
        else:
            found = getattr(bodies, case["class"]).decode(text).to_json()
    except (BodyError, ConfigError):
        return "refused"
    value = json.loads(lenient_json.dumps(found, bare_keys=False))
    for step in case["path"]:
        value = value.get(step) if isinstance(step, str) else value[step]
    return value


def without_nulls(value: Any) -> Any:
    """With what null becomes here: no items, and the default of what is no primitive."""
    if value in (None, [None], [], {}, "SINGLE_TAG"):
        return None
    return value


@pytest.mark.parametrize("name", TABLE)
def test_bodies_read_what_the_standard_reads(name: str) -> None:
    reads = TABLE[name]["reads"]
    wanted = {form: without_nulls(OTHERWISE.get((name, form), java)) for form, java in reads.items()}
    assert {form: without_nulls(read(name, form)) for form in reads} == wanted


def test_the_table_has_both_outcomes_for_every_type() -> None:
    for name, case in TABLE.items():
        refused = [form for form, java in case["reads"].items() if java == "refused"]
        if not name.startswith("String"):
            assert 0 < len(refused) < len(case["reads"]), name
