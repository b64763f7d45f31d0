/* Settings as JSON, and columns as "family:qualifier". */
#include "bigtable/observer/observer_settings.h"

#include <jansson.h>
#include <string.h>

#include "base/core/panic.h"

static json_t *list_of(const char *const *texts, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_string(texts[i]));
    return list;
}

int observer_settings_put(const struct quarry_observer_spec *spec,
                          struct buf *out,
                          struct err *err)
{
    struct observer_settings check = {.tries = 0};
    json_t *doc = NULL;
    char *text = NULL;
    int rc;
    if (spec->column_count == 0 ||
        spec->column_count > QUARRY_OBSERVER_COLUMNS_MAX ||
        spec->write_count > QUARRY_OBSERVER_COLUMNS_MAX)
        return err_set(err, ERR_INVALID,
                       "an observer watches 1 to %d columns, and writes at "
                       "most as many",
                       QUARRY_OBSERVER_COLUMNS_MAX);
    doc = json_pack("{s:o, s:o, s:i}", "columns",
                    list_of(spec->columns, spec->column_count), "writes",
                    list_of(spec->writes, spec->write_count), "tries",
                    (int)(spec->tries ? spec->tries : QUARRY_OBSERVER_TRIES));
    text = doc ? json_dumps(doc, JSON_COMPACT) : NULL;
    json_decref(doc);
    if (!text)
        return err_set(err, ERR_INVALID, "a column's name is not UTF-8");
    buf_append_str(out, text);
    mem_free(text);
    rc = observer_settings_get(spec->table, buf_slice(out), &check, err);
    observer_settings_close(&check);
    return rc;
}

/* --- reading ------------------------------------------------------------- */

/* "[table:]family[:qualifier]"; @table NULL: it begins with one. */
static int parse_column(const char *table,
                        const char *text,
                        struct observer_column *to,
                        struct err *err)
{
    const char *colon = strchr(text, ':');
    const char *rest = text;
    *to = (struct observer_column){.table = NULL};
    if (table) {
        to->table = mem_strdup(table);
    } else if (colon && colon > text) {
        to->table = mem_strndup(text, (size_t)(colon - text));
        rest = colon + 1;
        colon = strchr(rest, ':');
    }
    if (!to->table || !*rest || colon == rest) {
        mem_free(to->table);
        err_set(err, ERR_INVALID, "\"%.80s\" is no column", text);
        err_hint(err, table ? "FAMILY or FAMILY:QUALIFIER"
                            : "TABLE:FAMILY or TABLE:FAMILY:QUALIFIER");
        return ERR_INVALID;
    }
    to->family =
        colon ? mem_strndup(rest, (size_t)(colon - rest)) : mem_strdup(rest);
    if (colon)
        to->qualifier = mem_strdup(colon + 1);
    return 0;
}

static int parse_list(const char *table,
                      const json_t *list,
                      struct observer_column **out,
                      size_t *count,
                      struct err *err)
{
    size_t n = json_array_size(list);
    int rc = 0;
    if (n > QUARRY_OBSERVER_COLUMNS_MAX)
        return err_set(err, ERR_INVALID, "%zu columns are too many", n);
    *out = mem_zalloc(n + 1, sizeof(**out));
    for (size_t i = 0; i < n && rc == 0; i++) {
        const char *text = json_string_value(json_array_get(list, i));
        rc = parse_column(table, text ? text : "", &(*out)[i], err);
        *count += rc == 0;
    }
    return rc;
}

int observer_settings_get(const char *table,
                          struct slice settings,
                          struct observer_settings *out,
                          struct err *err)
{
    json_t *doc = json_loadb(settings.data, settings.len, 0, NULL);
    int rc = 0;
    *out = (struct observer_settings){.tries = QUARRY_OBSERVER_TRIES};
    if (!json_is_object(doc))
        rc = err_set(err, ERR_CORRUPT, "an observer's settings are no JSON");
    if (rc == 0)
        rc = parse_list(table, json_object_get(doc, "columns"), &out->columns,
                        &out->column_count, err);
    if (rc == 0)
        rc = parse_list(NULL, json_object_get(doc, "writes"), &out->writes,
                        &out->write_count, err);
    if (rc == 0 && json_integer_value(json_object_get(doc, "tries")) > 0)
        out->tries =
            (unsigned)json_integer_value(json_object_get(doc, "tries"));
    json_decref(doc);
    return rc;
}

static void close_list(struct observer_column *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        mem_free(list[i].table);
        mem_free(list[i].family);
        mem_free(list[i].qualifier);
    }
    mem_free(list);
}

void observer_settings_close(struct observer_settings *s)
{
    close_list(s->columns, s->column_count);
    close_list(s->writes, s->write_count);
    *s = (struct observer_settings){.tries = 0};
}

bool observer_has_column(const struct observer_column *list,
                         size_t count,
                         const char *table,
                         struct slice family,
                         const struct slice *qualifier)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].table, table) == 0 &&
            slice_eq_str(family, list[i].family) &&
            (!qualifier || !list[i].qualifier ||
             slice_eq_str(*qualifier, list[i].qualifier)))
            return true;
    return false;
}
