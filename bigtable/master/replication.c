/* Changing the number of copies of SSTables, after each whole reading of
 * METADATA. A file that has its number is remembered, so that it is not asked
 * for again until the setting changes. */
#include "bigtable/master/replication.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/log.h"
#include "bigtable/master/master_term.h"
#include "bigtable/row/schema.h"
#include "bigtable/wire/tablet_files.h"
#include "gfs-lite/gfs.h"

/* Files checked after one reading of METADATA. */
#define FILES_MAX  4096
#define PATH_BYTES 64

void replication_init(struct replication *p)
{
    hash_map_init(&p->tables, HASH_KEYS_COPIED);
    hash_map_init(&p->wanted, HASH_KEYS_COPIED);
    hash_map_init(&p->done, HASH_KEYS_COPIED);
}

void replication_close(struct replication *p)
{
    hash_map_close(&p->tables);
    hash_map_close(&p->wanted);
    hash_map_close(&p->done);
}

/* --- what tables say ----------------------------------------------------- */

static int
see_table(void *ctx, uint64_t table, struct slice bytes, struct err *err)
{
    struct replication *p = ctx;
    struct schema *s;
    uint32_t copies = 0;
    int rc = schema_decode(bytes, &s, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < s->group_count; i++)
        copies = MAX_OF(copies, s->groups[i].options.replication);
    if (copies)
        hash_map_put(&p->tables, hash_key_u64(&table), NULL)->number = copies;
    schema_free(s);
    return 0;
}

int replication_begin(struct master_term *r, struct err *err)
{
    struct replication *p = &r->replication;
    int rc;

    PRE(r->rereading);
    hash_map_clear(&p->tables);
    hash_map_clear(&p->wanted);
    if (!fs_is_gfs(r->options->fs))
        return 0;
    rc = tables_each(r, see_table, p, err);
    if (rc)
        hash_map_clear(&p->tables);
    if (p->tables.count == 0)
        hash_map_clear(&p->done);
    return rc;
}

/* --- files --------------------------------------------------------------- */

struct noting {
    struct replication *of;
    uint64_t copies;
};

static void note_file(void *ctx, uint64_t number)
{
    struct noting *n = ctx;
    struct slice key = hash_key_u64(&number);
    const union hash_value *done = hash_map_get(&n->of->done, key);
    union hash_value *wanted;
    if (done && done->number == n->copies)
        return;
    wanted = hash_map_put(&n->of->wanted, key, NULL);
    wanted->number = MAX_OF(wanted->number, n->copies);
}

void replication_note(struct master_term *r, const struct metadata_row *row)
{
    struct noting n = {.of = &r->replication};
    const union hash_value *copies;
    struct tablet_state *s;
    struct slice end;
    uint64_t table;

    PRE(r->rereading);
    if (n.of->tables.count == 0 || row->state.len == 0 ||
        metadata_key_read(row->key, &table, &end, NULL))
        return;
    copies = hash_map_get(&n.of->tables, hash_key_u64(&table));
    if (!copies)
        return;
    n.copies = copies->number;
    s = mem_alloc(sizeof(*s));
    if (tablet_state_get(row->state, s, NULL) ||
        tablet_files_each(s->groups, note_file, &n, NULL))
        log_debug(r->world, "master", "a row that cannot be read has files");
    mem_free(s);
}

/* *@changed: it had another number. */
static int see_to(struct master_term *r,
                  uint64_t number,
                  uint32_t copies,
                  bool *changed,
                  struct err *err)
{
    char path[PATH_BYTES];
    struct gfs_stat stat;
    int rc;

    PRE(copies > 0);
    snprintf(path, sizeof(path), "tables/%06" PRIu64 ".sst", number);
    rc = gfs_stat(r->options->fs, path, &stat, err);
    if (rc)
        return rc;
    *changed = stat.replication != copies;
    return *changed ? gfs_set_replication(r->options->fs, path, copies, err)
                    : 0;
}

void replication_end(struct master_term *r)
{
    struct replication *p = &r->replication;
    const struct hash_slot *slot;
    size_t at = 0;
    size_t changed = 0;
    size_t seen = 0;

    PRE(r->rereading);
    while (seen < FILES_MAX && master_term_is_current(r) &&
           (slot = hash_map_next(&p->wanted, &at))) {
        struct err err = ERR_INIT;
        uint64_t copies = slot->value.number;
        bool is_changed = false;
        uint64_t number;
        int rc;
        memcpy(&number, slot->key.data, sizeof(number));
        seen++;
        rc = see_to(r, number, (uint32_t)copies, &is_changed, &err);
        if (rc && rc != ERR_NOTFOUND)
            log_warn(r->world, "master", "copies of file %" PRIu64 ": %s",
                     number, err.text);
        if (rc)
            continue;
        changed += is_changed;
        hash_map_put(&p->done, hash_key_u64(&number), NULL)->number = copies;
    }
    POST(changed <= seen);
    POST(seen <= FILES_MAX);
    hash_map_clear(&p->wanted);
    if (changed)
        master_note(r, EVENT_REPLICATION, "files=%zu", changed);
}
