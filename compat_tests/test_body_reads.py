"""Check of the recorded results of RocketMQ's reader of bodies, which the unit tests use."""

import json

from compat_tests.support import body_reads


def test_reader_of_rocketmq_has_the_recorded_results() -> None:
    kept = json.loads(body_reads.FILE.read_text())
    # The comparison is of JSON, in which keys are text.
    assert json.loads(json.dumps(body_reads.ask())) == {name: case["reads"] for name, case in kept.items()}
