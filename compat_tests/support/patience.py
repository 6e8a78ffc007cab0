"""Settings for our own clients on a busy machine, whose slowest answer takes longer than their 3 s."""

from __future__ import annotations

from typing import Any

PATIENT: dict[str, Any] = {"send_msg_timeout": 30_000}
