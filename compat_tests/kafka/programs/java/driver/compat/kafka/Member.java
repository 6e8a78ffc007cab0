package compat.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;

/** A member of a group, polled by a thread of its own. */
final class Member implements ConsumerRebalanceListener {
    private static final String ASSIGNORS = "org.apache.kafka.clients.consumer.";

    private final LinkedBlockingQueue<Runnable> steps = new LinkedBlockingQueue<>();
    private final Consumer<String, String> consumer;
    private List<Object> records = new ArrayList<>();
    private int revoked;
    private List<Object> assignment = new ArrayList<>();
    private Throwable failure;
    private volatile boolean running = true;

    Member(JsonNode request) {
        Properties properties = new Properties();
        properties.put("group.id", request.get("group").asText());
        properties.put("auto.offset.reset", request.get("from").asText());
        String assignor = request.get("assignor").asText();
        if (request.get("protocol").asText().equals("consumer")) {
            properties.put("group.protocol", "consumer");
            properties.put("group.remote.assignor", assignor);
        } else {
            properties.put("session.timeout.ms", request.get("session").asText());
            properties.put("heartbeat.interval.ms", "500");
            properties.put("partition.assignment.strategy", assignor(assignor));
        }
        if (request.hasNonNull("instance")) {
            properties.put("group.instance.id", request.get("instance").asText());
        }
        consumer = Records.consumer(request, properties);
        consumer.subscribe(Collections.singletonList(request.get("topic").asText()), this);
        Thread thread = new Thread(this::poll, request.get("name").asText());
        thread.setDaemon(true);
        thread.start();
    }

    private static String assignor(String name) {
        switch (name) {
            case "cooperative":
                return ASSIGNORS + "CooperativeStickyAssignor";
            case "roundrobin":
                return ASSIGNORS + "RoundRobinAssignor";
            default:
                return ASSIGNORS + "RangeAssignor";
        }
    }

    private void poll() {
        try {
            while (running) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(100))) {
                    synchronized (this) {
                        records.add(Records.shape(record));
                    }
                }
                note();
                for (Runnable step = steps.poll(); step != null; step = steps.poll()) {
                    step.run();
                }
            }
        } catch (Throwable problem) {
            synchronized (this) {
                failure = problem;
            }
        }
    }

    private synchronized void note() {
        assignment = new ArrayList<>();
        for (TopicPartition one : consumer.assignment()) {
            assignment.add(one.partition());
        }
    }

    /** Partitions now, how many were revoked so far, and the records since the last time. */
    synchronized Object taken() throws Exception {
        if (failure != null) {
            throw new Exception(failure);
        }
        Map<String, Object> shape = new LinkedHashMap<>();
        shape.put("assignment", assignment);
        shape.put("revoked", revoked);
        shape.put("records", records);
        records = new ArrayList<>();
        return shape;
    }

    Object commit() throws Exception {
        return inThread(consumer::commitSync);
    }

    Object leave() throws Exception {
        return inThread(() -> {
            running = false;
            consumer.close();
        });
    }

    private Object inThread(Runnable step) throws Exception {
        CompletableFuture<Object> done = new CompletableFuture<>();
        steps.add(() -> {
            try {
                step.run();
                done.complete(null);
            } catch (Throwable problem) {
                done.completeExceptionally(problem);
            }
        });
        return done.get(50, TimeUnit.SECONDS);
    }

    @Override
    public synchronized void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        revoked += partitions.size();
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        // the assignment is read after each poll
    }
}
