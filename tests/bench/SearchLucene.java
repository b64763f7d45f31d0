// Lucene beside quarry search, on the same text: index docs.tsv, answer
// queries.tsv. One thread indexes. `one`: all text in one field; `fields`: title,
// anchors and body with the weights that ours have.
import java.io.*;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.*;
import org.apache.lucene.index.*;
import org.apache.lucene.search.*;
import org.apache.lucene.search.similarities.BM25Similarity;
import org.apache.lucene.store.*;

public class SearchLucene {
    static double cpu() {
        return ((com.sun.management.OperatingSystemMXBean)
                ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime() / 1e9;
    }

    static long size(Path dir) throws IOException {
        try (var files = Files.list(dir)) {
            return files.mapToLong(p -> p.toFile().length()).sum();
        }
    }

    static void index(Path work, Path dir, boolean fields) throws IOException {
        IndexWriterConfig c = new IndexWriterConfig(new StandardAnalyzer());
        c.setRAMBufferSizeMB(256);
        c.setOpenMode(IndexWriterConfig.OpenMode.CREATE);
        try (IndexWriter w = new IndexWriter(FSDirectory.open(dir), c);
             BufferedReader in = Files.newBufferedReader(work.resolve("docs.tsv"))) {
            for (String line; (line = in.readLine()) != null; ) {
                String[] f = line.split("\t", -1);
                Document d = new Document();
                d.add(new StoredField("url", f[0]));
                if (fields) {
                    d.add(new TextField("title", f[1], Field.Store.NO));
                    d.add(new TextField("anchor", f[2], Field.Store.NO));
                    d.add(new TextField("body", f[3], Field.Store.NO));
                } else {
                    d.add(new TextField("body", f[1] + " " + f[2] + " " + f[3],
                                        Field.Store.NO));
                }
                w.addDocument(d);
            }
            w.forceMerge(1);
        }
    }

    static Query query(String text, boolean fields) {
        BooleanQuery.Builder b = new BooleanQuery.Builder();
        var words = new LinkedHashSet<String>();
        var m = java.util.regex.Pattern
                .compile("\\w+", java.util.regex.Pattern.UNICODE_CHARACTER_CLASS)
                .matcher(text.toLowerCase());
        while (m.find())
            words.add(m.group());
        for (String w : words) {
            b.add(new TermQuery(new Term("body", w)), BooleanClause.Occur.SHOULD);
            if (fields) {
                b.add(new BoostQuery(new TermQuery(new Term("title", w)), 4),
                      BooleanClause.Occur.SHOULD);
                b.add(new BoostQuery(new TermQuery(new Term("anchor", w)), 4),
                      BooleanClause.Occur.SHOULD);
            }
        }
        return b.build();
    }

    public static void main(String[] args) throws IOException {
        Path work = Paths.get(args[0]);
        boolean fields = args[1].equals("fields");
        Path dir = work.resolve("lucene-" + args[1]);
        double begin = cpu();
        index(work, dir, fields);
        double built = cpu() - begin;
        var queries = Files.readAllLines(work.resolve("queries.tsv"));
        double[] walls = new double[queries.size()];
        double[] cpus = new double[queries.size()];
        var threads = ManagementFactory.getThreadMXBean();
        double spent = 0;
        StringBuilder out = new StringBuilder();
        try (DirectoryReader r = DirectoryReader.open(FSDirectory.open(dir))) {
            IndexSearcher s = new IndexSearcher(r);
            s.setSimilarity(new BM25Similarity());
            StoredFields stored = s.storedFields();
            for (int turn = 0; turn < 3; turn++) { // The compiler warms up.
                out.setLength(0);
                double before = cpu();
                for (int i = 0; i < walls.length; i++) {
                    long at = System.nanoTime();
                    long cpuAt = threads.getCurrentThreadCpuTime();
                    String[] f = queries.get(i).split("\t", -1);
                    TopDocs top = s.search(query(f[1], fields), 11);
                    var urls = new ArrayList<String>();
                    for (ScoreDoc d : top.scoreDocs)
                        urls.add(stored.document(d.doc).get("url"));
                    walls[i] = (System.nanoTime() - at) / 1e6;
                    cpus[i] = (threads.getCurrentThreadCpuTime() - cpuAt) / 1e6;
                    out.append(String.join("\t", urls)).append('\n');
                }
                spent = cpu() - before;
            }
        }
        Arrays.sort(walls);
        Arrays.sort(cpus);
        String name = "lucene-" + args[1];
        Files.writeString(work.resolve(name + ".results"), out.toString());
        Files.writeString(work.resolve(name + ".json"), String.format(Locale.ROOT,
                "{\"build_cpu_s\": %.3f, \"bytes\": %d, \"query_cpu_ms\": %.3f, "
                + "\"query_p50_ms\": %.3f, \"query_p99_ms\": %.3f, "
                + "\"query_p50_cpu_ms\": %.3f, \"query_p99_cpu_ms\": %.3f}",
                built, size(dir), spent * 1000 / walls.length,
                walls[walls.length / 2], walls[walls.length * 99 / 100],
                cpus[cpus.length / 2], cpus[cpus.length * 99 / 100]));
    }
}
