package compat.grpc;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.apis.producer.Producer;
import org.apache.rocketmq.client.apis.producer.ProducerBuilder;
import org.apache.rocketmq.client.apis.producer.Transaction;
import org.apache.rocketmq.client.apis.producer.TransactionResolution;

/** Producers by name. */
final class Producers {
    private static final Map<String, Producers> ALL = new ConcurrentHashMap<>();

    private final Producer producer;
    private final Map<String, String> decided = new ConcurrentHashMap<>();
    private final Inbox questions;
    private final ConcurrentLinkedQueue<String> acknowledged = new ConcurrentLinkedQueue<>();
    private volatile boolean storming;

    private Producers(JsonObject request) throws Exception {
        questions = new Inbox(request);
        ProducerBuilder builder = Shapes.PROVIDER.newProducerBuilder()
                .setClientConfiguration(Shapes.configuration(request))
                .setTopics(Shapes.texts(request, "topics").toArray(new String[0]))
                .setTransactionChecker(message -> {
                    questions.accept(message);
                    byte[] body = new byte[message.getBody().remaining()];
                    message.getBody().get(body);
                    return TransactionResolution.valueOf(decided.getOrDefault(new String(body), "UNKNOWN"));
                });
        if (request.has("attempts")) {
            builder.setMaxAttempts(request.get("attempts").getAsInt());
        }
        producer = builder.build();
    }

    static void register(Map<String, Driver.Operation> operations) {
        operations.put("producer.start", request -> {
            ALL.put(request.get("name").getAsString(), new Producers(request));
            return null;
        });
        operations.put("producer.stop", request -> {
            ALL.remove(request.get("name").getAsString()).producer.close();
            return null;
        });
        operations.put("producer.send", request -> of(request).send(request));
        operations.put("producer.begin", request -> of(request).begin(request));
        operations.put("producer.decide", request -> {
            String state = request.get("state").getAsString();
            Shapes.texts(request, "bodies").forEach(body -> of(request).decided.put(body, state));
            return null;
        });
        operations.put("producer.questions", request -> of(request).questions.collect(request));
        operations.put("producer.recall", request -> of(request).producer
                .recallMessage(request.get("topic").getAsString(), request.get("handle").getAsString())
                .getMessageId().toString());
        operations.put("producer.storm", request -> of(request).storm(request));
        operations.put("producer.stormCount", request -> of(request).acknowledged.size());
        operations.put("producer.calm", request -> {
            of(request).storming = false;
            return null;
        });
    }

    private static Producers of(JsonObject request) {
        return ALL.get(request.get("name").getAsString());
    }

    private List<Object> send(JsonObject request) throws Exception {
        List<Object> receipts = new ArrayList<>();
        for (JsonElement one : request.getAsJsonArray("messages")) {
            receipts.add(Shapes.shape(producer.send(Shapes.message(one.getAsJsonObject()))));
        }
        return receipts;
    }

    private Object begin(JsonObject request) throws Exception {
        Transaction transaction = producer.beginTransaction();
        Map<String, Object> shape =
                Shapes.shape(producer.send(Shapes.message(request.getAsJsonObject("message")), transaction));
        String resolution = request.get("resolution").getAsString();
        if (resolution.equals("COMMIT")) {
            transaction.commit();
        } else if (resolution.equals("ROLLBACK")) {
            transaction.rollback();
        }
        return shape;
    }

    /** Send from several threads until told to stop; failures are passed over. */
    private List<String> storm(JsonObject request) throws Exception {
        int threads = request.get("threads").getAsInt();
        AtomicInteger numbers = new AtomicInteger();
        CountDownLatch running = new CountDownLatch(threads);
        storming = true;
        for (int i = 0; i < threads; i++) {
            new Thread(() -> {
                while (storming) {
                    JsonObject message = new JsonObject();
                    String body = "storm-" + numbers.incrementAndGet();
                    message.addProperty("topic", request.get("topic").getAsString());
                    message.addProperty("body", body);
                    try {
                        producer.send(Shapes.message(message));
                        acknowledged.add(body);
                    } catch (Throwable failure) {
                        pause();
                    }
                }
                running.countDown();
            }).start();
        }
        running.await();
        return new ArrayList<>(acknowledged);
    }

    private static void pause() {
        try {
            Thread.sleep(100);
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
        }
    }
}
