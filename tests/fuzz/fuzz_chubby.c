/* Commands and images of the lock service from anywhere: the machine answers
 * or refuses, and what it loads it can save. */
#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/panic.h"
#include "chubby-lite/cell_machine.h"
#include "chubby-lite/lock_survey.h"
#include "chubby-lite/lock_wire.h"
#include "tests/lib/fuzz_again.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Commands one after the other: two bytes of length, then the bytes. */
static void run_commands(struct cell *c, struct slice s)
{
    struct buf answer = BUF_INIT;

    while (s.len >= 2) {
        size_t len = (unsigned char)s.data[0] + 256u * (unsigned char)s.data[1];
        buf_clear(&answer);
        cell_apply(c, slice_sub(s, 2, 2 + len), &answer);
        s = slice_sub(s, 2 + len, s.len);
    }
    buf_close(&answer);
}

static void read_sessions(struct slice in)
{
    struct chubby_session_list l;
    struct buf again = BUF_INIT;
    struct arena a;

    arena_init(&a);
    if (chubby_session_list_get(in, &a, &l, NULL) == 0)
        chubby_session_list_put(&l, &again);
    buf_close(&again);
    arena_close(&a);
}

static void read_entries(struct slice in)
{
    struct chubby_entry_list l;
    struct buf again = BUF_INIT;
    struct arena a;

    arena_init(&a);
    if (chubby_entry_list_get(in, &a, &l, NULL) == 0)
        chubby_entry_list_put(&l, &again);
    buf_close(&again);
    arena_close(&a);
}

#define FUZZ_CASE(type, what)                                                  \
    if (which-- == 0)                                                          \
        FUZZ_AGAIN(type, in);

/* Messages beside commands: the first byte chooses. */
static void read_message(struct slice s)
{
    unsigned which = s.len ? (unsigned char)s.data[0] : 0;
    struct slice in = slice_sub(s, 1, s.len);

    if (which == 254) {
        read_sessions(in);
    } else if (which == 255) {
        read_entries(in);
    } else {
        CHUBBY_MESSAGES(FUZZ_CASE)
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cell *c = cell_new(NULL, NULL);
    struct buf image = BUF_INIT;
    struct slice s = slice_make(data, size);
    int rc;

    if (size > 1 && data[0] == 255) {
        read_message(slice_sub(s, 1, size));
        cell_free(c);
        return 0;
    }
    if (size > 0 && data[0] & 1) {
        run_commands(c, slice_sub(s, 1, s.len));
    } else if (cell_load(c, s, NULL)) {
        cell_free(c);
        return 0;
    }
    cell_save(c, &image);
    rc = cell_load(c, buf_slice(&image), NULL);
    INVARIANT(rc == 0);
    buf_close(&image);
    cell_free(c);
    return 0;
}
