/* A program of Spark on this machine that writes tables by Spark's connector for
 * Bigtable and reads them: 8 checks of types, filters that the connector pushes
 * down, replaced rows and queries in Spark's SQL.
 *
 *     SparkChecks PORT RESULTS.xml
 *
 * Writes JUnit XML; a check that throws has failed.
 */
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

public class SparkChecks {
    interface Check {
        void run() throws Exception;
    }

    static final int ROWS = 1000;
    static final String CATALOG = "{\"table\":{\"name\":\"checks\"}," +
        "\"rowkey\":\"key\",\"columns\":{" +
        "\"key\":{\"cf\":\"rowkey\",\"col\":\"key\",\"type\":\"string\"}," +
        "\"text\":{\"cf\":\"a\",\"col\":\"text\",\"type\":\"string\"}," +
        "\"number\":{\"cf\":\"b\",\"col\":\"number\",\"type\":\"long\"}," +
        "\"part\":{\"cf\":\"b\",\"col\":\"part\",\"type\":\"double\"}," +
        "\"flag\":{\"cf\":\"b\",\"col\":\"flag\",\"type\":\"boolean\"}}}";
    static final StructType TYPE = new StructType()
        .add("key", DataTypes.StringType).add("text", DataTypes.StringType)
        .add("number", DataTypes.LongType).add("part", DataTypes.DoubleType)
        .add("flag", DataTypes.BooleanType);
    static final List<String> xml = new ArrayList<>();
    static SparkSession spark;
    static String port;

    static void same(Object want, Object got) {
        if (!Objects.equals(want, got))
            throw new AssertionError("want " + want + ", got " + got);
    }

    static void check(String name, Check c) {
        String end = "";
        try {
            c.run();
        } catch (Throwable e) {
            e.printStackTrace();
            end = "<failure/>";
        }
        xml.add("<testcase name=\"" + name + "\">" + end + "</testcase>");
        System.out.println((end.isEmpty() ? "passed " : "FAILED ") + name);
    }

    static Row row(int i) {
        return RowFactory.create(String.format("row-%04d", i), "text " + i,
                                 (long)i * i, i / 8.0, i % 2 == 0);
    }

    static void write(List<Row> rows, boolean create) {
        spark.createDataFrame(rows, TYPE).write().format("bigtable")
            .option("catalog", CATALOG)
            .option("spark.bigtable.project.id", "p")
            .option("spark.bigtable.instance.id", "spark")
            .option("spark.bigtable.create.new.table",
                    Boolean.toString(create))
            .option("spark.bigtable.emulator.port", port).save();
    }

    static Dataset<Row> table() {
        return spark.read().format("bigtable").option("catalog", CATALOG)
            .option("spark.bigtable.project.id", "p")
            .option("spark.bigtable.instance.id", "spark")
            .option("spark.bigtable.emulator.port", port).load();
    }

    static List<Row> rows(Dataset<Row> d) {
        return d.select("key", "text", "number", "part", "flag")
            .orderBy("key").collectAsList();
    }

    static List<Row> range(int from, int to) {
        List<Row> all = new ArrayList<>();
        for (int i = from; i < to; i++)
            all.add(row(i));
        return all;
    }

    public static void main(String[] args) throws Exception {
        port = args[0];
        spark = SparkSession.builder().master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", "2").getOrCreate();
        check("a new table is written", () -> write(range(0, ROWS), true));
        check("all of it is read", () ->
            same(range(0, ROWS), rows(table())));
        check("rows of a key and of a range of keys", () -> {
            same(range(17, 18), rows(table().where("key = 'row-0017'")));
            same(range(100, 200), rows(table().where(
                "key >= 'row-0100' AND key < 'row-0200'")));
        });
        check("rows of a prefix", () ->
            same(range(300, 310), rows(table().where("key LIKE 'row-030%'"))));
        check("a condition on values", () ->
            same(range(0, ROWS).stream().filter(r -> r.getLong(2) > 810000)
                     .collect(Collectors.toList()),
                 rows(table().where("number > 810000"))));
        check("a query that groups", () -> {
            table().createOrReplaceTempView("checks");
            same("[true,500,249500.0]", spark.sql(
                "SELECT flag, count(*), sum(part) * 8 FROM checks " +
                "WHERE flag GROUP BY flag").first().toString());
        });
        check("rows are replaced and added", () -> {
            write(range(ROWS - 5, ROWS + 5), false);
            same(range(0, ROWS + 5), rows(table()));
        });
        check("a table that is there is not made again", () -> {
            try {
                write(range(0, 1), true);
            } catch (Exception e) {
                return;
            }
            throw new AssertionError("it was made");
        });
        try (PrintWriter out = new PrintWriter(args[1])) {
            out.println("<testsuite>");
            xml.forEach(out::println);
            out.println("</testsuite>");
        }
        System.exit(0); // Threads of clients.
    }
}
