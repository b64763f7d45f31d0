/* Bytes as a replica's log, what says how long it is, snapshot and messages:
 * nothing reads past them, crashes, hangs or makes a core break its own rules.
 * The first byte says as what. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/panic.h"
#include "base/replica/log_synced.h"
#include "base/replica/raft.h"
#include "base/replica/replica_log.h"
#include "base/replica/replica_log_format.h"
#include "base/replica/replica_message.h"
#include "base/replica/replica_snapshot.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"

struct input {
    struct world *world;
    struct slice bytes;
};

static void write_file(struct world *w, const char *path, struct slice bytes)
{
    struct file *f;
    if (file_open(w, path, FILE_WRITE | FILE_CREATE, &f, NULL) ||
        file_write_at(f, 0, &bytes, 1, NULL))
        PANIC("the simulated disk fails");
    file_close(f);
}

/* --- logs ---------------------------------------------------------------- */

/* A log reads the same again after it was opened for writing. */
static void read_log(struct world *w)
{
    const struct replica_log_options o = {.world = w, .directory = "/log"};
    struct replica_log_state a, b;
    struct replica_log *l;
    if (replica_log_open(&o, &l, &a, NULL))
        return;
    replica_log_close(l);
    if (replica_log_read(&o, &b, NULL))
        PANIC("a log that was opened cannot be read");
    INVARIANT(raft_log_last(&a.entries) == raft_log_last(&b.entries));
    INVARIANT(a.term == b.term && a.vote == b.vote);
    raft_log_close(&a.entries);
    raft_log_close(&b.entries);
}

static void run_raw_log(void *arg)
{
    const struct input *in = arg;
    const struct log_header h = {.number = 1, .term = 1};
    struct buf b = BUF_INIT;
    log_header_put(&h, &b);
    buf_append_slice(&b, in->bytes);
    INVARIANT(world_mkdir(in->world, "/log", NULL) == 0);
    write_file(in->world, "/log/0000000001.seg", buf_slice(&b));
    buf_close(&b);
    read_log(in->world);
}

/* Records with right checksums, of any order and kind. */
static void run_records(void *arg)
{
    const struct input *in = arg;
    const struct log_header h = {.number = 1, .term = 1};
    struct cursor c = cursor_make(in->bytes);
    struct buf b = BUF_INIT;
    log_header_put(&h, &b);
    while (cursor_left(&c) && !c.bad) {
        uint8_t kind = cursor_u8(&c);
        struct log_record r = {.position = b.len - LOG_HEADER_BYTES,
                               .kind = (enum log_kind)(LOG_META + kind % 7),
                               .index = cursor_varint(&c),
                               .term = cursor_varint(&c)};
        r.payload = cursor_lslice(&c);
        log_record_put(1, &r, &b);
    }
    INVARIANT(world_mkdir(in->world, "/log", NULL) == 0);
    write_file(in->world, "/log/0000000001.seg", buf_slice(&b));
    buf_close(&b);
    read_log(in->world);
}

/* A log of three records, and beside it slots that say anything of it, with
 * right checksums; then single bytes are set. A refusal
 * has a sentence, and a log that was accepted once is accepted again. */
static void run_synced(void *arg)
{
    const struct input *in = arg;
    const struct log_header h = {.number = 1, .term = 1};
    struct cursor c = cursor_make(in->bytes);
    struct log_synced synced;
    struct log_reach reach;
    struct buf b = BUF_INIT;
    INVARIANT(world_mkdir(in->world, "/log", NULL) == 0);
    log_header_put(&h, &b);
    for (uint64_t i = 1; i <= 3; i++) {
        struct log_record r = {.position = b.len - LOG_HEADER_BYTES,
                               .kind = LOG_COMMAND,
                               .index = i,
                               .term = 1,
                               .payload = SLICE_LIT("command")};
        log_record_put(1, &r, &b);
    }
    write_file(in->world, "/log/0000000001.seg", buf_slice(&b));
    buf_close(&b);
    INVARIANT(log_synced_open(&synced, in->world, "/log", NULL) == 0);
    for (int i = 0; i < LOG_SYNCED_SLOTS && !c.bad; i++) {
        reach = (struct log_reach){cursor_varint(&c), cursor_varint(&c),
                                   cursor_varint(&c)};
        log_synced_write(&synced, &reach);
    }
    while (cursor_left(&c) >= 3) {
        uint64_t page = cursor_u8(&c) % LOG_SYNCED_SLOTS;
        uint64_t at = page * LOG_SYNCED_STEP + cursor_u8(&c) % 40;
        struct slice byte = cursor_bytes(&c, 1);
        if (file_write_at(synced.file, at, &byte, 1, NULL))
            PANIC("the simulated disk fails");
    }
    log_synced_close(&synced);
    read_log(in->world);
}

/* --- snapshots ----------------------------------------------------------- */

static void run_snapshot(void *arg)
{
    const struct input *in = arg;
    struct snapshot_info info;
    struct buf image = BUF_INIT;
    struct buf file = BUF_INIT;
    buf_append_slice(&file, in->bytes);
    /* The checksum as it should be, so that the fields are believed. */
    if (file.len >= SNAPSHOT_HEADER_BYTES) {
        size_t config = get_le32(file.data + 44);
        if (config <= file.len - SNAPSHOT_HEADER_BYTES)
            put_le32(
                file.data + 12,
                crc32c(file.data + 16, SNAPSHOT_HEADER_BYTES - 16 + config));
    }
    write_file(in->world, "/snapshot", buf_slice(&file));
    if (snapshot_load_file(in->world, NULL, "/snapshot", &info, &image, NULL) ==
        0)
        INVARIANT(image.len == info.image_bytes);
    buf_close(&image);
    buf_close(&file);
}

/* --- messages ------------------------------------------------------------ */

static struct raft *new_core(void)
{
    struct raft_config config = {0};
    struct raft_options o = {
        .id = 1, .election_us = 1000, .heartbeat_us = 100, .seed = 1};
    struct raft_stable s = {
        .term = 1, .snapshot_index = 1, .snapshot_term = 1, .config = &config};
    for (uint64_t id = 1; id <= 3; id++)
        raft_config_put(&config, &(struct raft_member){id, true, "a:1"});
    return raft_new(&o, &s, 1);
}

/* Do at once whatever the core asks for. */
static void obey(struct raft *r, uint64_t now)
{
    struct raft_action a;
    uint64_t done = 0;
    bool install = false;
    while (raft_next_action(r, &a)) {
        if (a.kind != RAFT_DO_SEND && a.op > done)
            done = a.op;
        install = install || a.kind == RAFT_DO_INSTALL;
        raft_action_close(&a);
    }
    if (done)
        raft_stored(r, now, done);
    if (install)
        raft_installed(r, now, 0, 0, NULL);
}

static void take(struct raft *r, uint64_t now, struct raft_message *m)
{
    struct raft_message reply;
    uint64_t after;
    bool answer = raft_receive(r, now, m, &reply, &after);
    INVARIANT(!answer || raft_message_is_reply(reply.kind));
    INVARIANT(raft_commit(r) <= raft_log_last(raft_entries(r)));
    obey(r, now);
    raft_tick(r, now);
    obey(r, now);
}

/* A body and an attachment, decoded; what is right goes to a core, and comes
 * out of the encoder as it went in. */
static void run_message(struct slice bytes)
{
    struct cursor c = cursor_make(bytes);
    struct slice body = cursor_lslice(&c);
    struct raft_message m;
    uint64_t cell;
    if (c.bad)
        return;
    if (message_decode(body, slice_make(c.p, cursor_left(&c)), &cell, &m,
                       NULL) == 0) {
        struct buf b = BUF_INIT;
        struct buf a = BUF_INIT;
        struct raft *r = new_core();
        message_encode(cell, &m, &b, &a);
        if (m.kind == RAFT_APPEND || m.kind == RAFT_SNAPSHOT)
            INVARIANT(a.len <= cursor_left(&c) + 9 * m.entry_count);
        take(r, 10, &m);
        raft_free(r);
        buf_close(&a);
        buf_close(&b);
    }
    raft_message_close(&m);
}

/* A talk with two members that say anything. */
static void run_talk(struct slice bytes)
{
    struct cursor c = cursor_make(bytes);
    struct raft *r = new_core();
    uint64_t now = 10;
    while (cursor_left(&c) && !c.bad) {
        uint8_t kind = cursor_u8(&c);
        uint8_t flags = cursor_u8(&c);
        struct raft_message m = {
            .kind = (enum raft_message_kind)(RAFT_PREVOTE + kind % 10),
            .refusal = (enum raft_refusal)(flags & 3),
            .from = 2 + (flags >> 2 & 1),
            .to = 1,
            .transfer = flags >> 3 & 1,
            .has_entries = flags >> 4 & 1,
            .last = flags >> 5 & 1,
            .entry_count = flags >> 6,
            .term = cursor_varint(&c),
            .index = cursor_varint(&c),
            .index_term = cursor_varint(&c),
            .commit = cursor_varint(&c),
            .hint_index = cursor_varint(&c),
            .hint_term = cursor_varint(&c)};
        m.entries = mem_zalloc(4, sizeof(*m.entries));
        for (size_t i = 0; i < m.entry_count; i++)
            m.entries[i] = (struct raft_entry){
                1 + m.term % 5, (enum raft_entry_kind)(1 + (kind >> 4) % 3),
                raft_bytes_new(cursor_bytes(&c, kind >> 5)), 0};
        now += kind % 7 * 300;
        take(r, now, &m);
        raft_message_close(&m);
        if (raft_may_propose(r) && kind % 3 == 0) {
            struct raft_bytes *b = raft_bytes_new(SLICE_LIT("command"));
            raft_propose(r, now, &b, 1);
            raft_barrier(r, now);
            obey(r, now);
        }
    }
    raft_free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const task_fn on_disk[] = {run_raw_log, run_records, run_snapshot,
                                      NULL,        NULL,        run_synced};
    struct input in;
    unsigned what;
    if (size == 0)
        return 0;
    what = data[0] % ARRAY_LEN(on_disk);
    in.bytes = slice_make(data + 1, size - 1);
    if (what == 3)
        run_message(in.bytes);
    else if (what == 4)
        run_talk(in.bytes);
    if (!on_disk[what])
        return 0;
    in.world = sim_world_new(&(struct sim_options){.seed = 1});
    sim_run(in.world, on_disk[what], &in);
    world_free(in.world);
    return 0;
}
