"""Messages as rows, and as Java prints them."""

from __future__ import annotations

from pathlib import Path

import pytest

from mqgateway.gateway.mqadmin.commands import reading

ROW = {
    "offsetId": "0A",
    "msgId": "AB",
    "topic": "T",
    "brokerName": "broker-a",
    "queueId": 1,
    "queueOffset": 2,
    "storeSize": 3,
    "sysFlag": 0,
    "flag": 4,
    "bornTimestamp": 5,
    "bornHost": "10.0.0.3:4000",
    "storeTimestamp": 6,
    "storeHost": "10.0.0.1:10911",
    "commitLogOffset": 7,
    "reconsumeTimes": 8,
    "properties": {"KEYS": "k", "TAGS": "t"},
    "body": "a\ufffd",
    "bodyBase64": "Yf8=",
}


def test_a_message_as_java_prints_it() -> None:
    assert reading.as_java(ROW) == (
        "MessageExt [brokerName=broker-a, queueId=1, storeSize=3, queueOffset=2, sysFlag=0, bornTimestamp=5, "
        "bornHost=/10.0.0.3:4000, storeTimestamp=6, storeHost=/10.0.0.1:10911, msgId=0A, commitLogOffset=7, "
        "bodyCRC=272476052, reconsumeTimes=8, preparedTransactionOffset=0, toString()=Message{topic='T', "
        "flag=4, properties={KEYS=k, TAGS=t}, body=[97, -1], transactionId='null'}]"
    )


def test_a_body_is_kept_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "BODY_FOLDER", str(tmp_path / "bodies"))
    path = reading.keep_body({**ROW, "msgId": "../../up"}, "_1")
    assert path == str(tmp_path / "bodies" / "up_1") and Path(path).read_bytes() == b"a\xff"
    assert reading.decoded(ROW, "latin-1") == "aÿ"
    with pytest.raises(LookupError):
        reading.decoded(ROW, "no such set")
