package org.apache.rocketmq.test.grpc.v2;

import apache.rocketmq.v2.QueryAssignmentResponse;
import apache.rocketmq.v2.QueryRouteRequest;
import apache.rocketmq.v2.QueryRouteResponse;
import org.apache.rocketmq.proxy.config.ConfigurationManager;
import org.junit.After;
import org.junit.Before;
import org.junit.FixMethodOrder;
import org.junit.Test;
import org.junit.runners.MethodSorters;

/**
 * Stands where the official class of this name stands: the same cases, which the official base class has, but
 * the calls go to a door that runs outside instead of a proxy in this process. There is one broker, where the
 * official cases count on three.
 */
@FixMethodOrder(MethodSorters.NAME_ASCENDING)
public class ClusterGrpcIT extends GrpcBaseIT {
    private static final int PORT = Integer.getInteger("official.grpc");

    @Before
    public void setUp() throws Exception {
        super.setUp();
        ConfigurationManager.getProxyConfig().setGrpcServerPort(PORT);
        blockingStub = createBlockingStub(createChannel(PORT));
        stub = createStub(createChannel(PORT));
    }

    @After
    public void tearDown() {
        shutdown();
    }

    @Override
    public void assertQueryRoute(QueryRouteResponse response, int queuesOfAll) {
        super.assertQueryRoute(response, queuesOfAll / BROKER_NUM);
    }

    @Override
    public void assertQueryAssignment(QueryAssignmentResponse response, int queuesOfAll) {
        super.assertQueryAssignment(response, queuesOfAll / BROKER_NUM);
    }

    @Test
    public void testQueryRoute() throws Exception {
        QueryRouteRequest request = buildQueryRouteRequest(initTopic());
        assertQueryRoute(blockingStub.queryRoute(request), BROKER_NUM * DEFAULT_QUEUE_NUMS);
    }

    @Test
    public void testQueryAssignment() throws Exception {
        super.testQueryAssignment();
    }

    @Test
    public void testQueryFifoAssignment() throws Exception {
        super.testQueryFifoAssignment();
    }

    @Test
    public void testTransactionCheckThenCommit() {
        super.testTransactionCheckThenCommit();
    }

    @Test
    public void testSimpleConsumerSendAndRecvDelayMessage() throws Exception {
        super.testSimpleConsumerSendAndRecvDelayMessage();
    }

    @Test
    public void testSimpleConsumerSendAndRecallDelayMessage() throws Exception {
        super.testSimpleConsumerSendAndRecallDelayMessage();
    }

    @Test
    public void testSimpleConsumerSendAndRecvBigMessage() throws Exception {
        super.testSimpleConsumerSendAndRecvBigMessage();
    }

    @Test
    public void testSimpleConsumerSendAndRecv() throws Exception {
        super.testSimpleConsumerSendAndRecv();
    }

    @Test
    public void testSimpleConsumerToDLQ() throws Exception {
        super.testSimpleConsumerToDLQ();
    }

    @Test
    public void testConsumeOrderly() throws Exception {
        super.testConsumeOrderly();
    }

    @Test
    public void testSimpleConsumerSendAndRecvPriorityMessage() throws Exception {
        super.testSimpleConsumerSendAndRecvPriorityMessage();
    }
}
