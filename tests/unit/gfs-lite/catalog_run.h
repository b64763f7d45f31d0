/* A namenode's state machine alone, for tests: commands as a client's, and the
 * image that brings the same state back.
 *
 *     struct catalog m;
 *     begin(&m);
 *     r = run(&m, (struct gfs_command){.op = GFS_OP_CREATE, …});
 *     catalog_close(&m);
 */
#ifndef TESTS_UNIT_GFS_LITE_CATALOG_RUN_H
#define TESTS_UNIT_GFS_LITE_CATALOG_RUN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/rand.h"
#include "gfs-lite/namenode/catalog.h"
#include "tests/lib/check_main.h"

static uint64_t log_index;
static uint64_t session;
static uint64_t sequence;
static uint64_t unanswered; /* The oldest command without an answer, or 0. */

static inline struct gfs_result run(struct catalog *m, struct gfs_command c)
{
    static struct buf reply; /* The result's texts borrow from it. */
    struct buf bytes = BUF_INIT;
    struct gfs_result r;
    buf_clear(&reply);
    if (c.sequence == 0 && gfs_op_is_for_clients(c.op)) {
        c.session = session;
        c.sequence = ++sequence;
        c.answered = (unanswered ? unanswered : sequence) - 1;
    }
    gfs_command_put(&c, &bytes);
    catalog_apply(m, ++log_index, buf_slice(&bytes), &reply);
    buf_close(&bytes);
    ck_assert_int_eq(gfs_result_get(buf_slice(&reply), &r, NULL), 0);
    return r;
}

static inline void begin(struct catalog *m)
{
    catalog_init(m);
    log_index = 100;
    sequence = 0;
    unanswered = 0;
    session = run(m, (struct gfs_command){.op = GFS_OP_SESSION_OPEN,
                                          .text = SLICE_LIT("test")})
                  .session;
    ck_assert_uint_ne(session, 0);
    sequence = 0;
}

/* A closed file of one chunk. */
static inline void
make_file(struct catalog *m, const char *path, uint64_t bytes)
{
    struct gfs_result f = run(
        m, (struct gfs_command){.op = GFS_OP_CREATE, .path = slice_str(path)});
    struct gfs_command c = {
        .op = GFS_OP_ALLOCATE, .file = f.file, .epoch = f.epoch};
    c.chunk = run(m, c).chunk;
    c.op = GFS_OP_CLOSE;
    c.length = bytes;
    ck_assert_int_eq(run(m, c).code, 0);
}

/* Everything that can be seen, one line an inode. */
static inline void
dump(const struct names *ns, const struct inode *n, int depth, struct buf *out)
{
    const struct open_file *open;
    buf_printf(out, "%*s%.*s %llu", depth, "", SLICE_ARG(inode_name(n)),
               (unsigned long long)n->id);
    if (n->is_directory) {
        buf_printf(out, "/ %llu %llu\n",
                   (unsigned long long)n->u.directory->entry_count,
                   (unsigned long long)n->u.directory->bytes);
        for (struct inode *e = inode_entries_first(n->u.directory->entries); e;
             e = inode_entries_after(n->u.directory->entries, inode_name(e)))
            dump(ns, e, depth + 1, out);
        return;
    }
    for (uint32_t i = 0; i < n->chunk_count; i++) {
        const struct chunk *c = inode_chunk(n, i);
        buf_printf(out, " %llu v%u:%u+%u%s r%u", (unsigned long long)c->handle,
                   c->version, c->pending, c->length, c->sealed ? "" : "?",
                   c->replication);
    }
    open = id_map_get(&ns->open_files, n->id);
    if (open && open->next)
        buf_printf(out, " %u then %llu on %u", open->ended,
                   (unsigned long long)open->next->handle,
                   open->next_chain.count);
    buf_printf(out, "%s\n", open ? " open" : "");
}

/* The image of @m gives a machine that looks and continues like it. */
static inline void check_image(struct catalog *m)
{
    struct buf image = BUF_INIT;
    struct buf before = BUF_INIT;
    struct buf after = BUF_INIT;
    struct err why = ERR_INIT;
    catalog_save(m, &image);
    dump(&m->names, m->names.root, 0, &before);
    ck_assert_msg(catalog_load(m, buf_slice(&image), &why) == 0, "%s",
                  why.text);
    names_check(&m->names);
    dump(&m->names, m->names.root, 0, &after);
    ck_assert_str_eq(buf_cstr(&before), buf_cstr(&after));
    buf_close(&image);
    buf_close(&before);
    buf_close(&after);
}

static inline void draw_path(struct rand_gen *r, char out[64])
{
    size_t depth = 1 + rand_below(r, 3);
    size_t n = 0;
    for (size_t i = 0; i < depth; i++)
        n += (size_t)snprintf(out + n, 64 - n, "%s%c", i ? "/" : "",
                              (char)('a' + rand_below(r, 4)));
}

#endif /* TESTS_UNIT_GFS_LITE_CATALOG_RUN_H */
