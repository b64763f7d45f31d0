/* The whole, and nothing but the whole. */
#include "tests/sim/cell_health.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/hash_map.h"
#include "base/core/panic.h"
#include "chubby-lite/server.h"
#include "gfs-lite/gfs.h"
#include "gfs-lite/namenode/namenode.h"
#include "tests/sim/storm.h"

#define COPIES_DIR SIM_CELL_CHUNK_DIR "/copies"

/* Between looks. */
#define LOOK_US (SECOND_US / 2)

/* --- whole --------------------------------------------------------------- */

static bool is_whole(struct fs *fs, struct gfs_status *st)
{
    struct arena a;
    int rc;
    arena_init(&a);
    rc = gfs_get_status(fs, &a, st, NULL);
    arena_close(&a);
    return rc == 0 && !st->safe_mode && !st->lost && !st->unreported &&
           !st->under_replicated && !st->copying && !st->open_files;
}

/* Files that lack copies, or are open. */
static void put_findings(struct fs *fs, struct buf *out)
{
    struct gfs_findings f;
    struct arena a;
    arena_init(&a);
    if (gfs_check(fs, "", SLICE_EMPTY, &a, &f, NULL) == 0)
        for (size_t i = 0; i < f.count; i++)
            buf_printf(out, "; %.*s chunk %" PRIu64 ": %u of %u copies%s",
                       SLICE_ARG(f.findings[i].path), f.findings[i].chunk,
                       f.findings[i].copies, f.findings[i].wanted,
                       f.findings[i].is_open ? ", open" : "");
    arena_close(&a);
}

static void check_in_time(struct fs *fs,
                          const struct gfs_status *st,
                          uint64_t from,
                          uint64_t bound_us)
{
    struct buf findings = BUF_INIT;
    if (storm_now_us() - from < bound_us)
        return;
    put_findings(fs, &findings);
    storm_fail(
        "not whole after %" PRIu64 " s: %s%" PRIu64 " chunks lost, %" PRIu64
        " with few copies, %" PRIu64 " being copied, %" PRIu64 " files open%s",
        bound_us / SECOND_US, st->safe_mode ? "safe mode, " : "", st->lost,
        st->under_replicated, st->copying, st->open_files, buf_cstr(&findings));
}

uint64_t cell_await_whole(struct sim_cell *cell, uint64_t bound_us)
{
    struct fs *fs = sim_cell_fs(cell, sim_director(cell->sim), "status");
    struct gfs_status st = {.files = 0};
    uint64_t from = storm_now_us();
    while (!is_whole(fs, &st)) {
        check_in_time(fs, &st, from, bound_us);
        storm_sleep_us(LOOK_US);
    }
    fs_close(fs);
    return storm_now_us() - from;
}

/* --- leaders ------------------------------------------------------------- */

static bool get_replica_status(const struct sim_server *s,
                               struct replica_status *out)
{
    if (!sim_is_up(s->world) || sim_is_paused(s->world))
        return false;
    if (s->lock)
        replica_get_status(chubby_server_replica(s->lock), out);
    else if (s->namenode)
        namenode_get_status(s->namenode, out);
    return s->lock || s->namenode;
}

/* The leader's index; @count: nobody leads. */
static size_t find_leader(const struct sim_server *all, size_t count)
{
    struct replica_status s;
    size_t i = 0;
    while (i < count &&
           !(get_replica_status(&all[i], &s) && s.role == REPLICA_LEADER))
        i++;
    return i;
}

/* Say what each server knows, for finding the reason. */
static void
put_views(const struct sim_server *all, size_t count, struct buf *out)
{
    static const char *const roles[] = {"follows", "stands", "leads",
                                        "is outside"};
    for (size_t i = 0; i < count; i++) {
        struct replica_status s;
        if (get_replica_status(&all[i], &s))
            buf_printf(out,
                       "; %s %s at term %" PRIu64 ", last %" PRIu64
                       ", committed %" PRIu64 ", of %zu members",
                       all[i].name, roles[s.role], s.term, s.last_index,
                       s.commit_index, s.member_count);
        else
            buf_printf(out, "; %s does not run", all[i].name);
    }
}

static size_t
await_leader(const struct sim_server *all, size_t count, uint64_t bound_us)
{
    uint64_t until = storm_now_us() + bound_us;
    struct buf views = BUF_INIT;
    while (find_leader(all, count) == count && storm_now_us() < until)
        storm_sleep_us(SECOND_US / 100);
    put_views(all, count, &views);
    STORM_CHECK(find_leader(all, count) < count,
                "no leader within %" PRIu64 " s%s", bound_us / SECOND_US,
                buf_cstr(&views));
    buf_close(&views);
    return find_leader(all, count);
}

static void
check_leaders(const struct sim_server *all, size_t count, uint64_t bound_us)
{
    size_t first;
    if (count == 0)
        return;
    first = await_leader(all, count, bound_us);
    for (size_t i = 0; i < (count - 1) / 2; i++)
        sim_pause(all[(first + i) % count].world);
    await_leader(all, count, bound_us);
    for (size_t i = 0; i < (count - 1) / 2; i++)
        sim_resume(all[(first + i) % count].world);
}

void cell_check_leaders(struct sim_cell *cell, uint64_t bound_us)
{
    check_leaders(cell->locks, cell->options.lock_servers, bound_us);
    check_leaders(cell->namenodes, cell->options.namenodes, bound_us);
}

/* --- what there should be ------------------------------------------------ */

/* Handles with how many copies they should have, less those that were found. */
struct census {
    struct hash_map chunks;
    struct fs *fs;
    bool answered;
};

static void take_layout(struct census *c, const char *path, uint64_t size)
{
    uint64_t offset = 0;
    while (offset < size && c->answered) {
        struct gfs_layout l;
        struct arena a;
        uint64_t end = offset;
        arena_init(&a);
        c->answered = gfs_get_layout(c->fs, path, offset, &a, &l, NULL) == 0;
        for (size_t i = 0; c->answered && i < l.chunk_count; i++) {
            hash_map_put(&c->chunks, hash_key_u64(&l.chunks[i].handle), NULL)
                ->number = SIM_CELL_REPLICATION;
            end = MAX_OF(end, l.chunks[i].offset + l.chunks[i].length);
        }
        arena_close(&a);
        offset = end > offset ? end : size;
    }
}

/* All files of directory @path, and the directories below it, into @dirs. */
static void take_directory(struct census *c, const char *path, struct buf *dirs)
{
    struct gfs_listing l = {.more = true};
    char after[FS_PATH_BYTES_MAX + 1] = "";
    while (l.more && c->answered) {
        struct arena a;
        arena_init(&a);
        c->answered = gfs_list(c->fs, path, after, &a, &l, NULL) == 0;
        for (size_t i = 0; c->answered && i < l.count; i++) {
            struct buf full = BUF_INIT;
            buf_printf(&full, "%s%s%.*s", path, path[0] ? "/" : "",
                       SLICE_ARG(l.entries[i].name));
            if (l.entries[i].stat.is_directory)
                buf_append(dirs, buf_cstr(&full), full.len + 1);
            else
                take_layout(c, buf_cstr(&full), l.entries[i].stat.size_bytes);
            snprintf(after, sizeof(after), "%.*s",
                     SLICE_ARG(l.entries[i].name));
            buf_close(&full);
        }
        arena_close(&a);
    }
}

static void take_files(struct census *c)
{
    struct buf dirs = BUF_INIT;
    buf_append_byte(&dirs, '\0');
    for (size_t at = 0; at < dirs.len && c->answered;) {
        char *path = mem_strdup(dirs.data + at);
        at += strlen(path) + 1;
        take_directory(c, path, &dirs);
        mem_free(path);
    }
    buf_close(&dirs);
}

/* --- what there is ------------------------------------------------------- */

static uint64_t parse_handle(const char *name)
{
    uint64_t n = 0;
    for (; *name && *name != '.'; name++)
        n = n * 16 + (uint64_t)(*name <= '9' ? *name - '0' : *name - 'a' + 10);
    return n;
}

/* Strike the chunks in @dir of @w off the list; returns how many are on none,
 * and names them in @strays. */
static size_t strike_off(struct census *c,
                         struct world *w,
                         const char *dir,
                         struct buf *strays)
{
    char **names = NULL;
    size_t count = 0;
    size_t stray_count = 0;
    bool is_copies = strcmp(dir, COPIES_DIR) == 0;
    if (world_list(w, dir, &names, &count, NULL))
        return 0; /* It is made with its first chunk. */
    for (size_t i = 0; i < count; i++) {
        uint64_t handle = parse_handle(names[i]);
        union hash_value *v = hash_map_get(&c->chunks, hash_key_u64(&handle));
        if (v && v->number && !is_copies) {
            v->number--;
            continue;
        }
        stray_count++;
        buf_printf(strays, " %s%s/%s (%s)", sim_machine_name(w), dir, names[i],
                   is_copies ? "unfinished"
                   : v       ? "one too many"
                             : "of no file");
    }
    world_names_free(names, count);
    return stray_count;
}

static size_t
look_at_disks(struct census *c, struct sim_cell *cell, struct buf *strays)
{
    size_t count = 0;
    for (unsigned i = 0; i < cell->options.chunk_servers; i++)
        for (unsigned d = 0; d <= 256; d++) {
            char dir[64];
            if (d < 256)
                snprintf(dir, sizeof(dir), SIM_CELL_CHUNK_DIR "/chunks/%02x",
                         d);
            else
                snprintf(dir, sizeof(dir), COPIES_DIR);
            count += strike_off(c, cell->chunks[i].world, dir, strays);
        }
    return count;
}

static size_t count_missing(const struct census *c)
{
    size_t missing = 0;
    size_t at = 0;
    struct hash_slot *s;
    while ((s = hash_map_next(&c->chunks, &at)))
        missing += s->value.number;
    return missing;
}

void cell_await_no_leak(struct sim_cell *cell, uint64_t bound_us)
{
    uint64_t from = storm_now_us();
    struct census c = {
        .fs = sim_cell_fs(cell, sim_director(cell->sim), "census")};
    struct buf strays = BUF_INIT;
    size_t count;
    size_t missing;
    do {
        buf_clear(&strays);
        c.answered = true;
        hash_map_init(&c.chunks, HASH_KEYS_COPIED);
        take_files(&c);
        count = c.answered ? look_at_disks(&c, cell, &strays) : 1;
        missing = count_missing(&c);
        hash_map_close(&c.chunks);
        STORM_CHECK(storm_now_us() - from < bound_us,
                    "%" PRIu64 " s later the chunk servers miss %zu copies, "
                    "and have %zu files that nothing consists of:%s",
                    bound_us / SECOND_US, missing, count, buf_cstr(&strays));
        if (count || missing)
            storm_sleep_us(LOOK_US);
    } while (count || missing);
    buf_close(&strays);
    fs_close(c.fs);
}
