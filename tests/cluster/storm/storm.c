/* The common part of all clients of real processes: time, journal, contents. */
#define _GNU_SOURCE
#include "tests/cluster/storm/storm.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/hash.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/runtime/world.h"
#include "gfs-lite/gfs.h"

/* Numbers of one process; HOLDERS of a lock are few. */
#define NUMBERS_MAX UINT64_C(1000000)

uint64_t storm_now_us(const struct storm *s)
{
    return world_mono_ns(s->world) / 1000;
}

void storm_sleep_us(const struct storm *s, uint64_t us)
{
    world_sleep_us(s->world, us);
}

uint64_t storm_number(struct storm *s)
{
    PRE(s->last_number < NUMBERS_MAX);
    return s->index * NUMBERS_MAX + ++s->last_number;
}

struct fs *storm_fs(struct storm *s, const char *name, uint64_t timeout_us)
{
    struct gfs_options o = {.namenodes = s->all_servers,
                            .name = name,
                            .security = s->security,
                            .timeout_us = timeout_us};
    struct err err = ERR_INIT;
    struct fs *fs = NULL;
    int rc = fs_gfs_open(s->world, &o, &fs, &err);
    STORM_CHECK(rc == 0, "open the file system: %s", err.text);
    return fs;
}

void storm_fail(const char *fmt, ...)
{
    va_list ap;
    fflush(stdout);
    va_start(ap, fmt);
    fprintf(stderr, "quarry-storm: ");
    vfprintf(stderr, fmt, ap);
    fprintf(stderr, "\n");
    va_end(ap);
    fflush(stderr);
    _Exit(1);
}

/* --- the journal --------------------------------------------------------- */

static void put_line(struct storm *s, struct buf *line)
{
    buf_append_byte(line, '\n');
    STORM_CHECK(fwrite(line->data, 1, line->len, s->journal) == line->len &&
                    fflush(s->journal) == 0,
                "cannot write the journal");
    buf_close(line);
}

void storm_note(struct storm *s, const char *fmt, ...)
{
    struct buf line = BUF_INIT;
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    buf_printf(&line, "%" PRIu64 "\t%s", storm_now_us(s), text);
    put_line(s, &line);
}

/* The history's own line ends with a newline, and is empty of a call that did
 * nothing. */
static void note_call(struct storm *s, char which, size_t op, struct buf *text)
{
    struct slice known =
        slice_sub(buf_slice(text), 0, text->len - (text->len > 0));
    struct buf line = BUF_INIT;
    buf_printf(&line, "%" PRIu64 "\t%c%zu\t%.*s", storm_now_us(s), which, op,
               SLICE_ARG(known.len ? known : SLICE_LIT("-")));
    put_line(s, &line);
    buf_close(text);
}

void storm_note_lock(struct storm *s, size_t op)
{
    struct buf text = BUF_INIT;
    history_lock_print(s->locks, op, &text);
    note_call(s, 'L', op, &text);
}

void storm_note_names(struct storm *s, size_t op)
{
    struct buf text = BUF_INIT;
    history_names_print(s->names, op, &text);
    note_call(s, 'N', op, &text);
}

void storm_note_rows(struct storm *s, size_t op)
{
    struct buf text = BUF_INIT;
    history_rows_print(s->rows, op, &text);
    note_call(s, 'R', op, &text);
}

static struct slice next_field(struct slice *rest)
{
    size_t end = slice_find_byte(*rest, '\t');
    struct slice field = slice_sub(*rest, 0, end);
    *rest = slice_sub(*rest, end + 1, rest->len);
    return field;
}

uint64_t storm_line_number(const struct storm_line *l, size_t field)
{
    uint64_t v = 0;
    int rc = text_parse_u64(l->field[field], &v, NULL);
    STORM_CHECK(rc == 0, "\"%.*s\" in a journal is no number",
                SLICE_ARG(l->field[field]));
    return v;
}

static bool parse_line(struct slice text, struct storm_line *l)
{
    struct slice fields;
    *l = (struct storm_line){.time_us = 0};
    if (text_parse_u64(next_field(&text), &l->time_us, NULL))
        return false;
    l->what = next_field(&text);
    l->rest = text;
    fields = text;
    for (size_t i = 0; i < ARRAY_LEN(l->field); i++)
        l->field[i] = next_field(&fields);
    return true;
}

/* The last line may be half: its process was killed. */
void storm_read_journal(const char *path,
                        void (*each)(void *ctx, const struct storm_line *l),
                        void *ctx)
{
    FILE *f = fopen(path, "r");
    char *line = NULL;
    size_t cap = 0;
    ssize_t len;
    STORM_CHECK(f, "%s: cannot be read", path);
    while ((len = getline(&line, &cap, f)) > 0) {
        struct storm_line l;
        if (line[len - 1] == '\n' &&
            parse_line(slice_make(line, (size_t)len - 1), &l))
            each(ctx, &l);
    }
    free(line);
    fclose(f);
}

/* --- contents ------------------------------------------------------------ */

void storm_fill(uint64_t seed, uint64_t offset, char *dst, size_t len)
{
    for (size_t i = 0; i < len;) {
        uint64_t at = offset + i;
        uint64_t word = hash_mix(seed ^ hash_mix(at / 8));
        size_t from = at % 8;
        size_t n = MIN_OF(8 - from, len - i);
        memcpy(dst + i, (const char *)&word + from, n);
        i += n;
    }
}

size_t storm_record_bytes(uint64_t number)
{
    return 1 + hash_mix(number) % STORM_RECORD_BYTES_MAX;
}

void storm_compare(const char *path,
                   uint64_t seed,
                   uint64_t offset,
                   const char *got,
                   size_t len)
{
    char *want = mem_alloc(len + 1);
    size_t at = 0;
    storm_fill(seed, offset, want, len);
    while (at < len && got[at] == want[at])
        at++;
    STORM_CHECK(at == len,
                "%s: wrong byte %#x instead of %#x at %" PRIu64
                ", read from %" PRIu64,
                path, (unsigned char)got[at], (unsigned char)want[at],
                offset + at, offset);
    mem_free(want);
}
