/* Bytes as a segment of the commit log, as records of it, as a tablet server's
 * list of segments, and as edits of the manifest: nothing reads past them,
 * crashes or hangs. */
#include <stdint.h>
#include <stdlib.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "bigtable/log/commit_log.h"
#include "bigtable/log/log_format.h"
#include "bigtable/log/segment_list.h"
#include "bigtable/log/shared_log.h"
#include "bigtable/row/logged_mutation.h"
#include "bigtable/row/mutation.h"
#include "bigtable/store/manifest_state.h"
#include "gfs-lite/fs.h"

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

/* The bytes as the list that segment 2 of a tablet server's log begins with:
 * what can be read of it is what was written. */
static void read_list(struct slice bytes)
{
    char zeros[8] = {0};
    struct buf payload = BUF_INIT;
    struct buf again = BUF_INIT;
    struct cursor list;
    uint64_t number, had;
    buf_append(&payload, zeros, sizeof(zeros));
    buf_append_slice(&payload, bytes);
    if (!segment_list_begin(buf_slice(&payload), &list))
        PANIC("a list is none");
    while (segment_list_next(&list, &number, &had)) {
        struct cursor one;
        uint64_t a, b;
        buf_clear(&again);
        buf_append(&again, zeros, sizeof(zeros));
        segment_list_put(&again, number, had);
        INVARIANT(segment_list_begin(buf_slice(&again), &one));
        INVARIANT(segment_list_next(&one, &a, &b) && a == number && b == had);
        INVARIANT(!segment_list_next(&one, &a, &b) && !one.bad);
    }
    if (segment_list_begin(bytes, &list))
        while (segment_list_next(&list, &number, &had))
            ;
    buf_close(&payload);
    buf_close(&again);
}

static void write_segment(struct world *w, uint64_t number, struct slice list)
{
    const struct log_segment_header h = {.number = number};
    char zeros[8] = {0};
    const struct slice parts[2] = {slice_make(zeros, sizeof(zeros)), list};
    const struct log_record_header r = {(uint32_t)(sizeof(zeros) + list.len), 1,
                                        0, 0};
    char path[LOG_PATH_BYTES];
    struct buf all = BUF_INIT;
    struct slice bytes;
    struct file *f;
    log_put_segment_header(buf_extend(&all, LOG_SEGMENT_HEADER_BYTES), &h);
    log_put_record(buf_extend(&all, LOG_RECORD_HEADER_BYTES + r.length), number,
                   &r, parts, 2);
    bytes = buf_slice(&all);
    log_segment_path(path, "/s/log", number);
    if (file_open(w, path, FILE_WRITE | FILE_CREATE, &f, NULL) ||
        file_write_at(f, 0, &bytes, 1, NULL))
        PANIC("the simulated disk fails");
    file_close(f);
    buf_close(&all);
}

/* Two segments, of which the second has the bytes as its list. */
static void check_lists(void *arg)
{
    const struct input *in = arg;
    struct fs *fs;
    if (in->bytes.len > 65536 || world_make_dirs(in->world, "/s/log", NULL) ||
        fs_local_open(in->world, "/s", &fs, NULL))
        return;
    write_segment(in->world, 1, SLICE_EMPTY);
    write_segment(in->world, 2, in->bytes);
    if (segment_list_check(fs, "log", NULL) == 0 &&
        segment_list_check_one(fs, "log", "00000001.log", UINT64_MAX, 2,
                               NULL) != 0)
        PANIC("one of a log that is whole is not");
    fs_close(fs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {sim_world_new(&(struct sim_options){.seed = 1}),
                       slice_make(data, size)};
    struct manifest_state state;
    sim_run(in.world, read_segment, &in);
    sim_run(in.world, check_lists, &in);
    world_free(in.world);
    read_list(in.bytes);
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
