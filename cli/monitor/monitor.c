/* A monitor's life, and the table of subjects: what a document can be about,
 * which parameters it takes and who makes it. */
#include "cli/monitor/monitor.h"

#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "cli/monitor/finding_watch.h"
#include "cli/monitor/monitor_private.h"

struct subject {
    const char *name;
    const char *params; /* With commas. */
    int (*make)(struct monitor *m,
                const struct monitor_param *params,
                size_t count,
                json_t *doc,
                struct err *err);
};

static const struct subject subjects[] = {
#define SUBJECT(name, params, function) {#name, params, function},
#include "cli/monitor/monitor_subjects.def"
#undef SUBJECT
};

const struct monitor_source *monitor_source_of(const struct monitor *m)
{
    return &m->source;
}

struct finding_watch *monitor_watch(const struct monitor *m)
{
    return m->watch;
}

int monitor_open(const struct monitor_source *source,
                 struct monitor **out,
                 struct err *err)
{
    struct monitor *m;
    *out = NULL;
    if (source->cell_count == 0)
        return err_set(err, ERR_INVALID, "a monitor needs an address");
    PRE(!source->own_text == !source->own_address);
    m = mem_zalloc(1, sizeof(*m));
    m->source = *source;
    mutex_init(&m->gathering);
    mutex_init(&m->surveying);
    mutex_init(&m->opening);
    mutex_init(&m->ended_lock);
    cond_init(&m->ended);
    arena_init(&m->files_arena);
    m->watch = finding_watch_new();
    *out = m;
    return 0;
}

void monitor_close(struct monitor *m)
{
    if (!m)
        return;
    monitor__stop_asking(m);
    monitor__close_clients(m);
    monitor_tablets_unref(m->tablets);
    finding_watch_free(m->watch);
    monitor_nodes_unref(m->last);
    arena_close(&m->files_arena);
    cond_close(&m->ended);
    mutex_close(&m->ended_lock);
    mutex_close(&m->opening);
    mutex_close(&m->surveying);
    mutex_close(&m->gathering);
    mem_free(m);
}

/* --- documents ----------------------------------------------------------- */

const char *monitor_subject(size_t index, const char **params)
{
    if (index >= ARRAY_LEN(subjects))
        return NULL;
    *params = subjects[index].params;
    return subjects[index].name;
}

static int
find_subject(const char *name, const struct subject **out, struct err *err)
{
    struct buf names = BUF_INIT;
    *out = NULL;
    for (size_t i = 0; i < ARRAY_LEN(subjects); i++) {
        if (strcmp(subjects[i].name, name) == 0)
            *out = &subjects[i];
        buf_printf(&names, "%s%s", i ? ", " : "", subjects[i].name);
    }
    if (!*out) {
        err_set(err, ERR_NOTFOUND, "there is no subject %.100s", name);
        err_hint(err, "there are: %s", buf_cstr(&names));
    }
    buf_close(&names);
    return *out ? 0 : ERR_NOTFOUND;
}

static bool takes_param(const struct subject *s, const char *name)
{
    struct slice rest = slice_str(s->params);
    while (rest.len) {
        size_t end = slice_find_byte(rest, ',');
        if (slice_eq_str(slice_sub(rest, 0, end), name))
            return true;
        rest = slice_sub(rest, end + 1, rest.len);
    }
    return false;
}

bool monitor_subject_takes(const char *subject, const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(subjects); i++)
        if (strcmp(subjects[i].name, subject) == 0)
            return takes_param(&subjects[i], name);
    return false;
}

static int check_params(const struct subject *s,
                        const struct monitor_param *params,
                        size_t count,
                        struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        if (takes_param(s, params[i].name))
            continue;
        err_set(err, ERR_INVALID, "%s has no parameter %.100s", s->name,
                params[i].name);
        err_hint(err, "it takes: %s", *s->params ? s->params : "none");
        return ERR_INVALID;
    }
    return 0;
}

int monitor_make(struct monitor *m,
                 const char *subject,
                 const struct monitor_param *params,
                 size_t count,
                 json_t **out,
                 struct err *err)
{
    const struct subject *s;
    int rc = find_subject(subject, &s, err);
    *out = NULL;
    if (rc == 0)
        rc = check_params(s, params, count, err);
    if (rc)
        return rc;
    *out = json_object();
    doc_put_u64(*out, "at_us", world_now_us(m->source.world));
    doc_put_str(*out, "cluster", m->source.cluster);
    doc_put_array(*out, "warnings");
    monitor__drop_lost_client(m);
    m->making++;
    rc = s->make(m, params, count, *out, err);
    m->making--;
    if (rc) {
        json_decref(*out);
        *out = NULL;
    } else {
        /* No fact in it is newer: servers told some of them meanwhile. */
        doc_put_u64(*out, "at_us", world_now_us(m->source.world));
    }
    return rc;
}
