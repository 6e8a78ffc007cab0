"""Our mqadmin beside the official one, the same commands on one server after the other: the text is equal.

On each server both tools run each command, the official one first. Commands that change something change it
to the same twice, so that what the second one prints does not depend on who was first. Differences that are
meant (docs/commands.md) are put right before texts are compared: order, and members of Java's maps.
"""

from __future__ import annotations

import re
import shlex
from typing import NamedTuple

import pytest

from compat_tests.support.mqadmin import Mqadmin, normalised
from compat_tests.support.peers import Peers, chosen_kinds
from compat_tests.support.servers import BROKER_NAME, CLUSTER_NAME, Server
from mqgateway.gateway.mqadmin.main import Surroundings, Tool

pytestmark = pytest.mark.timeout(600)

LINES = """
updateTopic -b BROKER -t Ours1 -r 4 -w 4
updateTopic -c CLUSTER -t Ours2 -r 2 -w 2 -p 6
updateTopic -b BROKER -t Ours3 -r 2 -w 2 -a +message.type=FIFO
updateTopic -b BROKER -t Ours4 -r 2 -w 2 -o true
updateTopic -c CLUSTER -t Ours5 -r 2 -w 2 -o true
updateTopic -b BROKER -t Lite -r 1 -w 1 -a +message.type=LITE
topicList
topicRoute -t Ours1
topicRoute -t Ours1 -l
topicRoute -t Nothing
topicStatus -t Ours1
topicStatus -t Ours1 -c Ours2
topicClusterList -t Ours1
updateOrderConf -t Ours4 -m get
updateOrderConf -t Ours4 -m put -v broker-x:3
updateSubGroup -b BROKER -g G1 -r 3 -q 2
updateSubGroup -c CLUSTER -g G1 -s true
updateSubGroup -b BROKER -g G2 -p POLICY
updateSubGroup -b BROKER -g G3 -p '{"type":"CUSTOMIZED","customizedRetryPolicy":{"next":[1000,5000]}}'
getConsumerConfig -g G1
getConsumerConfig -g G3
setConsumeMode -b BROKER -t Ours1 -g G1 -m POP -q 2
setConsumeMode -c CLUSTER -t Ours1 -g G1 -m PULL
updateBrokerConfig -b BROKER -k slaveReadEnable -v false
updateBrokerConfig -c CLUSTER -k slaveReadEnable -v false
getBrokerConfig -b BROKER
getBrokerConfig -c CLUSTER
brokerStatus -b BROKER
brokerStatus -c CLUSTER
cleanExpiredCQ -b BROKER
cleanUnusedTopic -c CLUSTER
deleteExpiredCommitLog
resetMasterFlushOffset -b BROKER -o 0
updateKvConfig -s space -k key -v value
deleteKvConfig -s space -k key
wipeWritePerm -b NAME
addWritePerm -b NAME
getNamesrvConfig
updateNamesrvConfig -k orderMessageEnable -v true
clusterList
clusterList -m
sendMessage -t Ours1 -p hello -k k1 -c TagA -b NAME -i 1
queryMsgByKey -t Ours1 -k k1
queryMsgByKey -t Ours1 -k nothing
queryMsgByOffset -t Ours1 -b NAME -i 1 -o 0 -f UTF-8
queryMsgByOffset -t Ours1 -b NAME -i 1 -o 99
printMsg -t Ours1
printMsg -t Ours1 -d false -s TagA
printMsgByQueue -t Ours1 -a NAME -i 1 -p true -d true -f true
consumeMessage -t Ours1 -b NAME -i 1 -o 0 -c 2
consumeMessage -t Ours1
queryCq -t Ours1 -q 1 -i 0
producerConnection -g Nobody -t Ours1
consumerConnection -g Nobody
consumerProgress -g Nobody
consumerProgress -g G1 -t Ours1
brokerConsumeStats -b BROKER
statsAll -t Ours2
resetOffsetByTime -g G1 -t Ours1 -s 0
resetOffsetByTime -g G1 -t Ours1 -s now
resetOffsetByTime -g G1 -t Ours1 -s 0 -b BROKER -q 1 -o 1
skipAccumulatedMessage -g G1 -t Ours1
haStatus -b BROKER
haStatus -c CLUSTER
getColdDataFlowCtrInfo -b BROKER
updateColdDataFlowCtrGroupConfig -b BROKER -g G1 -v 1000
updateColdDataFlowCtrGroupConfig -c CLUSTER -g G1 -v 1000
getColdDataFlowCtrInfo -c CLUSTER
removeColdDataFlowCtrGroupConfig -b BROKER -g G1
setCommitLogReadAheadMode -b BROKER -m 1
setCommitLogReadAheadMode -c CLUSTER -m 0
switchTimerEngine -b BROKER -e F
getBrokerLiteInfo -b BROKER -d
getBrokerLiteInfo -c CLUSTER
getParentTopicInfo -p Ours1
getParentTopicInfo -p Lite
getLiteTopicInfo -p Lite -l L -s
getLiteClientInfo -p Lite -g G1 -c c1 -s
updateSubGroup -b BROKER -g LiteGroup --attributes +lite.bind.topic=Lite
getLiteGroupInfo -p Lite -g LiteGroup
getLiteGroupInfo -p Lite -g LiteGroup -l L
triggerLiteDispatch -p Lite -g LiteGroup
checkMsgSendRT -t Ours2 -a 3
sendMsgStatus -b NAME -c 2
exportMetadata -c CLUSTER -f FOLDER
exportMetadata -b BROKER -t -f FOLDER
exportConfigs -c CLUSTER -f FOLDER
exportMetrics -c CLUSTER -f FOLDER
createUser -b BROKER -u alice -p 12345678
listUser -b BROKER
createAcl -b BROKER -s User:alice -r Topic:a -a Pub -d Allow
listAcl -b BROKER
getBrokerEpoch -b NAME
checkRocksdbCqWriteProgress -c CLUSTER
rocksDBConfigToJson -c CLUSTER -t topics
deleteSubGroup -b BROKER -g G2
deleteSubGroup -c CLUSTER -g G3
deleteTopic -c CLUSTER -t Ours5
bogus
"""

POLICY = '{"type":"EXPONENTIAL","exponentialRetryPolicy":{"initial":5000,"max":7200000,"multiplier":2}}'

MEANT = (
    (r"(?s)exceptionDesc=(?!null).*?\](?=\s*(\n|$))", "exceptionDesc=WHY]"),
    (
        r"(?<=properties=|roperties: )\{[^}]*\}",
        lambda found: "{" + ", ".join(sorted(found[0][1:-1].split(", "))) + "}",
    ),
    (r"(?m)^error: .*\n|^See 'mqadmin.*\n", ""),
    (r"rt=\d+ms|(?<=Put TPS: )[\d.]+|Avg RT: [\d.]+", "TIME"),
    (r"(?<=queueOffset=)\d+|(?<=Offset: )\d+|(?<=AX_OFFSET=)\d+", "OFFSET"),
    (r"\d+ s ago|(?<=Timestamp: )\d+", "TIME"),
    (r"(?<=SendResult \[sendStatus=SEND_OK)", ""),
)
"""What is different on purpose, or from one moment to the next."""

ROUGH = ("clusterList", "brokerStatus", "checkMsgSendRT", "statsAll", "topicStatus", "updateOrderConf")
"""Commands whose numbers are load and time."""


class Told(NamedTuple):
    """What one tool printed."""

    out: str
    err: str


def comparable(line: str, text: str) -> list[str]:
    """The lines that must be equal, sorted: many of the official tool have the order of a hash table."""
    text = normalised(text)
    for pattern, replacement in MEANT:
        text = re.sub(pattern, replacement, text)
    if line.startswith(ROUGH):
        text = re.sub(r"-?\d+(\.\d+)?", "N", text)
    return sorted(one.strip().rstrip(",") for one in text.splitlines() if one.strip())


def run_both(peers: Peers, server: Server, folder: str) -> dict[str, tuple[Told, Told]]:
    """What both tools print of each command on a server."""
    official = Mqadmin(peers.runtime)
    words = {"BROKER": server.broker_address, "CLUSTER": CLUSTER_NAME, "NAME": BROKER_NAME, "FOLDER": folder}
    words["POLICY"] = POLICY
    found = {}
    try:
        for line in LINES.strip().splitlines():
            command = [words.get(word, word) for word in shlex.split(line)] + ["-n", server.namesrv_address]
            theirs = official.run(*command)
            out: list[str] = []
            err: list[str] = []
            Tool(Surroundings(out.append, err.append, environment={})).run(command)
            found[line] = (Told(theirs.out, theirs.err), Told("".join(out), "".join(err)))
    finally:
        official.close()
    return found


@pytest.fixture(scope="session")
def both(
    request: pytest.FixtureRequest, peers: Peers, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, tuple[Told, Told]]]:
    """What both tools print, by kind of server and command."""
    found = {}
    for kind in chosen_kinds(request.config):
        with peers.fresh(kind) as server:
            found[kind] = run_both(peers, server, str(tmp_path_factory.mktemp("export")))
    return found


@pytest.mark.parametrize("line", LINES.strip().splitlines())
def test_both_tools_print_the_same(
    line: str, kind: str, both: dict[str, dict[str, tuple[Told, Told]]]
) -> None:
    """The text of ours is that of the official tool."""
    theirs, ours = both[kind][line]
    assert comparable(line, ours.out) == comparable(line, theirs.out), (theirs.err, ours.err)
