/* Phases of the engine benchmark: fills, reads, scans, group commit.
 *
 *     bench_engine_X phase=fillrandom dir=D n=1000000 …
 *
 * prints "name phase ops_per_s cpu_us_per_op p99_us written_per_byte rss_mb"
 * separated by tabs. Keys are 16 decimal digits, the even numbers of a
 * permutation; absent keys are the odd ones. Values are half compressible
 * unless ratio says otherwise. CPU counts all threads of the process; a fill
 * counts the background work until the store is quiet.
 */
#define _GNU_SOURCE
#include "tests/bench/engine.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 64
#define BUCKETS     2048

static struct {
    const char *phase;
    const char *dir;
    const char *compression;
    long n;
    long ops;
    long value;
    long ratio; /* Percent of a value that does not repeat. */
    long threads;
    long batch;
    long sync;
    long block;
    long cache;  /* MB */
    long memory; /* MB of memtable */
    long drop;   /* Empty the page cache of the directory first. */
    long direct;
    double seconds; /* Stop after; 0: when all is done. */
} P = {.phase = "fillrandom",
       .dir = "bench.db",
       .compression = "none",
       .n = 1000000,
       .value = 1000,
       .ratio = 50,
       .threads = 1,
       .batch = 1,
       .block = 8192,
       .cache = 64,
       .memory = 64};

/* --- clocks and counters ------------------------------------------------- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static double cpu(void)
{
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
           1e-6 * (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

static double written_bytes(void)
{
    FILE *f = fopen("/proc/self/io", "r");
    char name[64];
    long value;
    double written = 0;
    while (f && fscanf(f, "%63[^:]: %ld ", name, &value) == 2)
        if (!strcmp(name, "wchar"))
            written = (double)value;
    if (f)
        fclose(f);
    return written;
}

static double peak_rss_mb(void)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    long kb = 0;
    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, "VmHWM: %ld", &kb) == 1)
            break;
    if (f)
        fclose(f);
    return (double)kb / 1024;
}

static void drop_page_cache(const char *dir)
{
    DIR *d = opendir(dir);
    struct dirent *e;
    while (d && (e = readdir(d))) {
        char path[4096];
        struct stat st;
        int fd;
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
        if (stat(path, &st))
            continue;
        if (S_ISDIR(st.st_mode)) {
            drop_page_cache(path);
            continue;
        }
        fd = open(path, O_RDONLY);
        if (fd < 0)
            continue;
        fdatasync(fd);
        posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        close(fd);
    }
    if (d)
        closedir(d);
}

/* --- data ---------------------------------------------------------------- */

static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint64_t next_random(uint64_t *state)
{
    return mix(*state += 0x9e3779b97f4a7c15u);
}

static void make_key(char *key, uint64_t i)
{
    for (int d = ENGINE_KEY_BYTES - 1; d >= 0; d--) {
        key[d] = (char)('0' + i % 10);
        i /= 10;
    }
}

static int feistel_bits;

/* A permutation of [0, n): a Feistel network, walked until it is inside. */
static uint64_t permuted(uint64_t i)
{
    uint64_t mask = (1ull << feistel_bits) - 1;
    do {
        uint64_t left = i >> feistel_bits;
        uint64_t right = i & mask;
        for (uint64_t k = 1; k <= 4; k++) {
            uint64_t t = (left ^ mix(right + 0x9e3779b97f4a7c15u * k)) & mask;
            left = right;
            right = t;
        }
        i = left << feistel_bits | right;
    } while (i >= (uint64_t)P.n);
    return i;
}

/* Pieces of 100 bytes of which `ratio` percent are random. */
static void make_value(uint64_t *state, char *v)
{
    for (long at = 0; at < P.value; at += 100) {
        long len = P.value - at < 100 ? P.value - at : 100;
        long fresh = len * P.ratio / 100;
        if (fresh < 1)
            fresh = 1;
        for (long i = 0; i < fresh; i += 8) {
            uint64_t x = next_random(state);
            memcpy(v + at + i, &x, fresh - i < 8 ? (size_t)(fresh - i) : 8);
        }
        for (long i = fresh; i < len; i += fresh)
            memcpy(v + at + i, v + at,
                   len - i < fresh ? (size_t)(len - i) : (size_t)fresh);
    }
}

/* --- threads ------------------------------------------------------------- */

struct worker {
    pthread_t thread;
    int id;
    long done;
    long missing;
    uint32_t buckets[BUCKETS]; /* Latencies, 16 a power of two. */
};

static struct worker workers[THREADS_MAX];
static volatile int stop;
static pthread_barrier_t barrier;

static int bucket_of(uint64_t ns)
{
    int e;
    if (ns < 16)
        return (int)ns;
    e = 63 - __builtin_clzll(ns);
    return (e - 3) * 16 + (int)(ns >> (e - 4) & 15);
}

static double bucket_ns(int b)
{
    int e = b / 16 + 3;
    if (b < 16)
        return b;
    return (double)(1ull << e) + (double)(b % 16) * (double)(1ull << (e - 4));
}

static uint64_t tick(struct worker *w, uint64_t since)
{
    uint64_t t = now_ns();
    int b = bucket_of(t - since);
    w->buckets[b < BUCKETS ? b : BUCKETS - 1]++;
    return t;
}

/* Which row to read. Skewed: nine of ten reads are of a hundredth of the rows,
 * which lie all over the table. */
static uint64_t row_to_read(uint64_t *state, bool skewed)
{
    uint64_t hot = (uint64_t)P.n / 100 + 1;
    if (skewed && next_random(state) % 10)
        return permuted(next_random(state) % hot);
    return next_random(state) % (uint64_t)P.n;
}

static void do_reads(struct worker *w, struct engine_thread *t, long count)
{
    uint64_t state = (uint64_t)w->id * 77 + now_ns();
    uint64_t missing = !strcmp(P.phase, "readmissing");
    bool skewed = !strcmp(P.phase, "readskewed");
    char key[ENGINE_KEY_BYTES];
    uint64_t since = now_ns();
    for (long i = 0; i < count && !stop; i++) {
        make_key(key, 2 * row_to_read(&state, skewed) + missing);
        if (engine_get(t, key) < 0)
            w->missing++;
        w->done++;
        since = tick(w, since);
    }
}

static void
do_writes(struct worker *w, struct engine_thread *t, long first, long end)
{
    uint64_t state = (uint64_t)w->id * 77 + now_ns();
    bool in_order = !strcmp(P.phase, "fillseq");
    bool again = !strcmp(P.phase, "overwrite");
    char *value = malloc((size_t)P.value + 8);
    char key[ENGINE_KEY_BYTES];
    uint64_t since = now_ns();
    for (long i = first; i < end && !stop;) {
        for (long k = 0; k < P.batch && i < end; k++, i++) {
            uint64_t at = in_order ? (uint64_t)i
                          : again  ? next_random(&state) % (uint64_t)P.n
                                   : permuted((uint64_t)i % (uint64_t)P.n);
            make_key(key, 2 * at);
            make_value(&state, value);
            engine_put(t, key, value, (size_t)P.value);
            w->done++;
        }
        engine_commit(t);
        since = tick(w, since);
    }
    free(value);
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct engine_thread *t = engine_thread_new();
    long first = P.ops * w->id / P.threads;
    long end = P.ops * (w->id + 1) / P.threads;
    pthread_barrier_wait(&barrier);
    if (!strcmp(P.phase, "scan")) {
        char key[ENGINE_KEY_BYTES];
        make_key(key, 2 * (uint64_t)(P.n * w->id / P.threads));
        w->done = engine_scan(
            t, key, P.n * (w->id + 1) / P.threads - P.n * w->id / P.threads);
    } else if (!strncmp(P.phase, "read", 4)) {
        do_reads(w, t, end - first);
    } else {
        do_writes(w, t, first, end);
    }
    engine_thread_free(t);
    return NULL;
}

/* --- main ---------------------------------------------------------------- */

static void parse_arguments(int argc, char **argv)
{
    struct {
        const char *name;
        long *value;
    } numbers[] = {
        {"n", &P.n},           {"ops", &P.ops},         {"value", &P.value},
        {"ratio", &P.ratio},   {"threads", &P.threads}, {"batch", &P.batch},
        {"sync", &P.sync},     {"block", &P.block},     {"cache", &P.cache},
        {"memory", &P.memory}, {"drop", &P.drop},       {"direct", &P.direct}};

    for (int i = 1; i < argc; i++) {
        char *eq = strchr(argv[i], '=');
        size_t k = 0;
        if (!eq) {
            fprintf(stderr, "argument %s\n", argv[i]);
            exit(2);
        }
        *eq++ = '\0';
        while (k < sizeof(numbers) / sizeof(numbers[0]) &&
               strcmp(argv[i], numbers[k].name))
            k++;
        if (k < sizeof(numbers) / sizeof(numbers[0]))
            *numbers[k].value = atol(eq);
        else if (!strcmp(argv[i], "phase"))
            P.phase = eq;
        else if (!strcmp(argv[i], "dir"))
            P.dir = eq;
        else if (!strcmp(argv[i], "compression"))
            P.compression = eq;
        else if (!strcmp(argv[i], "seconds"))
            P.seconds = atof(eq);
        else {
            fprintf(stderr, "unknown argument %s\n", argv[i]);
            exit(2);
        }
    }
    if (!P.ops)
        P.ops = P.n;
    feistel_bits = 1;
    while (1ull << 2 * feistel_bits < (uint64_t)P.n)
        feistel_bits++;
}

/* Every row once, so that caches hold what they can. */
static void warm_up(void)
{
    struct engine_thread *t = engine_thread_new();
    char key[ENGINE_KEY_BYTES];
    for (long i = 0; i < P.n; i++) {
        make_key(key, 2 * (uint64_t)i);
        engine_get(t, key);
    }
    engine_thread_free(t);
}

/* Background work has ended when the process uses no CPU for a second. */
static void settle(void)
{
    double last = cpu();
    for (int quiet = 0, left = 400; quiet < 4 && left > 0; left--) {
        double c;
        usleep(250000);
        c = cpu();
        quiet = c - last < 0.01 && !engine_is_busy() ? quiet + 1 : 0;
        last = c;
    }
}

static double run_threads(void)
{
    double start;
    pthread_barrier_init(&barrier, NULL, (unsigned)P.threads + 1);
    for (int i = 0; i < P.threads; i++) {
        workers[i].id = i;
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    pthread_barrier_wait(&barrier);
    start = now();
    if (P.seconds > 0) {
        usleep((unsigned)(P.seconds * 1e6));
        stop = 1;
    }
    for (int i = 0; i < P.threads; i++)
        pthread_join(workers[i].thread, NULL);
    return now() - start;
}

static double percentile_us(double part)
{
    uint64_t all = 0;
    uint64_t seen = 0;
    for (int i = 0; i < P.threads; i++)
        for (int b = 0; b < BUCKETS; b++)
            all += workers[i].buckets[b];
    for (int b = 0; b < BUCKETS; b++) {
        for (int i = 0; i < P.threads; i++)
            seen += workers[i].buckets[b];
        if (all && (double)seen >= part * (double)all)
            return bucket_ns(b) / 1e3;
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct engine_config c;
    bool writes;
    double seconds;
    double cpu_before;
    double written;
    long done = 0;
    long missing = 0;

    parse_arguments(argc, argv);
    if (P.drop)
        drop_page_cache(P.dir);
    c = (struct engine_config){.dir = P.dir,
                               .zstd = !strcmp(P.compression, "zstd"),
                               .block_bytes = (size_t)P.block,
                               .cache_bytes = (size_t)P.cache << 20,
                               .memtable_bytes = (size_t)P.memory << 20,
                               .sync = P.sync != 0,
                               .direct_reads = P.direct != 0};
    writes = !strncmp(P.phase, "fill", 4) || !strcmp(P.phase, "overwrite");
    engine_open(&c);
    if (!strcmp(P.phase, "readhot") || !strcmp(P.phase, "readwarm"))
        warm_up();
    cpu_before = cpu();
    written = written_bytes();
    if (!strcmp(P.phase, "compact")) {
        double start = now();
        engine_compact();
        seconds = now() - start;
        done = P.n;
    } else {
        seconds = run_threads();
        for (int i = 0; i < P.threads; i++) {
            done += workers[i].done;
            missing += workers[i].missing;
        }
        if (writes)
            settle();
    }
    printf("%s\t%s\t%.0f\t%.3f\t%.1f\t%.2f\t%.0f\t%ld\n", engine_name, P.phase,
           (double)done / seconds, (cpu() - cpu_before) / (double)done * 1e6,
           percentile_us(0.99),
           (written_bytes() - written) /
               ((double)done * (double)(P.value + ENGINE_KEY_BYTES)),
           peak_rss_mb(), missing);
    fflush(stdout);
    engine_close();
    return 0;
}
