"""One row on one running server: start the load, read its marks, take the server's usage."""

import json
import time
from collections.abc import Sequence
from dataclasses import replace

from bench.access import as_load
from bench.loads import running_load
from bench.measure import Usage, usage
from bench.official import official_load
from bench.prepared import TOPIC
from bench.report import Sample
from bench.rest import watch_at_rest
from bench.rows import CONSUMING, PASSING_SHARE, Row
from compat_tests.support.artifacts import CURRENT, OPENS, program
from compat_tests.support.raw import RawConnection
from compat_tests.support.servers import Server
from mqgateway.gateway.codec.codes import RequestCode

CLIENT_JVM = ("-Xms512m", "-Xmx1g", "-XX:+UseSerialGC", *OPENS)
LOAD_SECONDS_MAX = 240


def run_row(row: Row, server: Server, number: int) -> Sample:
    """Put the row's load on the server and return what came of it; each run has a topic of its own.

    Run -1 does not count.
    """
    if row.is_at_rest:
        return watch_at_rest(row, server, counts=number >= 0)
    topic = TOPIC if row.topics else f"bench_{row.name.replace('-', '_')}_{number}"
    if row.work in CONSUMING:
        row = fill(row, server, topic)
    put = official_load if row.work.startswith("official") else load
    result, used, after = put(row, server, topic)
    if not result["count"]:
        raise RuntimeError(f"nothing of {row.name} was done in its time")
    return Sample(
        per_second=result["perSecond"],
        cpu_per_million=used / result["count"] * 1e6,
        resident_mb=after.resident_bytes / 1e6,
        failed=int(result["failed"]),
        p50_us=result.get("p50us"),
        p99_us=result.get("p99us"),
    )


def fill(row: Row, server: Server, topic: str) -> Row:
    """Put the messages there that the row consumes; the row with how many these are in truth."""
    work = CONSUMING[row.work]
    is_mixed = work == "fill-mixed"
    filling = replace(row, work=work, amount=row.amount * (PASSING_SHARE if is_mixed else 1), threads=1)
    result, _, _ = load(filling, server, topic)
    if result["failed"]:
        raise RuntimeError(f"{result['failed']:.0f} messages for {row.name} were lost")
    if row.work == "consume-pop":
        let_pop(server, topic)
    return row if is_mixed else replace(row, amount=int(result["count"]))


def let_pop(server: Server, topic: str) -> None:
    """Tell the broker that the load's group pops; the group is named as `Consuming.java` names it."""
    choice = {"topic": topic, "consumerGroup": f"group_of_{topic}", "mode": "POP", "popShareQueueNum": 0}
    with RawConnection(server.broker_address) as connection:
        answer = connection.ask(RequestCode.SET_MESSAGE_REQUEST_MODE, body=json.dumps(choice).encode())
    if answer is None or answer.code:
        raise RuntimeError(f"the {server.kind} broker would not let a group pop: {answer}")


def load(row: Row, server: Server, topic: str) -> tuple[dict[str, float], float, Usage]:
    """Run one load to its end; see :func:`measured`."""
    signing = as_load() if row.signs else []
    jar = program("bench", "client", CURRENT)
    command = ["java", *CLIENT_JVM, *signing, "-cp", jar, "bench.Load", row.work]
    command += [server.namesrv_address, topic, str(row.amount), str(row.threads), str(row.body_bytes)]
    command += [str(row.topics)] if row.topics else []
    return measured(command, server, row)


def measured(command: Sequence[str], server: Server, row: Row) -> tuple[dict[str, float], float, Usage]:
    """Run a load to its end: its result, server CPU seconds of the measured part, usage at the end of that.

    Raises `RuntimeError` with the load's last lines when it failed.
    """
    before, after = usage(server.pids), None
    result: dict[str, float] | None = None
    said: list[str] = []
    with running_load(command, row.arrangement) as process:
        assert process.stdout is not None
        deadline = time.monotonic() + LOAD_SECONDS_MAX
        for line in process.stdout:
            if line.startswith("{"):
                answer = json.loads(line)
                if "mark" not in answer:
                    result = answer
                    break
                time.sleep(answer["inMillis"] / 1000)
                if answer["mark"] == "begin":
                    before = usage(server.pids)
                else:
                    after = usage(server.pids)
            said.append(line)
            if time.monotonic() > deadline:
                break
    if result is None:
        raise RuntimeError(f"the load {row.name} gave no result:\n{''.join(said[-20:])}")
    after = after or usage(server.pids)
    return result, after.cpu_seconds - before.cpu_seconds, after
