"""The benchmark of many topics: what it sends, and a small run of all of it."""

from bench.topics import Making, measure, section, send_frame
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import decode_command


def test_a_send_names_its_topic_and_may_make_it() -> None:
    command = decode_command(send_frame("new")[4:])
    assert command.code == RequestCode.SEND_MESSAGE_V2
    assert (command.ext_fields["b"], command.ext_fields["c"], command.ext_fields["d"]) == (
        "new",
        "TBW102",
        "4",
    )


def test_a_small_run_makes_the_topics_and_stops_the_server() -> None:
    made = measure(50, 4)
    assert made.topics == 50 and made.probes > 0 and 0 < made.p50_ms <= made.p99_ms <= made.longest_ms


def test_the_table_has_a_row_for_each_number() -> None:
    lines = section([Making(10_000, 5.0, 4.0, 90.0, 300, 1.0, 2.0, 3.0, 1.5, 1.0, 0.5)], 32)
    assert lines[-1] == "| 10,000 | 5.0 | 4.0 | 90 | 1.0 | 2 | 3 | 1.5 | 1.0 | 0.5 |"
