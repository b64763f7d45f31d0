/* The registry: messages by name, as rows of one table of the store. A change
 * that depends on the old message is a check-and-mutate, so gateways need no
 * lock.
 */
#include "bigtable/gateway/resource_registry.h"

#include "bigtable/gateway/gateway.h"
#include "bigtable/quarry.h"
#include "bigtable/quarry_access.h"

#define FAMILY    "m"
#define QUALIFIER SLICE_LIT("message")

/* For reading: *@out is NULL when nothing was ever kept. */
static int
open_existing(struct quarry *q, struct quarry_table **out, struct err *err)
{
    int rc = quarry_table_open(q, GATEWAY_TABLE, out, err);
    if (rc != ERR_NOTFOUND)
        return rc;
    *out = NULL;
    if (err)
        *err = ERR_INIT;
    return 0;
}

/* Its maker owns it where principals are proved; what is in it everybody may
 * know. */
static int open_to_readers(struct quarry *q, struct err *err)
{
    struct buf list = BUF_INIT;
    bool any = false;
    int rc = quarry_acl_get(q, GATEWAY_TABLE, &list, &any, err);
    buf_close(&list);
    if (rc == ERR_UNSUPPORTED) { /* A directory. */
        if (err)
            *err = ERR_INIT;
        return 0;
    }
    if (rc || !any)
        return rc;
    return quarry_acl_grant(q, GATEWAY_TABLE, "*", "read", "*", err);
}

static int
open_table(struct quarry *q, struct quarry_table **out, struct err *err)
{
    static const struct quarry_family_spec family = {FAMILY, "versions=1"};
    int rc = open_existing(q, out, err);
    if (rc || *out)
        return rc;
    rc = quarry_table_create(q, GATEWAY_TABLE, &family, 1, NULL, 0, err);
    if (rc == 0)
        rc = open_to_readers(q, err);
    if (rc == ERR_EXISTS) { /* Somebody was faster. */
        if (err)
            *err = ERR_INIT;
        rc = 0;
    }
    return rc ? rc : quarry_table_open(q, GATEWAY_TABLE, out, err);
}

int registry_get(struct quarry *q,
                 struct slice key,
                 struct buf *message,
                 bool *found,
                 struct err *err)
{
    struct quarry_table *t;
    struct buf value = BUF_INIT;
    int rc = open_existing(q, &t, err);
    *found = false;
    if (rc || !t)
        return rc;
    rc = quarry_get(t, key, FAMILY, QUALIFIER, &value, found, err);
    if (rc == 0 && *found)
        buf_append_slice(message, buf_slice(&value));
    buf_close(&value);
    quarry_table_close(t);
    return rc;
}

/* Put @message if @expected holds for the row (NULL: if there is none). */
static int put_if(struct quarry *q,
                  struct slice key,
                  const struct quarry_filter *expected,
                  struct slice message,
                  bool *done,
                  struct err *err)
{
    struct quarry_table *t;
    struct quarry_mutation *m;
    bool matched = false;
    int rc = open_table(q, &t, err);
    if (rc)
        return rc;
    m = quarry_mutation_new(key);
    quarry_mutation_set(m, FAMILY, QUALIFIER, QUARRY_NOW, message);
    rc = quarry_check_and_mutate(t, key, expected, expected ? m : NULL,
                                 expected ? NULL : m, NULL, &matched, err);
    quarry_mutation_free(m);
    quarry_table_close(t);
    *done = matched == (expected != NULL);
    return rc;
}

int registry_add(struct quarry *q,
                 struct slice key,
                 struct slice message,
                 struct err *err)
{
    bool done = false;
    int rc = put_if(q, key, NULL, message, &done, err);
    if (rc == 0 && !done)
        rc = err_set(err, ERR_EXISTS, "%.*s exists already", SLICE_ARG(key));
    return rc;
}

int registry_replace(struct quarry *q,
                     struct slice key,
                     struct slice old,
                     bool had,
                     struct slice message,
                     struct err *err)
{
    struct quarry_filter *is_old =
        had ? quarry_filter_value_range(QUARRY_CLOSED, old, QUARRY_CLOSED, old)
            : NULL;
    bool done = false;
    int rc = put_if(q, key, is_old, message, &done, err);
    quarry_filter_free(is_old);
    if (rc == 0 && !done)
        rc = err_set(err, ERR_ABORTED,
                     "%.*s was changed at the same time (try again)",
                     SLICE_ARG(key));
    return rc;
}

static int gateway_registry_apply(struct quarry *q,
                                  const struct quarry_mutation *m,
                                  struct err *err)
{
    struct quarry_table *t;
    int rc = open_table(q, &t, err);
    if (rc)
        return rc;
    rc = quarry_apply(t, m, NULL, err);
    quarry_table_close(t);
    return rc;
}

int registry_put(struct quarry *q,
                 struct slice key,
                 struct slice message,
                 struct err *err)
{
    struct quarry_mutation *m = quarry_mutation_new(key);
    int rc;
    quarry_mutation_set(m, FAMILY, QUALIFIER, QUARRY_NOW, message);
    rc = gateway_registry_apply(q, m, err);
    quarry_mutation_free(m);
    return rc;
}

int registry_remove(struct quarry *q, struct slice key, struct err *err)
{
    struct quarry_mutation *m = quarry_mutation_new(key);
    int rc;
    quarry_mutation_delete_row(m);
    rc = gateway_registry_apply(q, m, err);
    quarry_mutation_free(m);
    return rc;
}

static int
remove_one(void *ctx, struct slice key, struct slice message, struct err *err)
{
    (void)message;
    return registry_remove(ctx, key, err);
}

int registry_remove_all(struct quarry *q, struct slice prefix, struct err *err)
{
    return registry_each(q, prefix, remove_one, q, err);
}

static int visit_rows(struct quarry_table *t,
                      struct slice prefix,
                      registry_visit visit,
                      void *ctx,
                      struct err *err)
{
    const struct quarry_range range = {prefix, SLICE_EMPTY};
    const struct quarry_read_options o = {
        .ranges = &range, .range_count = 1, .read_ahead_off = true};
    struct quarry_scanner *s;
    const struct quarry_row *row;
    int rc = quarry_scan(t, &o, &s, err);
    if (rc)
        return rc;
    while ((rc = quarry_scanner_next(s, &row, err)) == 0 && row &&
           slice_starts_with(row->key, prefix)) {
        rc = visit(ctx, row->key, row->cells[0].value, err);
        if (rc)
            break;
    }
    quarry_scanner_close(s);
    return rc;
}

int registry_each(struct quarry *q,
                  struct slice prefix,
                  registry_visit visit,
                  void *ctx,
                  struct err *err)
{
    struct quarry_table *t;
    int rc = open_existing(q, &t, err);
    if (rc || !t)
        return rc;
    rc = visit_rows(t, prefix, visit, ctx, err);
    quarry_table_close(t);
    return rc;
}
