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
import java.util.concurrent.ExecutionException;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import kafka.server.ControllerServer;
import kafka.server.KafkaBroker;
import kafka.server.KafkaConfig;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.GroupProtocol;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.internals.Topic;
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
 * <p>There are as many brokers as a test asks for, and each partition has one replica. Tests that need the
 * insides of Kafka's servers, beyond what `BrokerView` shows, are aborted.
 */
public class RaftClusterInvocationContext implements TestTemplateInvocationContext {
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    /** Longer than the longest pause of clients between attempts to connect. */
    private static final Duration RECONNECTION = Duration.ofSeconds(3);

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

    /** Brokers, each a group of its own. */
    private static final class Cluster implements ClusterInstance {
        private final ClusterConfig config;
        private final boolean isCombined;
        private final Set<Integer> dead = new TreeSet<>();
        private String number = "";
        private List<String> addresses = List.of();
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
            config.perServerOverrideProperties().forEach((id, own) ->
                own.forEach((name, value) -> settings.put(id + ":" + name, value)));
            settings.put("security.protocol", config.brokerSecurityProtocol().name);
            String[] answer = Servers.shared().start(config.numBrokers(), settings);
            number = answer[0];
            addresses = List.of(answer[1].split(","));
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
            Servers.shared().call("kill", number, String.valueOf(id));
            dead.add(id);
        }

        /** Starts a broker again; clients are connected when it returns, as a start takes Kafka's longer. */
        @Override
        public void startBroker(int id) {
            Servers.shared().call("restart", number, String.valueOf(id));
            dead.remove(id);
            try {
                Thread.sleep(RECONNECTION.toMillis());
            } catch (InterruptedException error) {
                throw new IllegalStateException(error);
            }
        }

        /** Remembers what the test needs: tests catch exceptions, and wait for other outcomes. */
        private TestAbortedException aborted(String what) {
            needed = new TestAbortedException("needs " + what);
            return needed;
        }

        @Override
        public String bootstrapServers() {
            return String.join(",", addresses);
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
            return IntStream.range(0, addresses.size()).boxed().collect(Collectors.toSet());
        }

        @Override
        public List<Integer> brokerBoundPorts() {
            return addresses.stream().map(Cluster::port).collect(Collectors.toList());
        }

        private static int port(String address) {
            return Integer.parseInt(address.substring(address.lastIndexOf(':') + 1));
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
            Map<String, String> settings = new TreeMap<>(configs);
            settings.replace(TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG, "1");
            try (Admin admin = admin()) {
                NewTopic made = new NewTopic(topic, partitions, (short) Math.min(replicas, 1));
                admin.createTopics(List.of(made.configs(settings)));
                waitTopicCreation(topic, partitions);
            }
        }

        /** Creates a topic whose partitions have the first of the replicas that are asked for. */

        @Override
        public void createTopicWithAssignment(String topic, Map<Integer, List<Integer>> assignment)
                throws InterruptedException {
            Map<Integer, List<Integer>> first = new TreeMap<>();
            assignment.forEach((partition, replicas) -> first.put(partition, replicas.subList(0, 1)));
            try (Admin admin = admin()) {
                admin.createTopics(List.of(new NewTopic(topic, first)));
                waitTopicCreation(topic, assignment.size());
            }
        }

        @Override
        public void waitTopicCreation(String topic, int partitions) throws InterruptedException {
            await("creation of " + topic, () -> areShown(topic, partitions));
        }

        /** Waits for the end of a topic, unless it is internal: a test waits so for one that it creates. */
        @Override
        public void waitTopicDeletion(String topic) throws InterruptedException {
            await("deletion of " + topic, () -> Topic.isInternal(topic) || areShown(topic, 0));
        }

        /** Returns true if all brokers that are alive show so many partitions with a leader. */
        private boolean areShown(String topic, int partitions) {
            return Arrays.stream(Servers.shared().call("topic", number, topic).split(","))
                .allMatch(String.valueOf(partitions)::equals);
        }

        private static void await(String what, BooleanSupplier condition) throws InterruptedException {
            long end = System.nanoTime() + PATIENCE.toNanos();
            while (System.nanoTime() < end) {
                if (condition.getAsBoolean()) {
                    return;
                }
                Thread.sleep(20);
            }
            throw new AssertionError(what + " took too long");
        }

        @Override
        public void ensureConsistentMetadata() {
            // Topics are awaited at all brokers.
        }

        @Override
        public void ensureConsistentMetadata(Collection<KafkaBroker> brokers, Collection<ControllerServer> all) {
            // Topics are awaited at all brokers.
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
            Map<Integer, KafkaBroker> views = new TreeMap<>();
            for (int id = 0; id < addresses.size(); id++) {
                int port = port(addresses.get(id));
                KafkaConfig own = BrokerView.config(config.serverProperties(), id, addresses.size());
                views.put(id, BrokerView.of(this::observer, () -> port, this::aborted, own));
            }
            return views;
        }

        private Admin observer() {
            if (observer == null) {
                observer = admin();
            }
            return observer;
        }

        @Override
        public Map<Integer, KafkaBroker> aliveBrokers() {
            Map<Integer, KafkaBroker> alive = brokers();
            alive.keySet().removeAll(dead);
            return alive;
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
