/* Encrypted commit logs whose records are damaged as the input says behind
 * checksums that are right, read as a store's and as one that is taken from a
 * dead server: what is read is what was written, or it is said to be damaged.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/crypt/keyring.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "bigtable/log/commit_log.h"
#include "bigtable/log/log_format.h"
#include "bigtable/log/log_seal.h"
#include "bigtable/log/shared_log.h"
#include "tests/lib/fuzz_damage.h"

#define TEXT    "a payload that is long enough to be damaged in many places"
#define RECORDS 4

struct input {
    struct world *world;
    struct slice how;
};

/* Of the records that were written, in their order. */
static int note(void *ctx,
                uint64_t sequence,
                uint32_t count,
                struct slice payload,
                struct err *err)
{
    unsigned *read = ctx;
    (void)err;
    ++*read;
    INVARIANT(sequence == *read && count == 1);
    INVARIANT(slice_eq(payload, SLICE_LIT(TEXT)));
    return 0;
}

/* Damage the sealed payload of the record at @p of @h, whose checksum is
 * made right. */
static bool
damage_record(struct slice how, char *p, const struct log_record_header *h)
{
    struct buf unit = BUF_INIT;
    struct slice sealed;
    bool changed;
    buf_append(&unit, p + LOG_RECORD_HEADER_BYTES, h->length);
    changed = fuzz_damage(how, &unit);
    sealed = buf_slice(&unit);
    log_put_record(p, 1, h, &sealed, 1);
    buf_close(&unit);
    return changed;
}

/* A segment; of the record that the first byte names the payload is damaged. */
static bool
put_segment(const struct input *in, struct keyring *k, struct buf *out)
{
    const struct log_segment_header h = {.number = 1, .is_sealed = true};
    const struct slice text = SLICE_LIT(TEXT);
    struct unit_sealer *s;
    bool changed = false;
    int rc = log_sealer_new(k, &s, NULL);
    INVARIANT(rc == 0);
    log_put_segment_header(buf_extend(out, LOG_SEGMENT_HEADER_BYTES), &h);
    for (unsigned i = 0; i < RECORDS; i++) {
        const struct log_record_header r = {
            .length = (uint32_t)(text.len + LOG_SEAL_BYTES),
            .count = 1,
            .sequence = i + 1};
        char *p = buf_extend(out, LOG_RECORD_HEADER_BYTES + r.length);
        log_put_sealed_record(p, s, h.number, &r, &text, 1);
        if (in->how.len && (unsigned char)in->how.data[0] % RECORDS == i)
            changed = damage_record(slice_sub(in->how, 1, in->how.len), p, &r);
    }
    unit_sealer_free(s);
    return changed;
}

static void read_store_log(const struct input *in,
                           struct keyring *k,
                           struct slice segment,
                           bool changed)
{
    const struct commit_log_options o = {
        .world = in->world, .keyring = k, .dir = "/log"};
    struct log_end end;
    struct file *f;
    unsigned read = 0;
    int rc;
    if (world_mkdir(in->world, "/log", NULL) ||
        file_open(in->world, "/log/00000001.log", FILE_WRITE | FILE_CREATE, &f,
                  NULL) ||
        file_write_at(f, 0, &segment, 1, NULL))
        PANIC("the simulated disk fails");
    file_close(f);
    rc = log_read(&o, false, note, &read, &end, NULL);
    INVARIANT(rc == (changed ? ERR_CORRUPT : 0));
    INVARIANT(changed || read == RECORDS);
}

static void read_sealed(void *arg)
{
    const struct input *in = arg;
    struct keyring *k = keyring_new_ephemeral(in->world);
    struct buf segment = BUF_INIT;
    bool changed = put_segment(in, k, &segment);
    uint64_t announced = 0;
    unsigned read = 0;
    int rc;
    read_store_log(in, k, buf_slice(&segment), changed);
    rc = shared_log_read("00000001.log", &segment, k, note, &read, &announced,
                         NULL);
    INVARIANT(rc == (changed ? ERR_CORRUPT : 0));
    INVARIANT(changed || read == RECORDS);
    buf_close(&segment);
    keyring_unref(k);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {sim_world_new(&(struct sim_options){.seed = 1}),
                       slice_make(data, size)};
    sim_run(in.world, read_sealed, &in);
    world_free(in.world);
    return 0;
}
