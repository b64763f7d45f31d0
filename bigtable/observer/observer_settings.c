/* Settings of observers as JSON, which a record keeps and a person may read,
 * and columns as "family:qualifier". A setting that could not be run is
 * refused here, before the record is made. */
#include "bigtable/observer/observer_settings.h"

#include <jansson.h>
#include <string.h>

#include "base/core/panic.h"

/* A record has 64 KiB, in which some bytes need two. */
#define PROGRAM_BYTES_MAX ((size_t)48 << 10)

static json_t *list_of(const char *const *texts, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_string(texts[i]));
    return list;
}

static int check_kind(const struct quarry_observer_spec *spec, struct err *err)
{
    static const char *const kinds[] = {"command", "saw", "python", "job"};
    const struct quarry_observer_program *p = &spec->program;
    bool known = !p->kind;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        known = known || strcmp(kinds[i], p->kind) == 0;
    if (!known)
        return err_set(
            err, ERR_INVALID,
            "\"%.20s\" is no kind of program: command, saw, python or job",
            p->kind);
    if (p->kind && p->text.len == 0)
        return err_set(err, ERR_INVALID, "the observer's program is empty");
    if (p->text.len > PROGRAM_BYTES_MAX)
        return err_set(err, ERR_TOOBIG,
                       "the observer's program has %zu bytes: at most %zu",
                       p->text.len, PROGRAM_BYTES_MAX);
    return 0;
}

/* NULL: it is not UTF-8. */
static json_t *program_of(const struct quarry_observer_program *p)
{
    bool whole = strcmp(p->kind, "saw") == 0 || strcmp(p->kind, "job") == 0;
    json_t *doc = json_pack(
        "{s:s, s:s%, s:b, s:b, s:I, s:I}", "kind", p->kind, "text",
        p->text.data, p->text.len, "derives", (int)(p->derives || whole),
        "stays", (int)p->stays, "timeout_us",
        (json_int_t)(p->timeout_us ? p->timeout_us : OBSERVER_TIMEOUT_US),
        "memory_bytes",
        (json_int_t)(p->memory_bytes ? p->memory_bytes
                                     : OBSERVER_MEMORY_BYTES));
    if (doc && p->function)
        json_object_set_new(doc, "function", json_string(p->function));
    return doc;
}

static int add_program(const struct quarry_observer_spec *spec,
                       json_t *doc,
                       struct err *err)
{
    json_t *program = NULL;
    if (spec->output)
        json_object_set_new(doc, "output", json_string(spec->output));
    if (spec->retry_us)
        json_object_set_new(doc, "retry_us",
                            json_integer((json_int_t)spec->retry_us));
    if (!spec->program.kind)
        return 0;
    program = program_of(&spec->program);
    if (!program || json_object_set_new(doc, "program", program))
        return err_set(err, ERR_INVALID, "the observer's program is not UTF-8");
    return 0;
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
    rc = check_kind(spec, err);
    if (rc)
        return rc;
    doc = json_pack("{s:o, s:o, s:i}", "columns",
                    list_of(spec->columns, spec->column_count), "writes",
                    list_of(spec->writes, spec->write_count), "tries",
                    (int)(spec->tries ? spec->tries : QUARRY_OBSERVER_TRIES));
    rc = doc ? add_program(spec, doc, err) : 0;
    text = doc ? json_dumps(doc, JSON_COMPACT) : NULL;
    json_decref(doc);
    if (rc) {
        mem_free(text);
        return rc;
    }
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

static char *text_of(const json_t *from, const char *name)
{
    const char *text = json_string_value(json_object_get(from, name));
    return text ? mem_strdup(text) : NULL;
}

static uint64_t number_of(const json_t *from, const char *name, uint64_t else_)
{
    json_int_t n = json_integer_value(json_object_get(from, name));
    return n > 0 ? (uint64_t)n : else_;
}

static void parse_program(const json_t *doc, struct observer_settings *out)
{
    const json_t *p = json_object_get(doc, "program");
    const json_t *text = json_object_get(p, "text");
    out->output = text_of(doc, "output");
    out->retry_us = number_of(doc, "retry_us", 0);
    out->kind = text_of(p, "kind");
    out->function = text_of(p, "function");
    out->text = slice_make(
        mem_strndup(json_is_string(text) ? json_string_value(text) : "",
                    json_string_length(text)),
        json_string_length(text));
    out->derives = json_is_true(json_object_get(p, "derives"));
    out->stays = json_is_true(json_object_get(p, "stays"));
    out->timeout_us = number_of(p, "timeout_us", OBSERVER_TIMEOUT_US);
    out->memory_bytes = number_of(p, "memory_bytes", OBSERVER_MEMORY_BYTES);
}

bool observer_settings_have_program(struct slice settings)
{
    json_t *doc = json_loadb(settings.data, settings.len, 0, NULL);
    bool have = json_is_object(json_object_get(doc, "program"));
    json_decref(doc);
    return have;
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
    if (rc == 0)
        parse_program(doc, out);
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
    mem_free(s->output);
    mem_free(s->kind);
    mem_free((char *)(uintptr_t)s->text.data);
    mem_free(s->function);
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
