"""Uses of the broker that permits are for.

Looking a member up in an enumeration takes longer than the check of a permit: what is used for every message
keeps the members that it needs in constants. The enumeration is apart from the gate, which is compiled: mypyc
does not compile an enumeration whose members have values of their own.
"""

from __future__ import annotations

from enum import Enum

from mqgateway.gateway.broker.needs import Needs


class Use(Enum):
    """A use of the broker, with its need of the broker's role."""

    SEND = "send", Needs.MASTER
    SEND_BACK = "send back", Needs.MASTER_OR_OTHER
    REPLY = "reply", Needs.NOT_FENCED
    RECALL = "recall", Needs.NOT_FENCED
    RECEIVE = "receive", Needs.MASTER_OR_ACTING
    RECEIVE_LITE = "receive from lite topics", Needs.NOT_FENCED
    ACKNOWLEDGE = "acknowledge", Needs.MASTER_OR_ACTING
    CHANGE_INVISIBLE_TIME = "change the invisible time", Needs.MASTER_OR_ACTING
    DEAD_LETTER = "dead-letter", Needs.MASTER_OR_OTHER
    END_TRANSACTION = "end a transaction", Needs.NOT_FENCED
    PULL = "pull", Needs.NO_TRACE
    COMMIT_OFFSET = "commit an offset", Needs.NOT_FENCED
    QUERY = "query", Needs.NOTHING
    CONNECT = "connect", Needs.NOTHING
    LOCK = "lock queues", Needs.NOT_FENCED
    DELETE_RECORDS = "delete records", Needs.MASTER
    ADMINISTER = "administer", Needs.NOT_FENCED
    CONFIGURE = "configure", Needs.NOTHING
    COORDINATE = "coordinate", Needs.MASTER

    def __init__(self, label: str, needs: Needs) -> None:
        self.label = label
        self.needs = needs
