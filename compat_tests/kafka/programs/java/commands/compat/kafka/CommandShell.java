package compat.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.utils.internals.Exit;

/**
 * Runs Kafka's commands one after the other in one JVM, through their own entry points: {"main", "arguments",
 * "input"} a line on standard input, {"out", "err", "exit"} a line on standard output.
 */
public final class CommandShell {
    private CommandShell() {
    }

    /** Thrown in place of the end of the JVM. */
    private static final class Ended extends RuntimeException {
    }

    /** What a command had printed when it ended; what it does with the exception comes later, and is no part of it. */
    private static Map<String, Object> end;

    public static void main(String[] args) throws Exception {
        ObjectMapper json = new ObjectMapper();
        PrintStream answers = System.out;
        PrintStream errors = System.err;
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            Map<String, Object> answer = run(json.readTree(line));
            System.setOut(answers);
            System.setErr(errors);
            answers.println(json.writeValueAsString(answer));
        }
        Runtime.getRuntime().halt(0);
    }

    private static Map<String, Object> run(JsonNode request) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        System.setOut(new PrintStream(out, true, "UTF-8"));
        System.setErr(new PrintStream(err, true, "UTF-8"));
        System.setIn(new ByteArrayInputStream(request.get("input").asText().getBytes(StandardCharsets.UTF_8)));
        List<Runnable> atEnd = new ArrayList<>();
        end = null;
        Exit.Procedure ending = (status, message) -> {
            note(status, out, err);
            throw new Ended();
        };
        Exit.setExitProcedure(ending);
        Exit.setHaltProcedure(ending);
        Exit.setShutdownHookAdder((name, hook) -> atEnd.add(hook));
        List<String> arguments = new ArrayList<>();
        request.get("arguments").forEach(one -> arguments.add(one.asText()));
        try {
            Class.forName(request.get("main").asText())
                .getMethod("main", String[].class)
                .invoke(null, (Object) arguments.toArray(new String[0]));
        } catch (InvocationTargetException failure) {
            if (!(failure.getCause() instanceof Ended)) {
                failure.getCause().printStackTrace();
                note(-1, out, err);
            }
        }
        for (Runnable hook : atEnd) {
            hook.run();
        }
        note(0, out, err);
        return end;
    }

    private static synchronized void note(int status, ByteArrayOutputStream out, ByteArrayOutputStream err) {
        System.out.flush();
        System.err.flush();
        if (end == null) {
            end = new LinkedHashMap<>();
            end.put("out", out.toString(StandardCharsets.UTF_8));
            end.put("err", err.toString(StandardCharsets.UTF_8));
            end.put("exit", status);
        }
    }
}
