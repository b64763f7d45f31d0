/* Archives collected from other projects, with known contents and known faults,
 * are read as their expected results say. */
#include <jansson.h>
#include <sys/stat.h>

#include "mapreduce/warc/archive_reader.h"
#include "mapreduce/warc/archived_http.h"
#include "mapreduce/warc/cdx.h"
#include "mapreduce/warc/digest.h"
#include "mapreduce/warc/segments.h"
#include "mapreduce/warc/surt.h"
#include "tests/unit/warc/archive_build.h"

/* --- Fixture ------------------------------------------------------------- */

/* A file of the shared set in memory; false when the set is absent. */
static bool load(const char *name, struct buf *out)
{
    char path[256];
    char *full;
    FILE *f;
    size_t n;
    snprintf(path, sizeof(path), "data/crawl/%s", name);
    full = test_shared(path);
    if (!full)
        return false;
    f = fopen(full, "rb");
    ck_assert_msg(f != NULL, "%s", full);
    out->len = 0;
    do {
        n = fread(buf_reserve(out, 1 << 16), 1, 1 << 16, f);
        out->len += n;
    } while (n > 0);
    fclose(f);
    free(full);
    return true;
}

/* Records of one file, each with what the golden list says of it. */
struct item {
    char type[16];
    char *uri;
    size_t len;
    char sha1[41];
    bool cut;
};

struct items {
    struct item *list;
    size_t count;
    size_t lost;
    size_t notes;
    int code;
};

static void items_close(struct items *x)
{
    for (size_t i = 0; i < x->count; i++)
        free(x->list[i].uri);
    free(x->list);
    *x = (struct items){0};
}

static void hex_sha1(struct slice s, char out[41])
{
    struct digest d;
    digest_of(DIGEST_SHA1, s, &d);
    for (size_t i = 0; i < 20; i++)
        snprintf(out + 2 * i, 3, "%02x", d.bytes[i]);
}

static void read_items(struct slice file, struct items *x)
{
    struct session s = {.file = file};
    struct warc_reader_options opts = {
        .read = session_read, .ctx = &s, .on_damage = session_damage};
    struct warc_reader *r = session_reader(&opts);
    const struct warc_record *rec;
    *x = (struct items){0};
    while ((x->code = warc_reader_next(r, &rec, NULL)) == 0 && rec) {
        struct item *it;
        x->list = realloc(x->list, (x->count + 1) * sizeof(*x->list));
        it = &x->list[x->count++];
        snprintf(it->type, sizeof(it->type), "%.*s",
                 SLICE_ARG(slice_sub(rec->type_name, 0, 15)));
        it->uri =
            rec->uri.len ? strndup(rec->uri.data, rec->uri.len) : strdup("");
        it->len = rec->block.len;
        it->cut = rec->cut;
        hex_sha1(rec->block, it->sha1);
    }
    x->lost = s.lost;
    x->notes = s.notes;
}

/* --- The synthetic variants ---------------------------------------------- */

static bool same_item(const struct item *it, json_t *want)
{
    return strcmp(it->type, json_string_value(json_array_get(want, 0))) == 0 &&
           strcmp(it->uri, json_string_value(json_array_get(want, 1))) == 0 &&
           it->len == (size_t)json_integer_value(json_array_get(want, 2)) &&
           strcmp(it->sha1, json_string_value(json_array_get(want, 3))) == 0;
}

/* The records of @name are the first @count of the list, but for @skip. */
static void expect_list(const char *name,
                        json_t *list,
                        size_t count,
                        size_t skip,
                        bool lost,
                        bool notes)
{
    char path[128];
    struct buf file = BUF_INIT;
    struct items x;
    size_t k = 0;
    snprintf(path, sizeof(path), "tricky/synth/iana-%s", name);
    ck_assert(load(path, &file));
    read_items(buf_slice(&file), &x);
    ck_assert_int_eq(x.code, 0);
    ck_assert_msg((x.lost > 0) == lost, "%s: lost %zu", name, x.lost);
    ck_assert_msg((x.notes > 0) == notes, "%s: notes %zu", name, x.notes);
    for (size_t i = 0; i < count; i++) {
        if (i == skip)
            continue;
        ck_assert_msg(k < x.count, "%s: only %zu records", name, x.count);
        ck_assert_msg(same_item(&x.list[k], json_array_get(list, i)),
                      "%s: record %zu: %s %s %zu", name, i, x.list[k].type,
                      x.list[k].uri, x.list[k].len);
        k++;
    }
    ck_assert_msg(k == x.count, "%s: %zu records too many", name, x.count - k);
    items_close(&x);
    buf_close(&file);
}

/* One real crawl in sixteen dresses: the same records in all, and damage where
 * there is some. A wrong Content-Length is put right: the record with it is
 * whole too. */
START_TEST(test_synthetic_variants)
{
    const size_t none = SIZE_MAX;
    struct buf text = BUF_INIT;
    json_t *list;
    if (!load("tricky/synth/iana-records.json", &text))
        return;
    list = json_loadb(text.data, text.len, 0, NULL);
    ck_assert_uint_eq(json_array_size(list), 343);
    expect_list("plain.warc", list, 60, none, false, false);
    expect_list("single-member.warc.gz", list, 343, none, false, false);
    expect_list("empty-members.warc.gz", list, 343, none, false, false);
    expect_list("split-members.warc.gz", list, 343, none, false, false);
    expect_list("truncated.warc.gz", list, 342, none, true, false);
    expect_list("corrupt-middle.warc.gz", list, 343, 63, true, true);
    expect_list("nul-padded.warc.gz", list, 343, none, false, true);
    expect_list("one-crlf.warc", list, 60, none, false, false);
    expect_list("zero-byte.warc", list, 60, none, false, true);
    expect_list("clen-small.warc", list, 60, none, false, true);
    expect_list("clen-big.warc", list, 60, none, false, true);
    expect_list("lf-only.warc", list, 60, none, false, false);
    expect_list("folded-case.warc", list, 60, none, false, false);
    expect_list("angle.warc", list, 60, none, false, false);
    expect_list("nodict.warc.zst", list, 343, none, false, false);
    expect_list("dict.warc.zst", list, 343, none, false, false);
    json_decref(list);
    buf_close(&text);
}

END_TEST

/* A record in three segments over three files is whole again, whatever the
 * order in which the files come. */
START_TEST(test_segments_across_files)
{
    static const int orders[][3] = {{0, 1, 2}, {2, 0, 1}, {1, 2, 0}};
    struct buf files[3] = {BUF_INIT, BUF_INIT, BUF_INIT};
    for (int i = 0; i < 3; i++) {
        char path[64];
        snprintf(path, sizeof(path), "tricky/synth/iana-segment-%d.warc.gz", i);
        if (!load(path, &files[i]))
            return;
    }
    for (int o = 0; o < 3; o++) {
        struct segments *parts = segments_new(64 << 20);
        size_t complete = 0;
        for (int i = 0; i < 3; i++) {
            struct session s = {.file = buf_slice(&files[orders[o][i]])};
            struct warc_reader_options opts = {.read = session_read, .ctx = &s};
            struct warc_reader *r = session_reader(&opts);
            const struct warc_record *rec;
            const struct warc_record *whole;
            while (warc_reader_next(r, &rec, NULL) == 0 && rec) {
                char sha1[41];
                if (!segments_is_one(rec))
                    continue;
                if (segments_add(parts, rec, &whole) != SEGMENTS_COMPLETE)
                    continue;
                complete++;
                hex_sha1(whole->block, sha1);
                ck_assert_uint_eq(whole->block.len, 655967);
                ck_assert_str_eq(sha1,
                                 "ba9278e1d55b785e36790cd4098badfb531487fa");
                ck_assert(!whole->cut);
                ck_assert_int_eq(whole->type, WARC_RESPONSE);
            }
        }
        ck_assert_uint_eq(complete, 1);
        segments_free(parts);
    }
    for (int i = 0; i < 3; i++)
        buf_close(&files[i]);
}

END_TEST

/* Twenty-seven ways to store one body give that body; two of them are cut, and
 * one has a line end too many. */
START_TEST(test_encodings)
{
    struct buf file = BUF_INIT;
    struct session s = {0};
    struct warc_reader_options opts = {.read = session_read, .ctx = &s};
    struct http_decoder *d;
    struct http_message *m;
    const struct warc_record *rec;
    struct warc_reader *r;
    size_t count = 0;
    if (!load("tricky/synth/iana-encodings.warc.gz", &file))
        return;
    s.file = buf_slice(&file);
    r = session_reader(&opts);
    d = http_decoder_new();
    m = malloc(sizeof(*m));
    while (warc_reader_next(r, &rec, NULL) == 0 && rec) {
        struct slice payload;
        struct slice body = rec->block;
        char *uri = strndup(rec->uri.data, rec->uri.len);
        const char *name = strrchr(uri, '/');
        char sha1[41];
        unsigned flags = 0;
        count++;
        if (http_parse(rec->block, m))
            flags = http_decode(d, m, 1 << 20, &payload, &body);
        if (strcmp(name, "/leading-crlf") == 0)
            body = slice_sub(body, 2, body.len);
        hex_sha1(body, sha1);
        if (strcmp(name, "/gzip-trunc") == 0 ||
            strcmp(name, "/chunked-cut") == 0) {
            ck_assert_uint_gt(body.len, 4000);
            ck_assert(flags & HTTP_CUT);
        } else {
            ck_assert_msg(
                strcmp(sha1, "3da7da65548e176ec1b6ae4562880d31194fdeca") == 0,
                "%s: %zu bytes", name, body.len);
            ck_assert_msg(!(flags & HTTP_CUT), "%s", name);
        }
        free(uri);
    }
    ck_assert_uint_eq(count, 27);
    free(m);
    http_decoder_free(d);
    buf_close(&file);
}

END_TEST

/* --- Found in the wild --------------------------------------------------- */

/* Record counts, losses and notes of each awkward file. Where a file is broken
 * on purpose, what is left of it is what can be had. */
START_TEST(test_tricky_files)
{
    static const struct {
        const char *name;
        size_t count;
        size_t lost;
        size_t notes;
    } files[] = {
        {"aut--badexample.arc.gz", 6, 1, 2},
        {"aut--example.txt.warc.gz", 6, 0, 0},
        {"aut--issue-493.warc", 32, 0, 0},
        {"aut--issue-514.warc", 8, 0, 0},
        {"jwarc--cc.warc.gz", 1, 0, 0},
        {"jwarc--fold.warc", 1, 0, 0},
        {"jwarc--gzip_extra_sl.warc.gz", 1, 0, 0},
        {"jwarc--utf8field.warc", 0, 1, 0},
        {"pywb--dupes.warc.gz", 25, 0, 0},
        {"pywb--example-extra.warc", 6, 0, 0},
        {"pywb--example-url-agnostic-orig.warc.gz", 2, 0, 0},
        {"pywb--example-url-agnostic-revisit.warc.gz", 2, 0, 0},
        {"pywb--example-wget-1-14.warc.gz", 6, 0, 0},
        {"pywb--example-wpull.warc.gz", 4, 0, 0},
        {"pywb--example.warc", 6, 0, 1},
        {"pywb--example.warc.gz", 6, 0, 0},
        {"pywb--example2.warc.gz", 3, 0, 0},
        {"pywb--httpbin-resource.warc.gz", 1, 0, 0},
        {"pywb--missing-status-text.warc", 1, 0, 0},
        {"warcio--bad.arc", 2, 2, 1},
        {"warcio--example-bad-non-chunked.warc.gz", 6, 0, 0},
        {"warcio--example-bad.warc.gz.bad", 6, 0, 0},
        {"warcio--example-digest.warc", 4, 0, 0},
        {"warcio--example-iana.org-chunked.warc", 3, 0, 0},
        {"warcio--example-resource.warc.gz", 3, 0, 0},
        {"warcio--example-space-in-target-uri.warc.gz", 2, 0, 0},
        {"warcio--example-space-in-url.arc", 2, 0, 1},
        {"warcio--example-trunc.warc", 4, 0, 1},
        {"warcio--example-wget-bad-target-uri.warc.gz", 6, 0, 0},
        {"warcio--example-wrong-chunks.warc.gz", 2, 0, 0},
        {"warcio--example.arc", 2, 0, 0},
        {"warcio--example.arc.gz", 2, 0, 0},
        {"warcio--example.warc", 6, 0, 0},
        {"warcio--example.warc.gz", 6, 0, 0},
        {"warcio--post-test.warc.gz", 6, 0, 0},
        {"warcio--standard-torture-missing.warc", 1, 0, 0},
        {"warcio--standard-torture-validate-field.warc", 3, 1, 0},
        {"warcio--standard-torture-validate-record.warc", 17, 0, 0},
        {"webarchive-commons--cz-pagesinczech.arc.gz", 3, 4, 3},
        {"webarchive-commons--link-extraction-test.warc", 8, 0, 0},
        {"webarchive-commons--mutliple-headers.warc", 1, 0, 0},
        {"webarchive-discovery--IAH-20080430204825-00000-blackbook-truncated"
         ".arc",
         9, 0, 0},
        {"webarchive-discovery--IAH-20080430204825-00000-blackbook-truncated"
         ".arc.gz",
         9, 0, 0},
        {"webarchive-discovery--IAH-20080430204825-00000-blackbook-truncated"
         ".warc",
         23, 0, 0},
        {"webarchive-discovery--IAH-20080430204825-00000-blackbook-truncated"
         ".warc.gz",
         23, 0, 0},
        {"webarchive-discovery--IAH-urls-wget.warc.gz", 36, 0, 0},
        {"webarchive-discovery--ip-host-testcase.warc.gz", 6, 0, 0},
        {"webarchive-discovery--transfer_compression_brotli.warc", 5, 0, 0},
        {"webarchive-discovery--transfer_compression_brotli.warc.gz", 5, 0, 0},
        {"webarchive-discovery--transfer_compression_gzip.warc", 5, 0, 0},
        {"webarchive-discovery--transfer_compression_gzip.warc.gz", 5, 0, 0},
        {"webarchive-discovery--transfer_compression_none.warc", 5, 0, 0},
        {"webarchive-discovery--transfer_compression_none.warc.gz", 5, 0, 0},
        {"webarchive-discovery--truncated_datetime.warc", 5, 0, 0},
        {"whirlwind-python--whirlwind.warc", 4, 0, 0},
        {"whirlwind-python--whirlwind.warc.gz", 4, 0, 0},
        {"whirlwind-python--whirlwind.warc.wat", 2, 0, 0},
        {"whirlwind-python--whirlwind.warc.wat.gz", 2, 0, 0},
        {"whirlwind-python--whirlwind.warc.wet", 2, 0, 0},
        {"whirlwind-python--whirlwind.warc.wet.gz", 2, 0, 0},
    };
    struct buf file = BUF_INIT;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char path[200];
        struct items x;
        snprintf(path, sizeof(path), "tricky/%s", files[i].name);
        if (!load(path, &file))
            return;
        read_items(buf_slice(&file), &x);
        ck_assert_msg(x.count == files[i].count, "%s: %zu records",
                      files[i].name, x.count);
        ck_assert_msg(x.lost == files[i].lost && x.notes == files[i].notes,
                      "%s: %zu lost, %zu notes", files[i].name, x.lost,
                      x.notes);
        items_close(&x);
    }
    buf_close(&file);
}

END_TEST

/* A file without records is refused by that name, after reading all of it. */
START_TEST(test_not_archives)
{
    static const char *const names[] = {
        "tricky/gzip/abcd.gz",
        "tricky/gzip/double-single-inflate-error.gz",
        "tricky/gzip/empty.gz",
        "tricky/gzip/hi-2.gz",
        "tricky/gzip/hi.gz",
        "tricky/pywb--invalid_example_1.wacz",
        "tricky/pywb--valid_example_1.wacz",
    };
    struct buf file = BUF_INIT;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct items x;
        if (!load(names[i], &file))
            return;
        read_items(buf_slice(&file), &x);
        ck_assert_int_eq(x.code, ERR_CORRUPT);
        ck_assert_uint_eq(x.count, 0);
        items_close(&x);
    }
    buf_close(&file);
}

END_TEST

/* The native crawls hold as many records as their makers wrote, without one
 * complaint. */
START_TEST(test_native_crawls)
{
    static const struct {
        const char *name;
        size_t count;
    } files[] = {
        {"warc/aut--example.arc.gz", 300},
        {"warc/aut--example.docs.warc.gz", 21},
        {"warc/aut--example.pdf.warc.gz", 76},
        {"warc/aut--example.warc.gz", 822},
        {"warc/pywb--hist-test.warc.gz", 385},
        {"warc/pywb--iana.warc.gz", 343},
        {"warc/webarchive-test-suite--main-page.warc.gz", 151},
        {"warc/webarchive-test-suite--post-blackout.warc.gz", 117},
        {"warc/webarchive-test-suite--sopa-wikipedia-homepage.warc.gz", 164},
    };
    struct buf file = BUF_INIT;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        struct items x;
        if (!load(files[i].name, &file))
            return;
        read_items(buf_slice(&file), &x);
        ck_assert_msg(x.count == files[i].count, "%s: %zu", files[i].name,
                      x.count);
        ck_assert_uint_eq(x.lost + x.notes, 0);
        items_close(&x);
    }
    buf_close(&file);
}

END_TEST

/* --- Indexes ------------------------------------------------------------- */

static const char *text_of(json_t *o, const char *name)
{
    json_t *v = json_object_get(o, name);
    return json_is_string(v) ? json_string_value(v) : NULL;
}

/* Every field the golden line has is in ours, with the same value. */
static bool same_line(const char *golden, const char *ours)
{
    const char *a = strchr(golden, '{');
    const char *b = strchr(ours, '{');
    json_t *x;
    json_t *y;
    const char *name;
    json_t *v;
    bool same;
    if (!a || !b || a - golden != b - ours ||
        memcmp(golden, ours, (size_t)(a - golden)) != 0)
        return false;
    x = json_loads(a, 0, NULL);
    y = json_loads(b, 0, NULL);
    same = x && y;
    json_object_foreach(x, name, v) {
        const char *mine = same ? text_of(y, name) : NULL;
        same = same && mine && strcmp(mine, json_string_value(v)) == 0;
    }
    json_decref(x);
    json_decref(y);
    return same;
}

/* Lines for all records of @warc that have one; owned, NUL-terminated. */
static char *index_of(const char *warc, const char *file_name)
{
    struct buf file = BUF_INIT;
    struct buf lines = BUF_INIT;
    struct session s = {0};
    struct warc_reader_options opts = {.read = session_read, .ctx = &s};
    struct http_message *m = malloc(sizeof(*m));
    const struct warc_record *rec;
    struct warc_reader *r;
    if (!load(warc, &file)) {
        free(m);
        return NULL;
    }
    s.file = buf_slice(&file);
    r = session_reader(&opts);
    while (warc_reader_next(r, &rec, NULL) == 0 && rec) {
        bool is_http = http_parse(rec->block, m);
        if (is_http && m->is_request)
            continue;
        cdx_line(rec, is_http ? m : NULL, file_name, &lines);
    }
    free(m);
    buf_close(&file);
    return buf_take(&lines);
}

static void expect_index(const char *golden, const char *warc, size_t least)
{
    char path[128];
    struct buf want = BUF_INIT;
    const char *name = strstr(warc, "--") + 2;
    char *ours;
    char *line;
    char *save = NULL;
    size_t count = 0;
    snprintf(path, sizeof(path), "cdx/%s", golden);
    if (!load(path, &want))
        return;
    ours = index_of(warc, name);
    buf_cstr(&want);
    for (line = strtok_r(want.data, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        bool found = false;
        const char *p = ours;
        while (*p && !found) {
            const char *e = strchr(p, '\n');
            char *one = strndup(p, (size_t)(e - p));
            found = same_line(line, one);
            free(one);
            p = e + 1;
        }
        ck_assert_msg(found, "%s: not made: %s", golden, line);
        count++;
    }
    ck_assert_uint_ge(count, least);
    free(ours);
    buf_close(&want);
}

/* Our index lines hold what the golden indexes of others hold: keys, times,
 * types, states, digests, offsets and lengths. */
START_TEST(test_indexes)
{
    expect_index("pywb--iana.cdxj", "warc/pywb--iana.warc.gz", 100);
    expect_index("pywb--dupes.cdxj", "tricky/pywb--dupes.warc.gz", 5);
    expect_index("pywb--example.cdxj", "tricky/pywb--example.warc.gz", 3);
    expect_index("pywb--httpbin-resource.cdxj",
                 "tricky/pywb--httpbin-resource.warc.gz", 1);
}

END_TEST

/* Keys of the URL column of a CDX file are its first column. */
static void expect_keys(const char *name, size_t least)
{
    char path[128];
    struct buf text = BUF_INIT;
    struct buf key = BUF_INIT;
    struct slice rest;
    size_t count = 0;
    size_t wrong = 0;
    snprintf(path, sizeof(path), "cdx/%s", name);
    if (!load(path, &text))
        return;
    for (rest = buf_slice(&text); rest.len;) {
        size_t n = slice_find_byte(rest, '\n');
        struct slice line = slice_sub(rest, 0, n);
        struct slice want = slice_sub(line, 0, slice_find_byte(line, ' '));
        struct slice url;
        rest = slice_sub(rest, n + 1, rest.len);
        if (line.len == 0 || line.data[0] == ' ')
            continue;
        url = slice_sub(line, want.len + 1, line.len);
        url = slice_sub(url, slice_find_byte(url, ' ') + 1, url.len);
        url = slice_sub(url, 0, slice_find_byte(url, ' '));
        /* These tools gave dns: the key of a page; others leave it. */
        if (slice_starts_with(url, SLICE_LIT("dns:")))
            continue;
        key.len = 0;
        surt_key(url, &key);
        count++;
        if (slice_eq(want, buf_slice(&key)))
            continue;
        if (wrong++ < 10)
            fprintf(stderr, "%.*s: %s, not %.*s\n", SLICE_ARG(url),
                    buf_cstr(&key), SLICE_ARG(want));
    }
    ck_assert_uint_ge(count, least);
    ck_assert_msg(wrong * 1000 <= count, "%s: %zu of %zu keys differ", name,
                  wrong, count);
    buf_close(&text);
    buf_close(&key);
}

/* Thousands of keys made by the Internet Archive's own code. */
START_TEST(test_surt_keys)
{
    expect_keys("webarchive-commons--cdxfile1.cdx", 1000);
    expect_keys("webarchive-commons--cdxfile2.cdx", 1000);
    expect_keys("webarchive-commons--cdxfile4.cdx", 50);
    expect_keys("pywb--iana.cdx", 100);
}

END_TEST

TEST_MAIN("archives of others",
          test_synthetic_variants,
          test_segments_across_files,
          test_encodings,
          test_tricky_files,
          test_not_archives,
          test_native_crawls,
          test_indexes,
          test_surt_keys)
