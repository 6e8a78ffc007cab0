"""Properties of RocketMQ that are read, kept and shown but have no effect; grouped by reason.

Moving one into effect means declaring it in an option class and dropping it here.
"""

from mqgateway.engine.options.option import accepted
from mqgateway.engine.options.reasons import (
    CLIENT_SIDE,
    LAG_AS_COMMITTED,
    LOGGING,
    NO_BILLING,
    NO_BIT_MAPS,
    NO_COLD,
    NO_JRAFT,
    NO_JVM,
    NO_LITE_FIGURES,
    NO_LOOKUP,
    NO_REPLICAS,
    NO_ROCKSDB,
    NO_STATIC_SUBSCRIPTIONS,
    ONE_LOOP,
    OWN_ACCESS_TABLES,
    OWN_TIMERS,
    OWN_WAY,
    PLAIN_FILES,
    POP_IN_LOG,
    POP_ONE_TABLE,
)

BROKER_ACCEPTED = (
    *accepted(
        ONE_LOOP,
        """
        sendMessageThreadPoolNums=4 putMessageFutureThreadPoolNums=4 pullMessageThreadPoolNums=24
        litePullMessageThreadPoolNums=24 ackMessageThreadPoolNums=16 processReplyMessageThreadPoolNums=24
        queryMessageThreadPoolNums=12 adminBrokerThreadPoolNums=16 clientManageThreadPoolNums=32
        consumerManageThreadPoolNums=32 loadBalanceProcessorThreadPoolNums=32 heartbeatThreadPoolNums=4
        recoverThreadPoolNums=32 endTransactionThreadPoolNums=16 recoverConcurrently=false
        sendThreadPoolQueueCapacity=10000 putThreadPoolQueueCapacity=10000
        pullThreadPoolQueueCapacity=100000 litePullThreadPoolQueueCapacity=100000
        ackThreadPoolQueueCapacity=100000 replyThreadPoolQueueCapacity=10000
        queryThreadPoolQueueCapacity=20000 clientManagerThreadPoolQueueCapacity=1000000
        consumerManagerThreadPoolQueueCapacity=1000000 heartbeatThreadPoolQueueCapacity=50000
        endTransactionPoolQueueCapacity=100000 adminBrokerThreadPoolQueueCapacity=10000
        loadBalanceThreadPoolQueueCapacity=100000 highSpeedMode=false asyncSendEnable=true
        enableFastChannelEventProcess=false enableNetWorkFlowControl=false
        """,
    ),
    *accepted(
        POP_IN_LOG,
        """
        reviveMaxSlow=3 reviveScanTime=10000 enableSkipLongAwaitingAck=false reviveAckWaitMs=180000
        enablePopBufferMerge=false popCkStayBufferTime=10000 popCkStayBufferTimeOut=3000
        popCkMaxBufferSize=200000 popCkOffsetMaxQueueSize=20000 enablePopBatchAck=false
        popConsumerFSServiceInit=true popConsumerKVServiceLog=false popConsumerKVServiceInit=false
        popConsumerKVServiceEnable=false popReviveMaxReturnSizePerRead=16384 popReviveConcurrency=32
        popReviveMaxAttemptTimes=16 popReviveSkipIfGroupAbsent=true appendAckAsync=false
        appendCkAsync=false
        """,
    ),
    *accepted(
        POP_ONE_TABLE,
        "popPollingMapSize=100000 popPollingMapExpireTimeSeconds=600 popLongPollingForceNotifyInterval=800",
    ),
    *accepted(LAG_AS_COMMITTED, "enableNotifyBeforePopCalculateLag=true estimateAccumulation=true"),
    *accepted(
        NO_LITE_FIGURES,
        """
        enableLmqStats=false enableLitePopLog=false liteLagLatencyCollectEnable=false
        liteLagLatencyMetricsEnable=false liteLagCountMetricsEnable=false liteLagLatencyTopK=50
        """,
    ),
    *accepted(
        NO_BILLING,
        """
        commercialBaseCount=1 commercialSizePerMsg=4096 accountStatsPrintZeroValues=true
        maxStatsIdleTimeInMinutes=-1
        """,
    ),
    *accepted(
        NO_REPLICAS,
        "cleanOfflineBrokerInterval=30000",
    ),
    *accepted(
        NO_ROCKSDB,
        "configManagerVersion=v1 useSingleRocksDBForAllConfigs=false "
        "persistConsumerOffsetIncrementally=false flushConsumerOffsetHistoryInterval=60000",
    ),
    *accepted(
        NO_ROCKSDB,
        "transactionCheckRocksdbCoreThreads=2 transactionCheckRocksdbMaxThreads=5 "
        "transactionCheckRocksdbQueueCapacity=2000",
    ),
    *accepted(NO_LOOKUP, "fetchNamesrvAddrInterval=10000 updateNameServerAddrPeriod=120000"),
    *accepted(
        LOGGING,
        "enablePopLog=false isolateLogEnable=false printChannelGroups=false printChannelGroupsMinNum=5",
    ),
    *accepted(NO_STATIC_SUBSCRIPTIONS, "useStaticSubscription=false"),
    *accepted("plug-ins are not supported", "messageStorePlugIn="),
    *accepted("a container has its own settings", "isBrokerContainer=false"),
    *accepted(
        OWN_ACCESS_TABLES,
        """
        configName= clusterName= authConfigPath= userCacheMaxNum=1000
        userCacheExpiredSecond=600 userCacheRefreshSecond=60 aclCacheMaxNum=1000 aclCacheExpiredSecond=600
        aclCacheRefreshSecond=60
        """,
    ),
)

STORE_ACCEPTED = (
    *accepted(
        PLAIN_FILES,
        """
        commitIntervalCommitLog=200 commitCommitLogLeastPages=4 commitCommitLogThoroughInterval=200
        transientStorePoolEnable=false transientStorePoolSize=5 fastFailIfNoBufferInStorePool=false
        wakeCommitWhenPutMessage=true warmMapedFileEnable=false flushLeastPagesWhenWarmMapedFile=4096
        writeWithoutMmap=false mappedFileSwapEnable=true commitLogForceSwapMapInterval=43200000
        commitLogSwapMapInterval=3600000 commitLogSwapMapReserveFileNum=100
        logicQueueForceSwapMapInterval=43200000 logicQueueSwapMapInterval=3600000
        cleanSwapedMapInterval=300000 logicQueueSwapMapReserveFileNum=20 sharedByteBufferNum=16
        putConsumeQueueDataByFileChannel=true destroyMapedFileIntervalForcibly=120000
        osPageCacheBusyTimeOutMills=1000 enableRunningFlagsInFlush=false
        """,
    ),
    *accepted(
        ONE_LOOP,
        """
        useReentrantLockWhenPutMessage=true debugLockEnable=false topicQueueLockNum=32
        spinLockCollisionRetreatOptimalDegree=1000 useABSLock=false dispatchFromSenderThread=false
        dispatchCqThreads=10 dispatchCqCacheNum=4096 enableAsyncReput=true recheckReputOffsetFromCq=false
        enableBuildConsumeQueueConcurrently=false batchDispatchRequestThreadPoolNums=16
        maxAsyncPutMessageRequests=5000 putMsgIndexHightWater=600000 enableScheduleAsyncDeliver=false
        scheduleAsyncDeliverMaxPendingLimit=2000 scheduleAsyncDeliverMaxResendNum2Blocked=3
        """,
    ),
    *accepted(
        NO_ROCKSDB,
        """
        iteratorWhenUseRocksdbConsumeQueue=true cleanRocksDBDirtyCQIntervalMin=60
        statRocksDBCQIntervalSec=10 memTableFlushIntervalMs=3600000 realTimePersistRocksDBConfig=true
        enableRocksDBLog=false rocksdbCQDoubleWriteEnable=false
        combineCQLoadingCQTypes=default;defaultRocksDB combineCQPreferCQType=default
        combineAssignOffsetCQType=default combineCQEnableCheckSelf=false
        combineCQMaxExtraSearchCommitLogFiles=3 combineCQUseRocksdbForLmq=false
        bottomMostCompressionTypeForConsumeQueueStore=zstd rocksdbCompressionType=lz4
        rocksdbFlushWalFrequency=1024 rocksdbWalFileRollingThreshold=1073741824
        useSeparateStorePathForRocksdbCQ=false enableLogConsumeQueueRepeatedlyBuildWhenRecover=false
        indexRocksDBEnable=false maxRocksDBIndexQueryDays=7 transRocksDBEnable=false
        transWriteOriginTransHalfEnable=true
        """,
    ),
    *accepted(
        OWN_TIMERS,
        """
        timerGetMessageThreadNum=3 timerPutMessageThreadNum=3 timerEnableDisruptor=false
        timerEnableCheckMetrics=true timerInterceptDelayLevel=false timerWheelSnapshotFlush=false
        disappearTimeAfterStart=-1 timerCheckMetricsWhen=05 timerWarmEnable=false
        timerEnableRetryUntilSuccess=false timerMetricSmallThreshold=1000000
        timerProgressLogIntervalMs=10000 timerWheelSnapshotIntervalMs=10000
        """,
    ),
    *accepted(
        NO_ROCKSDB,
        """
        timerRocksDBEnable=false timerRocksDBStopScan=false timerRocksDBPrecisionMs=1000
        timerRocksDBRollMaxTps=8000.0 timerRocksDBTimeExpiredMaxTps=200000.0
        timerRocksDBRollIntervalHours=1 timerRocksDBRollRangeHours=2 timerRecallToTimeWheelEnable=true
        timerRecallToTimelineEnable=true timerReputServiceCorePoolSize=6 timerReputServiceMaxPoolSize=6
        timerReputServiceQueueCapacity=10000
        """,
    ),
    *accepted(
        NO_BIT_MAPS,
        "enableConsumeQueueExt=false mappedFileSizeConsumeQueueExt=50331648 bitMapLengthConsumeQueueExt=64",
    ),
    *accepted(
        NO_COLD,
        "timerColdDataCheckIntervalMs=60000 sampleSteps=32 sampleCountThreshold=5000",
    ),
    *accepted(
        NO_REPLICAS,
        """
        putMessageTimeout=8000 duplicationEnable=false
        syncMasterFlushOffsetWhenStartup=false maxChecksumRange=1073741824
        maxSlaveResendLength=268435456
        """,
    ),
    *accepted(
        "batch consume queues are searched differently, and a query returns up to 64 messages",
        "searchBcqByCacheEnable=true maxMsgsNumBatch=64",
    ),
    *accepted(
        "since version 5 it is derived from storePathRootDir",
        "storePathConsumeQueue= storePathIndex= storeCheckpoint= abortFile=",
    ),
    *accepted(
        "recovery starts at the checkpoint",
        "maxRecoveryCommitlogFiles=30 commitLogRecoverMaxNum=10 checkCommitLogOffsetOnRecover=false "
        "enableAcceleratedRecovery=false",
    ),
    *accepted("records are verified by the checksum of their body", "forceVerifyPropCRC=false"),
    *accepted(
        OWN_WAY,
        """
        replicasPerDiskPartition=1 logicalDiskSpaceCleanForciblyThreshold=0.8 maxBatchDeleteFilesNum=50
        travelCqFileNumWhenGetMessage=1 correctLogicMinOffsetSleepInterval=1
        correctLogicMinOffsetForceInterval=300000 maxConsumeQueueScan=20000 readUnCommitted=false
        enableCleanExpiredOffset=false wakeFlushWhenPutMessage=false autoMessageVersionOnTopicLen=true
        messageIndexSafe=false diskFallRecorded=true
        """,
    ),
)

REMOTING_ACCEPTED = (
    *accepted(
        ONE_LOOP,
        """
        serverWorkerThreads=8 serverCallbackExecutorThreads=0 serverSelectorThreads=3
        serverNettyWorkerGroupEnable=true clientWorkerThreads=4 clientCallbackExecutorThreads=2
        disableCallbackExecutor=false disableNettyWorkerGroup=false
        """,
    ),
    *accepted(
        NO_JVM,
        "serverPooledByteBufAllocatorEnable=true clientPooledByteBufAllocatorEnable=false "
        "useEpollNativeSelector=false",
    ),
    *accepted(
        CLIENT_SIDE,
        """
        channelNotActiveInterval=60000 isScanAvailableNameSrv=true socksProxyConfig={}
        clientCloseSocketIfTimeout=true maxReconnectIntervalTimeSeconds=60 enableReconnectForGoAway=true
        """,
    ),
)

NAMESRV_ACCEPTED = (
    *accepted(
        ONE_LOOP,
        """
        clientRequestThreadPoolNums=8 defaultThreadPoolNums=16 clientRequestThreadPoolQueueCapacity=50000
        defaultThreadPoolQueueCapacity=10000 unRegisterBrokerQueueCapacity=3000
        """,
    ),
)

CONTROLLER_ACCEPTED = (
    *accepted(ONE_LOOP, "controllerThreadPoolNums=16 controllerRequestThreadPoolQueueCapacity=50000"),
    *accepted("the table of broker sets has its own file format", "mappedFileSize=1073741824"),
    *accepted("a controller that does not lead answers no reads", "isProcessReadEvent=false"),
    *accepted(
        NO_JRAFT,
        """
        jRaftElectionTimeoutMs=1000 jRaftScanWaitTimeoutMs=1000 jRaftSnapshotIntervalSecs=3600
        jRaftGroupId=jRaft-Controller jRaftServerId=localhost:9880
        jRaftInitConf=localhost:9880,localhost:9881,localhost:9882
        jRaftControllerRPCAddr=localhost:9770,localhost:9771,localhost:9772
        """,
    ),
)
