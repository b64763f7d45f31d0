/* A program of HBase's client API, over Bigtable by its client for HBase: 37
 * checks of what HBase's own client tests check of tables, puts, gets, scans,
 * filters, deletes, conditional changes and administration.
 *
 *     HBaseChecks RESULTS.xml
 *
 * The server is $BIGTABLE_EMULATOR_HOST. Writes JUnit XML; a check that throws
 * has failed.
 */
import com.google.cloud.bigtable.hbase.BigtableConfiguration;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.CompareOperator;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.Append;
import org.apache.hadoop.hbase.client.BufferedMutator;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Increment;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.RowMutations;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.filter.ColumnCountGetFilter;
import org.apache.hadoop.hbase.filter.ColumnPrefixFilter;
import org.apache.hadoop.hbase.filter.ColumnRangeFilter;
import org.apache.hadoop.hbase.filter.FamilyFilter;
import org.apache.hadoop.hbase.filter.Filter;
import org.apache.hadoop.hbase.filter.FilterList;
import org.apache.hadoop.hbase.filter.FirstKeyOnlyFilter;
import org.apache.hadoop.hbase.filter.FuzzyRowFilter;
import org.apache.hadoop.hbase.filter.KeyOnlyFilter;
import org.apache.hadoop.hbase.filter.MultipleColumnPrefixFilter;
import org.apache.hadoop.hbase.filter.PageFilter;
import org.apache.hadoop.hbase.filter.PrefixFilter;
import org.apache.hadoop.hbase.filter.QualifierFilter;
import org.apache.hadoop.hbase.filter.RegexStringComparator;
import org.apache.hadoop.hbase.filter.BinaryComparator;
import org.apache.hadoop.hbase.filter.RowFilter;
import org.apache.hadoop.hbase.filter.SingleColumnValueFilter;
import org.apache.hadoop.hbase.filter.TimestampsFilter;
import org.apache.hadoop.hbase.filter.ValueFilter;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.util.Pair;

public class HBaseChecks {
    interface Check {
        void run() throws Exception;
    }

    static final TableName NAME = TableName.valueOf("checks");
    static final byte[] F = Bytes.toBytes("f");
    static final byte[] G = Bytes.toBytes("g");
    static final List<String> xml = new ArrayList<>();
    static Connection connection;
    static Admin admin;
    static Table table;

    static byte[] b(String s) {
        return Bytes.toBytes(s);
    }

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

    static Put put(String row, String qualifier, String value) {
        return new Put(b(row)).addColumn(F, b(qualifier), b(value));
    }

    static String get(String row, String qualifier) throws Exception {
        return Bytes.toString(
            table.get(new Get(b(row))).getValue(F, b(qualifier)));
    }

    static String text(Result r) {
        StringBuilder s = new StringBuilder(Bytes.toString(r.getRow()));
        for (Cell c : r.rawCells())
            s.append(' ').append(Bytes.toString(CellUtil.cloneQualifier(c)))
                .append('=').append(Bytes.toString(CellUtil.cloneValue(c)));
        return s.toString();
    }

    static String scan(Scan s) throws Exception {
        List<String> rows = new ArrayList<>();
        try (ResultScanner scanner = table.getScanner(s)) {
            for (Result r : scanner)
                rows.add(text(r));
        }
        return String.join("; ", rows);
    }

    static String filtered(Filter f) throws Exception {
        return scan(new Scan().withStartRow(b("s")).withStopRow(b("t"))
                        .setFilter(f));
    }

    static void administration() throws Exception {
        check("create table", () -> {
            admin.createTable(
                TableDescriptorBuilder.newBuilder(NAME)
                    .setColumnFamily(ColumnFamilyDescriptorBuilder
                                         .newBuilder(F).setMaxVersions(3)
                                         .build())
                    .setColumnFamily(ColumnFamilyDescriptorBuilder.of(G))
                    .build(),
                new byte[][] {b("m")});
            table = connection.getTable(NAME);
        });
        check("table exists", () -> {
            same(true, admin.tableExists(NAME));
            same(false, admin.tableExists(TableName.valueOf("nothing")));
        });
        check("list tables", () -> same(true,
            Arrays.asList(admin.listTableNames()).contains(NAME)));
        check("descriptor", () -> same(3, admin.getDescriptor(NAME)
                .getColumnFamily(F).getMaxVersions()));
        check("regions", () -> same(2,
            connection.getRegionLocator(NAME).getAllRegionLocations().size()));
        check("add and delete family", () -> {
            admin.addColumnFamily(NAME, ColumnFamilyDescriptorBuilder.of("h"));
            same(true, admin.getDescriptor(NAME).hasColumnFamily(b("h")));
            admin.deleteColumnFamily(NAME, b("h"));
            same(false, admin.getDescriptor(NAME).hasColumnFamily(b("h")));
        });
    }

    static void puts() {
        check("put and get", () -> {
            table.put(put("a", "x", "1"));
            same("1", get("a", "x"));
        });
        check("get of no row", () -> same(true,
            table.get(new Get(b("nothing"))).isEmpty()));
        check("exists", () -> {
            same(true, table.exists(new Get(b("a"))));
            same(false, table.exists(new Get(b("nothing"))));
        });
        check("batch of puts, list of gets", () -> {
            table.put(Arrays.asList(put("b", "x", "2"), put("c", "x", "3")));
            Result[] r = table.get(
                Arrays.asList(new Get(b("c")), new Get(b("b"))));
            same("c x=3", text(r[0]));
            same("b x=2", text(r[1]));
        });
        check("batch of everything", () -> {
            Object[] r = new Object[3];
            table.batch(Arrays.asList(put("d", "x", "4"), new Get(b("a")),
                                      new Delete(b("c"))), r);
            same("a x=1", text((Result)r[1]));
            same(null, get("c", "x"));
        });
        check("buffered mutator", () -> {
            try (BufferedMutator m = connection.getBufferedMutator(NAME)) {
                for (int i = 0; i < 100; i++)
                    m.mutate(put(String.format("buf%03d", i), "x", "v"));
            }
            same(100, scan(new Scan().setRowPrefixFilter(b("buf")))
                          .split("; ").length);
        });
        check("versions", () -> {
            for (long t = 1; t <= 3; t++)
                table.put(new Put(b("v")).addColumn(F, b("x"), t, b("" + t)));
            same("v x=3 x=2 x=1",
                 text(table.get(new Get(b("v")).readAllVersions())));
            same("v x=3 x=2", text(table.get(new Get(b("v")).readVersions(2))));
            same("v x=2",
                 text(table.get(new Get(b("v")).setTimestamp(2))));
            same("v x=2 x=1", text(table.get(
                new Get(b("v")).setTimeRange(1, 3).readAllVersions())));
        });
        check("column and family of a get", () -> {
            table.put(put("a", "y", "2").addColumn(G, b("z"), b("3")));
            same("a y=2", text(table.get(new Get(b("a")).addColumn(F, b("y")))));
            same("a z=3", text(table.get(new Get(b("a")).addFamily(G))));
        });
        check("binary keys and values", () -> {
            byte[] all = new byte[256];
            for (int i = 0; i < 256; i++)
                all[i] = (byte)i;
            table.put(new Put(all).addColumn(F, all, all));
            same(true, Arrays.equals(
                all, table.get(new Get(all)).getValue(F, all)));
        });
    }

    static void changes() {
        check("increment", () -> {
            same(5L, table.incrementColumnValue(b("n"), F, b("c"), 5));
            same(3L, table.incrementColumnValue(b("n"), F, b("c"), -2));
            Result r = table.increment(
                new Increment(b("n")).addColumn(F, b("c"), 4));
            same(7L, Bytes.toLong(r.getValue(F, b("c"))));
        });
        check("append", () -> {
            table.append(new Append(b("p")).addColumn(F, b("x"), b("ab")));
            Result r = table.append(
                new Append(b("p")).addColumn(F, b("x"), b("cd")));
            same("abcd", Bytes.toString(r.getValue(F, b("x"))));
        });
        check("check and put", () -> {
            same(false, table.checkAndMutate(b("a"), F).qualifier(b("x"))
                            .ifEquals(b("9")).thenPut(put("a", "x", "no")));
            same(true, table.checkAndMutate(b("a"), F).qualifier(b("x"))
                           .ifEquals(b("1")).thenPut(put("a", "x", "yes")));
            same("yes", get("a", "x"));
        });
        check("check of an absent cell", () -> {
            same(true, table.checkAndMutate(b("q"), F).qualifier(b("x"))
                           .ifNotExists().thenPut(put("q", "x", "1")));
            same(false, table.checkAndMutate(b("q"), F).qualifier(b("x"))
                            .ifNotExists().thenPut(put("q", "x", "2")));
        });
        check("check with an order", () -> same(true,
            table.checkAndMutate(b("q"), F).qualifier(b("x"))
                .ifMatches(CompareOperator.LESS, b("0"))
                .thenPut(put("q", "y", "1"))));
        check("check and delete", () -> {
            same(true, table.checkAndMutate(b("q"), F).qualifier(b("x"))
                           .ifEquals(b("1")).thenDelete(new Delete(b("q"))));
            same(false, table.exists(new Get(b("q"))));
        });
        check("mutations of a row", () -> {
            RowMutations m = new RowMutations(b("a"));
            m.add(put("a", "new", "1"));
            m.add(new Delete(b("a")).addColumns(F, b("x")));
            table.mutateRow(m);
            same("1", get("a", "new"));
            same(null, get("a", "x"));
        });
        check("delete of one version", () -> {
            table.delete(new Delete(b("v")).addColumn(F, b("x"), 2));
            same("v x=3 x=1",
                 text(table.get(new Get(b("v")).readAllVersions())));
        });
        check("delete of a family, of a row", () -> {
            table.delete(new Delete(b("a")).addFamily(G));
            same(null, table.get(new Get(b("a"))).getValue(G, b("z")));
            table.delete(new Delete(b("a")));
            same(false, table.exists(new Get(b("a"))));
        });
    }

    static void scans() throws Exception {
        for (int i = 0; i < 4; i++)
            table.put(new Put(b("s" + i)).addColumn(F, b("a1"), 1, b("v" + i))
                          .addColumn(F, b("b1"), 2, b("w" + i)));
        check("scan of a range", () -> same("s1 a1=v1 b1=w1; s2 a1=v2 b1=w2",
            scan(new Scan().withStartRow(b("s1")).withStopRow(b("s3")))));
        check("scan with ends inside and outside", () -> same(
            "s2 a1=v2; s3 a1=v3",
            scan(new Scan().withStartRow(b("s1"), false)
                     .withStopRow(b("s3"), true).addColumn(F, b("a1")))));
        check("scan with a limit", () -> same("s0 a1=v0 b1=w0",
            scan(new Scan().setRowPrefixFilter(b("s")).setLimit(1))));
        check("filters of rows", () -> {
            same("s1 a1=v1 b1=w1", filtered(new PrefixFilter(b("s1"))));
            same("s3 a1=v3 b1=w3", filtered(new RowFilter(
                CompareOperator.EQUAL, new RegexStringComparator("s[3-9]"))));
            same("s0 a1=v0 b1=w0; s1 a1=v1 b1=w1", filtered(new PageFilter(2)));
        });
        check("fuzzy rows", () -> same("s2 a1=v2 b1=w2", filtered(
            new FuzzyRowFilter(Arrays.asList(new Pair<>(
                b("?2"), new byte[] {1, 0}))))));
        check("filters of columns", () -> {
            same("s0 a1=v0; s1 a1=v1; s2 a1=v2; s3 a1=v3",
                 filtered(new ColumnPrefixFilter(b("a"))));
            /* The client takes it of one family only. */
            same("s0 b1=w0; s1 b1=w1; s2 b1=w2; s3 b1=w3", scan(
                new Scan().setRowPrefixFilter(b("s")).addFamily(F).setFilter(
                    new ColumnRangeFilter(b("b"), true, b("c"), false))));
            same("s0 a1=v0 b1=w0; s1 a1=v1 b1=w1; s2 a1=v2 b1=w2; "
                 + "s3 a1=v3 b1=w3", filtered(new MultipleColumnPrefixFilter(
                     new byte[][] {b("a"), b("b")})));
        });
        check("qualifiers and families", () -> {
            same("s0 b1=w0; s1 b1=w1; s2 b1=w2; s3 b1=w3",
                 filtered(new QualifierFilter(CompareOperator.EQUAL,
                     new BinaryComparator(b("b1")))));
            same("", filtered(new FamilyFilter(CompareOperator.EQUAL,
                new BinaryComparator(G))));
        });
        check("values", () -> same("s1 a1=v1", filtered(new ValueFilter(
            CompareOperator.EQUAL, new BinaryComparator(b("v1"))))));
        check("rows by a value", () -> {
            SingleColumnValueFilter f = new SingleColumnValueFilter(
                F, b("a1"), CompareOperator.GREATER_OR_EQUAL, b("v2"));
            f.setFilterIfMissing(true);
            same("s2 a1=v2 b1=w2; s3 a1=v3 b1=w3", filtered(f));
        });
        check("first keys, keys alone, few columns", () -> {
            same("s0 a1=v0; s1 a1=v1; s2 a1=v2; s3 a1=v3",
                 filtered(new FirstKeyOnlyFilter()));
            same("s0 a1= b1=; s1 a1= b1=; s2 a1= b1=; s3 a1= b1=",
                 filtered(new KeyOnlyFilter()));
            same("s0 a1=v0; s1 a1=v1; s2 a1=v2; s3 a1=v3",
                 filtered(new ColumnCountGetFilter(1)));
        });
        check("timestamps", () -> same(
            "s0 b1=w0; s1 b1=w1; s2 b1=w2; s3 b1=w3",
            filtered(new TimestampsFilter(Arrays.asList(2L)))));
        check("lists of filters", () -> {
            same("s1 a1=v1", filtered(new FilterList(
                FilterList.Operator.MUST_PASS_ALL,
                new PrefixFilter(b("s1")), new ColumnPrefixFilter(b("a")))));
            same("s0 a1=v0; s1 a1=v1; s2 a1=v2; s3 a1=v3 b1=w3", filtered(
                new FilterList(FilterList.Operator.MUST_PASS_ONE,
                    new ColumnPrefixFilter(b("a")),
                    new ValueFilter(CompareOperator.EQUAL,
                        new BinaryComparator(b("w3"))))));
        });
    }

    public static void main(String[] args) throws Exception {
        Configuration conf = BigtableConfiguration.configure("p", "hbase");
        String host = System.getenv("BIGTABLE_EMULATOR_HOST");
        conf.set("google.bigtable.emulator.endpoint.host", host);
        connection = BigtableConfiguration.connect(conf);
        admin = connection.getAdmin();
        administration();
        puts();
        changes();
        scans();
        check("delete table", () -> {
            admin.disableTable(NAME);
            admin.deleteTable(NAME);
            same(false, admin.tableExists(NAME));
        });
        try (PrintWriter out = new PrintWriter(args[0], "UTF-8")) {
            out.println("<testsuite>" + String.join("\n", xml)
                        + "</testsuite>");
        }
        connection.close();
        System.exit(0);
    }
}
