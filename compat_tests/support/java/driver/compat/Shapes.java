package compat;

import com.alibaba.fastjson.JSONArray;
import com.alibaba.fastjson.JSONObject;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageClientIDSetter;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** The JSON shapes of the client's own types, and the few calls that differ between client versions. */
final class Shapes {
    private Shapes() {
    }

    static Message message(JSONObject from) {
        Message message = new Message(from.getString("topic"), from.getString("tags"), from.getString("keys"),
            from.getIntValue("flag"), from.getString("body").getBytes(StandardCharsets.UTF_8), true);
        if (from.containsKey("delayLevel")) {
            message.setDelayTimeLevel(from.getIntValue("delayLevel"));
        }
        if (from.containsKey("timer")) {
            setTimer(message, from.getString("timer"), from.getLongValue("time"));
        }
        JSONObject properties = from.getJSONObject("properties");
        if (properties != null) {
            for (String name : properties.keySet()) {
                message.putUserProperty(name, properties.getString(name));
            }
        }
        return message;
    }

    /** A timer as users of the client ask for it; version 4 knows only the property. */
    private static void setTimer(Message message, String property, long time) {
        String setter = property.equals("TIMER_DELAY_SEC") ? "setDelayTimeSec"
            : property.equals("TIMER_DELAY_MS") ? "setDelayTimeMs" : "setDeliverTimeMs";
        Method method = find(message, setter, long.class);
        try {
            if (method == null) {
                message.putUserProperty(property, String.valueOf(time));
            } else {
                method.invoke(message, time);
            }
        } catch (ReflectiveOperationException failure) {
            throw new IllegalStateException(failure);
        }
    }

    static List<Message> messages(JSONArray from) {
        List<Message> messages = new ArrayList<>();
        for (int i = 0; i < from.size(); i++) {
            messages.add(message(from.getJSONObject(i)));
        }
        return messages;
    }

    static Map<String, Object> received(MessageExt message) {
        if (message == null) {
            return null;
        }
        Map<String, Object> shape = new LinkedHashMap<>();
        shape.put("topic", message.getTopic());
        shape.put("brokerName", message.getBrokerName());
        shape.put("queueId", message.getQueueId());
        shape.put("queueOffset", message.getQueueOffset());
        shape.put("physicalOffset", message.getCommitLogOffset());
        shape.put("msgId", message.getMsgId());
        shape.put("uniqueKey", MessageClientIDSetter.getUniqID(message));
        shape.put("tags", message.getTags());
        shape.put("keys", message.getKeys());
        shape.put("flag", message.getFlag());
        shape.put("sysFlag", message.getSysFlag());
        shape.put("body", message.getBody() == null ? "" : new String(message.getBody(), StandardCharsets.UTF_8));
        shape.put("properties", message.getProperties());
        shape.put("reconsumeTimes", message.getReconsumeTimes());
        shape.put("bornTimestamp", message.getBornTimestamp());
        shape.put("storeTimestamp", message.getStoreTimestamp());
        shape.put("storeSize", message.getStoreSize());
        shape.put("bornHost", String.valueOf(message.getBornHost()));
        shape.put("storeHost", String.valueOf(message.getStoreHost()));
        return shape;
    }

    static List<Object> received(Collection<MessageExt> messages) {
        List<Object> shapes = new ArrayList<>();
        if (messages != null) {
            for (MessageExt message : messages) {
                shapes.add(received(message));
            }
        }
        return shapes;
    }

    static Map<String, Object> sent(SendResult result) {
        Map<String, Object> shape = new LinkedHashMap<>();
        shape.put("status", result.getSendStatus().name());
        shape.put("msgId", result.getMsgId());
        shape.put("offsetMsgId", result.getOffsetMsgId());
        shape.put("queue", queue(result.getMessageQueue()));
        shape.put("queueOffset", result.getQueueOffset());
        Method handle = find(result, "getRecallHandle");
        if (handle != null) {
            try {
                shape.put("recallHandle", handle.invoke(result));
            } catch (ReflectiveOperationException failure) {
                throw new IllegalStateException(failure);
            }
        }
        return shape;
    }

    static Map<String, Object> queue(MessageQueue queue) {
        Map<String, Object> shape = new LinkedHashMap<>();
        shape.put("topic", queue.getTopic());
        shape.put("brokerName", queue.getBrokerName());
        shape.put("queueId", queue.getQueueId());
        return shape;
    }

    static List<Object> queues(Collection<MessageQueue> queues) {
        List<Object> shapes = new ArrayList<>();
        for (MessageQueue queue : queues) {
            shapes.add(queue(queue));
        }
        return shapes;
    }

    static MessageQueue queue(JSONObject from) {
        return new MessageQueue(from.getString("topic"), from.getString("brokerName"), from.getIntValue("queueId"));
    }

    static List<MessageQueue> queues(JSONArray from) {
        List<MessageQueue> queues = new ArrayList<>();
        for (int i = 0; i < from.size(); i++) {
            queues.add(queue(from.getJSONObject(i)));
        }
        return queues;
    }

    /** Calls a setter whose enum lives in another package in each client version, by the constant's name. */
    @SuppressWarnings({"unchecked", "rawtypes"})
    static void setEnum(Object target, String setter, String constant) throws Exception {
        for (Method method : target.getClass().getMethods()) {
            if (method.getName().equals(setter) && method.getParameterCount() == 1) {
                Class<?> type = method.getParameterTypes()[0];
                method.invoke(target, Enum.valueOf((Class) type, constant));
                return;
            }
        }
        throw new IllegalArgumentException(setter);
    }

    /** createTopic: version 5 added a map of attributes. */
    static void createTopic(Object admin, String key, String topic, int queues) throws Exception {
        try {
            Method plain = find(admin, "createTopic", String.class, String.class, int.class);
            if (plain != null) {
                plain.invoke(admin, key, topic, queues);
            } else {
                find(admin, "createTopic", String.class, String.class, int.class, Map.class)
                    .invoke(admin, key, topic, queues, new LinkedHashMap<String, String>());
            }
        } catch (InvocationTargetException failure) {
            throw failure.getCause() instanceof Exception ? (Exception) failure.getCause() : failure;
        }
    }

    static Method find(Object target, String name, Class<?>... types) {
        try {
            return target.getClass().getMethod(name, types);
        } catch (NoSuchMethodException absent) {
            return null;
        }
    }
}
