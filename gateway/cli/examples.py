"""Examples at the end of the help of commands of click's."""

from __future__ import annotations


def examples(*calls: str) -> str:
    """Return the epilog that shows these calls, a line each."""
    return "\n  ".join(("\b\nExamples:", *calls))


SERVE = examples(
    "mqgateway serve",
    "mqgateway serve --data-dir ~/mq --bind 127.0.0.1 --advertise 127.0.0.1",
    "mqgateway serve --brokers auto --data-dir ~/mq",
    "mqgateway serve --secure --set fileReservedTime=48",
)
NAMESRV = examples("mqgateway namesrv --port 9876 --data-dir ~/namesrv")
BROKER = examples(
    "mqgateway broker -n 10.0.0.5:9876 --data-dir ~/broker --set brokerName=broker-a",
    "mqgateway broker -c broker.conf --print-config",
)
CONTAINER = examples("mqgateway container -n 10.0.0.5:9876 -b 'broker-a.conf:broker-b.conf'")
CONTROLLER = examples("mqgateway controller -c controller.conf")
