"""Effects are taken once, in order."""

from mqgateway.engine.raft.effects import Effects, RaftReply, Send
from mqgateway.engine.raft.messages import Code, HeartBeat, HeartBeatAnswer


def test_effects_are_taken_in_order() -> None:
    effects = Effects()
    answers: list[tuple[object, int]] = []
    effects.send("n1", HeartBeat("n0", 1), lambda answer, now: answers.append((answer, now)))
    effects.reply("token", HeartBeatAnswer(Code.SUCCESS))
    first, second = effects.take()
    assert isinstance(first, Send)
    assert second == RaftReply("token", HeartBeatAnswer(Code.SUCCESS))
    first.answered(None, 7)
    assert answers == [(None, 7)]
    assert effects.take() == []
