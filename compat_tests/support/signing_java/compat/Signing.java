package compat;

import com.alibaba.fastjson.JSON;
import com.alibaba.fastjson.JSONObject;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.acl.common.AclClientRPCHook;
import org.apache.rocketmq.acl.common.SessionCredentials;
import org.apache.rocketmq.client.ClientConfig;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.remoting.RPCHook;

/**
 * The official Java client with credentials, driven from outside in lines of JSON as {@code Driver} is.
 *
 * <p>Each request makes a client of its own that signs with what the request brings, {"accessKey",
 * "secretKey"} or nothing, does one thing with it and ends it. An error is {"errors": [{"type", "code",
 * "message"}, ...]}, a cause after what it caused.
 */
public final class Signing {
    private static final String[] OPS = {"sync", "async", "transaction", "pull", "push"};
    private static final int WAIT_SECONDS = 30;

    private static final AtomicInteger COUNT = new AtomicInteger();

    private final JSONObject request;
    private final String topic;

    private Signing(JSONObject request) {
        this.request = request;
        this.topic = request.getString("topic");
    }

    public static void main(String[] args) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, "UTF-8");
        System.setOut(System.err);
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            JSONObject request = JSON.parseObject(line);
            Thread thread = new Thread(() -> {
                String answer = JSON.toJSONString(answer(request));
                synchronized (answers) {
                    answers.println(answer);
                }
            });
            thread.setDaemon(true);
            thread.start();
        }
        Runtime.getRuntime().halt(0);
    }

    private static Map<String, Object> answer(JSONObject request) {
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("id", request.get("id"));
        try {
            answer.put("result", ShortEnds.in(() -> new Signing(request).run()));
        } catch (Throwable failure) {
            Map<String, Object> result = new LinkedHashMap<>();
            result.put("errors", described(failure));
            answer.put("result", result);
        }
        return answer;
    }

    private static List<Map<String, Object>> described(Throwable failure) {
        List<Map<String, Object>> all = new ArrayList<>();
        for (Throwable each = failure; each != null; each = each.getCause()) {
            if (each instanceof ExecutionException) {
                continue;
            }
            Map<String, Object> error = new LinkedHashMap<>();
            error.put("type", each.getClass().getSimpleName());
            if (each instanceof MQBrokerException) {
                error.put("code", ((MQBrokerException) each).getResponseCode());
            } else if (each instanceof MQClientException) {
                error.put("code", ((MQClientException) each).getResponseCode());
            }
            error.put("message", String.valueOf(each.getMessage()));
            all.add(error);
        }
        return all;
    }

    private Object run() throws Exception {
        String op = request.getString("op");
        switch (op) {
            case "pull": return pull();
            case "push": return push();
            case "transaction": return transaction();
            default: return produce(op);
        }
    }

    private RPCHook hook() {
        String accessKey = request.getString("accessKey");
        return accessKey == null ? null
            : new AclClientRPCHook(new SessionCredentials(accessKey, request.getString("secretKey")));
    }

    private byte[] body() {
        return request.getString("body").getBytes(StandardCharsets.UTF_8);
    }

    private void prepare(ClientConfig client) {
        client.setNamesrvAddr(request.getString("namesrv"));
        client.setInstanceName("signing-" + COUNT.incrementAndGet());
        // What a question may take: more than the 3 seconds of the client's own, as two cores serve everybody here.
        client.setMqClientApiTimeout((int) TimeUnit.SECONDS.toMillis(WAIT_SECONDS));
    }

    private <P extends DefaultMQProducer> P started(P producer) throws Exception {
        prepare(producer);
        producer.setSendMsgTimeout((int) TimeUnit.SECONDS.toMillis(WAIT_SECONDS));
        producer.start();
        return producer;
    }

    private Object produce(String op) throws Exception {
        DefaultMQProducer producer = started(new DefaultMQProducer("signers", hook()));
        try {
            Message message = new Message(topic, body());
            switch (op) {
                case "sync": return producer.send(message).getSendStatus().name();
                case "async": return async(producer, message);
                default: throw new IllegalArgumentException(op + " is none of " + Arrays.toString(OPS));
            }
        } finally {
            producer.shutdown();
        }
    }

    private static Object async(DefaultMQProducer producer, Message message) throws Exception {
        CompletableFuture<Object> outcome = new CompletableFuture<>();
        producer.send(message, new SendCallback() {
            @Override public void onSuccess(SendResult result) {
                outcome.complete(result.getSendStatus().name());
            }

            @Override public void onException(Throwable failure) {
                outcome.completeExceptionally(failure);
            }
        });
        return outcome.get(WAIT_SECONDS, TimeUnit.SECONDS);
    }

    private Object transaction() throws Exception {
        TransactionMQProducer producer = started(new TransactionMQProducer("signers", hook()));
        producer.setTransactionListener(new TransactionListener() {
            @Override public LocalTransactionState executeLocalTransaction(Message message, Object argument) {
                return LocalTransactionState.COMMIT_MESSAGE;
            }

            @Override public LocalTransactionState checkLocalTransaction(MessageExt message) {
                return LocalTransactionState.COMMIT_MESSAGE;
            }
        });
        try {
            return producer.sendMessageInTransaction(new Message(topic, body()), null).getSendStatus().name();
        } finally {
            producer.shutdown();
        }
    }

    private Object pull() throws Exception {
        DefaultMQPullConsumer consumer = new DefaultMQPullConsumer(request.getString("group"), hook());
        prepare(consumer);
        consumer.start();
        try {
            return consumer.pull(new MessageQueue(topic, request.getString("broker"), 0), "*", 0, 1).getPullStatus().name();
        } finally {
            consumer.shutdown();
        }
    }

    /** Waits so many "millis" for one message; its body, or nothing. */
    private Object push() throws Exception {
        DefaultMQPushConsumer consumer =
            new DefaultMQPushConsumer(request.getString("group"), hook(), new AllocateMessageQueueAveragely());
        prepare(consumer);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        CountDownLatch first = new CountDownLatch(1);
        List<String> bodies = new ArrayList<>();
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            synchronized (bodies) {
                messages.forEach(message -> bodies.add(new String(message.getBody(), StandardCharsets.UTF_8)));
            }
            first.countDown();
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        try {
            first.await(request.getLongValue("millis"), TimeUnit.MILLISECONDS);
        } finally {
            consumer.shutdown();
        }
        synchronized (bodies) {
            return bodies.isEmpty() ? "nothing" : bodies.get(0);
        }
    }
}
