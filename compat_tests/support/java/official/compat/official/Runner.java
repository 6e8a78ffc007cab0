package compat.official;

import compat.ShortEnds;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.Set;
import org.junit.runner.Description;
import org.junit.runner.JUnitCore;
import org.junit.runner.Request;
import org.junit.runner.manipulation.Filter;
import org.junit.runner.notification.Failure;
import org.junit.runner.notification.RunListener;

/**
 * Runs test classes, one after the other, as the lines of standard input name them: the class, after a tab the
 * methods wanted and after another those not wanted, with commas between; none wanted means all. What happens is told on standard output,
 * one line each with tabs between: {@code begin METHOD}, {@code end METHOD RESULT SECONDS REASON}, and {@code done} after
 * each class. RESULT is passed, failed, ignored or inside, the last for a test that needs the server in its process.
 */
public final class Runner extends RunListener {
    private static final String WHOLE_CLASS = "*";
    /** Name of the method as which JUnit reports a class that it cannot run; no retry could select it. */
    private static final String NOT_RUN = "initializationError";

    private final PrintStream out;
    private long began;
    private String result;
    private String reason;

    private Runner(PrintStream out) {
        this.out = out;
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] parts = line.split("\t", -1);
            Request request = Request.aClass(Class.forName(parts[0]));
            Filter filter = filter(names(parts[1]), names(parts[2]));
            JUnitCore core = new JUnitCore();
            core.addListener(new Runner(out));
            ShortEnds.in(() -> core.run(request.filterWith(filter)));
            Settings.putBack();
            out.println("done");
            out.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    @Override
    public void testStarted(Description test) {
        began = System.nanoTime();
        result = "passed";
        reason = "";
        tell("begin", name(test));
    }

    @Override
    public void testFailure(Failure failure) {
        result = "failed";
        reason = describe(failure);
        if (name(failure.getDescription()).equals(WHOLE_CLASS)) {
            tell("end", WHOLE_CLASS, result, "0", reason);
        }
    }

    @Override
    public void testAssumptionFailure(Failure failure) {
        result = "inside";
        reason = String.valueOf(failure.getMessage());
        if (name(failure.getDescription()).equals(WHOLE_CLASS)) {
            tell("end", WHOLE_CLASS, result, "0", reason);
        }
    }

    @Override
    public void testFinished(Description test) {
        String seconds = String.format("%.1f", (System.nanoTime() - began) / 1e9);
        tell("end", name(test), result, seconds, reason);
    }

    @Override
    public void testIgnored(Description test) {
        tell("end", name(test), "ignored", "0", "");
    }

    private void tell(String... parts) {
        for (int i = 0; i < parts.length; i++) {
            parts[i] = parts[i].replaceAll("\\s+", " ");
        }
        out.println(String.join("\t", parts));
        out.flush();
    }

    private static String name(Description test) {
        String method = test.getMethodName();
        return method == null || method.equals(NOT_RUN) ? WHOLE_CLASS : method;
    }

    private static String describe(Failure failure) {
        Throwable thrown = failure.getException();
        StringBuilder text = new StringBuilder(String.valueOf(thrown));
        for (StackTraceElement frame : thrown.getStackTrace()) {
            if (frame.getClassName().startsWith("org.apache.rocketmq.test")) {
                text.append(" at ").append(frame);
                break;
            }
        }
        return text.toString();
    }

    private static Set<String> names(String list) {
        return list.isEmpty() ? Collections.emptySet() : new HashSet<>(Arrays.asList(list.split(",")));
    }

    private static Filter filter(Set<String> wanted, Set<String> unwanted) {
        return new Filter() {
            @Override
            public boolean shouldRun(Description test) {
                if (test.isTest()) {
                    return (wanted.isEmpty() || wanted.contains(name(test))) && !unwanted.contains(name(test));
                }
                return test.getChildren().stream().anyMatch(this::shouldRun);
            }

            @Override
            public String describe() {
                return "some methods";
            }
        };
    }
}
