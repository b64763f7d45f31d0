/* Encrypted files of a member of a cell, and the formats below them, damaged as
 * the input says behind checksums that are right: what is read is what was
 * written, or it is said to be damaged. The first byte says which: KEYS, a
 * small file, an image, the log. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/panic.h"
#include "base/crypt/keyring.h"
#include "base/crypt/master_key.h"
#include "base/crypt/sealed_bytes.h"
#include "base/replica/replica_log.h"
#include "base/replica/replica_log_format.h"
#include "base/replica/replica_snapshot.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "tests/lib/fuzz_damage.h"

#define TEXT       "a text that is long enough to be damaged in many places"
#define RECORDS    4
#define FILE_BYTES ((size_t)1 << 20)

struct input {
    struct world *world;
    struct slice how;
};

static void put_file(struct world *w, const char *path, struct slice bytes)
{
    struct file *f;
    if (file_open(w, path, FILE_WRITE | FILE_CREATE | FILE_TRUNCATE, &f,
                  NULL) ||
        file_write_at(f, 0, &bytes, 1, NULL))
        PANIC("the simulated disk fails");
    file_close(f);
}

static void get_file(struct world *w, const char *path, struct buf *out)
{
    struct file *f;
    size_t got = 0;
    if (file_open(w, path, FILE_READ, &f, NULL) ||
        file_read_at(f, 0, buf_reserve(out, FILE_BYTES), FILE_BYTES, &got,
                     NULL))
        PANIC("the simulated disk fails");
    out->len = got;
    file_close(f);
}

/* --- KEYS ---------------------------------------------------------------- */

static int open_keys(struct world *w, struct keyring **out)
{
    static const unsigned char bytes[32] = {7};
    struct master_keys *m = master_keys_of(bytes);
    int rc =
        keyring_open(w, keyring_world_place(w, "/KEYS"), m, true, out, NULL);
    master_keys_unref(m);
    return rc;
}

/* Another name of the master key is a denial; its checksum is made right. */
static void run_keys(void *arg)
{
    const struct input *in = arg;
    struct buf b = BUF_INIT;
    struct keyring *k;
    bool changed;
    int rc = open_keys(in->world, &k);
    INVARIANT(rc == 0);
    INVARIANT(keyring_rotate(k, NULL) == 0);
    keyring_unref(k);
    get_file(in->world, "/KEYS", &b);
    changed = fuzz_damage(in->how, &b);
    put_le32(b.data + 8, crc32c(b.data + 12, b.len - 12));
    put_file(in->world, "/KEYS", buf_slice(&b));
    rc = open_keys(in->world, &k);
    INVARIANT(rc == 0 || rc == ERR_CORRUPT || rc == ERR_DENIED);
    /* The place of the checksum is the one whose damage was made good. */
    INVARIANT(rc == 0 || changed);
    keyring_unref(k);
    buf_close(&b);
}

/* --- small files --------------------------------------------------------- */

static void run_small_file(void *arg)
{
    const struct input *in = arg;
    struct keyring *k = keyring_new_ephemeral(in->world);
    struct buf b = BUF_INIT;
    bool is_sealed;
    int rc = sealed_bytes_put(k, SLICE_LIT(TEXT), &b, NULL);
    INVARIANT(rc == 0);
    (void)fuzz_damage(in->how, &b);
    put_le32(b.data + 8, crc32c(b.data + 12, b.len - 12));
    is_sealed = memcmp(b.data, "QRYSEAL1", 8) == 0;
    rc = sealed_bytes_open(k, &b, 0, NULL);
    INVARIANT(rc == 0 || rc == ERR_CORRUPT);
    if (rc == 0 && is_sealed)
        INVARIANT(slice_eq(buf_slice(&b), SLICE_LIT(TEXT)));
    buf_close(&b);
    keyring_unref(k);
}

/* --- images -------------------------------------------------------------- */

static const char *const image_path = "/snapshot-00000000000000000009";

static void run_image(void *arg)
{
    const struct input *in = arg;
    struct keyring *k = keyring_new_ephemeral(in->world);
    struct snapshot_info info = {.index = 9, .term = 1};
    struct buf image = BUF_INIT;
    struct buf file = BUF_INIT;
    int rc;
    info.image_bytes = sizeof(TEXT) - 1;
    raft_config_put(&info.config, &(struct raft_member){1, true, "a:1"});
    rc = snapshot_write(in->world, k, "/", &info, SLICE_LIT(TEXT), NULL);
    INVARIANT(rc == 0);
    get_file(in->world, image_path, &file);
    (void)fuzz_damage(in->how, &file);
    put_le32(file.data + 12, crc32c(file.data, 12));
    put_file(in->world, image_path, buf_slice(&file));
    rc = snapshot_load_file(in->world, k, image_path, &info, &image, NULL);
    INVARIANT(rc == 0 || rc == ERR_CORRUPT);
    if (rc == 0)
        INVARIANT(slice_eq(buf_slice(&image), SLICE_LIT(TEXT)));
    buf_close(&image);
    buf_close(&file);
    keyring_unref(k);
}

/* --- logs ---------------------------------------------------------------- */

/* A segment of sealed records, of which the one that the first byte names is
 * damaged. */
static bool
put_segment(const struct input *in, struct keyring *k, struct buf *out)
{
    const struct log_header h = {.number = 1, .term = 1, .is_sealed = true};
    struct unit_sealer *s;
    struct buf unit = BUF_INIT;
    bool changed = false;
    int rc = replica_log_sealer_new(k, &s, NULL);
    INVARIANT(rc == 0);
    log_header_put(&h, out);
    for (unsigned i = 0; i < RECORDS; i++) {
        struct log_record r = {.position = out->len - LOG_HEADER_BYTES,
                               .kind = LOG_COMMAND,
                               .index = i + 1,
                               .term = 1,
                               .payload = SLICE_LIT(TEXT)};
        buf_clear(&unit);
        log_record_seal(s, h.number, &r, &unit);
        if (in->how.len && (unsigned char)in->how.data[0] % RECORDS == i)
            changed = fuzz_damage(slice_sub(in->how, 1, in->how.len), &unit);
        r.payload = buf_slice(&unit);
        log_record_put(h.number, &r, out);
    }
    unit_sealer_free(s);
    buf_close(&unit);
    return changed;
}

static void run_log(void *arg)
{
    const struct input *in = arg;
    struct keyring *k = keyring_new_ephemeral(in->world);
    const struct replica_log_options o = {
        .world = in->world, .keyring = k, .directory = "/log"};
    struct replica_log_state state;
    struct replica_log *l;
    struct buf segment = BUF_INIT;
    bool changed = put_segment(in, k, &segment);
    int rc;
    INVARIANT(world_mkdir(in->world, "/log", NULL) == 0);
    put_file(in->world, "/log/0000000001.seg", buf_slice(&segment));
    rc = replica_log_open(&o, &l, &state, NULL);
    INVARIANT(rc == (changed ? ERR_CORRUPT : 0));
    if (rc == 0) {
        INVARIANT(raft_log_last(&state.entries) == RECORDS);
        raft_log_close(&state.entries);
        replica_log_close(l);
    }
    buf_close(&segment);
    keyring_unref(k);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const task_fn runs[] = {run_keys, run_small_file, run_image,
                                   run_log};
    struct input in;
    if (size == 0)
        return 0;
    in = (struct input){sim_world_new(&(struct sim_options){.seed = 1}),
                        slice_make(data + 1, size - 1)};
    sim_run(in.world, runs[data[0] % ARRAY_LEN(runs)], &in);
    world_free(in.world);
    return 0;
}
