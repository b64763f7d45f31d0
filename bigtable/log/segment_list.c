/* Lists of segments, and the check of a dead server's log by them. The newest
 * segment that has a whole list says which segments there were; one that is not
 * in the directory, or is shorter than it was, is reported as lost and not
 * taken for a log with less in it. A file NUMBER.lost, which an operator makes,
 * stands for a segment that was given up.
 */
#include "bigtable/log/segment_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "bigtable/log/log_format.h"
#include "gfs-lite/fs.h"

/* A list of this size has thousands of segments. */
#define HEAD_BYTES_MAX ((size_t)256 << 10)

#define LOST_SUFFIX ".lost"

/* A log that is looked at. */
struct log_look {
    struct fs *fs;
    const char *dir;
    char **names;
    size_t count;
    struct buf head;    /* Of a segment. */
    struct cursor list; /* In it. */
};

void segment_list_put(struct buf *out, uint64_t number, uint64_t bytes)
{
    PRE(number > 0);
    buf_put_varint(out, number);
    buf_put_varint(out, bytes);
}

bool segment_list_begin(struct slice payload, struct cursor *list)
{
    if (payload.len < 8 || get_le64(payload.data) != 0)
        return false;
    *list = cursor_make(slice_sub(payload, 8, payload.len));
    return true;
}

bool segment_list_next(struct cursor *list, uint64_t *number, uint64_t *bytes)
{
    if (list->bad || cursor_left(list) == 0)
        return false;
    *number = cursor_varint(list);
    *bytes = cursor_varint(list);
    list->bad |= *number == 0; /* No segment has it. */
    return !list->bad;
}

int segment_list_refuse(struct err *err)
{
    err_hint(err, "restore the file, or put an empty one beside it whose name "
                  "ends in .lost instead of .log to give up what it held");
    return ERR_CORRUPT;
}

static bool has_name(const struct log_look *l, const char *name)
{
    for (size_t i = 0; i < l->count; i++)
        if (strcmp(l->names[i], name) == 0)
            return true;
    return false;
}

/* Was segment @number given up? */
static bool is_given_up(const struct log_look *l, uint64_t number)
{
    char name[32];
    snprintf(name, sizeof(name), "%08llu" LOST_SUFFIX,
             (unsigned long long)number);
    return has_name(l, name);
}

/* The highest number of a segment that was given up; 0: none was. */
static uint64_t last_given_up(const struct log_look *l)
{
    uint64_t last = 0;
    PRE(l->names || l->count == 0);
    for (size_t i = 0; i < l->count; i++)
        if (strstr(l->names[i], LOST_SUFFIX))
            last = MAX_OF(last, strtoull(l->names[i], NULL, 10));
    return last;
}

static bool is_there(const struct log_look *l, uint64_t number)
{
    char name[32];
    PRE(number > 0);
    snprintf(name, sizeof(name), "%08llu.log", (unsigned long long)number);
    return has_name(l, name) || is_given_up(l, number);
}

/* The list in the head in hand, if it is whole. */
static bool find_list(struct log_look *l, uint64_t number)
{
    struct slice bytes = buf_slice(&l->head);
    struct log_segment_header header;
    struct log_record_header h;
    struct slice payload;
    bool whole;
    return log_get_segment_header(bytes, &header, &whole, NULL) == 0 && whole &&
           log_get_record(slice_sub(bytes, LOG_SEGMENT_HEADER_BYTES, bytes.len),
                          number, &h, &payload) &&
           h.sequence == 0 && segment_list_begin(payload, &l->list);
}

/* The first bytes of segment @name, which is taken from its writer: so that
 * they are all that was written. */
static int read_head(struct log_look *l, const char *name, struct err *err)
{
    struct buf path = BUF_INIT;
    struct fs_reader *r = NULL;
    uint64_t length;
    size_t got = 0;
    int rc;
    buf_clear(&l->head);
    buf_printf(&path, "%s/%s", l->dir, name);
    rc = fs_recover(l->fs, buf_cstr(&path), &length, err);
    if (rc == 0)
        rc = fs_open(l->fs, buf_cstr(&path), &r, err);
    if (rc == 0) {
        size_t want = (size_t)MIN_OF(fs_reader_size(r), HEAD_BYTES_MAX);
        rc = fs_read_at(r, 0, buf_reserve(&l->head, want), want, &got, err);
        l->head.len = rc ? 0 : got;
    }
    fs_reader_close(r);
    buf_close(&path);
    return rc;
}

/* The list of the segment with the highest number that has one. *@newest: the
 * highest number of all. */
static int read_list(struct log_look *l, uint64_t *newest, struct err *err)
{
    bool found = false;
    int rc = 0;
    *newest = 0;
    for (size_t i = l->count; i > 0 && rc == 0 && !found; i--) {
        uint64_t number;
        if (!log_segment_number(l->names[i - 1], &number))
            continue;
        *newest = MAX_OF(*newest, number);
        rc = read_head(l, l->names[i - 1], err);
        found = rc == 0 && find_list(l, number);
        /* The newest list was in one that is given up: this one may name what
         * was released since. */
        if (found && last_given_up(l) > number)
            l->list = cursor_make(SLICE_EMPTY);
    }
    return rc;
}

static int
segment_list_look(struct log_look *l, uint64_t *newest, struct err *err)
{
    PRE(!l->names);
    int rc = fs_list(l->fs, l->dir, &l->names, &l->count, err);
    return rc ? rc : read_list(l, newest, err);
}

static void look_end(struct log_look *l)
{
    fs_names_free(l->names, l->count);
    buf_close(&l->head);
}

static int
segment_list_missing(const struct log_look *l, uint64_t number, struct err *err)
{
    err_set(err, ERR_CORRUPT, "%s/%08llu.log is missing", l->dir,
            (unsigned long long)number);
    return segment_list_refuse(err);
}

/* Are those listed there? *@bytes: how many segment @number, one of them, had.
 */
static int check_list(const struct log_look *l,
                      uint64_t number,
                      uint64_t *bytes,
                      struct err *err)
{
    struct cursor c = l->list;
    uint64_t listed;
    uint64_t had;
    *bytes = 0;
    while (segment_list_next(&c, &listed, &had)) {
        if (!is_there(l, listed))
            return segment_list_missing(l, listed, err);
        if (listed == number)
            *bytes = MAX_OF(*bytes, had);
    }
    return c.bad ? err_set(err, ERR_CORRUPT, "%s: malformed list of segments",
                           l->dir)
                 : 0;
}

int segment_list_check(struct fs *fs, const char *dir, struct err *err)
{
    struct log_look l = {.fs = fs, .dir = dir};
    uint64_t newest;
    uint64_t bytes;
    int rc = segment_list_look(&l, &newest, err);
    if (rc == 0 && newest == 0 && last_given_up(&l) == 0) {
        err_set(err, ERR_CORRUPT, "%s has no segment", dir);
        rc = segment_list_refuse(err);
    }
    if (rc == 0)
        rc = check_list(&l, 0, &bytes, err);
    look_end(&l);
    return rc;
}

int segment_list_check_one(struct fs *fs,
                           const char *dir,
                           const char *name,
                           uint64_t bytes,
                           uint64_t announced,
                           struct err *err)
{
    struct log_look l = {.fs = fs, .dir = dir};
    uint64_t number = 0;
    uint64_t newest;
    uint64_t had;
    int rc = segment_list_look(&l, &newest, err);
    (void)log_segment_number(name, &number);
    if (rc == 0)
        rc = check_list(&l, number, &had, err);
    if (rc == 0 && announced > newest && !is_given_up(&l, announced))
        rc = segment_list_missing(&l, announced, err);
    if (rc == 0 && bytes < had && !is_given_up(&l, number)) {
        err_set(err, ERR_CORRUPT,
                "%s/%s is cut short: it has %llu bytes, and had %llu", dir,
                name, (unsigned long long)bytes, (unsigned long long)had);
        rc = segment_list_refuse(err);
    }
    look_end(&l);
    return rc;
}
