/* Deletion protection, by the store's names of tables: a table of the store may
 * be known to the API under its instance or as the store's own, so all entries
 * of the registry that could mean it are looked at.
 */
#include "bigtable/gateway/protection.h"

#include "base/core/panic.h"
#include "base/core/pb.h"
#include "bigtable/gateway/api_fields.h"
#include "bigtable/gateway/gateway.h"
#include "bigtable/gateway/resource_registry.h"
#include "bigtable/gateway/table_message.h"

#define INSTANCES SLICE_LIT("instances/")
#define TABLES    SLICE_LIT("/tables/")

struct protection_walk {
    struct slice name;
    struct buf keys; /* Of entries that protect it, each followed by a NUL. */
};

/* The index of @part in @text; text.len: it does not occur. */
static size_t find_part(struct slice text, struct slice part)
{
    for (size_t i = 0; i + part.len <= text.len; i++)
        if (slice_eq(slice_sub(text, i, i + part.len), part))
            return i;
    return text.len;
}

/* Is "instances/I/tables/T" the store's table @name: T, or I.T? */
static bool is_key_of(struct slice key, struct slice name)
{
    struct slice rest = slice_sub(key, INSTANCES.len, key.len);
    size_t at = find_part(rest, TABLES);
    struct slice instance = slice_sub(rest, 0, at);
    struct slice id;
    if (at == rest.len)
        return false;
    id = slice_sub(rest, at + TABLES.len, rest.len);
    if (slice_eq(id, name))
        return true;
    return name.len == instance.len + 1 + id.len &&
           slice_starts_with(name, instance) &&
           name.data[instance.len] == '.' &&
           slice_eq(slice_sub(name, instance.len + 1, name.len), id);
}

static int protection_see(void *ctx,
                          struct slice key,
                          struct slice message,
                          struct err *err)
{
    struct protection_walk *w = ctx;
    (void)err;
    if (is_key_of(key, w->name) &&
        pb_find_integer(message, PB_Table_deletion_protection) != 0) {
        buf_append_slice(&w->keys, key);
        buf_append_byte(&w->keys, '\0');
    }
    return 0;
}

static int
protection_find(struct quarry *q, struct protection_walk *w, struct err *err)
{
    int rc = registry_each(q, INSTANCES, protection_see, w, err);
    if (rc == ERR_DENIED) {
        err_wrap(err, "whether table %.*s is protected from deletion",
                 SLICE_ARG(w->name));
        err_hint(err, "who may write " GATEWAY_TABLE " lets everybody know: "
                      "quarry acl grant " GATEWAY_TABLE " read '*'");
    }
    return rc;
}

int protection_check(struct quarry *q, const char *name, struct err *err)
{
    struct protection_walk w = {.name = slice_str(name)};
    int rc = protection_find(q, &w, err);
    if (rc == 0 && w.keys.len > 0) {
        rc = err_set(err, ERR_DENIED, "table %s is protected from deletion",
                     name);
        err_hint(err,
                 "its deletion_protection is set in the public API; to lift "
                 "it: quarry table unprotect %s",
                 name);
    }
    buf_close(&w.keys);
    return rc;
}

static int lift_one(struct quarry *q, struct slice key, struct err *err)
{
    struct buf old = BUF_INIT;
    struct buf new = BUF_INIT;
    bool found = false;
    int rc = registry_get(q, key, &old, &found, err);
    pb_copy_fields(&new, buf_slice(&old), PB_Table_deletion_protection, false);
    if (rc == 0 && found)
        rc = registry_replace(q, key, buf_slice(&old), true, buf_slice(&new),
                              err);
    buf_close(&old);
    buf_close(&new);
    return rc;
}

int protection_lift(struct quarry *q, const char *name, struct err *err)
{
    struct protection_walk w = {.name = slice_str(name)};
    int rc = protection_find(q, &w, err);
    for (size_t at = 0; rc == 0 && at < w.keys.len;) {
        struct slice key = slice_str(w.keys.data + at);
        rc = lift_one(q, key, err);
        at += key.len + 1;
    }
    buf_close(&w.keys);
    return rc;
}
