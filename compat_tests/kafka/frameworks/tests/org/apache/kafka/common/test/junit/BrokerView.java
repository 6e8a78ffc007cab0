package org.apache.kafka.common.test.junit;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.function.Function;
import java.util.function.IntSupplier;
import java.util.function.Supplier;
import kafka.network.SocketServer;
import kafka.server.BrokerServer;
import kafka.server.KafkaConfig;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.coordinator.group.GroupCoordinator;
import org.apache.kafka.metadata.BrokerState;
import org.apache.kafka.metadata.KRaftMetadataCache;
import org.apache.kafka.metadata.LeaderAndIsr;
import org.mockito.Mockito;
import org.mockito.stubbing.Answer;
import org.opentest4j.TestAbortedException;

/**
 * A broker as tests see it from within Kafka: its port, and its topics as clients see them.
 *
 * <p>All else is the insides of Kafka's servers, and aborts the test.
 */
public final class BrokerView {
    private final Supplier<Admin> admin;
    private final IntSupplier port;
    private final Answer<Object> others;

    private BrokerView(
            Supplier<Admin> admin, IntSupplier port, Function<String, TestAbortedException> needed) {
        this.admin = admin;
        this.port = port;
        this.others = aborting("brokers", needed);
    }

    /** Returns the answer of a mock to what it does not have: the test is aborted. */
    static Answer<Object> aborting(String whose, Function<String, TestAbortedException> needed) {
        return invocation -> {
            if (invocation.getMethod().getDeclaringClass() == Object.class) {
                return Mockito.RETURNS_DEFAULTS.answer(invocation);
            }
            throw needed.apply("the insides of " + whose + ": " + invocation.getMethod().getName());
        };
    }

    /** Returns the broker with this port; `needed` makes the exception for what it lacks. */
    public static BrokerServer of(
            Supplier<Admin> admin,
            IntSupplier port,
            Function<String, TestAbortedException> needed,
            KafkaConfig config) {
        return new BrokerView(admin, port, needed).broker(config);
    }

    /** Returns the configuration that a broker of Kafka's, one of so many, would have with these settings. */
    public static KafkaConfig config(Map<String, String> settings, int id, int brokers) {
        Properties all = new Properties();
        all.putAll(settings);
        all.put("process.roles", "broker");
        all.put("node.id", String.valueOf(id));
        all.put("listeners", "PLAINTEXT://localhost:0");
        all.put("controller.listener.names", "CONTROLLER");
        all.put("controller.quorum.bootstrap.servers", "localhost:1");
        all.put("unstable.api.versions.enable", "false");
        return coordinated(all, brokers);
    }

    /** Returns a configuration with the partitions that the topics of coordinators have: one of each broker. */
    public static KafkaConfig coordinated(Map<?, ?> settings, int brokers) {
        Properties all = new Properties();
        all.putAll(settings);
        all.put("offsets.topic.num.partitions", String.valueOf(brokers));
        all.put("offsets.topic.replication.factor", "1");
        all.put("transaction.state.log.num.partitions", String.valueOf(brokers));
        all.put("transaction.state.log.replication.factor", "1");
        return KafkaConfig.fromProps(all);
    }

    private BrokerServer broker(KafkaConfig config) {
        BrokerServer broker = Mockito.mock(BrokerServer.class, others);
        Mockito.doReturn(metadata()).when(broker).metadataCache();
        Mockito.doReturn(config).when(broker).config();
        Mockito.doReturn(sockets()).when(broker).socketServer();
        Mockito.doReturn(groups()).when(broker).groupCoordinator();
        Mockito.doReturn(BrokerState.RUNNING).when(broker).brokerState();
        Mockito.doAnswer(call -> port.getAsInt()).when(broker).boundPort(Mockito.any());
        Mockito.doNothing().when(broker).awaitShutdown();  // a server has ended when it is killed or stopped
        return broker;
    }

    private KRaftMetadataCache metadata() {
        KRaftMetadataCache cache = Mockito.mock(KRaftMetadataCache.class, others);
        Mockito.doAnswer(call -> described(call.getArgument(0)).map(topic -> topic.partitions().size()))
            .when(cache).numPartitions(Mockito.anyString());
        Mockito.doAnswer(call -> described(call.getArgument(0))
                .map(topic -> leader(topic.partitions().get(call.<Integer>getArgument(1)).leader())))
            .when(cache).getLeaderAndIsr(Mockito.anyString(), Mockito.anyInt());
        Mockito.doAnswer(call -> described(call.getArgument(0)).isPresent())
            .when(cache).contains(Mockito.anyString());
        Mockito.doAnswer(call -> List.copyOf(admin.get().describeCluster().nodes().get()))
            .when(cache).getAliveBrokerNodes(Mockito.any());
        return cache;
    }

    private static LeaderAndIsr leader(Node leader) {
        return leader == null ? new LeaderAndIsr(LeaderAndIsr.NO_LEADER, List.of())
            : new LeaderAndIsr(leader.id(), List.of(leader.id()));
    }

    private SocketServer sockets() {
        SocketServer sockets = Mockito.mock(SocketServer.class, others);
        Mockito.doAnswer(call -> port.getAsInt()).when(sockets).boundPort(Mockito.any());
        return sockets;
    }

    private GroupCoordinator groups() {
        GroupCoordinator groups = Mockito.mock(GroupCoordinator.class, others);
        Mockito.doReturn(new Properties()).when(groups).groupMetadataTopicConfigs();
        return groups;
    }

    private Optional<TopicDescription> described(String topic) throws InterruptedException {
        try {
            return Optional.of(admin.get().describeTopics(List.of(topic)).allTopicNames().get().get(topic));
        } catch (ExecutionException error) {
            if (error.getCause() instanceof UnknownTopicOrPartitionException
                    || error.getCause() instanceof InvalidTopicException) {
                return Optional.empty();
            }
            throw new IllegalStateException(error.getCause());
        }
    }
}
