"""Records the official client's answers to a fixed set of questions, for the unit tests.

    python -m compat_tests.support.known_answers        writes tests/support/gateway/client/java_answers.json

``java/answers`` has the questions. The unit tests compare our client with the file; ``test_python_client``
checks that the file still agrees with the official client.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from compat_tests.support.artifacts import SMALL_JVM, program

FILE = Path(__file__).parents[2] / "tests" / "support" / "gateway" / "client" / "java_answers.json"


def ask() -> Any:
    """Return the official client's current answers."""
    command = [
        "java",
        *SMALL_JVM,
        "-Dfile.encoding=UTF-8",
        "-cp",
        program("answers", "client"),
        "compat.Answers",
    ]
    done = subprocess.run(command, capture_output=True, timeout=120, check=True)
    return json.loads(done.stdout.decode().splitlines()[-1])


def main() -> None:
    """Write the file."""
    lines = json.dumps(ask(), sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    # One strategy, signature or sample a line, so that changes can be read.
    FILE.write_text(lines.replace("},", "},\n") + "\n")


if __name__ == "__main__":
    main()
