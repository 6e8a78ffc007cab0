package org.apache.kafka.common.test.junit;

import java.util.AbstractMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import kafka.server.ControllerServer;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.controller.Controller;
import org.mockito.Mockito;
import org.mockito.stubbing.Answer;
import org.opentest4j.TestAbortedException;

/**
 * The controller as tests see it from within Kafka: the ids of topics, as clients see them.
 *
 * <p>All else is the insides of Kafka's servers, and aborts the test.
 */
public final class ControllerView {
    static final int ID = 3000;

    private ControllerView() {
    }

    /**
     * Returns the controllers by id. The one there is can be had by its id and is not listed, as tests wait
     * until brokers have what listed controllers have in their logs.
     */
    static Map<Integer, ControllerServer> all(
            Supplier<Admin> admin, Function<String, TestAbortedException> needed) {
        ControllerServer server = of(admin, needed);
        return new AbstractMap<>() {
            @Override
            public Set<Map.Entry<Integer, ControllerServer>> entrySet() {
                return Set.of();
            }

            @Override
            public ControllerServer get(Object id) {
                return server;
            }
        };
    }

    /** Returns the controller; `needed` makes the exception for what it lacks. */
    public static ControllerServer of(
            Supplier<Admin> admin, Function<String, TestAbortedException> needed) {
        Answer<Object> others = BrokerView.aborting("controllers", needed);
        Controller controller = Mockito.mock(Controller.class, others);
        Mockito.doAnswer(call -> CompletableFuture.completedFuture(topicIds(admin.get())))
            .when(controller).findAllTopicIds(Mockito.any());
        ControllerServer server = Mockito.mock(ControllerServer.class, others);
        Mockito.doReturn(controller).when(server).controller();
        return server;
    }

    private static Map<String, Uuid> topicIds(Admin admin) throws InterruptedException, ExecutionException {
        Set<String> names = admin.listTopics().names().get();
        return admin.describeTopics(names).allTopicNames().get().values().stream()
            .collect(Collectors.toMap(TopicDescription::name, TopicDescription::topicId));
    }
}
