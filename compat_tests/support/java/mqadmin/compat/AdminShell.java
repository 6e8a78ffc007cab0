package compat;

import com.alibaba.fastjson.JSON;
import com.alibaba.fastjson.JSONArray;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.security.Permission;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.tools.command.MQAdminStartup;

/**
 * Runs mqadmin commands one after the other in one JVM, through the tool's own entry point: a JSON array of
 * arguments a line on standard input, {"out", "err", "exit"} a line on standard output.
 */
@SuppressWarnings({"deprecation", "removal"})
public final class AdminShell {
    private AdminShell() {
    }

    /** Thrown in place of the end of the JVM. */
    private static final class Exit extends SecurityException {
        private final int status;

        Exit(int status) {
            this.status = status;
        }
    }

    private static final class NoExit extends SecurityManager {
        @Override
        public void checkExit(int status) {
            throw new Exit(status);
        }

        @Override
        public void checkPermission(Permission permission) {
            // everything else is allowed
        }
    }

    public static void main(String[] args) throws Exception {
        PrintStream answers = System.out;
        PrintStream errors = System.err;
        System.setSecurityManager(new NoExit());
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] command = JSON.parseObject(line, JSONArray.class).toArray(new String[0]);
            String answer = JSON.toJSONString(ShortEnds.in(() -> run(command)));
            System.setOut(answers);
            System.setErr(errors);
            answers.println(answer);
        }
        Runtime.getRuntime().halt(0);
    }

    /** The tool keeps its command objects, and a second run of some of them fails on what the first left. */
    private static void forgetCommands() throws Exception {
        Field commands = MQAdminStartup.class.getDeclaredField("SUB_COMMANDS");
        commands.setAccessible(true);
        ((List<?>) commands.get(null)).clear();
    }

    private static Map<String, Object> run(String[] command) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        System.setOut(new PrintStream(out, true, "UTF-8"));
        System.setErr(new PrintStream(err, true, "UTF-8"));
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("exit", 0);
        forgetCommands();
        try {
            MQAdminStartup.main0(command, null);
        } catch (Exit exit) {
            answer.put("exit", exit.status);
        }
        System.out.flush();
        System.err.flush();
        answer.put("out", out.toString("UTF-8"));
        answer.put("err", err.toString("UTF-8"));
        return answer;
    }
}
