/* The files of a tablet's state, walked without decoding more than names and
 * key ranges. Groups are joined by appending the encoded files of both. */
#include "bigtable/wire/tablet_files.h"

#include "base/core/coding.h"
#include "bigtable/row/cell_key.h"

/* Bytes of the smallest group, and of the smallest file. */
#define GROUP_ENCODED_MIN 3
#define FILE_ENCODED_MIN  8

struct group {
    uint64_t id;
    uint64_t flushed_sequence;
    size_t file_count;
    struct slice files; /* Encoded. */
};

struct file {
    uint64_t number;
    struct slice first_key;
    struct slice last_key;
};

static int tablet_files_corrupt(struct err *err)
{
    return err_set(err, ERR_CORRUPT, "malformed files of a tablet");
}

static void read_file(struct cursor *c, struct file *f)
{
    f->number = cursor_varint(c);
    for (int i = 0; i < 5; i++) /* Sizes, sequences, run. */
        (void)cursor_varint(c);
    f->first_key = cursor_lslice(c);
    f->last_key = cursor_lslice(c);
}

/* Read the next group, skipping its files. */
static void read_group(struct cursor *c, struct group *g)
{
    struct file f;
    const char *begin;
    g->id = cursor_varint(c);
    g->flushed_sequence = cursor_varint(c);
    g->file_count = cursor_count(c, FILE_ENCODED_MIN);
    begin = c->p;
    for (size_t i = 0; i < g->file_count && !c->bad; i++)
        read_file(c, &f);
    g->files = c->bad ? SLICE_EMPTY : slice_make(begin, (size_t)(c->p - begin));
}

/* Call @fn for each file; false from it ends the walk without an error. */
static int tablet_files_walk(struct slice groups,
                             bool (*fn)(void *ctx, const struct file *f),
                             void *ctx,
                             struct err *err)
{
    struct cursor c = cursor_make(groups);
    size_t count;
    if (groups.len == 0)
        return 0;
    count = cursor_count(&c, GROUP_ENCODED_MIN);
    for (size_t i = 0; i < count && !c.bad; i++) {
        struct group g;
        struct cursor in;
        read_group(&c, &g);
        in = cursor_make(g.files);
        for (size_t j = 0; j < g.file_count && !c.bad; j++) {
            struct file f;
            read_file(&in, &f);
            if (!fn(ctx, &f))
                return 0;
        }
    }
    return c.bad || cursor_left(&c) ? tablet_files_corrupt(err) : 0;
}

struct each {
    void (*fn)(void *ctx, uint64_t number);
    void *ctx;
};

static bool call_each(void *ctx, const struct file *f)
{
    struct each *e = ctx;
    e->fn(e->ctx, f->number);
    return true;
}

int tablet_files_each(struct slice groups,
                      void (*fn)(void *ctx, uint64_t number),
                      void *ctx,
                      struct err *err)
{
    struct each e = {fn, ctx};
    return tablet_files_walk(groups, call_each, &e, err);
}

int tablet_changes_each(struct slice changes,
                        void (*fn)(void *ctx, uint64_t number),
                        void *ctx,
                        struct err *err)
{
    struct cursor c = cursor_make(changes);
    size_t count;
    if (changes.len == 0)
        return 0;
    for (int i = 0; i < 3; i++) /* Floor, its time, files removed: none. */
        (void)cursor_varint(&c);
    count = cursor_count(&c, FILE_ENCODED_MIN);
    for (size_t i = 0; i < count && !c.bad; i++) {
        struct file f;
        for (int k = 0; k < 4; k++) /* Group, end, times. */
            (void)cursor_varint(&c);
        read_file(&c, &f);
        if (!c.bad)
            fn(ctx, f.number);
    }
    return c.bad || cursor_left(&c) ? tablet_files_corrupt(err) : 0;
}

struct bounds {
    struct slice start;
    struct slice end;
    struct buf scratch;
    bool inside;
};

static bool is_row_inside(struct bounds *b, struct slice key)
{
    struct slice row;
    if (cell_key_row_length(key) == 0)
        return false;
    buf_clear(&b->scratch);
    row = cell_key_plain_row(key, &b->scratch);
    return slice_cmp(row, b->start) >= 0 &&
           (b->end.len == 0 || slice_cmp(row, b->end) < 0);
}

static bool check_inside(void *ctx, const struct file *f)
{
    struct bounds *b = ctx;
    b->inside = is_row_inside(b, f->first_key) && is_row_inside(b, f->last_key);
    return b->inside;
}

int tablet_files_inside(struct slice groups,
                        struct slice start,
                        struct slice end,
                        bool *inside,
                        struct err *err)
{
    struct bounds b = {start, end, BUF_INIT, true};
    int rc = tablet_files_walk(groups, check_inside, &b, err);
    buf_close(&b.scratch);
    *inside = rc == 0 && b.inside;
    return rc;
}

/* --- joining ------------------------------------------------------------- */

static void
put_group(const struct group *a, const struct group *b, struct buf *out)
{
    uint64_t flushed = a->flushed_sequence;
    if (b && b->flushed_sequence > flushed)
        flushed = b->flushed_sequence;
    buf_put_varint(out, a->id);
    buf_put_varint(out, flushed);
    buf_put_varint(out, a->file_count + (b ? b->file_count : 0));
    buf_append_slice(out, a->files);
    if (b)
        buf_append_slice(out, b->files);
}

/* The group @id of @groups. */
static bool find_group(struct slice groups, uint64_t id, struct group *g)
{
    struct cursor c = cursor_make(groups);
    size_t count = groups.len ? cursor_count(&c, GROUP_ENCODED_MIN) : 0;
    for (size_t i = 0; i < count && !c.bad; i++) {
        read_group(&c, g);
        if (!c.bad && g->id == id)
            return true;
    }
    return false;
}

/* Groups of @from: those that @other has too, joined with its, or, with
 * @alone, those that it has not. Returns how many. */
static size_t
join_from(struct slice from, struct slice other, bool alone, struct buf *out)
{
    struct cursor c = cursor_make(from);
    size_t count = from.len ? cursor_count(&c, GROUP_ENCODED_MIN) : 0;
    size_t written = 0;
    for (size_t i = 0; i < count && !c.bad; i++) {
        struct group g;
        struct group h;
        bool both;
        read_group(&c, &g);
        both = find_group(other, g.id, &h);
        if (both && alone)
            continue;
        put_group(&g, both ? &h : NULL, out);
        written++;
    }
    return written;
}

static bool tablet_files_accept(void *ctx, const struct file *f)
{
    (void)ctx;
    (void)f;
    return true;
}

int tablet_files_join(struct slice a,
                      struct slice b,
                      struct buf *out,
                      struct err *err)
{
    struct buf groups = BUF_INIT;
    size_t count;
    int rc = tablet_files_walk(a, tablet_files_accept, NULL, err);
    if (rc == 0)
        rc = tablet_files_walk(b, tablet_files_accept, NULL, err);
    if (rc)
        return rc;
    count = join_from(a, b, false, &groups);
    count += join_from(b, a, true, &groups);
    buf_put_varint(out, count);
    buf_append_slice(out, buf_slice(&groups));
    buf_close(&groups);
    return 0;
}

/* --- changing ------------------------------------------------------------ */

static void get_entry(struct cursor *c, struct tablet_file_entry *f)
{
    f->number = cursor_varint(c);
    f->bytes = cursor_varint(c);
    f->entries = cursor_varint(c);
    f->sequence_min = cursor_varint(c);
    f->sequence_max = cursor_varint(c);
    f->run = cursor_varint(c);
    f->first_key = cursor_lslice(c);
    f->last_key = cursor_lslice(c);
}

static void put_entry(const struct tablet_file_entry *f, struct buf *out)
{
    buf_put_varint(out, f->number);
    buf_put_varint(out, f->bytes);
    buf_put_varint(out, f->entries);
    buf_put_varint(out, f->sequence_min);
    buf_put_varint(out, f->sequence_max);
    buf_put_varint(out, f->run);
    buf_put_lslice(out, f->first_key);
    buf_put_lslice(out, f->last_key);
}

int tablet_files_change(struct slice groups,
                        int (*change)(void *ctx,
                                      struct tablet_file_entry *f,
                                      struct err *err),
                        void *ctx,
                        struct buf *out,
                        struct err *err)
{
    struct cursor c = cursor_make(groups);
    size_t count;
    int rc = tablet_files_walk(groups, tablet_files_accept, NULL, err);
    if (rc || groups.len == 0)
        return rc;
    count = cursor_count(&c, GROUP_ENCODED_MIN);
    buf_put_varint(out, count);
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct tablet_file_entry f = {.group = 0};
        struct group g;
        struct cursor in;
        read_group(&c, &g);
        if (g.id > UINT32_MAX)
            return tablet_files_corrupt(err);
        f.group = (uint32_t)g.id;
        in = cursor_make(g.files);
        buf_put_varint(out, g.id);
        buf_put_varint(out, g.flushed_sequence);
        buf_put_varint(out, g.file_count);
        for (size_t j = 0; j < g.file_count && rc == 0; j++) {
            get_entry(&in, &f);
            rc = change(ctx, &f, err);
            put_entry(&f, out);
        }
    }
    return rc;
}
