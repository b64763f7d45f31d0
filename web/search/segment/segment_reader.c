/* Opening a segment checks all that is kept of it, so that queries need not.
 *
 * Counts in the footer reserve memory only after the sections were found long
 * enough for them.
 */
#include "web/search/segment/segment_reader.h"

#include <string.h>

#include "base/core/panic.h"
#include "web/search/segment/paged_file.h"
#include "web/search/segment/posting_codec.h"

/* The least bytes of a row, a document and an entry of the index. */
#define ROW_BYTES_MIN      ((size_t)11)
#define DOCUMENT_BYTES_MIN ((size_t)16)
#define INDEX_BYTES_MIN    ((size_t)10)
/* A term block has at most 64 terms. */
#define BLOCK_BYTES_MAX ((size_t)64 * 320)

static int
segment_damaged(const struct segment *s, const char *what, struct err *err)
{
    return err_set(err, ERR_CORRUPT, "segment %s: %s", s->path, what);
}

static int segment_of_other_version(const struct segment *s, struct err *err)
{
    int rc = err_set(err, ERR_UNSUPPORTED,
                     "segment %s is of another version of the format", s->path);
    err_hint(err, "quarry search build makes the index again");
    return rc;
}

/* --- opening ------------------------------------------------------------- */

struct footer {
    uint64_t ends[SEGMENT_SECTION_COUNT];
    uint64_t terms;
    uint64_t blocks;
    uint64_t rows;
    uint64_t documents;
};

static uint64_t section_start(const struct footer *f, int section)
{
    return section ? f->ends[section - 1] : 0;
}

static uint64_t section_bytes(const struct footer *f, int section)
{
    return f->ends[section] - section_start(f, section);
}

static bool footer_is_sound(const struct footer *f, uint64_t footer_at)
{
    for (int i = 0; i < SEGMENT_SECTION_COUNT; i++)
        if (f->ends[i] > footer_at || section_start(f, i) > f->ends[i])
            return false;
    return f->ends[SEGMENT_DOCUMENTS] == footer_at &&
           f->blocks <= section_bytes(f, SEGMENT_INDEX) / INDEX_BYTES_MIN &&
           f->rows <= section_bytes(f, SEGMENT_ROWS) / ROW_BYTES_MIN &&
           f->documents <=
               section_bytes(f, SEGMENT_DOCUMENTS) / DOCUMENT_BYTES_MIN &&
           f->rows < UINT32_MAX && f->documents < UINT32_MAX &&
           section_bytes(f, SEGMENT_ROWS) < UINT32_MAX &&
           f->terms <= f->blocks * SEGMENT_BLOCK_TERMS &&
           f->blocks ==
               (f->terms + SEGMENT_BLOCK_TERMS - 1) / SEGMENT_BLOCK_TERMS;
}

static int read_footer(struct segment *s, struct footer *f, struct err *err)
{
    uint64_t size = paged_reader_size(s->file);
    char bytes[SEGMENT_FOOTER_BYTES];
    struct cursor c = cursor_make(slice_make(bytes, sizeof(bytes)));
    int rc;
    if (size < sizeof(bytes))
        return segment_damaged(s, "it has no footer", err);
    rc = paged_reader_load(s->file, size - sizeof(bytes), bytes, sizeof(bytes),
                           err);
    if (rc)
        return rc;
    if (memcmp(bytes, SEGMENT_FOOTER_MAGIC, 7) != 0)
        return segment_damaged(s, "its footer is none", err);
    if (bytes[7] != SEGMENT_FOOTER_MAGIC[7])
        return segment_of_other_version(s, err);
    (void)cursor_bytes(&c, 8);
    for (int i = 0; i < SEGMENT_SECTION_COUNT; i++)
        f->ends[i] = cursor_le64(&c);
    f->terms = cursor_le64(&c);
    f->blocks = cursor_le64(&c);
    f->rows = cursor_le64(&c);
    f->documents = cursor_le64(&c);
    if (cursor_le64(&c) != 0 ||
        !footer_is_sound(f, size - SEGMENT_FOOTER_BYTES))
        return segment_damaged(s, "its footer makes no sense", err);
    return 0;
}

static int load_section(struct segment *s,
                        const struct footer *f,
                        int section,
                        struct buf *out,
                        struct err *err)
{
    uint64_t bytes = section_bytes(f, section);
    void *room = mem_try_alloc((size_t)bytes + 1);
    if (!room)
        return err_set(err, ERR_NOMEM, "segment %s: no memory for %llu bytes",
                       s->path, (unsigned long long)bytes);
    buf_close(out);
    *out = (struct buf){room, (size_t)bytes, (size_t)bytes + 1};
    return paged_reader_load(s->file, section_start(f, section), room,
                             (size_t)bytes, err);
}

/* --- the index of term blocks -------------------------------------------- */

static int
read_index(struct segment *s, const struct footer *f, struct err *err)
{
    struct cursor c;
    uint64_t at = f->ends[SEGMENT_LISTS];
    int rc = load_section(s, f, SEGMENT_INDEX, &s->index_bytes, err);
    if (rc)
        return rc;
    c = cursor_make(buf_slice(&s->index_bytes));
    s->blocks = mem_zalloc(f->blocks + 1, sizeof(*s->blocks));
    s->block_count = (size_t)f->blocks;
    for (size_t i = 0; i < s->block_count; i++) {
        struct term_block *b = &s->blocks[i];
        uint64_t bytes;
        b->lists_at = cursor_le64(&c);
        b->first = cursor_lslice(&c);
        bytes = cursor_varint(&c);
        b->at = at;
        if (c.bad || bytes == 0 || bytes > BLOCK_BYTES_MAX ||
            bytes > f->ends[SEGMENT_DICTIONARY] - at ||
            b->lists_at > f->ends[SEGMENT_LISTS] ||
            (i && slice_cmp(b[-1].first, b->first) >= 0))
            return segment_damaged(s, "the index of its terms is damaged", err);
        b->bytes = (uint32_t)bytes;
        at += bytes;
    }
    if (at != f->ends[SEGMENT_DICTIONARY] || cursor_left(&c))
        return segment_damaged(s, "the index of its terms is damaged", err);
    return 0;
}

/* --- rows and documents -------------------------------------------------- */

/* Read one row into @key. False: it is damaged. */
static bool row_read(struct cursor *c,
                     struct buf *key,
                     uint64_t *documents,
                     uint64_t *signature)
{
    uint64_t shared = cursor_varint(c);
    struct slice rest = cursor_lslice(c);
    *documents = cursor_varint(c);
    *signature = cursor_le64(c);
    if (c->bad || shared > key->len || shared + rest.len > SEGMENT_ROW_MAX)
        return false;
    buf_truncate(key, (size_t)shared);
    buf_append_slice(key, rest);
    return true;
}

static int check_rows(struct segment *s, struct err *err)
{
    struct cursor c = cursor_make(buf_slice(&s->row_bytes));
    struct buf key = BUF_INIT;
    struct buf before = BUF_INIT;
    uint64_t documents = 0;
    bool good = true;
    for (uint32_t i = 0; i < s->row_count && good; i++) {
        uint64_t count = 0;
        if (i % SEGMENT_ROW_GROUP == 0) {
            s->row_groups[i / SEGMENT_ROW_GROUP] =
                (uint32_t)(c.p - s->row_bytes.data);
            buf_clear(&key);
        }
        good = row_read(&c, &key, &count, &s->row_signatures[i]) &&
               count <= s->document_count - documents &&
               (i == 0 || slice_cmp(buf_slice(&before), buf_slice(&key)) < 0);
        s->row_documents[i] = (uint32_t)documents;
        documents += good ? count : 0;
        buf_clear(&before);
        buf_append_slice(&before, buf_slice(&key));
    }
    s->row_documents[s->row_count] = (uint32_t)documents;
    good = good && documents == s->document_count && cursor_left(&c) == 0;
    buf_close(&key);
    buf_close(&before);
    return good ? 0 : segment_damaged(s, "its rows are damaged", err);
}

static int read_rows(struct segment *s, const struct footer *f, struct err *err)
{
    int rc = load_section(s, f, SEGMENT_ROWS, &s->row_bytes, err);
    s->row_groups = mem_zalloc((size_t)s->row_count / SEGMENT_ROW_GROUP + 1, 4);
    s->row_signatures = mem_zalloc((size_t)s->row_count + 1, 8);
    s->row_documents = mem_zalloc((size_t)s->row_count + 1, 4);
    return rc ? rc : check_rows(s, err);
}

/* Times of all documents, as they are read. */
struct time_list {
    int64_t *at;
    size_t count;
    size_t cap;
};

static void time_list_add(struct time_list *l, int64_t us)
{
    if (l->count == l->cap) {
        l->cap = MAX_OF(l->cap * 2, 1024);
        l->at = mem_realloc(l->at, l->cap * sizeof(*l->at));
    }
    l->at[l->count++] = us;
}

/* @us + @more, or false where that is no time. */
static bool time_add(int64_t *us, uint64_t more)
{
    return more <= INT64_MAX && !__builtin_add_overflow(*us, (int64_t)more, us);
}

static bool document_times(struct cursor *c,
                           struct document_values *d,
                           struct time_list *times,
                           int64_t *last_us)
{
    uint64_t count = cursor_varint(c);
    int64_t delta = cursor_zigzag(c);
    uint64_t next;
    if (c->bad || count == 0 || count > SEGMENT_TIMES_MAX ||
        count > cursor_left(c) ||
        __builtin_add_overflow(*last_us, delta, last_us))
        return false;
    d->times_at = (uint32_t)times->count;
    d->time_count = (uint32_t)count;
    time_list_add(times, *last_us);
    for (uint64_t i = 1; i < count; i++) {
        uint64_t gap = cursor_varint(c);
        if (gap == 0 || !time_add(last_us, gap))
            return false;
        time_list_add(times, *last_us);
    }
    next = cursor_varint(c);
    d->next_us = *last_us;
    if (next == 0)
        d->next_us = INT64_MAX;
    else if (!time_add(&d->next_us, next))
        return false;
    return !c->bad && times->count < UINT32_MAX;
}

static bool document_rest(struct cursor *c, struct document_values *d)
{
    uint64_t end = 0;
    d->rank = cursor_u8(c);
    d->likeness = cursor_le64(c);
    for (int i = 0; i < FIELD_COUNT; i++) {
        uint64_t more = cursor_varint(c);
        if (more > POSTING_POSITION_MAX)
            return false;
        end += more;
        d->ends[i] = (uint32_t)end;
    }
    return !c->bad && end <= POSTING_POSITION_MAX;
}

static int
read_documents(struct segment *s, const struct footer *f, struct err *err)
{
    struct buf bytes = BUF_INIT;
    struct time_list times = {.at = NULL};
    int64_t last_us = 0;
    struct cursor c;
    uint32_t row = 0;
    bool good = true;
    int rc = load_section(s, f, SEGMENT_DOCUMENTS, &bytes, err);
    if (rc)
        goto out;
    s->documents =
        mem_zalloc((size_t)s->document_count + 1, sizeof(*s->documents));
    c = cursor_make(buf_slice(&bytes));
    for (uint32_t i = 0; i < s->document_count && good; i++) {
        struct document_values *d = &s->documents[i];
        while (s->row_documents[row + 1] <= i)
            row++;
        d->row = row;
        good = document_times(&c, d, &times, &last_us) && document_rest(&c, d);
        s->rank_max = MAX_OF(s->rank_max, d->rank);
    }
    if (!good || cursor_left(&c))
        rc = segment_damaged(s, "its documents are damaged", err);
out:
    s->times_us = times.at;
    buf_close(&bytes);
    return rc;
}

int segment_open(struct fs *fs,
                 const char *path,
                 struct page_cache *cache,
                 struct segment **out,
                 struct err *err)
{
    struct segment *s = mem_zalloc(1, sizeof(*s));
    struct footer f = {.terms = 0};
    int rc = paged_reader_open(fs, path, cache, &s->file, err);
    s->path = mem_strdup(path);
    if (!rc) {
        s->bytes = paged_reader_file_bytes(s->file);
        rc = read_footer(s, &f, err);
    }
    if (!rc) {
        s->lists_end = f.ends[SEGMENT_LISTS];
        s->term_count = f.terms;
        s->row_count = (uint32_t)f.rows;
        s->document_count = (uint32_t)f.documents;
        rc = read_index(s, &f, err);
    }
    if (!rc)
        rc = read_rows(s, &f, err);
    if (!rc)
        rc = read_documents(s, &f, err);
    if (rc) {
        segment_close(s);
        s = NULL;
    }
    *out = s;
    return rc;
}

void segment_close(struct segment *s)
{
    if (!s)
        return;
    paged_reader_close(s->file);
    mem_free(s->path);
    mem_free(s->documents);
    mem_free(s->times_us);
    mem_free(s->row_documents);
    mem_free(s->row_signatures);
    mem_free(s->row_groups);
    mem_free(s->blocks);
    buf_close(&s->row_bytes);
    buf_close(&s->index_bytes);
    mem_free(s);
}

/* --- rows ---------------------------------------------------------------- */

void segment_rows_begin(struct segment_rows *r,
                        const struct segment *s,
                        uint32_t row)
{
    struct slice key;
    *r = (struct segment_rows){.segment = s, .next = s->row_count};
    if (row >= s->row_count)
        return;
    r->next = row / SEGMENT_ROW_GROUP * SEGMENT_ROW_GROUP;
    while (r->next < row && segment_rows_next(r, &key)) {
    }
}

bool segment_rows_next(struct segment_rows *r, struct slice *key)
{
    const struct segment *s = r->segment;
    uint64_t documents;
    uint64_t signature;
    if (r->next >= s->row_count)
        return false;
    if (r->next % SEGMENT_ROW_GROUP == 0) {
        r->at = cursor_make(
            slice_sub(buf_slice(&s->row_bytes),
                      s->row_groups[r->next / SEGMENT_ROW_GROUP], SIZE_MAX));
        buf_clear(&r->key);
    }
    if (!row_read(&r->at, &r->key, &documents, &signature))
        PANIC("rows were checked: INV-1");
    r->next++;
    *key = buf_slice(&r->key);
    return true;
}

void segment_rows_close(struct segment_rows *r)
{
    buf_close(&r->key);
}

/* The key of the first row of @group, which lies whole in the bytes. */
static struct slice group_key(const struct segment *s, uint32_t group)
{
    struct cursor c = cursor_make(
        slice_sub(buf_slice(&s->row_bytes), s->row_groups[group], SIZE_MAX));
    (void)cursor_varint(&c);
    return cursor_lslice(&c);
}

uint32_t segment_row_find(const struct segment *s, struct slice key)
{
    uint32_t low = 0;
    uint32_t high = (s->row_count + SEGMENT_ROW_GROUP - 1) / SEGMENT_ROW_GROUP;
    struct segment_rows rows;
    struct slice at;
    uint32_t found = s->row_count;
    while (low < high) { /* The first group that begins behind @key. */
        uint32_t middle = low + (high - low) / 2;
        if (slice_cmp(group_key(s, middle), key) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    segment_rows_begin(&rows, s, low ? (low - 1) * SEGMENT_ROW_GROUP : 0);
    while (segment_rows_next(&rows, &at))
        if (slice_cmp(at, key) >= 0) {
            found = rows.next - 1;
            break;
        }
    segment_rows_close(&rows);
    return found;
}

void segment_row_key(const struct segment *s, uint32_t row, struct buf *out)
{
    struct segment_rows rows;
    struct slice key;
    PRE(row < s->row_count);
    segment_rows_begin(&rows, s, row);
    buf_clear(out);
    if (segment_rows_next(&rows, &key))
        buf_append_slice(out, key);
    segment_rows_close(&rows);
}

/* --- terms --------------------------------------------------------------- */

/* The last block whose first term is not behind @term. */
static size_t find_block(const struct segment *s, struct slice term)
{
    size_t low = 0;
    size_t high = s->block_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (slice_cmp(s->blocks[middle].first, term) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? low - 1 : 0;
}

void segment_terms_begin(struct segment_terms *t,
                         const struct segment *s,
                         struct slice from)
{
    *t = (struct segment_terms){.segment = s, .block = find_block(s, from)};
    t->terms_left =
        s->term_count -
        MIN_OF((uint64_t)t->block * SEGMENT_BLOCK_TERMS, s->term_count);
}

void segment_terms_close(struct segment_terms *t)
{
    mem_free(t->bytes);
    buf_close(&t->term);
}

static int terms_load(struct segment_terms *t, struct err *err)
{
    const struct term_block *b = &t->segment->blocks[t->block];
    int rc;
    if (!t->bytes)
        t->bytes = mem_alloc(BLOCK_BYTES_MAX);
    rc = paged_reader_read(t->segment->file, b->at, t->bytes, b->bytes, err);
    if (rc)
        return rc;
    t->at = cursor_make(slice_make(t->bytes, b->bytes));
    t->lists_at = b->lists_at;
    t->in_block = (size_t)MIN_OF(t->terms_left, (uint64_t)SEGMENT_BLOCK_TERMS);
    buf_clear(&t->term);
    t->block++;
    return 0;
}

/* The rest of a term, behind the bytes that it shares with the one before. */
static struct slice term_rest(struct cursor *c, uint64_t *shared)
{
    uint8_t both = cursor_u8(c);
    uint64_t len = both & 15;
    *shared = both >> 4;
    if (*shared == 15)
        *shared += cursor_varint(c);
    if (len == 15)
        len += cursor_varint(c);
    if (*shared > SEGMENT_TERM_MAX || len > SEGMENT_TERM_MAX)
        c->bad = true;
    return cursor_bytes(c, c->bad ? 0 : (size_t)len);
}

static bool term_read(struct segment_terms *t)
{
    const struct segment *s = t->segment;
    struct cursor *c = &t->at;
    struct segment_term *v = &t->value;
    uint64_t shared;
    struct slice rest = term_rest(c, &shared);
    uint64_t left = s->lists_end - MIN_OF(t->lists_at, s->lists_end);
    v->postings = cursor_varint(c);
    v->weight = cursor_u8(c);
    v->skip_bytes = v->postings > POSTING_BLOCK_MAX ? cursor_varint(c) : 0;
    v->block_bytes = cursor_varint(c);
    v->position_bytes = cursor_varint(c);
    v->at = t->lists_at;
    if (c->bad || shared > t->term.len ||
        shared + rest.len > SEGMENT_TERM_MAX || v->postings == 0 ||
        v->postings > s->document_count || v->skip_bytes > left ||
        v->block_bytes > left - v->skip_bytes ||
        v->position_bytes > left - v->skip_bytes - v->block_bytes)
        return false;
    buf_truncate(&t->term, (size_t)shared);
    buf_append_slice(&t->term, rest);
    t->lists_at += v->skip_bytes + v->block_bytes + v->position_bytes;
    return true;
}

int segment_terms_next(struct segment_terms *t, bool *more, struct err *err)
{
    int rc = 0;
    *more = t->terms_left > 0;
    if (!*more)
        return 0;
    if (t->in_block == 0)
        rc = terms_load(t, err);
    if (!rc && !term_read(t))
        rc = segment_damaged(t->segment, "its dictionary is damaged", err);
    if (rc)
        return rc;
    t->in_block--;
    t->terms_left--;
    return 0;
}

int segment_find_term(const struct segment *s,
                      struct slice term,
                      struct segment_term *out,
                      bool *found,
                      struct err *err)
{
    struct segment_terms t;
    bool more = s->block_count > 0;
    int rc = 0;
    *found = false;
    if (!more)
        return 0;
    segment_terms_begin(&t, s, term);
    for (int i = 0; i < SEGMENT_BLOCK_TERMS && more && !rc; i++) {
        int order;
        rc = segment_terms_next(&t, &more, err);
        if (rc || !more)
            break;
        order = slice_cmp(buf_slice(&t.term), term);
        if (order == 0) {
            *out = t.value;
            *found = true;
        }
        if (order >= 0)
            break;
    }
    segment_terms_close(&t);
    return rc;
}
