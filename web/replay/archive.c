/* Looking captures up: sites that were read are kept, rows are read each time.
 */
#include "web/replay/archive.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "mapreduce/warc/archived_http.h"
#include "mapreduce/warc/date.h"
#include "mapreduce/warc/method_query.h"
#include "mapreduce/warc/surt.h"
#include "mapreduce/warc/url.h"
#include "web/policy/archive_policy.h"
#include "web/replay/similar_url.h"
#include "web/replay/site_index.h"

/* Sites kept, and for how long where others may write. */
#define SITES_MAX     16
#define SITE_FRESH_US UINT64_C(10000000)
#define SECOND_US     INT64_C(1000000)
/* The columns that a list of captures is made of. */
#define LIST_COLUMNS                                                           \
    "http:(status|url|content-type|location|method|request-query)|"            \
    "meta:(type|digest|length|source|revisit-of)"
/* And those that a page's wishes are in. */
#define ROBOTS_COLUMNS LIST_COLUMNS "|http:headers|meta:robots"

struct kept_site {
    char *name; /* Host, and "*" for its subdomains; NULL: none is kept. */
    uint64_t read_us;
    uint64_t used;
    struct site_index index;
};

struct archive {
    struct quarry_table *table;
    struct world *world;
    bool is_fixed;
    const struct archive_policy *policy; /* Borrowed, or NULL. */
    uint64_t clock;                      /* Counts uses. */
    struct kept_site sites[SITES_MAX];
};

struct archive *archive_new(struct quarry_table *table,
                            struct world *world,
                            bool is_fixed,
                            const struct archive_policy *policy)
{
    struct archive *a = mem_zalloc(1, sizeof(*a));
    a->table = table;
    a->world = world;
    a->is_fixed = is_fixed;
    a->policy = policy;
    return a;
}

static void kept_site_close(struct kept_site *s)
{
    if (s->name)
        site_index_close(&s->index);
    mem_free(s->name);
    *s = (struct kept_site){.name = NULL};
}

void archive_free(struct archive *a)
{
    if (!a)
        return;
    for (size_t i = 0; i < SITES_MAX; i++)
        kept_site_close(&a->sites[i]);
    mem_free(a);
}

/* --- sites --------------------------------------------------------------- */

static uint64_t archive_now_us(const struct archive *a)
{
    return world_mono_ns(a->world) / 1000;
}

static struct kept_site *find_site(struct archive *a, const char *name)
{
    for (size_t i = 0; i < SITES_MAX; i++) {
        struct kept_site *s = &a->sites[i];
        if (s->name && strcmp(s->name, name) == 0 &&
            (a->is_fixed || archive_now_us(a) - s->read_us < SITE_FRESH_US))
            return s;
    }
    return NULL;
}

/* Keep @index, which is owned now, in the place that was not used longest. */
static struct kept_site *
keep_site(struct archive *a, const char *name, const struct site_index *index)
{
    struct kept_site *oldest = &a->sites[0];
    for (size_t i = 0; i < SITES_MAX; i++) {
        struct kept_site *s = &a->sites[i];
        if (s->name && strcmp(s->name, name) == 0) {
            oldest = s;
            break;
        }
        if (s->used < oldest->used)
            oldest = s;
    }
    kept_site_close(oldest);
    *oldest = (struct kept_site){.name = mem_strdup(name),
                                 .read_us = archive_now_us(a),
                                 .index = *index};
    return oldest;
}

static int read_site(struct archive *a,
                     struct slice host,
                     bool domain,
                     const char *name,
                     struct kept_site **out,
                     struct err *err)
{
    struct site_index index;
    int rc = site_index_read(a->table, host, domain, &index, err);
    if (rc) {
        site_index_close(&index);
        return rc;
    }
    *out = keep_site(a, name, &index);
    return 0;
}

int archive_site(struct archive *a,
                 struct slice url,
                 bool domain,
                 const struct site_index **out,
                 struct err *err)
{
    struct buf name = BUF_INIT;
    struct kept_site *s = NULL;
    int rc = 0;
    *out = NULL;
    if (!site_host(url, &name)) {
        buf_close(&name);
        return err_set(err, ERR_NOTFOUND, "%.*s: it names no host",
                       SLICE_ARG(url));
    }
    if (domain)
        buf_append_byte(&name, '*');
    s = find_site(a, buf_cstr(&name));
    if (!s)
        rc = read_site(a, slice_make(name.data, name.len - domain), domain,
                       buf_cstr(&name), &s, err);
    if (rc == 0) {
        s->used = ++a->clock;
        *out = &s->index;
    }
    buf_close(&name);
    return rc;
}

/* --- lists of captures --------------------------------------------------- */

void capture_list_close(struct capture_list *l)
{
    arena_close(&l->arena);
    mem_free(l->at);
    *l = (struct capture_list){.at = NULL};
}

static void
capture_list_add(struct capture_list *l, struct slice row, int64_t us)
{
    if (l->count == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 16;
        l->at = mem_realloc(l->at, l->cap * sizeof(*l->at));
    }
    l->at[l->count++] = (struct capture){.time_us = us, .row = row};
}

static const struct {
    const char *family;
    const char *qualifier;
    size_t at; /* Of the text in struct capture. */
} capture_texts[] = {
    {"http", "url", offsetof(struct capture, url)},
    {"http", "content-type", offsetof(struct capture, type)},
    {"http", "location", offsetof(struct capture, location)},
    {"meta", "digest", offsetof(struct capture, digest)},
    {"meta", "source", offsetof(struct capture, source)},
    {"meta", "revisit-of", offsetof(struct capture, revisit)},
    {"http", "method", offsetof(struct capture, method)},
    {"http", "request-query", offsetof(struct capture, query)},
    {"meta", "robots", offsetof(struct capture, robots)},
    {"http", "headers", offsetof(struct capture, head)},
};

static void capture_take(struct capture_list *l,
                         struct capture *c,
                         const struct quarry_cell *cell)
{
    uint64_t n = 0;
    if (slice_eq_str(cell->qualifier, "status") &&
        text_parse_u64(cell->value, &n, NULL) == 0)
        c->status = n < 1000 ? (int)n : 0;
    if (slice_eq_str(cell->qualifier, "length") &&
        text_parse_u64(cell->value, &n, NULL) == 0)
        c->length = n;
    for (size_t i = 0; i < ARRAY_LEN(capture_texts); i++)
        if (slice_eq_str(cell->qualifier, capture_texts[i].qualifier) &&
            slice_eq_str(cell->family, capture_texts[i].family)) {
            struct slice text = arena_dup(&l->arena, cell->value);
            memcpy((char *)c + capture_texts[i].at, &text, sizeof(text));
        }
}

static int by_time(const void *a, const void *b)
{
    const struct capture *x = a;
    const struct capture *y = b;
    if (x->time_us != y->time_us)
        return x->time_us < y->time_us ? -1 : 1;
    return slice_cmp(x->row, y->row);
}

/* Times at which a capture was made: those with meta:type. Cells beside, such
 * as texts made of a page, may be of other times. They are newest first, as all
 * columns' are, so that each search ends early. */
static void take_row(struct capture_list *l, const struct quarry_row *row)
{
    size_t first = l->count;
    struct slice key = arena_dup(&l->arena, row->key);
    size_t n;
    for (size_t i = 0; i < row->cell_count; i++)
        if (slice_eq_str(row->cells[i].qualifier, "type") &&
            slice_eq_str(row->cells[i].family, "meta"))
            capture_list_add(l, key, row->cells[i].timestamp_us);
    n = l->count - first;
    for (size_t i = 0, at = 0; n && i < row->cell_count; i++) {
        const struct quarry_cell *cell = &row->cells[i];
        if (i && !slice_eq(cell->qualifier, row->cells[i - 1].qualifier))
            at = 0;
        while (at < n && l->at[first + at].time_us > cell->timestamp_us)
            at++;
        if (at < n && l->at[first + at].time_us == cell->timestamp_us)
            capture_take(l, &l->at[first + at], cell);
    }
}

/* Take the captures from @first on that may not be shown off @l. */
static void
drop_blocked(const struct archive *a, struct capture_list *l, size_t first)
{
    struct buf surt = BUF_INIT;
    size_t kept = first;
    for (size_t i = first; i < l->count; i++) {
        const struct capture *c = &l->at[i];
        struct slice reason;
        buf_clear(&surt);
        surt_key(c->url, &surt);
        const struct archive_subject s = {.surt = buf_slice(&surt),
                                          .time_us = c->time_us,
                                          .row = c->row,
                                          .robots = c->robots,
                                          .head = c->head};
        if (archive_policy_allows(a->policy, &s, &reason)) {
            l->at[kept++] = *c;
        } else {
            l->blocked++;
            l->reason = reason;
        }
    }
    l->count = kept;
    buf_close(&surt);
}

int archive_row_captures(struct archive *a,
                         struct slice row,
                         struct capture_list *out,
                         struct err *err)
{
    static const char *const families[] = {"http", "meta"};
    bool robots = a->policy && archive_policy_needs_robots(a->policy);
    const struct quarry_read_options opts = {
        .families = families,
        .family_count = 2,
        .column_regex = robots ? ROBOTS_COLUMNS : LIST_COLUMNS,
        .versions = ARCHIVE_VERSIONS_MAX};
    struct quarry_row *read;
    size_t first = out->count;
    int rc = quarry_read_row(a->table, row, &opts, &read, err);
    if (rc == 0 && read)
        take_row(out, read);
    if (rc == 0 && a->policy)
        drop_blocked(a, out, first);
    if (rc == 0)
        quarry_row_free(read);
    return rc;
}

/* The rows with the SURT of @url, copied: reading them parks. */
static int rows_of(struct archive *a,
                   struct slice url,
                   struct arena *arena,
                   struct slice **rows,
                   size_t *count,
                   struct err *err)
{
    const struct site_index *site;
    struct buf surt = BUF_INIT;
    struct buf key = BUF_INIT;
    int rc = archive_site(a, url, false, &site, err);
    *count = 0;
    surt_key(url, &surt);
    if (rc == 0 && !site->is_partial) {
        size_t i = site_index_find(site, buf_slice(&surt));
        size_t end = i;
        while (end < site->count &&
               slice_eq(site->at[end].surt, buf_slice(&surt)))
            end++;
        *rows = arena_zalloc(arena, (end - i + 1) * sizeof(**rows));
        for (; i < end; i++)
            (*rows)[(*count)++] = arena_dup(arena, site->at[i].row);
    } else if ((rc == 0 || rc == ERR_NOTFOUND) && url_key(url, &key)) {
        rc = 0;
        *rows = arena_zalloc(arena, sizeof(**rows));
        (*rows)[(*count)++] = arena_dup(arena, buf_slice(&key));
    } else if (rc == ERR_NOTFOUND) {
        rc = 0;
    }
    buf_close(&surt);
    buf_close(&key);
    return rc;
}

int archive_captures(struct archive *a,
                     struct slice url,
                     struct capture_list *out,
                     struct err *err)
{
    struct slice *rows = NULL;
    size_t count;
    int rc;
    *out = (struct capture_list){.at = NULL};
    arena_init(&out->arena);
    rc = rows_of(a, url, &out->arena, &rows, &count, err);
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = archive_row_captures(a, rows[i], out, err);
    if (out->count > 1)
        qsort(out->at, out->count, sizeof(*out->at), by_time);
    return rc;
}

/* --- stand-ins ----------------------------------------------------------- */

/* Copy the rows of @site whose SURT is @path, with any query or none, into
 * @out: those with the arguments of @plain that matter, or, if there are none
 * and @any, all. */
static size_t similar_rows(const struct site_index *site,
                           struct slice path,
                           struct slice plain,
                           bool any,
                           struct arena *arena,
                           struct slice *out)
{
    struct buf own = BUF_INIT;
    struct slice method = method_query_of(plain);
    size_t begin = site_index_find(site, path);
    size_t count = 0;
    for (int pass = 0; count == 0 && pass < (any ? 2 : 1); pass++)
        for (size_t i = begin;
             i < site->count && count < ARCHIVE_SIMILAR_ROWS_MAX; i++) {
            struct slice surt = site->at[i].surt;
            if (!slice_starts_with(surt, path))
                break;
            if ((surt.len > path.len && surt.data[path.len] != '?') ||
                !slice_eq(method_query_of(surt), method))
                continue;
            buf_clear(&own);
            similar_url_plain(surt, &own);
            if (pass == 1 || slice_eq(buf_slice(&own), plain))
                out[count++] = arena_dup(arena, site->at[i].row);
        }
    buf_close(&own);
    return count;
}

/* Leave only captures of streams in @l. */
static void keep_streams(struct capture_list *l)
{
    size_t kept = 0;
    for (size_t i = 0; i < l->count; i++)
        if (similar_url_is_stream(http_media_type(l->at[i].type)))
            l->at[kept++] = l->at[i];
    l->count = kept;
}

int archive_similar(struct archive *a,
                    struct slice url,
                    struct capture_list *out,
                    struct err *err)
{
    struct slice rows[ARCHIVE_SIMILAR_ROWS_MAX];
    const struct site_index *site;
    struct buf surt = BUF_INIT;
    struct buf plain = BUF_INIT;
    struct slice path;
    size_t count = 0;
    bool is_same = false;
    int rc = archive_site(a, url, false, &site, err);
    *out = (struct capture_list){.at = NULL};
    arena_init(&out->arena);
    surt_key(url, &surt);
    similar_url_plain(buf_slice(&surt), &plain);
    path =
        slice_sub(buf_slice(&surt), 0, slice_find_byte(buf_slice(&surt), '?'));
    if (rc == 0) {
        count = similar_rows(site, path, buf_slice(&plain), false, &out->arena,
                             rows);
        is_same = count > 0;
        if (!is_same)
            count = similar_rows(site, path, buf_slice(&plain), true,
                                 &out->arena, rows);
    }
    if (rc == ERR_NOTFOUND)
        rc = 0;
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = archive_row_captures(a, rows[i], out, err);
    if (rc == 0 && !is_same && !similar_url_is_file(url) &&
        method_query_of(url).len == 0)
        keep_streams(out);
    if (out->count > 1)
        qsort(out->at, out->count, sizeof(*out->at), by_time);
    buf_close(&surt);
    buf_close(&plain);
    return rc;
}

/* --- choosing ------------------------------------------------------------ */

static int64_t seconds_of(int64_t us)
{
    return us >= 0 ? us / SECOND_US : -((-us + SECOND_US - 1) / SECOND_US);
}

/* Is @c of the very URL, apart from its fragment? */
static bool is_of_url(const struct capture *c, struct slice url)
{
    struct slice own = c->url;
    return slice_eq(slice_sub(own, 0, slice_find_byte(own, '#')), url);
}

size_t capture_nearest(const struct capture_list *l,
                       int64_t us,
                       struct slice url,
                       const bool *tried)
{
    size_t best = l->count;
    int64_t best_distance = INT64_MAX;
    for (size_t i = 0; i < l->count; i++) {
        int64_t distance = seconds_of(l->at[i].time_us) - seconds_of(us);
        if (distance < 0)
            distance = -distance;
        if (tried && tried[i])
            continue;
        if (distance < best_distance ||
            (distance == best_distance &&
             seconds_of(l->at[i].time_us) == seconds_of(l->at[best].time_us) &&
             !is_of_url(&l->at[best], url) && is_of_url(&l->at[i], url))) {
            best = i;
            best_distance = distance;
        }
    }
    return best;
}

bool capture_is_own_redirect(const struct capture *c)
{
    struct buf target = BUF_INIT;
    struct buf a = BUF_INIT;
    struct buf b = BUF_INIT;
    struct url base;
    bool same = false;
    if (c->status >= 300 && c->status < 400 && c->status != 304 &&
        c->location.len) {
        url_split(c->url, &base);
        url_resolve(&base, slice_trim(c->location), &target);
        surt_key(buf_slice(&target), &a);
        surt_key(c->url, &b);
        same = slice_eq(buf_slice(&a), buf_slice(&b));
    }
    buf_close(&target);
    buf_close(&a);
    buf_close(&b);
    return same;
}

/* --- bytes --------------------------------------------------------------- */

static const struct {
    const char *family;
    const char *qualifier;
    size_t at; /* Of the slice in struct capture_bytes. */
} byte_parts[] = {
    {"contents", "", offsetof(struct capture_bytes, body)},
    {"http", "headers", offsetof(struct capture_bytes, head)},
    {"http", "content-type", offsetof(struct capture_bytes, type)},
    {"http", "url", offsetof(struct capture_bytes, url)},
    {"meta", "charset", offsetof(struct capture_bytes, charset)},
};

static bool bytes_take(struct capture_bytes *out,
                       const struct quarry_cell *cell)
{
    uint64_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(byte_parts); i++)
        if (slice_eq_str(cell->qualifier, byte_parts[i].qualifier) &&
            slice_eq_str(cell->family, byte_parts[i].family)) {
            memcpy((char *)out + byte_parts[i].at, &cell->value,
                   sizeof(cell->value));
            return i == 0;
        }
    if (slice_eq_str(cell->qualifier, "truncated"))
        out->is_cut = true;
    if (slice_eq_str(cell->qualifier, "status") &&
        text_parse_u64(cell->value, &n, NULL) == 0)
        out->status = n < 1000 ? (int)n : 0;
    return false;
}

/* Read one capture. *@has_body: its contents are in the table. */
static int read_bytes(struct archive *a,
                      struct slice row,
                      int64_t us,
                      struct capture_bytes *out,
                      struct quarry_row **read,
                      bool *has_body,
                      struct err *err)
{
    static const char *const families[] = {"contents", "http", "meta"};
    const struct quarry_read_options opts = {.families = families,
                                             .family_count = 3,
                                             .time_min_us = us,
                                             .time_max_us = us + 1};
    int rc = quarry_read_row(a->table, row, &opts, read, err);
    *has_body = false;
    if (rc)
        *read = NULL;
    for (size_t i = 0; *read && i < (*read)->cell_count; i++)
        *has_body |= bytes_take(out, &(*read)->cells[i]);
    return rc;
}

/* The next word of @s. */
static struct slice take_word(struct slice *s)
{
    size_t n = slice_find_byte(*s, ' ');
    struct slice word = slice_sub(*s, 0, n);
    *s = slice_sub(*s, n + 1, s->len);
    return word;
}

/* The original that a revisit names: by its date, else by its digest the newest
 * that is not later. NULL: it is not here. */
static const struct capture *find_original(const struct capture_list *l,
                                           const struct capture *c,
                                           struct slice date)
{
    const struct capture *best = NULL;
    int64_t us = INT64_MIN;
    int64_t span = 1;
    bool dated = date_parse_span(date, &us, &span);
    for (size_t i = 0; i < l->count; i++) {
        const struct capture *o = &l->at[i];
        if (o->revisit.len)
            continue;
        if (c->digest.len && o->digest.len && !slice_eq(c->digest, o->digest))
            continue;
        if (dated ? o->time_us >= us && o->time_us < us + span
                  : c->digest.len && o->time_us <= c->time_us)
            best = o;
    }
    return best;
}

/* Load the original of the revisit @c, "PROFILE DATE URI", into @out. */
static int load_original(struct archive *a,
                         const struct capture *c,
                         struct capture_bytes *out,
                         bool *found,
                         struct err *err)
{
    struct slice rest = c->revisit;
    struct capture_list l;
    const struct capture *original;
    struct slice date;
    struct buf url = BUF_INIT;
    int rc;
    (void)take_word(&rest);
    date = take_word(&rest);
    if (!url_normalise(rest.len ? rest : c->url, &url))
        return 0;
    rc = archive_captures(a, buf_slice(&url), &l, err);
    original = rc == 0 ? find_original(&l, c, date) : NULL;
    if (original)
        rc = read_bytes(a, original->row, original->time_us, out, &out->rows[1],
                        found, err);
    capture_list_close(&l);
    buf_close(&url);
    return rc;
}

/* A revisit says what the server answered then; where that was "not modified",
 * or nothing is told, the answer is the original's. */
static int load_revisit(struct archive *a,
                        const struct capture *c,
                        bool *has_body,
                        struct capture_bytes *out,
                        struct err *err)
{
    struct capture_bytes original = {.status = 0};
    bool found = false;
    bool bare = out->head.len == 0 || out->status == 304;
    int rc = 0;
    if (*has_body && !bare)
        return 0;
    rc = load_original(a, c, &original, &found, err);
    out->rows[1] = original.rows[1];
    if (rc || !found)
        return rc;
    if (bare) {
        out->head = original.head;
        out->status = original.status;
        out->type = original.type;
    }
    out->body = original.body;
    out->charset = original.charset;
    out->is_cut = original.is_cut;
    *has_body = true;
    return 0;
}

int archive_load(struct archive *a,
                 const struct capture *c,
                 struct capture_bytes *out,
                 struct err *err)
{
    bool has_body;
    int rc;
    *out = (struct capture_bytes){.status = 0};
    rc = read_bytes(a, c->row, c->time_us, out, &out->rows[0], &has_body, err);
    if (rc == 0 && c->revisit.len)
        rc = load_revisit(a, c, &has_body, out, err);
    if (rc == 0 && !has_body)
        rc = err_set(err, ERR_NOTFOUND, "%.*s: the capture has no contents",
                     SLICE_ARG(c->url));
    return rc;
}

void capture_bytes_close(struct capture_bytes *b)
{
    for (size_t i = 0; i < ARRAY_LEN(b->rows); i++)
        quarry_row_free(b->rows[i]);
    *b = (struct capture_bytes){.status = 0};
}
