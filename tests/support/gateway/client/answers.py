"""Answers of the official client to fixed questions: made by `compat_tests.support.known_answers`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

JAVA: Any = json.loads((Path(__file__).parent / "java_answers.json").read_text())
