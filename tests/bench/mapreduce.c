/* Plain C beside word_count: what a program of two hundred lines does with all
 * CPUs and no limit of memory.
 *
 *     bench_mapreduce FILE OUTPUT [THREADS]
 *
 * One hash table a thread, words of up to 16 bytes in its slots; merged, sorted
 * and written as "word<tab>count" lines. Longer words are left out and counted,
 * since the text it is meant for has none.
 */
#define _GNU_SOURCE

#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    THREADS_MAX = 64,
    READ_BYTES = 1 << 20
};

struct slot {
    uint64_t lo, hi;
    uint64_t count;
};

struct table {
    struct slot *slots;
    size_t mask;
    size_t used;
};

struct part {
    pthread_t thread;
    struct table words;
    uint64_t begin, end;
    uint64_t too_long;
};

static int input;
static uint64_t input_bytes;

static void *fresh(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        abort();
    madvise(p, bytes, MADV_HUGEPAGE);
    return p;
}

static size_t hash(uint64_t lo, uint64_t hi)
{
    uint64_t x =
        (lo ^ UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xd6e8feb86659fd93);
    x ^= (hi + (x >> 29)) * UINT64_C(0xa0761d6478bd642f);
    return (size_t)(x ^ x >> 32);
}

static void add(struct table *t, uint64_t lo, uint64_t hi, uint64_t by);

static void grow(struct table *t)
{
    struct table old = *t;
    t->mask = 2 * t->mask + 1;
    t->used = 0;
    t->slots = fresh((t->mask + 1) * sizeof(*t->slots));
    for (size_t i = 0; i <= old.mask; i++)
        if (old.slots[i].count)
            add(t, old.slots[i].lo, old.slots[i].hi, old.slots[i].count);
    munmap(old.slots, (old.mask + 1) * sizeof(*old.slots));
}

static void add(struct table *t, uint64_t lo, uint64_t hi, uint64_t by)
{
    size_t i = hash(lo, hi) & t->mask;
    while (t->slots[i].count && (t->slots[i].lo != lo || t->slots[i].hi != hi))
        i = (i + 1) & t->mask;
    if (!t->slots[i].count) {
        t->slots[i].lo = lo;
        t->slots[i].hi = hi;
        t->used++;
    }
    t->slots[i].count += by;
    if (t->used * 2 > t->mask)
        grow(t);
}

static void add_word(struct part *p, const char *word, size_t len)
{
    uint64_t key[2] = {0, 0};
    if (len > sizeof(key)) {
        p->too_long++;
        return;
    }
    memcpy(key, word, len);
    add(&p->words, key[0], key[1], 1);
}

/* Words that begin in [begin, end). */
static void *count(void *arg)
{
    struct part *p = arg;
    char *buf = malloc(2 * READ_BYTES);
    size_t have = 0;
    uint64_t at = p->begin;
    int skip = 0;
    p->words.mask = (1 << 20) - 1;
    p->words.slots = fresh((p->words.mask + 1) * sizeof(struct slot));
    if (at > 0 && pread(input, buf, 1, (off_t)at - 1) == 1)
        skip = (unsigned char)buf[0] > ' ';
    for (;;) {
        ssize_t n = pread(input, buf + have, READ_BYTES, (off_t)at);
        size_t all = have + (size_t)(n > 0 ? n : 0);
        uint64_t base = at - have;
        size_t i = 0;
        size_t start = 0;
        if (all == 0)
            break;
        while (i < all) {
            while (i < all && (unsigned char)buf[i] <= ' ') {
                skip = 0;
                i++;
            }
            start = i;
            if (base + start >= p->end)
                goto done;
            while (i < all && (unsigned char)buf[i] > ' ')
                i++;
            if (i == all && n > 0)
                break;
            if (!skip)
                add_word(p, buf + start, i - start);
            skip = 0;
            start = i;
        }
        if (n <= 0)
            break;
        have = all - start;
        if (have > READ_BYTES)
            abort();
        memmove(buf, buf + start, have);
        at += (uint64_t)n;
    }
done:
    free(buf);
    return NULL;
}

static int by_word(const void *a, const void *b)
{
    return memcmp(a, b, 16);
}

static void write_words(struct table *t, const char *path)
{
    FILE *f = fopen(path, "wb");
    size_t n = 0;
    for (size_t i = 0; i <= t->mask; i++)
        if (t->slots[i].count)
            t->slots[n++] = t->slots[i];
    qsort(t->slots, n, sizeof(*t->slots), by_word);
    for (size_t i = 0; i < n; i++)
        fprintf(f, "%.16s\t%llu\n", (const char *)&t->slots[i],
                (unsigned long long)t->slots[i].count);
    fclose(f);
}

int main(int argc, char **argv)
{
    static struct part parts[THREADS_MAX];
    unsigned threads = argc > 3 ? (unsigned)atoi(argv[3]) : 2;
    struct stat st;
    if (argc < 3 || threads < 1 || threads > THREADS_MAX ||
        (input = open(argv[1], O_RDONLY)) < 0 || fstat(input, &st) != 0) {
        fprintf(stderr, "usage: bench_mapreduce FILE OUTPUT [THREADS]\n");
        return 2;
    }
    input_bytes = (uint64_t)st.st_size;
    for (unsigned i = 0; i < threads; i++) {
        parts[i].begin = input_bytes * i / threads;
        parts[i].end = input_bytes * (i + 1) / threads;
        pthread_create(&parts[i].thread, NULL, count, &parts[i]);
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(parts[i].thread, NULL);
        for (size_t k = 0; i > 0 && k <= parts[i].words.mask; k++)
            if (parts[i].words.slots[k].count)
                add(&parts[0].words, parts[i].words.slots[k].lo,
                    parts[i].words.slots[k].hi, parts[i].words.slots[k].count);
    }
    write_words(&parts[0].words, argv[2]);
    return 0;
}
