/* Values of the lock service in another service, where anybody may write: they
 * are read, or refused, and what was read is written the same. */
#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/panic.h"
#include "chubby-lite/lock_service.h"
#include "chubby-lite/mapped/mapped_path.h"
#include "chubby-lite/mapped/mapped_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_node(struct slice in)
{
    struct mapped_record r;
    struct mapped_record again;
    struct buf b = BUF_INIT;

    if (mapped_record_get(in, &r, NULL) == 0) {
        mapped_record_put(&r, &b);
        INVARIANT(mapped_record_get(buf_slice(&b), &again, NULL) == 0);
        INVARIANT(slice_eq(r.contents, again.contents) &&
                  r.content_generation == again.content_generation);
    }
    buf_close(&b);
}

static void read_lock(struct slice in)
{
    struct lock_state_record s;
    struct lock_state_record again;
    struct buf b = BUF_INIT;
    struct arena a;

    arena_init(&a);
    if (lock_state_record_get(in, &a, &s, NULL) == 0) {
        lock_state_record_put(&s, &b);
        INVARIANT(lock_state_record_get(buf_slice(&b), &a, &again, NULL) == 0);
        INVARIANT(s.count == again.count && s.mode == again.mode &&
                  s.generation == again.generation);
    }
    arena_close(&a);
    buf_close(&b);
}

static void read_texts(struct slice in)
{
    struct mapped_session_record r;
    struct lock_service s;
    struct slice rest;
    struct buf name = BUF_INIT;

    (void)!mapped_session_record_get(in, &r, NULL);
    (void)mapped_name_read(in, &name, &rest);
    INVARIANT(name.len <= in.len);
    (void)!lock_service_parse(in, &s, NULL);
    lock_service_close(&s);
    buf_close(&name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice in = slice_make(data, size);

    read_node(in);
    read_lock(in);
    read_texts(in);
    return 0;
}
