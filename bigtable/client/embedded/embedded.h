/* A directory as a target: the store in this process.
 *
 * Functions are those of quarry.h, for tables of such a target.
 */
#ifndef BIGTABLE_CLIENT_EMBEDDED_EMBEDDED_H
#define BIGTABLE_CLIENT_EMBEDDED_EMBEDDED_H

#include "bigtable/client/client.h"
#include "bigtable/read/scan.h"

/* Open the directory @dir into @q, whose world is set. Errors: those of
 * quarry_open(). */
MUST_CHECK int embedded_target_open(struct quarry *q,
                                    const char *dir,
                                    const struct quarry_options *opts,
                                    struct err *err);

/* A read whose options have been understood: it may outlive them. */
struct prepared_read {
    struct quarry_table *table;   /* Borrowed. */
    struct table_part_view *view; /* Referenced; NULL after an error. */
    struct read_spec spec;
    struct err err; /* Of the preparation. */
};

void prepared_read_init(struct prepared_read *r,
                        struct quarry_table *t,
                        const struct quarry_read_options *opts);
void prepared_read_close(struct prepared_read *r);
/* Read @row as prepared; *@out is owned, NULL when there is nothing. */
MUST_CHECK int prepared_read_row(struct prepared_read *r,
                                 struct slice row,
                                 struct quarry_row **out,
                                 struct err *err);

size_t embedded_counters(struct quarry *q,
                         struct quarry_counter out[QUARRY_COUNTERS_MAX]);
int embedded_table_create(struct quarry *q,
                          const char *name,
                          const struct schema *schema,
                          struct err *err);
int embedded_table_drop(struct quarry *q, const char *name, struct err *err);
int embedded_table_alter(struct quarry *q,
                         const char *name,
                         const struct quarry_alter *changes,
                         size_t change_count,
                         struct err *err);
int embedded_table_list(struct quarry *q,
                        char ***names,
                        size_t *count,
                        struct err *err);
int embedded_table_open(struct quarry_table *t,
                        const char *name,
                        struct err *err);
void embedded_table_hold(struct quarry_table *t);
void embedded_table_release(struct quarry_table *t);
/* bulk.c */
const struct rpc_security *embedded_bulk_security(struct quarry *q);
int embedded_bulk_files(struct quarry *q, struct fs **out, struct err *err);
int embedded_bulk_lend(struct quarry *q,
                       const char *table,
                       const char *id,
                       struct key_loan *out,
                       struct err *err);
int embedded_bulk_begin(struct quarry *q,
                        const char *table,
                        const char *id,
                        struct buf *ticket,
                        struct err *err);
int embedded_bulk_commit(struct quarry *q,
                         const struct load_ticket *ticket,
                         const struct load_list *l,
                         struct quarry_bulk_result *result,
                         struct err *err);
int embedded_bulk_abandon(struct quarry *q,
                          const struct load_ticket *ticket,
                          struct err *err);

/* snapshots.c */
int embedded_table_snapshot(struct quarry *q,
                            const char *table,
                            const char *name,
                            uint64_t ttl_us,
                            struct err *err);
int embedded_table_clone(struct quarry *q,
                         const char *table,
                         const char *to,
                         struct err *err);
int embedded_snapshot_list(struct quarry *q, struct buf *out, struct err *err);
int embedded_snapshot_show(struct quarry *q,
                           const char *name,
                           struct buf *out,
                           struct err *err);
int embedded_snapshot_drop(struct quarry *q, const char *name, struct err *err);
int embedded_snapshot_restore(struct quarry *q,
                              const char *name,
                              const char *table,
                              struct err *err);
int embedded_table_describe(struct quarry *q,
                            const char *name,
                            struct quarry_table_info **out,
                            struct err *err);
int embedded_table_split(struct quarry *q,
                         const char *name,
                         struct slice row,
                         struct err *err);
int embedded_table_move_tablet(struct quarry *q,
                               const char *name,
                               struct slice row,
                               const char *server,
                               struct quarry_move *out,
                               struct err *err);
int embedded_table_compact(struct quarry *q, const char *name, struct err *err);
int embedded_table_drop_rows(struct quarry *q,
                             const char *name,
                             struct slice start,
                             struct slice end,
                             struct err *err);
int embedded_table_split_points(struct quarry_table *t,
                                size_t parts,
                                struct slice **keys,
                                size_t *count,
                                struct err *err);
int embedded_apply(struct quarry_table *t,
                   const struct quarry_mutation *m,
                   const struct quarry_write_options *opts,
                   struct err *err);
int embedded_apply_batch(struct quarry_table *t,
                         struct quarry_mutation *const *mutations,
                         size_t count,
                         const struct quarry_write_options *opts,
                         size_t *failed_index,
                         struct err *err);
int embedded_apply_each(struct quarry_table *t,
                        struct quarry_mutation *const *mutations,
                        size_t count,
                        const struct quarry_write_options *opts,
                        int *codes,
                        struct err *err);
int embedded_check_and_mutate(struct quarry_table *t,
                              struct slice row,
                              const struct quarry_filter *predicate,
                              const struct quarry_mutation *if_true,
                              const struct quarry_mutation *if_false,
                              const struct quarry_write_options *opts,
                              bool *matched,
                              struct err *err);
int embedded_read_modify_write(struct quarry_table *t,
                               struct slice row,
                               const struct quarry_rmw_rule *rules,
                               size_t rule_count,
                               const struct quarry_write_options *opts,
                               struct quarry_row **out,
                               struct err *err);
int embedded_read_row(struct quarry_table *t,
                      struct slice row,
                      const struct quarry_read_options *opts,
                      struct quarry_row **out,
                      struct err *err);
int embedded_read_rows(struct quarry_table *t,
                       const struct slice *keys,
                       size_t count,
                       const struct quarry_read_options *opts,
                       struct quarry_row **rows,
                       struct err *err);
int embedded_get(struct quarry_table *t,
                 struct slice row,
                 const char *family,
                 struct slice qualifier,
                 struct buf *value,
                 bool *found,
                 struct err *err);
struct any_read *embedded_read_prepare(struct quarry_table *t,
                                       const struct quarry_read_options *opts);
int embedded_read_run(struct any_read *r,
                      struct slice row,
                      struct quarry_row **out,
                      struct err *err);
void embedded_read_free(struct any_read *r);
int embedded_scan(struct quarry_table *t,
                  const struct quarry_read_options *opts,
                  struct quarry_scanner **out,
                  struct err *err);
int embedded_scanner_next(struct quarry_scanner *s,
                          const struct quarry_row **row,
                          struct err *err);
void embedded_scanner_close(struct quarry_scanner *s);
int embedded_run_program(struct quarry_table *t,
                         const struct quarry_read_options *opts,
                         struct saw_run *run,
                         uint64_t *row_count,
                         struct err *err);

#endif /* BIGTABLE_CLIENT_EMBEDDED_EMBEDDED_H */
