/* Runs a class of JUnit 4 tests and writes its results as JUnit XML, one process
 * a class, as the client's own build does: some tests change what is global.
 *
 *     JUnitRun RESULTS.xml CLASS
 */
import java.io.PrintWriter;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.runner.Description;
import org.junit.runner.JUnitCore;
import org.junit.runner.notification.Failure;
import org.junit.runner.notification.RunListener;

public class JUnitRun extends RunListener {
    /* By "class name"; the value is the element inside of the test case. */
    final Map<String, String> outcomes = new LinkedHashMap<>();

    static String name(Description d) {
        String method = d.getMethodName();
        return "classname=\"" + escaped(d.getClassName()) + "\" name=\"" +
            escaped(method == null ? "class" : method) + "\"";
    }

    static String escaped(String s) {
        return s.replace("&", "&amp;").replace("<", "&lt;")
            .replace("\"", "&quot;");
    }

    @Override
    public void testStarted(Description d) {
        outcomes.putIfAbsent(name(d), "");
        System.out.println("=== " + d);
    }

    @Override
    public void testFailure(Failure f) {
        outcomes.put(name(f.getDescription()), "<failure/>");
        System.out.println("--- FAILED " + f.getDescription() + "\n" +
                           f.getTrace());
    }

    /* An assumption of a class leaves out each of its tests. */
    @Override
    public void testAssumptionFailure(Failure f) {
        skip(f.getDescription());
        System.out.println("--- SKIPPED " + f.getDescription() + ": " +
                           f.getMessage());
    }

    @Override
    public void testIgnored(Description d) {
        skip(d);
    }

    void skip(Description d) {
        if (d.isTest())
            outcomes.put(name(d), "<skipped/>");
        for (Description child : d.getChildren())
            skip(child);
    }

    public static void main(String[] args) throws Exception {
        JUnitRun run = new JUnitRun();
        JUnitCore core = new JUnitCore();
        core.addListener(run);
        core.run(Class.forName(args[1]));
        try (PrintWriter out = new PrintWriter(args[0])) {
            out.println("<testsuite>");
            run.outcomes.forEach((name, inner) ->
                out.println("<testcase " + name + ">" + inner +
                            "</testcase>"));
            out.println("</testsuite>");
        }
        System.exit(0); // Threads of clients that a test has left.
    }
}
