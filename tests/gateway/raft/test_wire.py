"""Bodies as official members write them, captured from three brokers in one group."""

import pytest

from mqgateway.engine.raft.log import Entry
from mqgateway.engine.raft.messages import (
    Answer,
    Append,
    AppendAnswer,
    Code,
    Get,
    GetAnswer,
    HeartBeat,
    HeartBeatAnswer,
    LeadershipTransfer,
    MetadataAnswer,
    Push,
    PushAnswer,
    PushType,
    RaftMetadata,
    Request,
    TransferAnswer,
    Vote,
    VoteAnswer,
    VoteResult,
)
from mqgateway.gateway.codec.errors import BodyError
from mqgateway.gateway.raft.wire import (
    Base,
    RaftCode,
    decode_answer,
    decode_request,
    encode_answer,
    encode_refusal,
    encode_request,
)

ENTRY = Entry(47, 1, 18857, b"record")
ENTRY_TEXT = (
    '{"body":"cmVjb3Jk","bodyCrc":0,"chainCrc":0,"channel":0,"index":47,"magic":1,'
    '"pos":18857,"size":54,"term":1}'
)
REQUESTS: list[tuple[RaftCode, Request, str]] = [
    (
        RaftCode.VOTE,
        Vote("n1", 2, 47, 1),
        '{"code":200,"group":"dlg","leaderId":"n1","ledgerEndIndex":47,"ledgerEndTerm":1,"localId":"n1",'
        '"remoteId":"n2","term":2}',
    ),
    (
        RaftCode.HEART_BEAT,
        HeartBeat("n1", 1),
        '{"code":200,"group":"dlg","leaderId":"n1","localId":"n1","remoteId":"n2","term":1}',
    ),
    (
        RaftCode.PUSH,
        Push(PushType.COMPARE, "n1", 2, 46, (ENTRY,)),
        f'{{"batch":false,"batchEntry":[],"code":200,"commitIndex":46,"count":1,"entry":{ENTRY_TEXT},'
        '"firstEntryIndex":47,"group":"dlg","lastEntryIndex":47,"leaderId":"n1","localId":"n1",'
        '"remoteId":"n2","term":2,"totalSize":0,"type":"COMPARE"}',
    ),
    (
        RaftCode.PUSH,
        Push(PushType.COMMIT, "n1", 2, 46),
        '{"batch":false,"batchEntry":[],"code":200,"commitIndex":46,"count":0,"firstEntryIndex":-1,'
        '"group":"dlg","lastEntryIndex":-1,"leaderId":"n1","localId":"n1","remoteId":"n2","term":2,'
        '"totalSize":0,"type":"COMMIT"}',
    ),
    (
        RaftCode.PUSH,
        Push(PushType.APPEND, "n1", 2, 46, (ENTRY,), is_batch=True),
        f'{{"batch":true,"batchEntry":[{ENTRY_TEXT}],"code":200,"commitIndex":46,"count":1,'
        '"firstEntryIndex":47,"group":"dlg","lastEntryIndex":47,"leaderId":"n1","localId":"n1",'
        '"remoteId":"n2","term":2,"totalSize":54,"type":"APPEND"}',
    ),
    (
        RaftCode.LEADERSHIP_TRANSFER,
        LeadershipTransfer("n1", "n2", 3, 47),
        '{"code":200,"group":"dlg","leaderId":"n1","localId":"n1","remoteId":"n2",'
        '"takeLeadershipLedgerIndex":47,"term":3,"transferId":"n1","transfereeId":"n2"}',
    ),
]
OF_VOTE = Base("dlg", "n2", "n1", leader_id="n1", term=2)
ANSWERS: list[tuple[Request, Answer, str]] = [
    (
        Vote("n1", 2, 47, 1),
        VoteAnswer(VoteResult.REJECT_TERM_NOT_READY, 1),
        '{"code":200,"group":"dlg","leaderId":"n1","localId":"n1","remoteId":"n2","term":1,'
        '"voteResult":"REJECT_TERM_NOT_READY"}',
    ),
    (HeartBeat("n1", 1), HeartBeatAnswer(Code.SUCCESS), '{"code":200,"term":-1}'),
    (HeartBeat("n1", 1), HeartBeatAnswer(Code.TERM_NOT_READY), '{"code":416,"term":-1}'),
    (
        Push(PushType.COMPARE, "n1", 2, 46, (ENTRY,)),
        PushAnswer(Code.SUCCESS, 2, 47, 1, 0, 47),
        '{"beginIndex":0,"code":200,"count":1,"endIndex":47,"group":"dlg","index":47,"term":2}',
    ),
    (
        Push(PushType.COMMIT, "n1", 2, 46),
        PushAnswer(Code.SUCCESS, 2, None, 0, 0, 47),
        '{"beginIndex":0,"code":200,"count":0,"endIndex":47,"group":"dlg","term":2}',
    ),
    (
        LeadershipTransfer("n1", "n2", 3, 47),
        TransferAnswer(Code.TAKE_LEADERSHIP_FAILED, 3),
        '{"code":418,"term":3}',
    ),
]


@pytest.mark.parametrize(("code", "request_", "text"), REQUESTS)
def test_requests_are_written_as_the_standard_does(code: RaftCode, request_: Request, text: str) -> None:
    assert encode_request("dlg", "n1", "n2", request_) == (code, text.encode())


@pytest.mark.parametrize(("code", "request_", "text"), REQUESTS)
def test_requests_are_read(code: RaftCode, request_: Request, text: str) -> None:
    asked, found = decode_request(code, text.encode())
    assert found == request_
    assert (asked.group, asked.remote_id, asked.local_id) == ("dlg", "n2", "n1")


@pytest.mark.parametrize(("request_", "answer", "text"), ANSWERS)
def test_answers_are_written_and_read(request_: Request, answer: Answer, text: str) -> None:
    assert encode_answer(OF_VOTE, answer) == text.encode()
    assert decode_answer(request_, text.encode()) == answer


def test_requests_of_clients() -> None:
    base = '"group":"dlg","remoteId":"n2","localId":"c"'
    found = [
        decode_request(code, f"{{{base}{rest}}}".encode())[1]
        for code, rest in [
            (RaftCode.METADATA, ""),
            (RaftCode.APPEND, ',"body":"cmVjb3Jk"'),
            (RaftCode.GET, ',"beginIndex":47'),
            (RaftCode.GET, ""),
        ]
    ]
    assert found == [RaftMetadata(), Append(b"record"), Get(47), Get(-1)]


def test_answers_to_clients() -> None:
    asked = Base("dlg", "n2", "c")
    assert [
        encode_answer(asked, answer).decode()
        for answer in (
            MetadataAnswer(Code.SUCCESS, "n1", {"n1": "a:1"}),
            AppendAnswer(Code.SUCCESS, 3, 47, 18857, "n1"),
            AppendAnswer(Code.NOT_LEADER, 3),
            GetAnswer(Code.SUCCESS, (ENTRY,)),
        )
    ] == [
        '{"code":200,"group":"dlg","leaderId":"n1","peers":{"n1":"a:1"},"term":-1}',
        '{"code":200,"group":"dlg","index":47,"leaderId":"n1","pos":18857,"term":3}',
        '{"code":404,"group":"dlg","index":-1,"pos":-1,"term":3}',
        f'{{"code":200,"entries":[{ENTRY_TEXT}],"group":"dlg","term":-1}}',
    ]


def test_misdirected_request_is_answered_with_its_own_fields() -> None:
    text = '{"code":401,"group":"dlg","leaderId":"n0","localId":"n1","remoteId":"n2","term":2}'
    assert encode_refusal(OF_VOTE, Code.UNKNOWN_MEMBER, "n0") == text.encode()


@pytest.mark.parametrize(
    "text",
    [
        "no json",
        '{"type":"COMPARE","entry":{"body":"!","index":1,"magic":1,"size":48}}',
        '{"type":"COMPARE","entry":{"body":"","index":1,"magic":1,"size":47}}',
        '{"type":"COMPARE","entry":{"body":"","index":1,"magic":2,"size":48}}',
        '{"type":"COMPARE","entry":{"body":"","index":-1,"magic":1,"size":48}}',
        '{"type":"COMPARE","entry":{"body":"","index":1,"magic":1,"size":48,"pos":-1}}',
    ],
)
def test_invalid_push_is_refused(text: str) -> None:
    with pytest.raises(BodyError):
        decode_request(RaftCode.PUSH, text.encode())


def test_a_code_that_says_nothing_to_a_member_is_an_error() -> None:
    answer = decode_answer(HeartBeat("n1", 1), b'{"code":999,"term":4}')
    assert answer == HeartBeatAnswer(Code.INTERNAL_ERROR, 4)
