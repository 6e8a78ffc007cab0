package compat.grpc;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.io.Closeable;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.apis.consumer.ConsumeResult;
import org.apache.rocketmq.client.apis.consumer.LitePushConsumer;
import org.apache.rocketmq.client.apis.consumer.SimpleConsumer;
import org.apache.rocketmq.client.apis.message.MessageView;

/** Consumers by name: simple ones are asked, push and lite ones collect what they are given. */
final class Consumers {
    private static final Map<String, Closeable> ALL = new ConcurrentHashMap<>();
    private static final Map<String, Inbox> INBOXES = new ConcurrentHashMap<>();
    private static final Map<Integer, MessageView> RECEIPTS = new ConcurrentHashMap<>();
    private static final AtomicInteger NUMBERS = new AtomicInteger();

    private Consumers() {
    }

    static void register(Map<String, Driver.Operation> operations) {
        operations.put("simple.start", request -> start(request, Shapes.PROVIDER.newSimpleConsumerBuilder()
                .setClientConfiguration(Shapes.configuration(request))
                .setConsumerGroup(request.get("group").getAsString())
                .setSubscriptionExpressions(Shapes.subscriptions(request))
                .setAwaitDuration(Duration.ofMillis(request.get("await").getAsLong()))
                .build()));
        operations.put("push.start", request -> {
            Inbox inbox = inbox(request);
            return start(request, Shapes.PROVIDER.newPushConsumerBuilder()
                    .setClientConfiguration(Shapes.configuration(request))
                    .setConsumerGroup(request.get("group").getAsString())
                    .setSubscriptionExpressions(Shapes.subscriptions(request))
                    .setMessageListener(message -> result(inbox, message))
                    .build());
        });
        operations.put("lite.start", request -> {
            Inbox inbox = inbox(request);
            return start(request, Shapes.PROVIDER.newLitePushConsumerBuilder()
                    .setClientConfiguration(Shapes.configuration(request))
                    .setConsumerGroup(request.get("group").getAsString())
                    .bindTopic(request.get("topic").getAsString())
                    .setMessageListener(message -> result(inbox, message))
                    .build());
        });
        for (String kind : new String[] {"simple", "push", "lite"}) {
            operations.put(kind + ".stop", Consumers::stop);
            operations.put(kind + ".collect", request -> INBOXES.get(name(request)).collect(request));
        }
        operations.put("simple.receive", Consumers::receive);
        operations.put("simple.ack", request -> {
            for (JsonElement receipt : request.getAsJsonArray("receipts")) {
                simple(request).ack(RECEIPTS.get(receipt.getAsInt()));
            }
            return null;
        });
        operations.put("simple.change", request -> {
            Duration duration = Duration.ofMillis(request.get("invisible").getAsLong());
            simple(request).changeInvisibleDuration(RECEIPTS.get(request.get("receipt").getAsInt()), duration);
            return null;
        });
        operations.put("lite.subscribe", request -> {
            ((LitePushConsumer) ALL.get(name(request))).subscribeLite(request.get("lite").getAsString());
            return null;
        });
        operations.put("lite.unsubscribe", request -> {
            ((LitePushConsumer) ALL.get(name(request))).unsubscribeLite(request.get("lite").getAsString());
            return null;
        });
    }

    private static String name(JsonObject request) {
        return request.get("name").getAsString();
    }

    private static SimpleConsumer simple(JsonObject request) {
        return (SimpleConsumer) ALL.get(name(request));
    }

    private static Inbox inbox(JsonObject request) {
        Inbox inbox = new Inbox(request);
        INBOXES.put(name(request), inbox);
        return inbox;
    }

    private static ConsumeResult result(Inbox inbox, MessageView message) {
        return inbox.accept(message) ? ConsumeResult.SUCCESS : ConsumeResult.FAILURE;
    }

    private static Object start(JsonObject request, Closeable consumer) {
        ALL.put(name(request), consumer);
        return null;
    }

    private static Object stop(JsonObject request) throws Exception {
        INBOXES.remove(name(request));
        ALL.remove(name(request)).close();
        return null;
    }

    private static Object receive(JsonObject request) throws Exception {
        Duration invisible = Duration.ofMillis(request.get("invisible").getAsLong());
        List<Object> found = new ArrayList<>();
        for (MessageView message : simple(request).receive(request.get("max").getAsInt(), invisible)) {
            int receipt = NUMBERS.incrementAndGet();
            RECEIPTS.put(receipt, message);
            Map<String, Object> shape = Shapes.shape(message);
            shape.put("receipt", receipt);
            found.add(shape);
        }
        return found;
    }
}
