"""`mqgateway topic`, `group`, `offset` and so on: what the standard's tool lacks, or says in more words.

Each command is declared as those of mqadmin are (`gateway.mqadmin.declaration`), asks servers in the same
way, and has the same flags and exit codes; where mqadmin has a command, the noun's is that one with a table.
"""

from __future__ import annotations

from collections.abc import Sequence

from mqgateway.gateway.mqadmin.commands import PLACES as STANDARD
from mqgateway.gateway.mqadmin.commands import Place
from mqgateway.gateway.mqadmin.declaration import Catalogue

PLACES = {
    "topic list": Place("topics", "all topics of users, with what brokers keep of them"),
    "topic describe": Place("topics", STANDARD["topicStatus"].about),
    "topic route": Place("topics", STANDARD["topicRoute"].about),
    "topic create": Place("topics", STANDARD["updateTopic"].about),
    "topic delete": Place("topics", STANDARD["deleteTopic"].about),
    "group list": Place("groups", "all consumer groups, and how far behind they are"),
    "group describe": Place("groups", STANDARD["getConsumerConfig"].about),
    "group members": Place("groups", "who is connected, wherever the group is known"),
    "group create": Place("groups", STANDARD["updateSubGroup"].about),
    "group delete": Place("groups", STANDARD["deleteSubGroup"].about),
    "message get": Place("messages", "one message with all that is known of it"),
    "message find": Place("messages", "messages with a key, the oldest first"),
    "dlq list": Place("dead_letters", "the dead letters of a group; without one, which groups have any"),
    "dlq replay": Place("dead_letters", "send dead letters of a group again, all or those chosen"),
    "offset show": Place("offsets", "where a group is in each queue, and how many messages wait there"),
    "offset reset": Place(
        "offsets", "let a group go on from somewhere else: shows what that means, asks, and can be undone"
    ),
    "offset undo": Place("offsets", "let a group go on where it was before the last reset of this tool"),
    "offset clone": Place("offsets", STANDARD["cloneGroupOffset"].about),
    "broker list": Place("brokers", STANDARD["clusterList"].about),
    "broker status": Place("brokers", STANDARD["brokerStatus"].about),
    "cluster list": Place("brokers", "the clusters, and which of their broker groups have a master"),
    "access users": Place("access", STANDARD["listUser"].about),
    "access policies": Place("access", STANDARD["listAcl"].about),
    "timer list": Place("timers", "timed messages that are not due yet, by the topic they are for"),
    "transaction list": Place(
        "transactions", "half messages that were neither committed nor rolled back, the oldest first"
    ),
    "transaction resume": Place(
        "transactions", "ask its producer again about a half message that was given up"
    ),
    "trace show": Place("traces", STANDARD["queryMsgTraceById"].about),
    "config show": Place("configuration", STANDARD["getBrokerConfig"].about),
    "config set": Place("configuration", STANDARD["updateBrokerConfig"].about),
    "config diff": Place("configuration", "what two brokers are configured differently in"),
    "config explain": Place(
        "configuration", "what a setting means, its default, and whether it has an effect here"
    ),
    "profile list": Place("profiles", "all profiles, and which one counts unless another is named"),
    "profile show": Place("profiles", "what a profile says; its secret key is hidden"),
    "profile set": Place("profiles", "make a profile of the flags given here, or change those of one"),
    "profile use": Place("profiles", "let a profile count unless another is named"),
    "profile remove": Place("profiles", "forget a profile"),
    "top": Place("top", "the groups that are furthest behind; live on a terminal, until Ctrl-C"),
    "doctor": Place("doctor", "why a consumer group is stuck: causes first, each with what helps"),
}
"""The commands in the order in which they are listed; what is one of mqadmin's says what that says."""

ABOUT = {
    "topic": "Topics: list, describe, route, create, delete.",
    "group": "Consumer groups: list, describe, members, create, delete.",
    "message": "Messages: get by id, find by key, tail, send.",
    "dlq": "Dead letters: list them, send them again.",
    "offset": "Where consumer groups are: show, reset, undo, clone.",
    "broker": "Brokers: list, status.",
    "cluster": "Clusters: list, status.",
    "access": "Access control: users, policies, check.",
    "timer": "Timed messages that wait: list.",
    "transaction": "Transactions: list open ones, ask again.",
    "trace": "What became of a message: show.",
    "config": "Settings of brokers: show, set, diff, explain.",
    "profile": "Servers and credentials under a name: list, show, set, use, remove.",
    "top": "The groups that are furthest behind, live.",
    "doctor": "Why a consumer group is stuck.",
}
"""What each noun is for."""

ELSEWHERE = {
    "message tail": Place("tail", "the newest messages of a topic, and those that come"),
    "message send": Place("send", "send messages"),
    "cluster status": Place("cluster", "who is master, who is in sync, and what is wrong"),
    "access check": Place("access", "may a user do something, and by which policy"),
}
"""Commands of nouns that are click's, by the module of `gateway.cli` that has them."""

CATALOGUE = Catalogue(
    "mqgateway",
    __name__,
    PLACES,
    more=ELSEWHERE,
    name_servers=("127.0.0.1:9876",),
)

RUN_SERVERS = frozenset({"broker"})
"""Nouns that run a server when no command of theirs follows."""

FOUND = 5
"""How `doctor` ends when it found why a group is stuck, and `config diff` when there are differences."""


def is_noun(arguments: Sequence[str]) -> bool:
    """Whether a command line is one of these: its first word is a noun, and the two do not run a server or a
    command that is declared elsewhere."""
    noun, pair = "".join(arguments[:1]), " ".join(arguments[:2])
    if noun not in ABOUT or pair in ELSEWHERE:
        return False
    return noun not in RUN_SERVERS or pair in PLACES
