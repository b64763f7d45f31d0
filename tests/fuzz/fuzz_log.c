/* Bytes as a segment of the commit log, as records of it, and as edits of the
 * manifest: nothing reads past them, crashes or hangs. */
#include <stdint.h>
#include <stdlib.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/runtime/sim.h"
#include "base/runtime/world.h"
#include "bigtable/row/mutation.h"
#include "bigtable/tablet/commit_log.h"
#include "bigtable/tablet/log_format.h"
#include "bigtable/tablet/manifest_state.h"
#include "bigtable/tablet/shared_log.h"
#include "bigtable/tablet/writer.h"

/* The mutations of one record, as recovery takes them apart. */
static void take_apart(struct slice payload)
{
    struct cursor c = cursor_make(payload);
    struct logged_mutation m;
    while (logged_mutation_read(&c, &m)) {
        struct cursor ops = cursor_make(m.ops);
        struct quarry_mutation borrowed;
        struct mutation_op op;
        for (size_t i = 0; mutation_next(&ops, &op) && i < m.count; i++)
            INVARIANT(m.families + 2 * i + 2 <= payload.data + payload.len);
        if (mutation_borrow(m.row, m.ops, m.count, &borrowed, NULL) == 0 &&
            mutation_check(&borrowed, NULL) != 0)
            PANIC("a mutation that was taken is none");
    }
}

static int note(void *ctx,
                uint64_t sequence,
                uint32_t count,
                struct slice payload,
                struct err *err)
{
    (void)ctx;
    (void)sequence;
    (void)count;
    (void)err;
    take_apart(payload);
    return 0;
}

struct input {
    struct world *world;
    struct slice bytes;
};

/* The bytes as the one segment there is, behind a header that is right. */
static void read_segment(void *arg)
{
    const struct input *in = arg;
    const struct commit_log_options o = {.world = in->world, .dir = "/log"};
    const struct log_segment_header h = {.number = 1};
    char header[LOG_SEGMENT_HEADER_BYTES];
    struct slice parts[2] = {slice_make(header, sizeof(header)), in->bytes};
    struct file *f;
    struct log_end end;
    log_put_segment_header(header, &h);
    if (world_mkdir(in->world, "/log", NULL) ||
        file_open(in->world, "/log/00000001.log", FILE_WRITE | FILE_CREATE, &f,
                  NULL) ||
        file_write_at(f, 0, parts, 2, NULL))
        PANIC("the simulated disk fails");
    file_close(f);
    if (log_read(&o, false, note, NULL, &end, NULL) != 0 &&
        log_read(&o, true, note, NULL, &end, NULL) != 0)
        PANIC("repair does not help");
}

/* The same as a segment of a tablet server's log, taken from it. */
static void read_shared(struct slice records)
{
    const struct log_segment_header h = {.number = 1};
    struct buf all = BUF_INIT;
    uint64_t announced;
    log_put_segment_header(buf_extend(&all, LOG_SEGMENT_HEADER_BYTES), &h);
    buf_append_slice(&all, records);
    if (shared_log_read("00000001.log", &all, NULL, note, NULL, &announced,
                        NULL)) {
        /* Damaged: it says so. */
    }
    buf_consume(&all, LOG_SEGMENT_HEADER_BYTES);
    if (shared_log_read("00000001.log", &all, NULL, note, NULL, &announced,
                        NULL)) {
        /* Its header, too. */
    }
    buf_close(&all);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {sim_world_new(&(struct sim_options){.seed = 1}),
                       slice_make(data, size)};
    struct manifest_state state;
    sim_run(in.world, read_segment, &in);
    world_free(in.world);
    take_apart(in.bytes);
    read_shared(in.bytes);
    manifest_state_init(&state);
    if (manifest_state_apply(&state, in.bytes, NULL) == 0) {
        struct buf edit = BUF_INIT;
        struct manifest_state again;
        manifest_state_encode(&state, &edit);
        manifest_state_init(&again);
        if (manifest_state_apply(&again, buf_slice(&edit), NULL))
            PANIC("an encoded state does not apply");
        manifest_state_close(&again);
        buf_close(&edit);
    }
    manifest_state_close(&state);
    return 0;
}
