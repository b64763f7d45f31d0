/* Segments of spills as sources of a merge, in one pass or several. Each source
 * needs a buffer large enough that reads of many runs do not become seeks; when
 * the memory does not allow that for all, neighbours are merged first. */
#include "mapreduce/attempt/spill_sources.h"

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "mapreduce/records/files.h"
#include "mapreduce/records/pair_reader.h"
#include "mapreduce/shuffle/spill.h"

/* A source needs a read buffer, an open block and one decompressed. */
#define READ_BYTES_MIN ((size_t)64 << 10)
#define READ_BYTES_MAX ((size_t)1 << 20)
#define SOURCE_BYTES   (3 * BLOCK_BYTES)
/* More at once would only cost seeks and comparisons. */
#define FAN_IN_MAX 256
#define FAN_IN_MIN 4

/* A segment before it is opened. */
struct segment {
    size_t path;
    uint64_t offset;
    uint64_t bytes;
    uint32_t number; /* Its number in spill_sources.bad. */
};

struct segments {
    struct segment *at;
    size_t count;
    size_t cap;
};

struct segment_source {
    struct merge_source base;
    struct spill_sources *owner;
    uint32_t number;
    struct job_file *file; /* Owned. */
    struct pair_reader reader;
};

static int segment_next(struct merge_source *base, bool *more, struct err *err)
{
    struct segment_source *s = (struct segment_source *)base;
    int rc = pair_reader_next(&s->reader, more, err);
    if (UNLIKELY(rc != 0))
        s->owner->bad = s->number;
    base->key = pair_reader_key(&s->reader);
    base->value = pair_reader_value(&s->reader);
    return rc;
}

static void segment_close(struct merge_source *base)
{
    struct segment_source *s = (struct segment_source *)base;
    pair_reader_close(&s->reader);
    job_file_close(s->file);
    mem_free(s);
}

/* Each source opens its file for itself and only while it is read: there may be
 * more spills than a process can have files. */
static int segment_open(struct spill_sources *s,
                        const struct segment *g,
                        size_t read_bytes,
                        struct merge_source **out,
                        struct err *err)
{
    struct segment_source *n;
    struct file *file = NULL;
    size_t want =
        (size_t)MIN_OF(g->bytes + FILE_DIRECT_ALIGN, (uint64_t)read_bytes);
    int rc = file_open(s->opts.world, s->paths[g->path],
                       FILE_READ | FILE_DIRECT, &file, err);
    *out = NULL;
    if (rc) {
        s->bad = g->number;
        return rc;
    }
    n = mem_zalloc(1, sizeof(*n));
    n->base.next = segment_next;
    n->base.close = segment_close;
    n->owner = s;
    n->number = g->number;
    n->file = job_file_of(file);
    pair_reader_init(&n->reader, n->file, g->offset, g->offset + g->bytes, want,
                     &s->codec);
    *out = &n->base;
    return 0;
}

void spill_sources_add(struct spill_sources *s, struct merge_source *source)
{
    if (s->count == s->cap) {
        s->cap = MAX_OF(16, 2 * s->cap);
        s->sources =
            mem_realloc(s->sources, s->cap * sizeof(struct merge_source *));
    }
    s->sources[s->count++] = source;
}

static void segments_add(struct segments *g, struct segment one)
{
    if (g->count == g->cap) {
        g->cap = MAX_OF(16, 2 * g->cap);
        g->at = mem_realloc(g->at, g->cap * sizeof(*g->at));
    }
    g->at[g->count++] = one;
}

static size_t add_path(struct spill_sources *s, const char *path)
{
    if (s->path_count == s->path_cap) {
        s->path_cap = MAX_OF(16, 2 * s->path_cap);
        s->paths = mem_realloc(s->paths, s->path_cap * sizeof(char *));
    }
    s->paths[s->path_count] = mem_strdup(path);
    return s->path_count++;
}

/* Append the segments of @partition in the spill @path to @out. */
static int load_spill(struct spill_sources *s,
                      const char *path,
                      uint32_t partition,
                      uint32_t number,
                      struct segments *out,
                      struct err *err)
{
    struct spill_segment *found = NULL;
    size_t count = 0;
    size_t at;
    int rc = spill_index_read(s->opts.world, path, &found, &count, err);
    if (rc) {
        s->bad = number;
        return rc;
    }
    at = add_path(s, path);
    for (size_t i = 0; i < count; i++)
        if (found[i].partition == partition) {
            struct segment g = {at, found[i].offset, found[i].bytes, number};
            segments_add(out, g);
            s->bytes += found[i].bytes;
            s->pairs += found[i].pairs;
        }
    mem_free(found);
    return 0;
}

/* The segments that the worker has located, or all spills that may have some.
 */
static int
load_resolved(struct spill_sources *s, struct segments *out, struct err *err)
{
    const struct task_spec *spec = s->opts.spec;
    size_t first = s->path_count;
    int rc = 0;
    for (size_t i = 0; i < spec->file_count; i++)
        (void)add_path(s, spec->files[i]);
    for (size_t i = 0; i < spec->segment_count && rc == 0; i++) {
        const struct task_segment *t = &spec->segments[i];
        if (t->bytes == 0) {
            rc = load_spill(s, spec->files[t->file], s->opts.partition,
                            (uint32_t)i + 1, out, err);
            continue;
        }
        segments_add(out, (struct segment){first + t->file, t->offset, t->bytes,
                                           (uint32_t)i + 1});
        s->bytes += t->bytes;
        s->pairs += t->pairs;
    }
    return rc;
}

static int
load_spills(struct spill_sources *s, struct segments *out, struct err *err)
{
    const struct task_spec *spec = s->opts.spec;
    struct buf path = BUF_INIT;
    int rc = 0;
    for (size_t i = 0; i < spec->spill_count && rc == 0; i++) {
        const struct task_spill *p = &spec->spills[i];
        task_spill_path(&path, s->opts.work_dir, p->task, p->attempt);
        rc = load_spill(s, buf_cstr(&path), s->opts.partition, (uint32_t)i + 1,
                        out, err);
    }
    buf_close(&path);
    return rc;
}

static int
load_all(struct spill_sources *s, struct segments *out, struct err *err)
{
    const struct task_spec *spec = s->opts.spec;
    int rc = 0;
    if (spec)
        rc = spec->resolved ? load_resolved(s, out, err)
                            : load_spills(s, out, err);
    if (rc == 0 && s->opts.own_spill)
        rc = load_spill(s, s->opts.own_spill, s->opts.partition, 0, out, err);
    return rc;
}

/* --- more runs than can be read at once ---------------------------------- */

static int
copy_merge(struct run_merge *m, struct spill_writer *w, struct err *err)
{
    bool more = true;
    int rc = 0;
    spill_writer_start_run(w);
    for (;;) {
        rc = run_merge_next(m, &more, err);
        if (rc || !more)
            return rc;
        spill_writer_add(w, 0, run_merge_current(m)->key,
                         run_merge_current(m)->value);
    }
}

/* Merge @count segments into the spill @path. */
static int merge_some(struct spill_sources *s,
                      const struct segment *segments,
                      size_t count,
                      const char *path,
                      struct err *err)
{
    PRE(count >= 1);
    struct merge_source **in = mem_zalloc(count, sizeof(struct merge_source *));
    struct spill_writer w;
    struct run_merge m;
    size_t opened = 0;
    int rc = spill_writer_open(&w, s->opts.world, path, &s->codec, err);
    for (; opened < count && rc == 0; opened += rc == 0)
        rc =
            segment_open(s, &segments[opened], s->read_bytes, &in[opened], err);
    if (rc == 0) {
        run_merge_init(&m, in, count, s->opts.descending);
        rc = copy_merge(&m, &w, err);
        run_merge_close(&m);
    }
    if (rc == 0)
        rc = spill_writer_finish(&w, err);
    for (size_t i = 0; i < opened; i++)
        in[i]->close(in[i]);
    spill_writer_close(&w);
    mem_free(in);
    return rc;
}

/* Merge each @fan_in neighbours into one, until at most @fan_in are left. */
static int reduce_fan_in(struct spill_sources *s,
                         struct segments *g,
                         size_t fan_in,
                         struct err *err)
{
    PRE(fan_in > 1);
    struct buf path = BUF_INIT;
    unsigned serial = 0;
    int rc = 0;
    while (rc == 0 && g->count > fan_in) {
        struct segments merged = {NULL, 0, 0};
        for (size_t i = 0; i < g->count && rc == 0; i += fan_in) {
            size_t n = MIN_OF(fan_in, g->count - i);
            buf_clear(&path);
            buf_printf(&path, "%s/%s.merge%u", s->opts.work_dir, s->opts.prefix,
                       serial++);
            rc = merge_some(s, g->at + i, n, buf_cstr(&path), err);
            if (rc == 0)
                rc = load_spill(s, buf_cstr(&path), 0, 0, &merged, err);
        }
        mem_free(g->at);
        *g = merged;
    }
    buf_close(&path);
    return rc;
}

int spill_sources_open(struct spill_sources *s,
                       const struct spill_sources_options *opts,
                       struct err *err)
{
    struct segments g = {NULL, 0, 0};
    size_t fan_in = opts->memory_bytes / (READ_BYTES_MIN + SOURCE_BYTES);
    size_t each;
    int rc;
    *s = (struct spill_sources){.opts = *opts};
    block_codec_init(&s->codec, opts->level);
    rc = opts->keyring ? block_codec_encrypt(&s->codec, opts->keyring, err) : 0;
    if (rc == 0)
        rc = load_all(s, &g, err);
    fan_in = MIN_OF(MAX_OF(fan_in, (size_t)FAN_IN_MIN), (size_t)FAN_IN_MAX);
    s->read_bytes = READ_BYTES_MIN;
    if (rc == 0 && g.count > fan_in)
        rc = reduce_fan_in(s, &g, fan_in, err);
    each = opts->memory_bytes / MAX_OF(g.count, (size_t)1);
    each = each > SOURCE_BYTES ? each - SOURCE_BYTES : READ_BYTES_MIN;
    s->read_bytes = MIN_OF(MAX_OF(each, READ_BYTES_MIN), READ_BYTES_MAX);
    for (size_t i = 0; i < g.count && rc == 0; i++) {
        struct merge_source *source;
        rc = segment_open(s, &g.at[i], s->read_bytes, &source, err);
        if (rc == 0)
            spill_sources_add(s, source);
    }
    mem_free(g.at);
    return rc;
}

void spill_sources_close(struct spill_sources *s)
{
    for (size_t i = 0; i < s->count; i++)
        s->sources[i]->close(s->sources[i]);
    for (size_t i = 0; i < s->path_count; i++)
        mem_free(s->paths[i]);
    mem_free(s->sources);
    mem_free(s->paths);
    block_codec_close(&s->codec);
}
