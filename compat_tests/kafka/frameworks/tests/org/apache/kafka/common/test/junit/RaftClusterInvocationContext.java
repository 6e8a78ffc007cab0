package org.apache.kafka.common.test.junit;

import java.time.Duration;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import kafka.server.ControllerServer;
import kafka.server.KafkaBroker;
import kafka.server.KafkaConfig;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.GroupProtocol;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.test.ClusterInstance;
import org.apache.kafka.common.test.api.ClusterConfig;
import org.apache.kafka.common.test.api.Type;
import org.apache.kafka.server.authorizer.Authorizer;
import org.apache.kafka.server.fault.FaultHandlerException;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.Extension;
import org.junit.jupiter.api.extension.TestExecutionExceptionHandler;
import org.junit.jupiter.api.extension.TestTemplateInvocationContext;
import org.opentest4j.TestAbortedException;

/**
 * Takes the place of the class of Kafka's tests that starts Kafka's servers, and starts the other server.
 *
 * <p>One broker stands for as many as a test asks for. Tests that need the insides of Kafka's servers, beyond
 * what `BrokerView` shows, or that stop one of several brokers, are aborted.
 */
public class RaftClusterInvocationContext implements TestTemplateInvocationContext {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final String name;
    private final ClusterConfig config;
    private final boolean isCombined;

    /** Called by the extension of the tests, once for each test and type of cluster. */
    public RaftClusterInvocationContext(String name, ClusterConfig config, boolean isCombined) {
        this.name = name;
        this.config = config;
        this.isCombined = isCombined;
    }

    @Override
    public String getDisplayName(int index) {
        return name + " [" + index + "]";
    }

    @Override
    public List<Extension> getAdditionalExtensions() {
        Cluster cluster = new Cluster(config, isCombined);
        BeforeEachCallback before = context -> {
            if (isCombined && config.clusterTypes().contains(Type.KRAFT)) {
                throw new TestAbortedException("the same as with a controller of its own");
            }
            if (config.isAutoStart()) {
                cluster.start();
            }
        };
        AfterEachCallback after = context -> cluster.stop();
        TestExecutionExceptionHandler failure = (context, error) -> {
            throw cluster.needed == null ? error : cluster.needed;
        };
        return Arrays.asList(before, after, failure, new ClusterInstanceParameterResolver(cluster));
    }

    /** One server. */
    private static final class Cluster implements ClusterInstance {
        private final ClusterConfig config;
        private final boolean isCombined;
        private String number = "";
        private String address = "";
        private boolean isStarted;
        private boolean isStopped;
        private Admin observer;
        private TestAbortedException needed;

        Cluster(ClusterConfig config, boolean isCombined) {
            this.config = config;
            this.isCombined = isCombined;
        }

        @Override
        public void start() {
            if (isStarted) {
                return;
            }
            Map<String, String> settings = new TreeMap<>(config.serverProperties());
            config.perServerOverrideProperties().values().forEach(settings::putAll);
            settings.put("security.protocol", config.brokerSecurityProtocol().name);
            String[] answer = Servers.shared().start(settings);
            number = answer[0];
            address = answer[1];
            isStarted = true;
        }

        @Override
        public void stop() {
            if (isStarted && !isStopped) {
                isStopped = true;
                if (observer != null) {
                    observer.close(Duration.ZERO);
                }
                Servers.shared().call("stop", number);
            }
        }

        @Override
        public boolean started() {
            return isStarted;
        }

        @Override
        public boolean stopped() {
            return isStopped;
        }

        @Override
        public void shutdownBroker(int id) {
            onlyOne();
            Servers.shared().call("kill", number);
        }

        @Override
        public void startBroker(int id) {
            onlyOne();
            Servers.shared().call("restart", number);
        }

        private void onlyOne() {
            if (config.numBrokers() > 1) {
                throw aborted("several brokers");
            }
        }

        /** Remembers what the test needs: tests catch exceptions, and wait for other outcomes. */
        private TestAbortedException aborted(String what) {
            needed = new TestAbortedException("needs " + what);
            return needed;
        }

        @Override
        public String bootstrapServers() {
            return address;
        }

        @Override
        public ClusterConfig config() {
            return config;
        }

        @Override
        public Type type() {
            return isCombined ? Type.CO_KRAFT : Type.KRAFT;
        }

        @Override
        public ListenerName clientListener() {
            return config.brokerListenerName();
        }

        @Override
        public String clusterId() {
            try (Admin admin = admin()) {
                return admin.describeCluster().clusterId().get();
            } catch (InterruptedException | ExecutionException error) {
                throw new IllegalStateException(error);
            }
        }

        @Override
        public Set<Integer> brokerIds() {
            return new TreeSet<>(Set.of(0));
        }

        @Override
        public List<Integer> brokerBoundPorts() {
            return List.of(Integer.parseInt(address.substring(address.lastIndexOf(':') + 1)));
        }

        @Override
        public Set<GroupProtocol> supportedGroupProtocols() {
            return Set.of(GroupProtocol.CLASSIC, GroupProtocol.CONSUMER);
        }

        @Override
        public void waitForReadyBrokers() {
            // It was ready when it was started.
        }

        @Override
        public void createTopic(String topic, int partitions, short replicas, Map<String, String> configs)
                throws InterruptedException {
            try (Admin admin = admin()) {
                NewTopic made = new NewTopic(topic, partitions, (short) Math.min(replicas, 1));
                admin.createTopics(List.of(made.configs(configs)));
                waitTopicCreation(topic, partitions);
            }
        }

        @Override
        public void createTopicWithAssignment(String topic, Map<Integer, List<Integer>> assignment)
                throws InterruptedException {
            createTopic(topic, assignment.size(), (short) 1);
        }

        @Override
        public void waitTopicCreation(String topic, int partitions) throws InterruptedException {
            try (Admin admin = admin()) {
                await("creation of " + topic, () -> admin.describeTopics(List.of(topic)).allTopicNames().get()
                    .get(topic).partitions().size() == partitions);
            }
        }

        @Override
        public void waitTopicDeletion(String topic) throws InterruptedException {
            try (Admin admin = admin()) {
                await("deletion of " + topic, () -> !admin.listTopics().names().get().contains(topic));
            }
        }

        private static void await(String what, Callable<Boolean> condition) throws InterruptedException {
            long end = System.nanoTime() + PATIENCE.toNanos();
            while (System.nanoTime() < end) {
                try {
                    if (condition.call()) {
                        return;
                    }
                } catch (ExecutionException error) {
                    if (!(error.getCause() instanceof UnknownTopicOrPartitionException)) {
                        throw new IllegalStateException(error.getCause());
                    }
                } catch (InterruptedException error) {
                    throw error;
                } catch (Exception error) {
                    throw new IllegalStateException(error);
                }
                Thread.sleep(20);
            }
            throw new AssertionError(what + " took too long");
        }

        @Override
        public void ensureConsistentMetadata() {
            // There is one broker.
        }

        @Override
        public void ensureConsistentMetadata(Collection<KafkaBroker> brokers, Collection<ControllerServer> all) {
            // There is one broker.
        }

        @Override
        public int getLeaderBrokerId(TopicPartition partition) {
            return 0;
        }

        @Override
        public Optional<FaultHandlerException> firstFatalException() {
            return Optional.empty();
        }

        @Override
        public Optional<FaultHandlerException> firstNonFatalException() {
            return Optional.empty();
        }

        @Override
        public Map<Integer, KafkaBroker> brokers() {
            KafkaConfig kafkaConfig = BrokerView.config(config.serverProperties());
            int port = brokerBoundPorts().get(0);
            return Map.of(0, BrokerView.of(this::observer, () -> port, this::aborted, kafkaConfig));
        }

        private Admin observer() {
            if (observer == null) {
                observer = admin();
            }
            return observer;
        }

        @Override
        public Map<Integer, KafkaBroker> aliveBrokers() {
            return brokers();
        }

        @Override
        public Map<Integer, ControllerServer> controllers() {
            return ControllerView.all(this::observer, this::aborted);
        }

        @Override
        public Set<Integer> controllerIds() {
            return Set.of(ControllerView.ID);
        }

        @Override
        public ListenerName controllerListenerName() {
            throw aborted("controllers of their own");
        }

        @Override
        public String bootstrapControllers() {
            throw aborted("controllers of their own");
        }

        @Override
        public List<Authorizer> authorizers() {
            throw aborted("the insides of brokers");
        }
    }
}
