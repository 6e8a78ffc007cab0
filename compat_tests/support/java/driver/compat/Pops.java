package compat;

import com.alibaba.fastjson.JSON;
import com.alibaba.fastjson.JSONObject;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import org.apache.rocketmq.client.ClientConfig;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.remoting.netty.NettyClientConfig;

/**
 * POP by the calls of the official client's own API object, which proxies use too. Version 4 has none of it, so
 * everything is found by name.
 */
final class Pops {
    private static final String API = "org.apache.rocketmq.client.impl.mqclient.MQClientAPIExt";
    private static final String HEADERS = "org.apache.rocketmq.remoting.protocol.header.";

    private final Map<String, Object> clients = new ConcurrentHashMap<>();

    void register(Map<String, Driver.Op> ops) {
        ops.put("pop.start", this::start);
        ops.put("pop.stop", this::stop);
        ops.put("pop.pop", this::pop);
        ops.put("pop.ack", this::ack);
        ops.put("pop.batchAck", this::batchAck);
        ops.put("pop.change", this::change);
        ops.put("pop.notify", this::notification);
        ops.put("pop.sendBack", this::sendBack);
    }

    private Object start(JSONObject request) throws Exception {
        ClientConfig config = new ClientConfig();
        Driver.configure(config, request.getString("name"));
        Class<?> requests = Class.forName("org.apache.rocketmq.client.impl.ClientRemotingProcessor");
        Object listener = requests.getConstructors()[0].newInstance(new Object[] {null});
        for (Constructor<?> constructor : Class.forName(API).getConstructors()) {
            if (constructor.getParameterCount() == 4) {
                Object client = constructor.newInstance(config, new NettyClientConfig(), listener, null);
                call(client, "start");
                clients.put(request.getString("name"), client);
                return request.getString("name");
            }
        }
        throw new IllegalStateException("the client has another constructor");
    }

    private Object stop(JSONObject request) throws Exception {
        call(clients.remove(request.getString("name")), "shutdown");
        return true;
    }

    private Object pop(JSONObject request) throws Exception {
        Object result = ask(request, "popMessageAsync", request.getString("address"),
            request.getString("brokerName"), header(request, "PopMessageRequestHeader"), request.getLongValue("millis"));
        Map<String, Object> shape = new LinkedHashMap<>();
        shape.put("status", String.valueOf(call(result, "getPopStatus")));
        shape.put("popTime", call(result, "getPopTime"));
        shape.put("invisibleTime", call(result, "getInvisibleTime"));
        shape.put("restNum", call(result, "getRestNum"));
        @SuppressWarnings("unchecked")
        Collection<MessageExt> found = (Collection<MessageExt>) call(result, "getMsgFoundList");
        shape.put("messages", Shapes.received(found));
        return shape;
    }

    private Object ack(JSONObject request) throws Exception {
        return acknowledged(ask(request, "ackMessageAsync", request.getString("address"),
            header(request, "AckMessageRequestHeader"), request.getLongValue("millis")));
    }

    private Object batchAck(JSONObject request) throws Exception {
        List<String> receipts = request.getJSONArray("receipts").toJavaList(String.class);
        return acknowledged(ask(request, "batchAckMessageAsync", request.getString("address"),
            request.getString("topic"), request.getString("group"), receipts, request.getLongValue("millis")));
    }

    private Object change(JSONObject request) throws Exception {
        return acknowledged(ask(request, "changeInvisibleTimeAsync", request.getString("address"),
            request.getString("brokerName"), header(request, "ChangeInvisibleTimeRequestHeader"),
            request.getLongValue("millis")));
    }

    private Object notification(JSONObject request) throws Exception {
        Object result = ask(request, "notificationWithPollingStats", request.getString("address"),
            header(request, "NotificationRequestHeader"), request.getLongValue("millis"));
        Map<String, Object> shape = new LinkedHashMap<>();
        shape.put("hasMessage", call(result, "isHasMsg"));
        shape.put("isFull", call(result, "isPollingFull"));
        return shape;
    }

    private Object sendBack(JSONObject request) throws Exception {
        Object response = ask(request, "sendMessageBackAsync", request.getString("address"),
            header(request, "ConsumerSendMsgBackRequestHeader"), request.getLongValue("millis"));
        return call(response, "getCode");
    }

    private static Object acknowledged(Object result) throws Exception {
        Map<String, Object> shape = new LinkedHashMap<>();
        shape.put("status", String.valueOf(call(result, "getStatus")));
        shape.put("popTime", call(result, "getPopTime"));
        shape.put("extraInfo", call(result, "getExtraInfo"));
        return shape;
    }

    private static Object header(JSONObject request, String name) throws Exception {
        return JSON.toJavaObject(request.getJSONObject("header"), Class.forName(HEADERS + name));
    }

    /** Call what answers later, and wait for the answer. */
    private Object ask(JSONObject request, String method, Object... arguments) throws Exception {
        Object client = clients.get(request.getString("name"));
        try {
            return ((CompletableFuture<?>) call(client, method, arguments)).get();
        } catch (ExecutionException failure) {
            throw failure.getCause() instanceof Exception ? (Exception) failure.getCause() : failure;
        }
    }

    /** Call a method by its name and the number of its arguments; of several the one that gives something. */
    private static Object call(Object target, String name, Object... arguments) throws Exception {
        Method found = null;
        for (Method method : target.getClass().getMethods()) {
            boolean fits = method.getName().equals(name) && method.getParameterCount() == arguments.length;
            if (fits && (found == null || found.getReturnType() == void.class)) {
                found = method;
            }
        }
        if (found == null) {
            throw new IllegalStateException("this client has no " + name);
        }
        try {
            return found.invoke(target, arguments);
        } catch (InvocationTargetException failure) {
            throw failure.getCause() instanceof Exception ? (Exception) failure.getCause() : failure;
        }
    }
}
