package compat;

import com.alibaba.fastjson.JSONObject;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.QueryResult;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.MessageQueueSelector;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.message.Message;

/** Producers: every way to send, and the queries that any client can make. */
final class Producers {
    /** What a send may take: more than the 3 seconds of the client's own, as two cores serve everybody here. */
    private static final int SEND_MILLIS = 30_000;

    private final Map<String, DefaultMQProducer> producers = new ConcurrentHashMap<>();
    private final Map<String, List<String>> storms = new ConcurrentHashMap<>();

    void register(Map<String, Driver.Op> ops) {
        ops.put("producer.start", this::start);
        ops.put("producer.stop", this::stop);
        ops.put("producer.createTopic", this::createTopic);
        ops.put("producer.queues", request -> Shapes.queues(producer(request).fetchPublishMessageQueues(request.getString("topic"))));
        ops.put("producer.send", this::send);
        ops.put("producer.storm", this::storm);
        ops.put("producer.stormCount", request -> storms.getOrDefault(request.getString("name"), Collections.emptyList()).size());
        ops.put("producer.view", request -> Shapes.received(producer(request).viewMessage(request.getString("topic"), request.getString("msgId"))));
        ops.put("producer.query", this::query);
        ops.put("producer.recall", this::recall);
    }

    private DefaultMQProducer producer(JSONObject request) {
        DefaultMQProducer producer = producers.get(request.getString("name"));
        if (producer == null) {
            throw new IllegalArgumentException("no such producer: " + request.getString("name"));
        }
        return producer;
    }

    private Object start(JSONObject request) throws Exception {
        DefaultMQProducer producer =
            new DefaultMQProducer(request.getString("group"), request.getBooleanValue("trace"), null);
        producer.setNamesrvAddr(request.getString("namesrv"));
        Driver.configure(producer, request.getString("name"));
        producer.setSendMsgTimeout(SEND_MILLIS);
        if (request.containsKey("retries")) {
            producer.setRetryTimesWhenSendFailed(request.getIntValue("retries"));
            producer.setRetryTimesWhenSendAsyncFailed(request.getIntValue("retries"));
        }
        if (request.containsKey("compressOver")) {
            producer.setCompressMsgBodyOverHowmuch(request.getIntValue("compressOver"));
        }
        producer.start();
        producers.put(request.getString("name"), producer);
        return producer.buildMQClientId();
    }

    /** Only version 5 can take a message back. */
    private Object recall(JSONObject request) throws Exception {
        DefaultMQProducer producer = producer(request);
        Method method = Shapes.find(producer, "recallMessage", String.class, String.class);
        try {
            return method.invoke(producer, request.getString("topic"), request.getString("handle"));
        } catch (InvocationTargetException failure) {
            throw failure.getCause() instanceof Exception ? (Exception) failure.getCause() : failure;
        }
    }

    private Object stop(JSONObject request) {
        producer(request).shutdown();
        producers.remove(request.getString("name"));
        return true;
    }

    private Object createTopic(JSONObject request) throws Exception {
        Shapes.createTopic(producer(request), "TBW102", request.getString("topic"), request.getIntValue("queues"));
        return true;
    }

    private Object send(JSONObject request) throws Exception {
        DefaultMQProducer producer = producer(request);
        List<Message> messages = Shapes.messages(request.getJSONArray("messages"));
        List<Object> results = new ArrayList<>();
        switch (request.getString("how")) {
            case "sync":
                for (Message message : messages) {
                    results.add(Shapes.sent(producer.send(message)));
                }
                return results;
            case "async":
                return sendAsync(producer, messages);
            case "oneway":
                for (Message message : messages) {
                    producer.sendOneway(message);
                }
                return results;
            case "batch":
                results.add(Shapes.sent(producer.send(messages)));
                return results;
            case "queue":
                for (Message message : messages) {
                    results.add(Shapes.sent(producer.send(message, Shapes.queue(request.getJSONObject("queue")))));
                }
                return results;
            case "selector":
                MessageQueueSelector selector = (queues, message, key) -> queues.get(Math.floorMod(key.hashCode(), queues.size()));
                for (Message message : messages) {
                    results.add(Shapes.sent(producer.send(message, selector, message.getKeys())));
                }
                return results;
            default:
                throw new IllegalArgumentException(request.getString("how"));
        }
    }

    private Object sendAsync(DefaultMQProducer producer, List<Message> messages) throws Exception {
        Object[] results = new Object[messages.size()];
        CountDownLatch open = new CountDownLatch(messages.size());
        for (int i = 0; i < results.length; i++) {
            final int index = i;
            producer.send(messages.get(i), new SendCallback() {
                @Override
                public void onSuccess(SendResult result) {
                    results[index] = Shapes.sent(result);
                    open.countDown();
                }

                @Override
                public void onException(Throwable failure) {
                    results[index] = Collections.singletonMap("error", Driver.describe(failure));
                    open.countDown();
                }
            });
        }
        if (!open.await(30, TimeUnit.SECONDS)) {
            throw new IllegalStateException(open.getCount() + " callbacks are missing");
        }
        return results;
    }

    /** Sends from several threads until the server fails or the time is over; answers the bodies acknowledged. */
    private Object storm(JSONObject request) throws Exception {
        DefaultMQProducer producer = producer(request);
        String topic = request.getString("topic");
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(request.getLongValue("millis"));
        List<String> acknowledged = Collections.synchronizedList(new ArrayList<>());
        storms.put(request.getString("name"), acknowledged);
        List<Thread> threads = new ArrayList<>();
        for (int t = 0; t < request.getIntValue("threads"); t++) {
            final int number = t;
            Thread thread = new Thread(() -> {
                for (int i = 0; System.nanoTime() < end; i++) {
                    String body = "storm-" + number + "-" + i;
                    try {
                        SendResult result = producer.send(new Message(topic, body.getBytes(StandardCharsets.UTF_8)), 2000);
                        if (result.getSendStatus() == SendStatus.SEND_OK) {
                            acknowledged.add(body);
                        }
                    } catch (Exception over) {
                        return;
                    }
                }
            }, "storm-" + t);
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
        return acknowledged;
    }

    private Object query(JSONObject request) throws Exception {
        QueryResult result = producer(request).queryMessage(request.getString("topic"), request.getString("key"),
            request.getIntValue("max"), request.getLongValue("begin"), request.getLongValue("end"));
        Map<String, Object> shape = new LinkedHashMap<>();
        shape.put("messages", Shapes.received(result.getMessageList()));
        shape.put("indexLastUpdateTimestamp", result.getIndexLastUpdateTimestamp());
        return shape;
    }
}
