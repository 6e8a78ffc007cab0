package compat.grpc;

import com.google.gson.Gson;
import com.google.gson.JsonObject;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Drives the official gRPC client from outside: one request a line on standard input, one answer a line on
 * standard output, both JSON. A request is {"id": N, "op": NAME, ...}; its answer {"id": N, "result": ...} or
 * {"id": N, "error": {"type", "code", "message"}}. Each request has a thread of its own.
 */
public final class Driver {
    /** One thing that can be asked for. */
    interface Operation {
        Object run(JsonObject request) throws Exception;
    }

    static final Gson GSON = new Gson();

    private static final Map<String, Operation> OPERATIONS = new HashMap<>();

    private Driver() {
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err);
        Producers.register(OPERATIONS);
        Consumers.register(OPERATIONS);
        ExecutorService threads = Executors.newCachedThreadPool();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JsonObject request = GSON.fromJson(line, JsonObject.class);
            threads.execute(() -> {
                byte[] answer = (answer(request) + "\n").getBytes(StandardCharsets.UTF_8);
                synchronized (answers) {
                    answers.write(answer, 0, answer.length);
                    answers.flush();
                }
            });
        }
        System.exit(0);
    }

    private static String answer(JsonObject request) {
        Map<String, Object> answer = new HashMap<>();
        answer.put("id", request.get("id").getAsLong());
        try {
            answer.put("result", OPERATIONS.get(request.get("op").getAsString()).run(request));
        } catch (Throwable failure) {
            Map<String, Object> error = new HashMap<>();
            error.put("type", failure.getClass().getSimpleName());
            error.put("code", Shapes.codeOf(failure));
            error.put("message", String.valueOf(failure.getMessage()));
            answer.put("error", error);
        }
        return GSON.toJson(answer);
    }
}
