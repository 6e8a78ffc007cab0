package compat.grpc;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.lang.reflect.Method;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.consumer.FilterExpression;
import org.apache.rocketmq.client.apis.consumer.FilterExpressionType;
import org.apache.rocketmq.client.apis.message.Message;
import org.apache.rocketmq.client.apis.message.MessageBuilder;
import org.apache.rocketmq.client.apis.message.MessageView;
import org.apache.rocketmq.client.apis.producer.SendReceipt;

/** JSON to the client's objects and back. */
final class Shapes {
    static final ClientServiceProvider PROVIDER = ClientServiceProvider.loadService();
    private static final int SHOWN_BYTES = 1024;

    /** Longer than a busy machine needs for its slowest answer. */
    private static final Duration REQUEST_TIMEOUT = Duration.ofSeconds(30);

    private Shapes() {
    }

    static ClientConfiguration configuration(JsonObject request) {
        return ClientConfiguration.newBuilder()
                .setEndpoints(request.get("endpoints").getAsString())
                .enableSsl(request.has("tls") && request.get("tls").getAsBoolean())
                .setRequestTimeout(REQUEST_TIMEOUT)
                .build();
    }

    static Map<String, FilterExpression> subscriptions(JsonObject request) {
        Map<String, FilterExpression> found = new HashMap<>();
        for (Map.Entry<String, JsonElement> one : request.getAsJsonObject("subscriptions").entrySet()) {
            JsonElement wanted = one.getValue();
            found.put(one.getKey(), wanted.isJsonObject()
                    ? new FilterExpression(wanted.getAsJsonObject().get("sql").getAsString(), FilterExpressionType.SQL92)
                    : new FilterExpression(wanted.getAsString(), FilterExpressionType.TAG));
        }
        return found;
    }

    static List<String> texts(JsonObject shape, String name) {
        List<String> found = new ArrayList<>();
        if (shape.has(name)) {
            shape.getAsJsonArray(name).forEach(one -> found.add(one.getAsString()));
        }
        return found;
    }

    static Message message(JsonObject shape) {
        MessageBuilder builder = PROVIDER.newMessageBuilder()
                .setTopic(shape.get("topic").getAsString())
                .setBody(body(shape));
        if (shape.has("tag")) {
            builder.setTag(shape.get("tag").getAsString());
        }
        if (shape.has("keys")) {
            builder.setKeys(texts(shape, "keys").toArray(new String[0]));
        }
        if (shape.has("group")) {
            builder.setMessageGroup(shape.get("group").getAsString());
        }
        if (shape.has("lite")) {
            builder.setLiteTopic(shape.get("lite").getAsString());
        }
        if (shape.has("priority")) {
            builder.setPriority(shape.get("priority").getAsInt());
        }
        if (shape.has("delay")) {
            builder.setDeliveryTimestamp(System.currentTimeMillis() + shape.get("delay").getAsLong());
        }
        if (shape.has("properties")) {
            shape.getAsJsonObject("properties").entrySet()
                    .forEach(one -> builder.addProperty(one.getKey(), one.getValue().getAsString()));
        }
        return builder.build();
    }

    /** The text asked for, or as many bytes: 0, 1, ... 250, 0, 1, ... */
    private static byte[] body(JsonObject shape) {
        if (!shape.has("size")) {
            return shape.get("body").getAsString().getBytes(StandardCharsets.UTF_8);
        }
        byte[] body = new byte[shape.get("size").getAsInt()];
        for (int i = 0; i < body.length; i++) {
            body[i] = (byte) (i % 251);
        }
        return body;
    }

    static Map<String, Object> shape(SendReceipt receipt) {
        Map<String, Object> shape = new HashMap<>();
        shape.put("messageId", receipt.getMessageId().toString());
        if (receipt.getRecallHandle() != null && !receipt.getRecallHandle().isEmpty()) {
            shape.put("recallHandle", receipt.getRecallHandle());
        }
        return shape;
    }

    static Map<String, Object> shape(MessageView message) throws Exception {
        ByteBuffer view = message.getBody();
        byte[] body = new byte[view.remaining()];
        view.get(body);
        Map<String, Object> shape = new HashMap<>();
        shape.put("messageId", message.getMessageId().toString());
        shape.put("topic", message.getTopic());
        shape.put("size", body.length);
        shape.put("md5", String.format("%032x", new BigInteger(1, MessageDigest.getInstance("MD5").digest(body))));
        shape.put("body", body.length > SHOWN_BYTES ? "" : new String(body, StandardCharsets.UTF_8));
        shape.put("properties", message.getProperties());
        shape.put("keys", message.getKeys());
        shape.put("tag", message.getTag().orElse(null));
        shape.put("group", message.getMessageGroup().orElse(null));
        shape.put("lite", message.getLiteTopic().orElse(null));
        shape.put("priority", message.getPriority().orElse(null));
        shape.put("deliveryTimestamp", message.getDeliveryTimestamp().orElse(null));
        shape.put("bornHost", message.getBornHost());
        shape.put("bornTimestamp", message.getBornTimestamp());
        shape.put("attempt", message.getDeliveryAttempt());
        shape.put("receivedAt", System.currentTimeMillis());
        return shape;
    }

    /** The server's code that an exception of the client, or its cause, tells. */
    static Object codeOf(Throwable failure) {
        for (Throwable one = failure; one != null; one = one.getCause()) {
            try {
                Method getter = one.getClass().getMethod("getResponseCode");
                return getter.invoke(one);
            } catch (ReflectiveOperationException noCode) {
                continue;
            }
        }
        return null;
    }
}
