/* Resource names of the API and the store's names of tables. A name from a
 * request is parsed where it lies; ids are checked before they become names of
 * the store.
 */
#include "bigtable/gateway/resource_names.h"

#include <string.h>

/* --- parsing ------------------------------------------------------------- */

static bool next_part(struct slice *rest, struct slice *part)
{
    size_t at = slice_find_byte(*rest, '/');
    *part = slice_sub(*rest, 0, at);
    *rest = slice_sub(*rest, at + 1, rest->len);
    return part->len > 0;
}

/* "WORD/ID" at the front of @rest. */
static bool next_pair(struct slice *rest, struct slice *word, struct slice *id)
{
    return next_part(rest, word) && next_part(rest, id);
}

int resource_name_parse(struct slice text,
                        struct resource_name *out,
                        struct err *err)
{
    struct slice rest = text;
    struct slice word;
    bool good;
    *out = (struct resource_name){.project = SLICE_EMPTY};
    good = next_pair(&rest, &word, &out->project) &&
           slice_eq_str(word, "projects") &&
           next_pair(&rest, &word, &out->instance) &&
           slice_eq_str(word, "instances");
    if (good && rest.len)
        good = next_pair(&rest, &out->kind, &out->id);
    if (good && rest.len)
        good = next_pair(&rest, &out->sub_kind, &out->sub_id) && rest.len == 0;
    if (good)
        return instance_id_check(out->instance, err);
    return err_set(err, ERR_INVALID, "\"%.*s\" is not the name of a resource",
                   SLICE_ARG(slice_sub(text, 0, 200)));
}

int resource_name_parse_kind(struct slice text,
                             const char *kind,
                             struct resource_name *out,
                             struct err *err)
{
    int rc = resource_name_parse(text, out, err);
    if (rc || (slice_eq_str(out->kind, kind) && out->sub_kind.len == 0))
        return rc;
    return err_set(err, ERR_INVALID,
                   "\"%.*s\": expected projects/…/instances/…%s%s",
                   SLICE_ARG(slice_sub(text, 0, 200)), *kind ? "/" : "", kind);
}

/* --- ids ----------------------------------------------------------------- */

static bool is_word_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_';
}

int instance_id_check(struct slice id, struct err *err)
{
    bool good = id.len > 0 && id.len <= INSTANCE_ID_BYTES_MAX;
    for (size_t i = 0; i < id.len && good; i++)
        good = is_word_byte(id.data[i]) || id.data[i] == '-';
    if (good)
        return 0;
    err_set(err, ERR_INVALID, "\"%.*s\" cannot be the id of an instance",
            SLICE_ARG(slice_sub(id, 0, 200)));
    err_hint(err, "1 to %d letters, digits, '_' or '-'", INSTANCE_ID_BYTES_MAX);
    return ERR_INVALID;
}

int table_id_check(struct slice id, struct err *err)
{
    bool good =
        id.len > 0 && id.len <= TABLE_ID_BYTES_MAX && is_word_byte(id.data[0]);
    for (size_t i = 0; i < id.len && good; i++)
        good =
            is_word_byte(id.data[i]) || id.data[i] == '-' || id.data[i] == '.';
    if (good)
        return 0;
    err_set(err, ERR_INVALID, "\"%.*s\" cannot be the id of a table",
            SLICE_ARG(slice_sub(id, 0, 200)));
    err_hint(err, "1 to %d letters, digits, '_', '-' or '.'",
             TABLE_ID_BYTES_MAX);
    return ERR_INVALID;
}

/* --- the store's names --------------------------------------------------- */

int store_name_make(const char *home,
                    struct slice instance,
                    struct slice id,
                    char out[STORE_NAME_BYTES],
                    struct err *err)
{
    int rc = instance_id_check(instance, err);
    if (rc == 0)
        rc = table_id_check(id, err);
    if (rc)
        return rc;
    if (!slice_eq_str(instance, home)) {
        memcpy(out, instance.data, instance.len);
        out += instance.len;
        *out++ = '.';
    }
    memcpy(out, id.data, id.len);
    out[id.len] = '\0';
    return 0;
}

bool store_name_id(const char *home,
                   struct slice instance,
                   const char *store_name,
                   struct slice *id)
{
    struct slice name = slice_str(store_name);
    bool of_home = slice_eq_str(instance, home);
    if (!of_home) {
        if (!slice_starts_with(name, instance) ||
            name.len <= instance.len + 1 || name.data[instance.len] != '.')
            return false;
        name = slice_sub(name, instance.len + 1, name.len);
    }
    *id = name;
    return table_id_check(name, NULL) == 0;
}
