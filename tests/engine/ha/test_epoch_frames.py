"""The bytes of the stream with epochs, as captured between brokers of 5.5.0."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.ha.epoch_frames import (
    EpochTransfer,
    Hello,
    MasterCutter,
    MasterEpochs,
    SlaveCutter,
    encode_epoch_header,
    encode_epoch_report,
    encode_epochs,
    encode_hello,
)
from mqgateway.engine.ha.epochs import Epoch
from mqgateway.engine.ha.frames import StreamBroken


@pytest.mark.parametrize(
    ("frame", "captured"),
    [
        (encode_hello(Hello(2)), "00000001 0000 0000 0000000000000002"),
        (encode_hello(Hello(3, True, True)), "00000001 0001 0001 0000000000000003"),
        (
            encode_epochs(0, [Epoch(1, 0)]),
            "00000001 0000000c 0000000000000000 00000001 00000001 0000000000000000",
        ),
        (encode_epochs(7, []), "00000001 00000000 0000000000000007 00000000"),
        (encode_epoch_report(0x14111), "00000002 0000000000014111"),
        (
            encode_epoch_header(0xBF, 0xBF, Epoch(1, 0), 0xBF),
            "00000002 000000bf 00000000000000bf 00000001 0000000000000000 00000000000000bf",
        ),
    ],
)
def test_the_bytes_are_those_of_the_standard(frame: bytes, captured: str) -> None:
    assert frame == bytes.fromhex(captured)


@given(st.lists(st.integers(1, 40), max_size=12), st.lists(st.integers(0, 2**62), max_size=3))
def test_a_slave_is_understood_however_its_bytes_arrive(cuts: list[int], reports: list[int]) -> None:
    data = encode_hello(Hello(9, is_learner=True)) + b"".join(map(encode_epoch_report, reports))
    cutter, hellos, found = SlaveCutter(), [], []
    for cut in [*cuts, len(data)]:
        part, data = data[:cut], data[cut:]
        hello, offsets = cutter.feed(part)
        hellos += [hello] if hello else []
        found += offsets
    assert hellos == [Hello(9, False, True)]
    assert found == reports


@given(st.lists(st.integers(1, 50), max_size=12), st.binary(max_size=60))
def test_a_master_is_understood_however_its_bytes_arrive(cuts: list[int], body: bytes) -> None:
    epochs = (Epoch(1, 0), Epoch(4, 70))
    data = encode_epochs(99, epochs) + encode_epoch_header(70, len(body), epochs[1], 60) + body
    data += encode_epoch_header(70 + len(body), 0, epochs[1], 61)
    cutter, answer, found = MasterCutter(100), None, []
    for cut in [*cuts, len(data)]:
        part, data = data[:cut], data[cut:]
        cutter.feed(part)
        if answer is None:
            answer = cutter.epochs()
        if answer is not None:
            found += cutter.transfers()
    assert answer == MasterEpochs(99, epochs)
    assert found == [
        EpochTransfer(70, epochs[1], 60, body),
        EpochTransfer(70 + len(body), epochs[1], 61, b""),
    ]


@pytest.mark.parametrize("data", [encode_epoch_report(5) + bytes(8), encode_hello(Hello(0)), bytes(16)])
def test_slave_without_controller_mode_is_refused(data: bytes) -> None:
    with pytest.raises(StreamBroken, match="not in controller mode"):
        SlaveCutter().feed(data)


def test_a_second_hello_is_refused() -> None:
    with pytest.raises(StreamBroken, match="state 1"):
        SlaveCutter().feed(encode_hello(Hello(1)) * 2)


@pytest.mark.parametrize(
    "data",
    [
        encode_epoch_report(0) + bytes(40),
        encode_epochs(-1, []),
        encode_epochs(0, [Epoch(1, 0)] * 20),
        encode_epochs(0, [])[:4] + b"\0\0\0\5" + bytes(40),
    ],
)
def test_an_answer_that_cannot_be_is_refused(data: bytes) -> None:
    cutter = MasterCutter(100)
    cutter.feed(data)
    with pytest.raises(StreamBroken):
        cutter.epochs()


@pytest.mark.parametrize("size", [-1, 101])
def test_a_transfer_that_cannot_be_is_refused(size: int) -> None:
    cutter = MasterCutter(100)
    cutter.feed(encode_epoch_header(0, size, Epoch(1, 0), 0))
    with pytest.raises(StreamBroken, match="announces"):
        cutter.transfers()
