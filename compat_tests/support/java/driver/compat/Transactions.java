package compat;

import com.alibaba.fastjson.JSONArray;
import com.alibaba.fastjson.JSONObject;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.client.impl.factory.MQClientInstance;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.client.producer.TransactionSendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageConst;
import org.apache.rocketmq.common.message.MessageExt;

/** Producers of transactions: what they decide at once, what they answer when they are asked, what they were asked. */
final class Transactions {
    /** One producer, which knows its decisions by the bodies of its messages. */
    private static final class Decider implements TransactionListener {
        private final TransactionMQProducer producer;
        private final Map<String, LocalTransactionState> decisions = new ConcurrentHashMap<>();
        private final Map<String, Message> messages = new ConcurrentHashMap<>();
        private final Map<String, SendResult> results = new ConcurrentHashMap<>();
        private final List<Object> questions = new ArrayList<>();

        Decider(TransactionMQProducer producer) {
            this.producer = producer;
        }

        @Override
        public LocalTransactionState executeLocalTransaction(Message message, Object state) {
            if ("THROW".equals(state)) {
                throw new IllegalStateException("the local transaction failed");
            }
            return LocalTransactionState.valueOf((String) state);
        }

        @Override
        public LocalTransactionState checkLocalTransaction(MessageExt message) {
            Map<String, Object> question = Shapes.received(message);
            question.put("receivedAt", System.currentTimeMillis());
            question.put("delivery", 0);
            synchronized (questions) {
                questions.add(question);
                questions.notifyAll();
            }
            String body = new String(message.getBody(), StandardCharsets.UTF_8);
            return decisions.getOrDefault(body, LocalTransactionState.UNKNOW);
        }

        List<Object> collect(int count, long millis) throws InterruptedException {
            long end = System.currentTimeMillis() + millis;
            synchronized (questions) {
                for (long left = millis; questions.size() < count && left > 0; left = end - System.currentTimeMillis()) {
                    questions.wait(left);
                }
                return new ArrayList<>(questions);
            }
        }
    }

    private final Map<String, Decider> deciders = new ConcurrentHashMap<>();

    void register(Map<String, Driver.Op> ops) {
        ops.put("transactions.start", this::start);
        ops.put("transactions.stop", this::stop);
        ops.put("transactions.send", this::send);
        ops.put("transactions.begin", this::begin);
        ops.put("transactions.decide", this::decide);
        ops.put("transactions.end", this::end);
        ops.put("transactions.questions", request ->
            decider(request).collect(request.getIntValue("count"), request.getLongValue("millis")));
    }

    private Decider decider(JSONObject request) {
        Decider decider = deciders.get(request.getString("name"));
        if (decider == null) {
            throw new IllegalArgumentException("no such producer: " + request.getString("name"));
        }
        return decider;
    }

    private Object start(JSONObject request) throws Exception {
        TransactionMQProducer producer = new TransactionMQProducer(request.getString("group"));
        producer.setNamesrvAddr(request.getString("namesrv"));
        Driver.configure(producer, request.getString("name"));
        Decider decider = new Decider(producer);
        producer.setTransactionListener(decider);
        producer.start();
        // Servers ask producers they have heard of; the client's own timer tells them up to 30 seconds later.
        MQClientInstance client = producer.getDefaultMQProducerImpl().getMqClientFactory();
        client.updateTopicRouteInfoFromNameServer(request.getString("topic"));
        client.sendHeartbeatToAllBrokerWithLock();
        deciders.put(request.getString("name"), decider);
        return producer.buildMQClientId();
    }

    private Object stop(JSONObject request) {
        deciders.remove(request.getString("name")).producer.shutdown();
        return true;
    }

    /** Sends half messages; what the local transaction says is the same for all. */
    private Object send(JSONObject request) throws Exception {
        Decider decider = decider(request);
        List<Object> results = new ArrayList<>();
        for (Message message : Shapes.messages(request.getJSONArray("messages"))) {
            TransactionSendResult result = decider.producer.sendMessageInTransaction(message, request.getString("state"));
            Map<String, Object> shape = new LinkedHashMap<>(Shapes.sent(result));
            shape.put("state", String.valueOf(result.getLocalTransactionState()));
            shape.put("transactionId", result.getTransactionId());
            results.add(shape);
        }
        return results;
    }

    /** Sends half messages and leaves them, as sinks do that keep them from one checkpoint to the next. */
    private Object begin(JSONObject request) throws Exception {
        Decider decider = decider(request);
        List<Object> results = new ArrayList<>();
        for (Message message : Shapes.messages(request.getJSONArray("messages"))) {
            String body = new String(message.getBody(), StandardCharsets.UTF_8);
            MessageAccessor.putProperty(message, MessageConst.PROPERTY_TRANSACTION_PREPARED, "true");
            MessageAccessor.putProperty(message, MessageConst.PROPERTY_PRODUCER_GROUP, decider.producer.getProducerGroup());
            SendResult result = decider.producer.send(message);
            decider.messages.put(body, message);
            decider.results.put(body, result);
            results.add(Shapes.sent(result));
        }
        return results;
    }

    /** What is answered from now on when somebody asks about these bodies. */
    private Object decide(JSONObject request) {
        LocalTransactionState state = LocalTransactionState.valueOf(request.getString("state"));
        JSONArray bodies = request.getJSONArray("bodies");
        for (int i = 0; i < bodies.size(); i++) {
            decider(request).decisions.put(bodies.getString(i), state);
        }
        return true;
    }

    /** Ends a transaction that was begun and left. */
    private Object end(JSONObject request) throws Exception {
        Decider decider = decider(request);
        String body = request.getString("body");
        decider.producer.getDefaultMQProducerImpl().endTransaction(decider.messages.get(body),
            decider.results.get(body), LocalTransactionState.valueOf(request.getString("state")), null);
        return true;
    }
}
