"""One row on one running server: start the load, read its marks, take the server's usage."""

import json
import subprocess
import time

from bench.measure import Usage, usage
from bench.official import official_load
from bench.report import Sample
from bench.rows import Row
from compat_tests.artifacts import CURRENT, OPENS, program
from compat_tests.servers import Server

CLIENT_JVM = ("-Xms512m", "-Xmx1g", "-XX:+UseSerialGC", *OPENS)
LOAD_SECONDS_MAX = 240


def run_row(row: Row, server: Server, number: int) -> Sample:
    """Put the row's load on the server and return what came of it; each run has a topic of its own."""
    topic = f"bench_{row.name.replace('-', '_')}_{number}"
    if row.work == "consume":
        load(Row("fill", "fill", "", row.amount, 1, row.body_bytes), server, topic)
    put = official_load if row.work.startswith("official") else load
    result, used, after = put(row, server, topic)
    return Sample(
        per_second=result["perSecond"],
        cpu_per_million=used / result["count"] * 1e6,
        resident_mb=after.resident_bytes / 1e6,
        failed=int(result["failed"]),
        p50_us=result.get("p50us"),
        p99_us=result.get("p99us"),
    )


def load(row: Row, server: Server, topic: str) -> tuple[dict[str, float], float, Usage]:
    """Run one load to its end: its result, broker CPU seconds of the measured part, usage at the end.

    Raises `RuntimeError` with the load's last lines when it failed.
    """
    command = ["java", *CLIENT_JVM, "-cp", program("bench", "client", CURRENT), "bench.Load", row.work]
    command += [server.namesrv_address, topic, str(row.amount), str(row.threads), str(row.body_bytes)]
    before = usage(server.pids)
    result: dict[str, float] | None = None
    said: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        deadline = time.monotonic() + LOAD_SECONDS_MAX
        for line in process.stdout:
            if line.startswith("{"):
                answer = json.loads(line)
                if "mark" in answer:
                    time.sleep(answer["inMillis"] / 1000)
                    before = usage(server.pids)
                else:
                    result = answer
                    after = usage(server.pids)
                    break
            said.append(line)
            if time.monotonic() > deadline:
                break
        process.kill()
    if result is None:
        raise RuntimeError(f"the load {row.name} gave no result:\n{''.join(said[-20:])}")
    return result, after.cpu_seconds - before.cpu_seconds, after
