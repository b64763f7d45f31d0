/* Runs over lines: records cut from a text, their keys and places counted; see
 * sawzall.h. Numbers become text here once a line, so they are counted up as
 * text instead of being printed.
 */
#include <string.h>

#include "base/core/panic.h"
#include "sawzall-lite/machine/run.h"

/* Lines between two looks at the cancel flag. */
#define LINES_UNCANCELLED 64

#define DIGITS_MAX 20 /* Of 64 bits. */

/* A number in decimal, at the end of its room. */
struct line_number {
    char digits[DIGITS_MAX];
    size_t len;
};

static void number_set(struct line_number *n, uint64_t value)
{
    n->len = 0;
    do {
        n->digits[DIGITS_MAX - ++n->len] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
}

static void number_increment(struct line_number *n)
{
    size_t at = DIGITS_MAX;
    while (at > 0 && n->digits[at - 1] == '9' && DIGITS_MAX - at < n->len)
        n->digits[--at] = '0';
    if (DIGITS_MAX - at == n->len && n->len < DIGITS_MAX) {
        n->digits[--at] = '1';
        n->len++;
    } else if (at > 0) {
        n->digits[at - 1]++;
    }
}

static struct slice number_slice(const struct line_number *n)
{
    return slice_make(n->digits + DIGITS_MAX - n->len, n->len);
}

void saw_line_place(uint64_t offset, char place[SAW_PLACE_BYTES])
{
    for (size_t i = SAW_PLACE_BYTES; i-- > 0; offset /= 10)
        place[i] = (char)('0' + offset % 10);
}

static bool run_is_cancelled(const struct saw_run *r)
{
    return r->vm.cancel &&
           atomic_load_explicit(r->vm.cancel, memory_order_relaxed);
}

int saw_run_lines(struct saw_run *r,
                  const struct saw_line_block *lines,
                  uint64_t *done,
                  struct err *err)
{
    const char *begin = lines->text.data;
    const char *end = begin + lines->text.len;
    const char *p = begin;
    struct line_number number;
    char digits[SAW_PLACE_BYTES];
    struct slice place = SLICE_EMPTY;

    *done = 0;
    number_set(&number, lines->number);
    while (p < end) {
        const char *feed = memchr(p, '\n', (size_t)(end - p));
        const char *stop = feed ? feed : end;
        int rc;
        if (*done % LINES_UNCANCELLED == 0 && run_is_cancelled(r))
            return err_set(err, ERR_CANCELLED, "cancelled");
        if (r->uses_origin) {
            saw_line_place(lines->offset + (uint64_t)(p - begin), digits);
            place = slice_make(digits, sizeof(digits));
        }
        rc = saw_run_record_at(r, slice_make(p, (size_t)(stop - p)),
                               number_slice(&number), place, err);
        if (UNLIKELY(rc))
            return rc;
        number_increment(&number);
        ++*done;
        p = stop + 1;
    }
    return 0;
}
