package compat;

import com.alibaba.fastjson.JSON;
import com.alibaba.fastjson.JSONObject;
import com.alibaba.fastjson.serializer.SerializerFeature;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.rocketmq.client.ClientConfig;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.common.MQVersion;

/**
 * Drives the official Java client from outside: one request a line on standard input, one answer a line on
 * standard output, both JSON. Compiled unchanged against every client version that is tested.
 *
 * <p>A request is {"id": N, "op": NAME, ...}; its answer {"id": N, "result": ...} or {"id": N, "error":
 * {"type", "code", "message"}}. Each request has a thread of its own, so a request that waits holds up nobody.
 * The end of standard input ends the program.
 */
public final class Driver {
    /** One operation: what it is asked, what it answers. */
    interface Op {
        Object run(JSONObject request) throws Exception;
    }

    private static final int API_MILLIS = 15_000;

    private final Map<String, Op> ops = new LinkedHashMap<>();
    private final PrintStream answers;

    private Driver(PrintStream answers) {
        this.answers = answers;
        ops.put("version", request -> MQVersion.getVersionDesc(MQVersion.CURRENT_VERSION));
        new Producers().register(ops);
        new Transactions().register(ops);
        new PushConsumers().register(ops);
        new PullConsumers().register(ops);
        new LitePullConsumers().register(ops);
        new Repliers().register(ops);
        new Pops().register(ops);
    }

    public static void main(String[] args) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, "UTF-8");
        System.setOut(System.err);
        Driver driver = new Driver(answers);
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            JSONObject request = JSON.parseObject(line);
            Thread thread = new Thread(() -> driver.answer(request), "request-" + request.get("id"));
            thread.setDaemon(true);
            thread.start();
        }
        Runtime.getRuntime().halt(0);
    }

    private void answer(JSONObject request) {
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("id", request.get("id"));
        try {
            Op op = ops.get(request.getString("op"));
            if (op == null) {
                throw new IllegalArgumentException("no such op: " + request.getString("op"));
            }
            answer.put("result", ShortEnds.in(() -> op.run(request)));
        } catch (Throwable failure) {
            answer.put("error", describe(failure));
        }
        String line = JSON.toJSONString(answer, SerializerFeature.DisableCircularReferenceDetect);
        synchronized (answers) {
            answers.println(line);
        }
    }

    /** Names a client, and lets it wait for routes longer than its own 3 seconds, as the machine may be busy. */
    static void configure(ClientConfig client, String name) {
        client.setInstanceName(name);
        client.setMqClientApiTimeout(API_MILLIS);
    }

    static Map<String, Object> describe(Throwable failure) {
        Map<String, Object> error = new LinkedHashMap<>();
        error.put("type", failure.getClass().getSimpleName());
        if (failure instanceof MQBrokerException) {
            error.put("code", ((MQBrokerException) failure).getResponseCode());
        } else if (failure instanceof MQClientException) {
            error.put("code", ((MQClientException) failure).getResponseCode());
        }
        error.put("message", String.valueOf(failure.getMessage()));
        return error;
    }
}
