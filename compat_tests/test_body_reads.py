"""What the standard's reader of bodies takes is what the unit tests say it takes."""

import json

from compat_tests.support import body_reads


def test_what_the_standard_reads_is_still_known() -> None:
    kept = json.loads(body_reads.FILE.read_text())
    # As JSON has it: keys are text there.
    assert json.loads(json.dumps(body_reads.ask())) == {name: case["reads"] for name, case in kept.items()}
