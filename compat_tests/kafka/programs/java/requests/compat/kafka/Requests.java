package compat.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.protocol.Errors;

/** Requests on standard input, a JSON object a line; each is answered by another, several at a time. */
final class Requests {
    private static final ObjectMapper JSON = new ObjectMapper();

    private Requests() {
    }

    /** Carries out a request, and gives its result as values that JSON has. */
    interface Operation {
        Object run(JsonNode request) throws Exception;
    }

    /** Answers requests until the input ends, then ends the process. */
    static void serve(Operation operation) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, "UTF-8");
        ExecutorService threads = Executors.newCachedThreadPool();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JsonNode request = JSON.readTree(line);
            threads.execute(() -> {
                String answer = answer(operation, request);
                synchronized (answers) {
                    answers.println(answer);
                }
            });
        }
        Runtime.getRuntime().halt(0);
    }

    private static String answer(Operation operation, JsonNode request) {
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("id", request.get("id").asLong());
        try {
            answer.put("result", operation.run(request));
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
}
