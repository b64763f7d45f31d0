/* Lines of cluster.idx are found by the byte in the middle of a range, from
 * which the next line begins; blocks and records by what the lines say. Ranges
 * that lie close to each other are read in one. */
#include "mapreduce/ingest/cc_fetch.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "gfs-lite/fs.h"
#include "mapreduce/ingest/ingest.h"
#include "mapreduce/warc/date.h"
#include "mapreduce/warc/decompress.h"
#include "mapreduce/warc/surt.h"

/* Read to find a line: longer ones are damage. */
#define PROBE_BYTES ((size_t)16 << 10)
/* From here on the lines are read one after the other. */
#define SCAN_BYTES ((size_t)64 << 10)
/* Records with less between them are read together, up to this many bytes. */
#define GAP_BYTES_MAX      ((uint64_t)16 << 10)
#define TOGETHER_BYTES_MAX ((uint64_t)8 << 20)

enum cc_match {
    CC_EXACT,
    CC_PREFIX,
    CC_DOMAIN
};

/* One search: what is wanted, and what is read for it. */
struct cc_search {
    struct fs *fs;
    const struct cc_question *q;
    struct cc_list *list;
    struct buf key; /* SURTs begin with it. */
    enum cc_match match;
    struct fs_reader *cluster;
    char block_file[256]; /* That `block` reads, or "". */
    struct fs_reader *block;
    struct buf bytes;
    struct buf text; /* A block, decompressed. */
    bool done;       /* Nothing that follows can be asked for. */
};

void cc_list_init(struct cc_list *l)
{
    *l = (struct cc_list){.count = 0};
    arena_init(&l->arena);
}

void cc_list_close(struct cc_list *l)
{
    arena_close(&l->arena);
    mem_free(l->at);
    l->at = NULL;
}

static int cc_open(struct cc_search *s,
                   const char *name,
                   struct fs_reader **out,
                   struct err *err)
{
    struct buf path = BUF_INIT;
    int rc;
    buf_printf(&path, "%scc-index/collections/%s/indexes/%s", s->q->base,
               s->q->crawl, name);
    rc = fs_open(s->fs, buf_cstr(&path), out, err);
    if (rc)
        err_wrap(err, "index of %s", s->q->crawl);
    buf_close(&path);
    return rc;
}

/* Read [@offset, @offset + @len) into @out; less at the end of the file. */
static int cc_read(struct fs_reader *r,
                   uint64_t offset,
                   uint64_t len,
                   struct buf *out,
                   struct err *err)
{
    size_t got = 0;
    int rc;
    buf_clear(out);
    rc = fs_read_at(r, offset, buf_reserve(out, (size_t)len), (size_t)len, &got,
                    err);
    out->len = rc ? 0 : got;
    return rc;
}

/* --- the pattern --------------------------------------------------------- */

static int
parse_pattern(struct cc_search *s, struct slice pattern, struct err *err)
{
    struct buf url = BUF_INIT;
    struct slice p = pattern;
    bool is_host;
    s->match = CC_EXACT;
    if (slice_starts_with(p, SLICE_LIT("*."))) {
        s->match = CC_DOMAIN;
        p = slice_sub(p, 2, p.len);
    } else if (slice_ends_with(p, SLICE_LIT("*"))) {
        s->match = CC_PREFIX;
        p = slice_sub(p, 0, p.len - 1);
    }
    is_host = slice_find_byte(p, '/') == p.len;
    if (!slice_starts_with(p, SLICE_LIT("http://")) &&
        !slice_starts_with(p, SLICE_LIT("https://")))
        buf_append_str(&url, "http://");
    buf_append_slice(&url, p);
    if (is_host)
        buf_append_byte(&url, '/');
    surt_key(buf_slice(&url), &s->key);
    if (s->match == CC_PREFIX && slice_ends_with(p, SLICE_LIT("/")) &&
        s->key.len && s->key.data[s->key.len - 1] != '/')
        buf_append_byte(&s->key, '/');
    buf_close(&url);
    size_t end = slice_find_byte(buf_slice(&s->key), ')');
    if (p.len == 0 || end == 0 || end == s->key.len)
        return err_set(err, ERR_INVALID,
                       "'%.*s' is no URL, URL*, host or *.host",
                       SLICE_ARG(pattern));
    if (s->match == CC_DOMAIN)
        buf_truncate(&s->key, end);
    else if (s->match == CC_EXACT && is_host) {
        s->match = CC_PREFIX; /* All pages of the host. */
        buf_truncate(&s->key, end + 1);
    }
    return 0;
}

static bool surt_is_wanted(const struct cc_search *s, struct slice surt)
{
    size_t n = s->key.len;
    if (!slice_starts_with(surt, buf_slice(&s->key)))
        return false;
    if (s->match == CC_PREFIX)
        return true;
    if (s->match == CC_EXACT || surt.len == n)
        return surt.len == n && s->match == CC_EXACT;
    return surt.data[n] == ')' || surt.data[n] == ',' || surt.data[n] == ':';
}

/* --- lines of the index -------------------------------------------------- */

static const char *json_text(json_t *o, const char *name)
{
    return json_string_value(json_object_get(o, name));
}

static bool json_number(json_t *o, const char *name, uint64_t *out)
{
    const char *text = json_text(o, name);
    return text && text_parse_u64(slice_str(text), out, NULL) == 0;
}

static bool mime_fits(const struct cc_question *q, json_t *o)
{
    const char *told = json_text(o, "mime");
    const char *found = json_text(o, "mime-detected");
    return !q->mime || (told && strcmp(told, q->mime) == 0) ||
           (found && strcmp(found, q->mime) == 0);
}

static void
cc_list_add(struct cc_list *l, struct slice line, const struct cc_capture *c)
{
    if (l->count == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 64;
        l->at = mem_realloc(l->at, l->cap * sizeof(*l->at));
    }
    l->at[l->count] = *c;
    l->at[l->count].line = arena_dup(&l->arena, line);
    /* With a NUL, because it will be a path. */
    l->at[l->count].file_name =
        slice_str(arena_strdup(&l->arena, c->file_name.data));
    l->count++;
}

/* A path below the crawl, and nowhere else. */
static bool is_file_name(const char *name)
{
    return name && *name && *name != '/' && !strstr(name, "..") &&
           strlen(name) < FS_PATH_BYTES_MAX / 2;
}

/* The part of a line behind "SURT DATE ". */
static void
take_entry(struct cc_search *s, struct slice line, struct slice text)
{
    json_t *o = json_loadb(text.data, text.len, 0, NULL);
    const char *name = json_text(o, "filename");
    struct cc_capture c = {.offset = 0};
    uint64_t status = 0;
    if (!is_file_name(name) || !json_number(o, "offset", &c.offset) ||
        !json_number(o, "length", &c.length) || c.length == 0 ||
        c.length > CC_RECORD_BYTES_MAX) {
        s->list->bad++;
    } else if (mime_fits(s->q, o) &&
               (s->q->status == 0 || (json_number(o, "status", &status) &&
                                      status == s->q->status))) {
        c.file_name = slice_str(name);
        cc_list_add(s->list, line, &c);
    }
    json_decref(o);
}

static void take_line(struct cc_search *s, struct slice line)
{
    size_t n = slice_find_byte(line, ' ');
    struct slice surt = slice_sub(line, 0, n);
    struct slice date = slice_sub(line, n + 1, n + 15);
    struct slice text = slice_sub(line, n + 16, line.len);
    int64_t us;
    if (!surt_is_wanted(s, surt)) {
        /* Keys that begin so are together. */
        s->done = s->done || (slice_cmp(surt, buf_slice(&s->key)) > 0 &&
                              !slice_starts_with(surt, buf_slice(&s->key)));
        return;
    }
    if (s->list->count >= MIN_OF(s->q->limit, CC_CAPTURES_MAX))
        s->done = true;
    else if (!date_parse(date, &us) || text.len == 0)
        s->list->bad++;
    else if (us >= s->q->from_us && us < s->q->to_us)
        take_entry(s, line, text);
}

/* --- blocks -------------------------------------------------------------- */

static int
read_slice(void *ctx, void *dst, size_t len, size_t *got, struct err *err)
{
    struct slice *rest = ctx;
    (void)err;
    *got = MIN_OF(rest->len, len);
    if (*got)
        memcpy(dst, rest->data, *got);
    *rest = slice_sub(*rest, *got, rest->len);
    return 0;
}

/* s->bytes decompressed into s->text. */
static int unpack_block(struct cc_search *s, struct err *err)
{
    struct slice rest = buf_slice(&s->bytes);
    struct warc_reader_options opts = {.read = read_slice, .ctx = &rest};
    struct decompressor u;
    int rc = 0;
    buf_clear(&s->text);
    decompress_init(&u);
    decompress_start(&u, &opts);
    while (rc == 0 && (rc = decompress_need(&u, 1, err)) == 0 &&
           decompress_avail(&u) > 0 && s->text.len <= 4 * CC_BLOCK_BYTES_MAX) {
        buf_append(&s->text, decompress_data(&u), decompress_avail(&u));
        decompress_consume(&u, decompress_avail(&u));
    }
    if (rc == 0 && (u.damaged || s->text.len > 4 * CC_BLOCK_BYTES_MAX))
        rc = err_set(err, ERR_CORRUPT, "index of %s: a damaged block in %s",
                     s->q->crawl, s->block_file);
    decompress_close(&u);
    return rc;
}

static int
open_block_file(struct cc_search *s, struct slice name, struct err *err)
{
    if (slice_eq_str(name, s->block_file))
        return 0;
    fs_reader_close(s->block);
    s->block = NULL;
    snprintf(s->block_file, sizeof(s->block_file), "%.*s", SLICE_ARG(name));
    if (name.len >= sizeof(s->block_file) || !is_file_name(s->block_file))
        return err_set(err, ERR_CORRUPT, "index of %s: '%s' is no file of it",
                       s->q->crawl, s->block_file);
    return cc_open(s, s->block_file, &s->block, err);
}

/* The block of "KEY\tFILE\tOFFSET\tLENGTH\t…". */
static int
read_index_block(struct cc_search *s, struct slice line, struct err *err)
{
    struct slice part[4];
    uint64_t offset;
    uint64_t length;
    int rc;
    for (size_t i = 0; i < ARRAY_LEN(part); i++) {
        size_t n = slice_find_byte(line, '\t');
        part[i] = slice_sub(line, 0, n);
        line = slice_sub(line, n + 1, line.len);
    }
    if (text_parse_u64(part[2], &offset, NULL) ||
        text_parse_u64(part[3], &length, NULL) || length > CC_BLOCK_BYTES_MAX)
        return err_set(
            err, ERR_CORRUPT, "index of %s: '%.*s' in cluster.idx has no place",
            s->q->crawl, (int)MIN_OF(part[0].len, (size_t)100), part[0].data);
    rc = open_block_file(s, part[1], err);
    if (rc == 0)
        rc = cc_read(s->block, offset, length, &s->bytes, err);
    if (rc == 0)
        rc = unpack_block(s, err);
    struct slice rest = buf_slice(&s->text);
    s->list->blocks += rc == 0;
    while (rc == 0 && rest.len && !s->done) {
        size_t n = slice_find_byte(rest, '\n');
        take_line(s, slice_sub(rest, 0, n));
        rest = slice_sub(rest, n + 1, rest.len);
    }
    return rc;
}

/* --- cluster.idx --------------------------------------------------------- */

/* The first whole line behind @offset (at it, for 0) in what was read there. */
static bool probe_line(const struct cc_search *s,
                       uint64_t offset,
                       uint64_t *at,
                       struct slice *line)
{
    struct slice bytes = buf_slice(&s->bytes);
    size_t from = offset == 0 ? 0 : slice_find_byte(bytes, '\n') + 1;
    struct slice rest = slice_sub(bytes, from, bytes.len);
    size_t n = slice_find_byte(rest, '\n');
    *at = offset + from;
    *line = slice_sub(rest, 0, n);
    return n < rest.len;
}

/* Does the block of @line begin before all that is asked for? */
static bool begins_before(const struct cc_search *s, struct slice line)
{
    return slice_cmp(slice_sub(line, 0, slice_find_byte(line, ' ')),
                     buf_slice(&s->key)) < 0;
}

/* The offset of a line from which on all is found, a few lines early. */
static int find_start(struct cc_search *s, uint64_t *start, struct err *err)
{
    uint64_t low = 0;
    uint64_t high = fs_reader_size(s->cluster);
    while (high - low > SCAN_BYTES) {
        uint64_t middle = low + (high - low) / 2;
        uint64_t at;
        struct slice line;
        int rc = cc_read(s->cluster, middle, PROBE_BYTES, &s->bytes, err);
        if (rc)
            return rc;
        if (!probe_line(s, middle, &at, &line)) {
            if (middle + PROBE_BYTES < fs_reader_size(s->cluster))
                return err_set(err, ERR_CORRUPT,
                               "index of %s: cluster.idx has lines of more "
                               "than %zu bytes",
                               s->q->crawl, PROBE_BYTES / 2);
            high = middle;
        } else if (begins_before(s, line)) {
            low = at;
        } else {
            high = middle;
        }
    }
    *start = low;
    return 0;
}

/* Is the first key of a block behind everything asked for? */
static bool begins_behind(const struct cc_search *s, struct slice line)
{
    struct slice surt = slice_sub(line, 0, slice_find_byte(line, ' '));
    return slice_cmp(surt, buf_slice(&s->key)) > 0 &&
           !slice_starts_with(surt, buf_slice(&s->key));
}

/* Read the blocks that may hold something: from the last that begins before it.
 */
static int read_blocks(struct cc_search *s, uint64_t at, struct err *err)
{
    struct buf text = BUF_INIT;
    struct buf before = BUF_INIT; /* The line of a block that begins before. */
    uint64_t size = fs_reader_size(s->cluster);
    int rc = 0;
    while (rc == 0 && !s->done && at < size) {
        struct slice rest;
        rc = cc_read(s->cluster, at, SCAN_BYTES, &text, err);
        rest = buf_slice(&text);
        if (rc == 0 && slice_find_byte(rest, '\n') == rest.len)
            rc = err_set(err, ERR_CORRUPT,
                         "index of %s: cluster.idx has no line at byte %llu",
                         s->q->crawl, (unsigned long long)at);
        while (rc == 0 && !s->done) {
            size_t n = slice_find_byte(rest, '\n');
            struct slice line = slice_sub(rest, 0, n);
            if (n == rest.len)
                break;
            at += n + 1;
            rest = slice_sub(rest, n + 1, rest.len);
            if (begins_before(s, line)) {
                buf_clear(&before);
                buf_append_slice(&before, line);
                continue;
            }
            if (before.len)
                rc = read_index_block(s, buf_slice(&before), err);
            buf_clear(&before);
            s->done = s->done || begins_behind(s, line);
            if (rc == 0 && !s->done)
                rc = read_index_block(s, line, err);
        }
    }
    if (rc == 0 && !s->done && before.len)
        rc = read_index_block(s, buf_slice(&before), err);
    buf_close(&text);
    buf_close(&before);
    return rc;
}

int cc_find(struct fs *fs,
            const struct cc_question *q,
            struct slice pattern,
            struct cc_list *l,
            struct err *err)
{
    struct cc_search s = {.fs = fs, .q = q, .list = l};
    uint64_t start = 0;
    int rc = parse_pattern(&s, pattern, err);
    PRE(q->base != NULL && q->crawl != NULL);
    if (rc == 0)
        rc = cc_open(&s, "cluster.idx", &s.cluster, err);
    if (rc == 0)
        rc = find_start(&s, &start, err);
    if (rc == 0)
        rc = read_blocks(&s, start, err);
    fs_reader_close(s.cluster);
    fs_reader_close(s.block);
    buf_close(&s.key);
    buf_close(&s.bytes);
    buf_close(&s.text);
    return rc;
}

/* --- records ------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
    const struct cc_capture *x = a;
    const struct cc_capture *y = b;
    int c = slice_cmp(x->file_name, y->file_name);
    if (c)
        return c;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* The end of the captures that are read with @first. */
static size_t end_of_run(const struct cc_list *l, size_t first)
{
    const struct cc_capture *c = &l->at[first];
    uint64_t end = c->offset + c->length;
    size_t i = first + 1;
    for (; i < l->count && slice_eq(l->at[i].file_name, c->file_name); i++) {
        const struct cc_capture *n = &l->at[i];
        if (n->offset > end + GAP_BYTES_MAX ||
            n->offset + n->length - c->offset > TOGETHER_BYTES_MAX)
            break;
        end = MAX_OF(end, n->offset + n->length);
    }
    return i;
}

struct cc_transfer {
    struct fs *fs;
    const struct cc_question *q;
    struct cc_list *list;
    int (*write)(void *ctx, struct slice bytes, struct err *err);
    void *ctx;
    struct ingest_part *parts;
    uint64_t written;
    struct fs_reader *file;
    struct buf bytes;
};

static int
open_archive(struct cc_transfer *t, const struct cc_capture *c, struct err *err)
{
    struct buf path = BUF_INIT;
    int rc;
    fs_reader_close(t->file);
    t->file = NULL;
    buf_printf(&path, "%s%.*s", t->q->base, SLICE_ARG(c->file_name));
    rc = fs_open(t->fs, buf_cstr(&path), &t->file, err);
    buf_close(&path);
    return rc;
}

/* Read captures [@from, @to) at once, and hand them on. */
static int
fetch_run(struct cc_transfer *t, size_t from, size_t to, struct err *err)
{
    struct cc_list *l = t->list;
    uint64_t begin = l->at[from].offset;
    uint64_t end = begin;
    int rc;
    for (size_t i = from; i < to; i++)
        end = MAX_OF(end, l->at[i].offset + l->at[i].length);
    rc = cc_read(t->file, begin, end - begin, &t->bytes, err);
    for (size_t i = from; rc == 0 && i < to; i++) {
        struct slice record =
            slice_sub(buf_slice(&t->bytes), (size_t)(l->at[i].offset - begin),
                      (size_t)(l->at[i].offset - begin + l->at[i].length));
        t->parts[i] = (struct ingest_part){.at = t->written,
                                           .name = l->at[i].file_name.data,
                                           .offset = l->at[i].offset};
        t->written += record.len;
        rc = t->write(t->ctx, record, err);
    }
    return rc;
}

int cc_fetch(struct fs *fs,
             const struct cc_question *q,
             struct cc_list *l,
             int (*write)(void *ctx, struct slice bytes, struct err *err),
             void *ctx,
             struct ingest_part *parts,
             struct err *err)
{
    struct cc_transfer t = {.fs = fs,
                            .q = q,
                            .list = l,
                            .write = write,
                            .ctx = ctx,
                            .parts = parts};
    int rc = 0;
    PRE(write != NULL);
    if (l->count > 1)
        qsort(l->at, l->count, sizeof(*l->at), by_place);
    for (size_t i = 0; rc == 0 && i < l->count;) {
        size_t end = end_of_run(l, i);
        if (i == 0 || !slice_eq(l->at[i].file_name, l->at[i - 1].file_name))
            rc = open_archive(&t, &l->at[i], err);
        if (rc == 0)
            rc = fetch_run(&t, i, end, err);
        i = end;
    }
    fs_reader_close(t.file);
    buf_close(&t.bytes);
    return rc;
}
