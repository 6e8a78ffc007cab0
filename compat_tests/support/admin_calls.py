"""Calls of mqadmin, each of its commands with usual options and with what goes wrong; pure.

Each line may begin with how ours is to end, 0 unless told; Apache's tool ends with 0 whatever happened. Words
in capitals are replaced by what there is on the server. `WRONG` goes by what a server refuses, does not know,
or does not answer; what is wrong with the options alone is in `tests/gateway/mqadmin`.
"""

from __future__ import annotations

from typing import NamedTuple

USUAL = """
updateTopic -b BROKER -t Ours1 -r 4 -w 4
updateTopic -c CLUSTER -t Ours2 -r 2 -w 2 -p 6
updateTopic -b BROKER -t Ours3 -r 2 -w 2 -a +message.type=FIFO
updateTopic -b BROKER -t Ours4 -r 2 -w 2 -o true
updateTopic -c CLUSTER -t Ours5 -r 2 -w 2 -o true
updateTopic -b BROKER -t Lite -r 1 -w 1 -a +message.type=LITE
updateTopicList -b BROKER -f TOPICS
updateTopicList -c CLUSTER -f TOPICS
updateTopic -b BROKER -t OWN1 -r 2 -w 2
updateTopicPerm -b BROKER -t OWN1 -p 4
updateTopicPerm -c CLUSTER -t OWN1 -p 6
deleteTopic -c CLUSTER -t OWN1
topicList
topicList -c
topicRoute -t Ours1
topicRoute -t Ours1 -l
topicStatus -t Ours1
topicStatus -t Ours1 -c Ours2
topicClusterList -t Ours1
allocateMQ -t Ours1 -i 10.0.0.1,10.0.0.2
updateOrderConf -t Ours4 -m get
updateOrderConf -t Ours4 -m put -v broker-x:3
updateOrderConf -t Ours4 -m delete
updateSubGroup -b BROKER -g G1 -r 3 -q 2
updateSubGroup -c CLUSTER -g G1 -s true
updateSubGroup -b BROKER -g G2 -p POLICY
updateSubGroup -b BROKER -g G3 -p '{"type":"CUSTOMIZED","customizedRetryPolicy":{"next":[1000,5000]}}'
updateSubGroupList -b BROKER -f GROUPS
updateSubGroupList -c CLUSTER -f GROUPS
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
queryMsgByKey -t Ours1 -k known-key
queryMsgById -t Ours1 -i OFFSET_ID
queryMsgById -t Ours1 -i UNIQUE_ID
queryMsgById -t Ours1 -i UNIQUE_ID -g Readers -d CLIENT
queryMsgByUniqueKey -t Ours1 -i UNIQUE_ID
queryMsgByUniqueKey -t Ours1 -i UNIQUE_ID -a
queryMsgByUniqueKey -t Ours1 -i UNIQUE_ID -g Readers -d CLIENT
queryMsgByOffset -t Ours1 -b NAME -i 1 -o 0 -f UTF-8
queryMsgTraceById -i UNIQUE_ID
printMsg -t Ours1
printMsg -t Ours1 -d false -s TagA
printMsgByQueue -t Ours1 -a NAME -i 1 -p true -d true -f true
consumeMessage -t Ours1 -b NAME -i 1 -o 0 -c 2
consumeMessage -t Ours1
queryCq -t Ours1 -q 1 -i 0
producer -b BROKER
producerConnection -g Makers -t Ours1
consumerConnection -g Readers
consumerConnection -g Readers -b BROKER
consumerStatus -g Readers
consumerStatus -g Readers -i CLIENT
consumerStatus -g Readers -i CLIENT -b BROKER
consumerProgress -g Readers
consumerProgress -g Readers -s true
consumerProgress -g Readers -t Ours1
consumerProgress
brokerConsumeStats -b BROKER
statsAll -t Ours2
statsAll -a -t Ours2
resetOffsetByTime -g G1 -t Ours1 -s 0
resetOffsetByTime -g G1 -t Ours1 -s now
resetOffsetByTime -g G1 -t Ours1 -s 0 -b BROKER -q 1 -o 1
updateSubGroup -b BROKER -g OWN1
cloneGroupOffset -s Readers -d OWN1 -t Ours1
skipAccumulatedMessage -g G1 -t Ours1
haStatus -b BROKER
haStatus -c CLUSTER
getColdDataFlowCtrInfo -b BROKER
updateColdDataFlowCtrGroupConfig -b BROKER -g G1 -v 1000
updateColdDataFlowCtrGroupConfig -c CLUSTER -g G1 -v 1000
getColdDataFlowCtrInfo -c CLUSTER
removeColdDataFlowCtrGroupConfig -b BROKER -g G1
removeColdDataFlowCtrGroupConfig -c CLUSTER -g G1
setCommitLogReadAheadMode -b BROKER -m 1
setCommitLogReadAheadMode -c CLUSTER -m 0
switchTimerEngine -b BROKER -e F
getBrokerLiteInfo -b BROKER -d
getBrokerLiteInfo -c CLUSTER
getParentTopicInfo -p Lite
getLiteTopicInfo -p Lite -l L -s
updateSubGroup -b BROKER -g LiteGroup --attributes +lite.bind.topic=Lite
getLiteClientInfo -p Lite -g LiteGroup -c c1 -s
getLiteGroupInfo -p Lite -g LiteGroup
getLiteGroupInfo -p Lite -g LiteGroup -l L
triggerLiteDispatch -p Lite -g LiteGroup
checkMsgSendRT -t Ours2 -a 3
sendMsgStatus -b NAME -c 2
exportMetadata -c CLUSTER -f FOLDER
exportMetadata -b BROKER -t -f FOLDER
exportConfigs -c CLUSTER -f FOLDER
exportMetrics -c CLUSTER -f FOLDER
exportPopRecord -b BROKER
exportPopRecord -c CLUSTER
createUser -b BROKER -u OWN1 -p 12345678
createUser -c CLUSTER -u OWN2 -p 12345678 -t Super
updateUser -b BROKER -u OWN1 -s disable
getUser -b BROKER -u OWN1
listUser -b BROKER
listUser -c CLUSTER -f OWN
copyUser -f BROKER -t BROKER -u OWN1
createAcl -b BROKER -s User:OWN1 -r Topic:a -a Pub -d Allow
updateAcl -b BROKER -s User:OWN1 -r Topic:a -a Pub,Sub -d Deny
getAcl -b BROKER -s User:OWN1
listAcl -b BROKER
copyAcl -f BROKER -t BROKER -s User:OWN1
deleteAcl -b BROKER -s User:OWN1
deleteUser -b BROKER -u OWN1
checkRocksdbCqWriteProgress -c CLUSTER
rocksDBConfigToJson -c CLUSTER -t topics
deleteSubGroup -b BROKER -g G2
deleteSubGroup -c CLUSTER -g G3
deleteTopic -c CLUSTER -t Ours5
"""

WRONG = """
2 bogus
2 topicRoute
2 updateTopic -t Wrong1 -b BROKER -c CLUSTER
2 updateTopic -t Wrong1 --unknown
3 updateTopic -c NoCluster -t Wrong1
1 updateTopic -b NOBODY -t Wrong1
1 updateTopic -b BROKER -t wrong/name
1 updateTopicList -b NOBODY -f TOPICS
3 updateTopicPerm -b BROKER -t Nothing -p 6
3 deleteTopic -c NoCluster -t Nothing
1 topicList -n NOBODY
3 topicRoute -t Nothing
3 topicStatus -t Nothing
3 topicClusterList -t Nothing
3 allocateMQ -t Nothing -i 10.0.0.1
3 updateOrderConf -t Nothing -m get
1 updateSubGroup -b NOBODY -g G1
3 updateSubGroup -c NoCluster -g G1
1 updateSubGroupList -b NOBODY -f GROUPS
3 deleteSubGroup -c NoCluster -g G1
3 setConsumeMode -c NoCluster -t Ours1 -g G1 -m POP
3 getConsumerConfig -g Nobody
1 updateBrokerConfig -b NOBODY -k slaveReadEnable -v x
3 updateBrokerConfig -c NoCluster -k slaveReadEnable -v x
3 getBrokerConfig -c NoCluster
1 brokerStatus -b NOBODY
1 cleanExpiredCQ -b NOBODY
1 cleanUnusedTopic -b NOBODY
1 deleteExpiredCommitLog -b NOBODY
1 resetMasterFlushOffset -b NOBODY -o 0
1 updateKvConfig -s space -k key -v value -n NOBODY
1 deleteKvConfig -s space -k nothing -n NOBODY
1 wipeWritePerm -b nobody -n NOBODY
1 addWritePerm -b nobody -n NOBODY
1 getNamesrvConfig -n NOBODY
1 updateNamesrvConfig -k configStorePath -v x
3 clusterList -c NoCluster
1 clusterList -n NOBODY
3 sendMessage -t Ours1 -p x -b nobody -i 1
3 queryMsgByKey -t Ours1 -k nothing
3 queryMsgById -t Ours1 -i 7F0000010000000000000000000000010000
3 queryMsgByUniqueKey -t Ours1 -i 7F0000010000000000000000000000010000
3 queryMsgByOffset -t Ours1 -b NAME -i 1 -o 99
3 queryMsgByOffset -t Ours1 -b nobody -i 1 -o 0
3 queryMsgTraceById -i 7F0000010000000000000000000000010000
3 printMsg -t Nothing
3 printMsgByQueue -t Ours1 -a nobody -i 1
3 consumeMessage -t Nothing
1 queryCq -t Ours1 -q 99 -i 0
1 producerConnection -g Nobody -t Ours1
3 consumerConnection -g Nobody
1 producer -b NOBODY
3 consumerStatus -g Nobody
3 consumerProgress -g Nobody
3 consumerProgress -g G1 -t Nothing
1 brokerConsumeStats -b NOBODY
1 statsAll -n NOBODY
3 resetOffsetByTime -g G1 -t Nothing -s now
3 skipAccumulatedMessage -g G1 -t Nothing
3 cloneGroupOffset -s Nobody -d G1Copy -t Ours1
3 haStatus -c NoCluster
1 haStatus -b NOBODY
1 getColdDataFlowCtrInfo -b NOBODY
1 updateColdDataFlowCtrGroupConfig -b NOBODY -g G1 -v 1000
1 removeColdDataFlowCtrGroupConfig -b NOBODY -g G1
2 setCommitLogReadAheadMode -b BROKER -m 7
1 setCommitLogReadAheadMode -b NOBODY -m 0
2 switchTimerEngine -b BROKER -e X
1 switchTimerEngine -b NOBODY -e F
1 getBrokerLiteInfo -b NOBODY
1 getParentTopicInfo -p Ours1
3 getParentTopicInfo -p Nothing
3 getLiteTopicInfo -p Nothing -l L
3 getLiteClientInfo -p Nothing -g G1 -c c1
1 getLiteClientInfo -p Lite -g G1 -c c1
3 getLiteGroupInfo -p Nothing -g LiteGroup
3 triggerLiteDispatch -p Nothing -g LiteGroup
1 checkMsgSendRT -t Ours2 -a 1 -n NOBODY
1 sendMsgStatus -b nobody -c 1 -n NOBODY
1 clusterRT -n NOBODY
3 exportMetadata -c NoCluster -f FOLDER
3 exportConfigs -c NoCluster -f FOLDER
3 exportMetrics -c NoCluster -f FOLDER
1 exportPopRecord -b NOBODY
1 createUser -b NOBODY -u OWN1 -p 12345678
1 updateUser -b BROKER -u nobody -p x
1 deleteUser -b NOBODY -u OWN1
3 getUser -b BROKER -u nobody
1 listUser -b NOBODY
1 copyUser -f BROKER -t NOBODY -u OWN2
1 createAcl -b BROKER -s User:nobody -r Topic:a -a Pub -d Allow
1 updateAcl -b BROKER -s User:OWN2 -r Topic:a -a Any -d Allow
1 deleteAcl -b NOBODY -s User:OWN2
1 getAcl -b BROKER -s User:nobody
1 listAcl -b NOBODY
1 copyAcl -f NOBODY -t BROKER -s User:OWN2
1 addBroker -c NOBODY -b /nothing
1 removeBroker -c NOBODY -b CLUSTER:NAME:0
3 getBrokerEpoch -b nobody
1 getBrokerEpoch -b NAME
1 getSyncStateSet -a NOBODY -b NAME
1 getControllerMetaData -a NOBODY
1 getControllerConfig -a NOBODY
1 updateControllerConfig -a NOBODY -k scanNotActiveBrokerInterval -v 5000
1 electMaster -a NOBODY -b 1 -bn NAME -c CLUSTER
1 cleanBrokerMetadata -a NOBODY -bn NAME -c CLUSTER
3 updateStaticTopic -t Static1 -b nobody -qn 2
3 remappingStaticTopic -t Nothing -b NAME
3 checkRocksdbCqWriteProgress -c NoCluster
3 rocksDBConfigToJson -c NoCluster -t topics
2 exportMetadataInRocksDB -p /nothing -t topics
2 dumpCompactionLog -f /nothing
"""
CONTROLLED = """
getControllerMetaData -a CONTROLLER
getControllerConfig -a CONTROLLER
updateControllerConfig -a CONTROLLER -k scanNotActiveBrokerInterval -v 5000
getSyncStateSet -a CONTROLLER -b NAME
getSyncStateSet -a CONTROLLER -c CLUSTER
getBrokerEpoch -b NAME
getBrokerEpoch -c CLUSTER
1 electMaster -a CONTROLLER -b 1 -bn NAME -c CLUSTER
1 cleanBrokerMetadata -a CONTROLLER -bn nobody -c CLUSTER -l
"""

STATIC = """
updateStaticTopic -t OWN1 -b NAME -qn 2
updateStaticTopic -t OWN1 -c CLUSTER -qn 4
topicRoute -t OWN1
remappingStaticTopic -t OWN1 -b OTHER
topicRoute -t OWN1
remappingStaticTopic -t OWN1 -c CLUSTER
"""

NOT_RUN = {
    "addBroker": "needs a broker container: test_container",
    "removeBroker": "the same",
    "electMaster": "needs a set of two, which the two tools would have to elect in turn: refused here only",
    "cleanBrokerMetadata": "needs a member that is gone, and is for once: refused here only",
    "startMonitoring": "does not end",
    "clusterRT": "Apache's does not end",
    "dumpCompactionLog": "reads a file of a compacted topic: tests/gateway/mqadmin",
    "exportMetadataInRocksDB": "reads files of RocksDB, which ours does not",
}
"""Commands that are not run here as they usually are, and why."""


class Line(NamedTuple):
    """A call, and how ours ends."""

    text: str
    code: int


def lines(text: str) -> list[Line]:
    """The calls of a list."""
    found = []
    for line in text.strip().splitlines():
        code, _, rest = line.partition(" ")
        found.append(Line(rest, int(code)) if code.isdecimal() else Line(line, 0))
    return found
