/* Bulk loads into the tables of a directory. Files are written into a directory
 * of the load inside the store's, and a commit moves them among the store's
 * SSTables and adds them to all tablets of the table at once. A load that was
 * interrupted is found by its directory and continues.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/ignore_result.h"
#include "base/core/panic.h"
#include "bigtable/client/bulk_load.h"
#include "bigtable/client/embedded/embedded.h"
#include "bigtable/row/schema.h"
#include "bigtable/store/add_files.h"
#include "bigtable/store/manifest.h"
#include "bigtable/store/registry.h"
#include "bigtable/store/store.h"
#include "bigtable/tablet/tablet.h"
#include "bigtable/wire/load_calls.h"
#include "gfs-lite/fs.h"

const struct rpc_security *embedded_bulk_security(struct quarry *q)
{
    (void)q;
    return NULL;
}

int embedded_bulk_files(struct quarry *q, struct fs **out, struct err *err)
{
    return fs_local_open(q->world, q->store->dir, out, err);
}

int embedded_user_files(struct quarry *q, struct fs **out, struct err *err)
{
    return embedded_bulk_files(q, out, err);
}

/* --- begin --------------------------------------------------------------- */

struct loads_look {
    uint64_t table;
    uint64_t load;
    bool found;
};

static void embedded_bulk_look(void *ctx, const struct manifest_state *state)
{
    struct loads_look *l = ctx;
    for (size_t i = 0; i < state->tablet_count; i++)
        for (size_t k = 0; k < state->tablets[i].load_count; k++)
            l->found |= state->tablets[i].table == l->table &&
                        state->tablets[i].loads[k] == l->load;
}

static int check_new(struct quarry *q,
                     const struct table_part *t,
                     const char *id,
                     const char *dir,
                     struct err *err)
{
    struct loads_look l = {t->id, load_number(slice_str(id)), false};
    struct fs_info info;
    int rc = fs_stat(q->store->fs, dir, &info, err);
    if (rc != ERR_NOTFOUND)
        return rc; /* An interrupted load, which continues. */
    registry_look(q->store->registry, 0, embedded_bulk_look, &l);
    if (l.found)
        return err_set(err, ERR_EXISTS, "load %s is committed already", id);
    return fs_mkdirs(q->store->fs, dir, err);
}

static void put_ticket(struct quarry *q,
                       const struct table_part *t,
                       const struct table_part_view *v,
                       const char *id,
                       struct buf *out)
{
    struct load_ticket ticket = {.id = slice_str(id),
                                 .table = slice_str(t->name),
                                 .table_id = t->id,
                                 .is_encrypted = fs_keyring(q->store->fs)};
    struct buf target = BUF_INIT;
    struct buf schema = BUF_INIT;
    ticket.cuts = mem_alloc(v->tablet_count * sizeof(*ticket.cuts));
    for (size_t i = 1; i < v->tablet_count; i++)
        ticket.cuts[ticket.cut_count++] = buf_slice(&v->tablets[i]->start);
    buf_printf(&target, "file:%s", q->store->dir);
    schema_encode(v->schema, &schema);
    ticket.target = buf_slice(&target);
    ticket.schema = buf_slice(&schema);
    load_ticket_put(&ticket, out);
    mem_free(ticket.cuts);
    buf_close(&target);
    buf_close(&schema);
}

int embedded_bulk_lend(struct quarry *q,
                       const char *table,
                       const char *id,
                       struct key_loan *out,
                       struct err *err)
{
    struct keyring *keys = fs_keyring(q->store->fs);
    unsigned char lent[KEYRING_SALT_BYTES];
    struct table_part *t;
    int rc = store_find_table(q->store, table, &t, err);
    if (rc)
        return rc;
    load_loan_name(t->id, SLICE_EMPTY, slice_str(id), lent);
    table_part_unref(t);
    return keys ? keyring_lend(keys, lent, out, err) : 0;
}

int embedded_bulk_begin(struct quarry *q,
                        const char *table,
                        const char *id,
                        struct buf *ticket,
                        struct err *err)
{
    char dir[LOAD_PATH_BYTES];
    struct table_part_view *v;
    struct table_part *t;
    int rc = tablet_env_check_writable(&q->store->env, err);
    if (rc == 0)
        rc = store_find_table(q->store, table, &t, err);
    if (rc)
        return rc;
    load_path(slice_str(id), SLICE_EMPTY, dir);
    v = table_part_get_view(t);
    rc = v ? check_new(q, t, id, dir, err) : table_part_gone(t, err);
    if (rc == 0)
        put_ticket(q, t, v, id, ticket);
    table_part_view_unref(v);
    table_part_unref(t);
    return rc;
}

/* --- commit -------------------------------------------------------------- */

static void number_path(uint64_t number, char path[64])
{
    snprintf(path, 64, STORE_TABLES_DIR "/%06" PRIu64 ".sst", number);
}

static int
embedded_bulk_place(void *ctx, const struct new_file *f, struct err *err)
{
    struct store *s = ctx;
    char path[64];
    int rc = fs_mkdirs(s->fs, STORE_TABLES_DIR, err);
    number_path(f->number, path);
    if (rc == 0)
        rc = fs_rename(s->fs, f->path, path, err);
    return rc ? rc : fs_sync_dir(s->fs, STORE_TABLES_DIR, err);
}

static void take_back(void *ctx, const struct new_file *f)
{
    struct store *s = ctx;
    char path[64];
    number_path(f->number, path);
    /* The load must be made again, and an open removes this. */
    IGNORE_RESULT(fs_rename(s->fs, path, f->path, NULL));
}

/* The files as the store takes them; in @a. */
static struct new_file *take_list(const struct load_ticket *t,
                                  const struct load_list *l,
                                  struct arena *a)
{
    struct new_file *files = arena_zalloc(a, (l->count + 1) * sizeof(*files));
    char path[LOAD_PATH_BYTES];
    for (size_t i = 0; i < l->count; i++) {
        const struct load_file *f = &l->files[i];
        load_path(t->id, f->name, path);
        files[i] = (struct new_file){.path = arena_strdup(a, path),
                                     .group = f->group,
                                     .bytes = f->bytes,
                                     .entries = f->entries,
                                     .first_key = f->first_key,
                                     .last_key = f->last_key};
    }
    return files;
}

static int check_all(struct quarry *q,
                     struct table_part *t,
                     const struct new_file *files,
                     size_t count,
                     struct err *err)
{
    struct table_part_view *v = table_part_get_view(t);
    int rc = v ? 0 : table_part_gone(t, err);
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = check_new_file(q->store->fs, &files[i], v->schema, err);
    table_part_view_unref(v);
    return rc;
}

static int add_all(struct quarry *q,
                   struct table_part *t,
                   const struct load_ticket *ticket,
                   const struct load_list *l,
                   struct add_counts *counts,
                   struct err *err)
{
    const struct file_mover mover = {embedded_bulk_place, take_back, q->store};
    uint64_t load = load_number(ticket->id);
    struct loads_look look_for = {t->id, load, false};
    struct new_file *files;
    struct arena a;
    int rc = 0;
    arena_init(&a);
    files = take_list(ticket, l, &a);
    /* All tablets take a load at once: if one has it, there is nothing to do
     * and the files are not there any more. */
    registry_look(q->store->registry, 0, embedded_bulk_look, &look_for);
    if (look_for.found)
        *counts = (struct add_counts){.before = 1};
    else
        rc = check_all(q, t, files, l->count, err);
    if (rc == 0 && !look_for.found)
        rc = add_files(q->store, t, load, files, l->count, &mover, counts, err);
    arena_close(&a);
    return rc;
}

int embedded_bulk_commit(struct quarry *q,
                         const struct load_ticket *ticket,
                         const struct load_list *l,
                         struct quarry_bulk_result *result,
                         struct err *err)
{
    char name[TABLE_NAME_BYTES_MAX + 1];
    struct add_counts counts;
    struct table_part *t;
    int rc = tablet_env_check_writable(&q->store->env, err);
    if (rc)
        return rc;
    snprintf(name, sizeof(name), "%.*s", SLICE_ARG(ticket->table));
    rc = store_find_table(q->store, name, &t, err);
    if (rc)
        return rc;
    if (t->id == ticket->table_id)
        rc = add_all(q, t, ticket, l, &counts, err);
    else
        rc = err_set(err, ERR_ABORTED,
                     "table %s was dropped: another has its name now", name);
    table_part_unref(t);
    if (rc)
        return rc;
    result->tablets = counts.tablets;
    result->tablets_before = counts.before;
    /* Its files are removed when it expires. */
    IGNORE_RESULT(embedded_bulk_abandon(q, ticket, NULL));
    return 0;
}

int embedded_bulk_abandon(struct quarry *q,
                          const struct load_ticket *ticket,
                          struct err *err)
{
    char dir[LOAD_PATH_BYTES];
    int rc;
    load_path(ticket->id, SLICE_EMPTY, dir);
    rc = fs_remove_tree(q->store->fs, dir, err);
    return rc == ERR_NOTFOUND ? 0 : rc;
}
