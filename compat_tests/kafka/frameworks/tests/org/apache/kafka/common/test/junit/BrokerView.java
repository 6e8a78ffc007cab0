package org.apache.kafka.common.test.junit;

import java.util.List;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.function.Function;
import kafka.network.SocketServer;
import kafka.server.KafkaBroker;
import kafka.server.KafkaConfig;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.coordinator.group.GroupCoordinator;
import org.apache.kafka.metadata.LeaderAndIsr;
import org.apache.kafka.metadata.MetadataCache;
import org.mockito.Mockito;
import org.mockito.stubbing.Answer;
import org.opentest4j.TestAbortedException;

/**
 * A broker as tests see it from within Kafka: its port, and its topics as clients see them.
 *
 * <p>All else is the insides of Kafka's servers, and aborts the test.
 */
final class BrokerView {
    private final Admin admin;
    private final int port;
    private final Answer<Object> others;

    private BrokerView(Admin admin, int port, Function<String, TestAbortedException> needed) {
        this.admin = admin;
        this.port = port;
        this.others = invocation -> {
            if (invocation.getMethod().getDeclaringClass() == Object.class) {
                return Mockito.RETURNS_DEFAULTS.answer(invocation);
            }
            throw needed.apply("the insides of brokers: " + invocation.getMethod().getName());
        };
    }

    /** Returns the broker with this port; `needed` makes the exception for what it lacks. */
    static KafkaBroker of(Admin admin, int port, Function<String, TestAbortedException> needed) {
        return new BrokerView(admin, port, needed).broker();
    }

    private KafkaBroker broker() {
        KafkaBroker broker = Mockito.mock(KafkaBroker.class, others);
        Mockito.doReturn(metadata()).when(broker).metadataCache();
        Mockito.doReturn(config()).when(broker).config();
        Mockito.doReturn(sockets()).when(broker).socketServer();
        Mockito.doReturn(groups()).when(broker).groupCoordinator();
        Mockito.doReturn(port).when(broker).boundPort(Mockito.any());
        return broker;
    }

    private MetadataCache metadata() {
        MetadataCache cache = Mockito.mock(MetadataCache.class, others);
        Mockito.doAnswer(call -> described(call.getArgument(0)).map(topic -> topic.partitions().size()))
            .when(cache).numPartitions(Mockito.anyString());
        Mockito.doAnswer(call -> described(call.getArgument(0)).map(topic -> new LeaderAndIsr(0, List.of(0))))
            .when(cache).getLeaderAndIsr(Mockito.anyString(), Mockito.anyInt());
        Mockito.doAnswer(call -> described(call.getArgument(0)).isPresent())
            .when(cache).contains(Mockito.anyString());
        return cache;
    }

    private KafkaConfig config() {
        KafkaConfig config = Mockito.mock(KafkaConfig.class, others);
        Mockito.doReturn(1).when(config).getInt("offsets.topic.num.partitions");
        Mockito.doReturn((short) 1).when(config).getShort("offsets.topic.replication.factor");
        Mockito.doReturn(1).when(config).getInt("transaction.state.log.num.partitions");
        Mockito.doReturn((short) 1).when(config).getShort("transaction.state.log.replication.factor");
        Mockito.doReturn(0).when(config).brokerId();
        Mockito.doReturn(false).when(config).unstableApiVersionsEnabled();
        return config;
    }

    private SocketServer sockets() {
        SocketServer sockets = Mockito.mock(SocketServer.class, others);
        Mockito.doReturn(port).when(sockets).boundPort(Mockito.any());
        return sockets;
    }

    private GroupCoordinator groups() {
        GroupCoordinator groups = Mockito.mock(GroupCoordinator.class, others);
        Mockito.doReturn(new Properties()).when(groups).groupMetadataTopicConfigs();
        return groups;
    }

    private Optional<TopicDescription> described(String topic) throws InterruptedException {
        try {
            return Optional.of(admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic));
        } catch (ExecutionException error) {
            if (error.getCause() instanceof UnknownTopicOrPartitionException
                    || error.getCause() instanceof InvalidTopicException) {
                return Optional.empty();
            }
            throw new IllegalStateException(error.getCause());
        }
    }
}
