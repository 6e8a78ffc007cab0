package compat.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.protocol.Errors;

/** Runs a Kafka client as requests on standard input say: a JSON object a line, answered by another. */
public final class Driver {
    static final ObjectMapper JSON = new ObjectMapper();
    private static final Map<String, Member> MEMBERS = new ConcurrentHashMap<>();

    private Driver() {
    }

    public static void main(String[] args) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, "UTF-8");
        ExecutorService threads = Executors.newCachedThreadPool();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JsonNode request = JSON.readTree(line);
            threads.execute(() -> {
                String answer = answer(request);
                synchronized (answers) {
                    answers.println(answer);
                }
            });
        }
        Runtime.getRuntime().halt(0);
    }

    private static String answer(JsonNode request) {
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("id", request.get("id").asLong());
        try {
            answer.put("result", run(request));
        } catch (Throwable failure) {
            answer.put("error", shape(failure));
        }
        try {
            return JSON.writeValueAsString(answer);
        } catch (Exception failure) {
            throw new IllegalStateException(failure);
        }
    }

    private static Map<String, Object> shape(Throwable failure) {
        Throwable cause = failure instanceof ExecutionException ? failure.getCause() : failure;
        Map<String, Object> error = new LinkedHashMap<>();
        error.put("type", cause.getClass().getSimpleName());
        error.put("code", cause instanceof ApiException ? (int) Errors.forException(cause).code() : null);
        error.put("message", String.valueOf(cause.getMessage()));
        return error;
    }

    private static Object run(JsonNode request) throws Exception {
        String op = request.get("op").asText();
        switch (op) {
            case "produce":
                return Records.produce(request);
            case "consume":
                return Records.consume(request);
            case "offset":
                return Records.offset(request);
            case "join":
                MEMBERS.put(request.get("name").asText(), new Member(request));
                return null;
            case "taken":
                return member(request).taken();
            case "commit":
                return member(request).commit();
            case "leave":
                return MEMBERS.remove(request.get("name").asText()).leave();
            default:
                throw new IllegalArgumentException(op);
        }
    }

    private static Member member(JsonNode request) {
        return MEMBERS.get(request.get("name").asText());
    }
}
