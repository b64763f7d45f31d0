/* The settings of a server as JSON: those that the process asked its
 * configuration for, each with where its value comes from.
 */
#include "cli/settings_text.h"

#include <jansson.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/conf.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "cli/command.h"
#include "cli/server_settings.h"

#define SECTION "server"

struct settings_text {
    const struct server_settings *settings;
    json_t *array;
};

/* May its value hold a secret? */
static bool is_secret(const char *key)
{
    static const char *const words[] = {"command", "password", "secret"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strstr(key, words[i]))
            return true;
    return false;
}

/* NULL is not put. */
static void put_text(json_t *o, const char *name, const char *text)
{
    if (text && utf8_valid(slice_str(text)) &&
        json_object_set_new(o, name, json_string(text)))
        PANIC("no memory for a setting");
}

static void put_where(json_t *o, const char *file, unsigned line)
{
    struct buf where = BUF_INIT;
    buf_printf(&where, "%s:%u", file ? file : "", line);
    put_text(o, "where", buf_cstr(&where));
    buf_close(&where);
}

/* The command line has settings of section [server] alone. */
static const char *option_of(const struct server_settings *s,
                             const struct conf_setting *x)
{
    if (strcmp(x->section, SECTION) != 0 || !s->args)
        return NULL;
    return args_value(s->args, x->key);
}

static const char *variable_of(const struct conf_setting *x,
                               const char **variable)
{
    if (strcmp(x->section, SECTION) != 0)
        return NULL;
    return server_settings_variable(x->key, variable);
}

static const char *origin_of(const struct conf_setting *x,
                             const char *given,
                             const char *environment)
{
    if (given)
        return "option";
    if (environment)
        return "environment";
    return x->value ? "file" : "default";
}

static void put_setting(void *ctx, const struct conf_setting *x)
{
    struct settings_text *t = ctx;
    const char *given = option_of(t->settings, x);
    const char *variable = NULL;
    const char *environment = given ? NULL : variable_of(x, &variable);
    const char *value = given ? given : environment ? environment : x->value;
    json_t *o = json_object();
    struct buf name = BUF_INIT;
    buf_printf(&name, "%s%s%s", x->section, *x->section ? "." : "", x->key);
    if (!value && strcmp(x->section, SECTION) == 0)
        value = server_settings_default(x->key);
    put_text(o, "name", buf_cstr(&name));
    put_text(o, "value", value && is_secret(x->key) ? "(not shown)" : value);
    put_text(o, "origin", origin_of(x, given, environment));
    if (environment)
        put_text(o, "where", variable);
    else if (!given && x->value)
        put_where(o, t->settings->config, x->line);
    if (json_array_append_new(t->array, o))
        PANIC("no memory for a setting");
    buf_close(&name);
}

void settings_text_put(const struct server_settings *s, struct buf *out)
{
    struct settings_text t = {s, json_array()};
    char *text;
    PRE(s->conf);
    conf_each(s->conf, put_setting, &t);
    text = json_dumps(t.array, JSON_COMPACT);
    if (!text)
        PANIC("no memory for the settings");
    buf_append_str(out, text);
    mem_free(text);
    json_decref(t.array);
}
