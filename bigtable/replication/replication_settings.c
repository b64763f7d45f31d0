/* Settings are read and written by jansson. Names of rows are hexadecimal: they
 * may be any bytes.
 */
#include "bigtable/replication/replication_settings.h"

#include <jansson.h>
#include <string.h>

#include "base/core/hex.h"
#include "base/core/panic.h"
#include "bigtable/row/mutation.h" /* ROW_NAME_BYTES_MAX */

#define FAMILIES_MAX ((size_t)1000)

/* --- writing ------------------------------------------------------------- */

static void put_text(json_t *to, const char *name, const char *value)
{
    if (value && *value)
        json_object_set_new(to, name, json_string(value));
}

static void put_row(json_t *to, const char *name, struct slice row)
{
    struct buf hex = BUF_INIT;
    for (size_t i = 0; i < row.len; i++)
        buf_printf(&hex, "%02x", (unsigned char)row.data[i]);
    if (row.len)
        put_text(to, name, buf_cstr(&hex));
    buf_close(&hex);
}

static json_t *families_json(const struct quarry_replication_spec *s)
{
    json_t *list = json_array();
    for (size_t i = 0; i < s->family_count; i++) {
        json_t *one = json_object();
        put_text(one, "from", s->families[i].from);
        put_text(one, "to", s->families[i].to);
        json_array_append_new(list, one);
    }
    return list;
}

void replication_settings_put(const struct quarry_replication_spec *spec,
                              bool copy,
                              struct buf *out)
{
    json_t *o = json_object();
    char *text;
    put_text(o, "target", spec->target);
    put_text(o, "table", spec->to_table);
    if (spec->family_count)
        json_object_set_new(o, "families", families_json(spec));
    put_row(o, "start", spec->start);
    put_row(o, "end", spec->end);
    put_text(o, "qualifiers", spec->qualifiers);
    json_object_set_new(o, "deletions", json_boolean(!spec->no_deletions));
    json_object_set_new(o, "copy", json_boolean(copy));
    if (spec->bytes_per_s)
        json_object_set_new(o, "bytes_per_s",
                            json_integer((json_int_t)spec->bytes_per_s));
    put_text(o, "key_file", spec->key_file);
    put_text(o, "cluster", spec->cluster);
    put_text(o, "principal", spec->principal);
    put_text(o, "certificate_file", spec->certificate_file);
    put_text(o, "certificate_key_file", spec->certificate_key_file);
    put_text(o, "authority_file", spec->authority_file);
    text = json_dumps(o, JSON_COMPACT);
    PRE(text);
    buf_append_str(out, text);
    free(text);
    json_decref(o);
}

/* --- reading ------------------------------------------------------------- */

static const char *text_of(const struct replication_settings *s,
                           const char *name)
{
    return json_string_value(json_object_get(s->json, name));
}

static int get_row(const struct replication_settings *s,
                   const char *name,
                   struct buf *row,
                   struct err *err)
{
    const char *hex = text_of(s, name);
    size_t n = hex ? strlen(hex) : 0;
    if (n == 0)
        return 0;
    if (n % 2 || n / 2 > ROW_NAME_BYTES_MAX ||
        !hex_decode(hex, n / 2, (unsigned char *)buf_extend(row, n / 2)))
        return err_set(err, ERR_CORRUPT, "settings: \"%s\" is no row", name);
    return 0;
}

static int get_families(struct replication_settings *s, struct err *err)
{
    const json_t *list = json_object_get(s->json, "families");
    size_t count = json_array_size(list);
    if (count > FAMILIES_MAX)
        return err_set(err, ERR_CORRUPT, "settings: too many families");
    s->families = mem_zalloc(count + 1, sizeof(*s->families));
    for (size_t i = 0; i < count; i++) {
        const json_t *one = json_array_get(list, i);
        s->families[i].from = json_string_value(json_object_get(one, "from"));
        s->families[i].to = json_string_value(json_object_get(one, "to"));
        if (!s->families[i].from)
            return err_set(err, ERR_CORRUPT, "settings: a family has no name");
    }
    s->spec.families = s->families;
    s->spec.family_count = count;
    return 0;
}

int replication_settings_get(struct slice text,
                             struct replication_settings *s,
                             struct err *err)
{
    json_error_t why;
    json_int_t rate;
    int rc;
    *s = (struct replication_settings){.copy = false};
    s->json = json_loadb(text.data, text.len, 0, &why);
    if (!json_is_object((json_t *)s->json))
        return err_set(err, ERR_CORRUPT,
                       "the settings of a stream are no JSON");
    rate = json_integer_value(json_object_get(s->json, "bytes_per_s"));
    s->copy = json_is_true(json_object_get(s->json, "copy"));
    s->spec = (struct quarry_replication_spec){
        .target = text_of(s, "target"),
        .to_table = text_of(s, "table"),
        .qualifiers = text_of(s, "qualifiers"),
        .no_deletions = json_is_false(json_object_get(s->json, "deletions")),
        .bytes_per_s = rate > 0 ? (uint64_t)rate : 0,
        .key_file = text_of(s, "key_file"),
        .cluster = text_of(s, "cluster"),
        .principal = text_of(s, "principal"),
        .certificate_file = text_of(s, "certificate_file"),
        .certificate_key_file = text_of(s, "certificate_key_file"),
        .authority_file = text_of(s, "authority_file"),
    };
    rc = get_families(s, err);
    if (rc == 0)
        rc = get_row(s, "start", &s->start, err);
    if (rc == 0)
        rc = get_row(s, "end", &s->end, err);
    s->spec.start = buf_slice(&s->start);
    s->spec.end = buf_slice(&s->end);
    return rc;
}

void replication_settings_close(struct replication_settings *s)
{
    if (s->json)
        json_decref(s->json);
    mem_free(s->families);
    buf_close(&s->start);
    buf_close(&s->end);
}
