/* Clients' sessions, and the answers kept for them. */
#include "base/core/panic.h"
#include "gfs-lite/namenode/catalog.h"

void catalog_session_free(struct catalog_session *s)
{
    for (uint32_t i = 0; i < s->answer_count; i++)
        mem_free(s->answers[i].bytes);
    mem_free(s->answers);
    mem_free(s->name);
    mem_free(s->principal);
    mem_free(s);
}

struct catalog_session *catalog_session(const struct catalog *m, uint64_t id)
{
    return id_map_get(&m->sessions, id);
}

struct catalog_session *catalog_add_session(struct catalog *m,
                                            uint64_t id,
                                            struct slice name,
                                            struct slice principal)
{
    struct catalog_session *s = mem_zalloc(1, sizeof(*s));
    s->id = id;
    s->name = mem_strndup(name.data, name.len);
    s->principal = mem_strndup(principal.data, principal.len);
    id_map_put(&m->sessions, s);
    return s;
}

void catalog_keep_answer(struct catalog_session *s,
                         uint64_t sequence,
                         struct slice a)
{
    struct catalog_answer *kept;
    s->answers =
        mem_realloc(s->answers, (s->answer_count + 1) * sizeof(*s->answers));
    kept = &s->answers[s->answer_count++];
    kept->sequence = sequence;
    kept->bytes = mem_strndup(a.data, a.len);
    kept->len = (uint32_t)a.len;
}

void catalog_drop_answers(struct catalog_session *s, uint64_t answered)
{
    uint32_t kept = 0;
    if (answered <= s->answered)
        return;
    s->answered = answered;
    for (uint32_t i = 0; i < s->answer_count; i++)
        if (s->answers[i].sequence <= answered)
            mem_free(s->answers[i].bytes);
        else
            s->answers[kept++] = s->answers[i];
    s->answer_count = kept;
}

const struct catalog_answer *catalog_answer(const struct catalog_session *s,
                                            uint64_t sequence)
{
    for (uint32_t i = 0; i < s->answer_count; i++)
        if (s->answers[i].sequence == sequence)
            return &s->answers[i];
    return NULL;
}

void catalog_change_answer(struct catalog_session *s,
                           uint64_t sequence,
                           struct slice a)
{
    for (uint32_t i = 0; i < s->answer_count; i++) {
        struct catalog_answer *kept = &s->answers[i];
        if (kept->sequence != sequence)
            continue;
        mem_free(kept->bytes);
        kept->bytes = mem_strndup(a.data, a.len);
        kept->len = (uint32_t)a.len;
    }
}

int catalog_open_session(struct catalog *m,
                         uint64_t index,
                         const struct gfs_command *c,
                         struct gfs_result *r,
                         struct err *err)
{
    if (m->sessions.count >= SESSIONS_MAX)
        return err_set(err, ERR_EXHAUSTED, "%u sessions are open",
                       SESSIONS_MAX);
    catalog_add_session(m, index, c->text, c->caller);
    r->session = index;
    return 0;
}

void catalog_end_session(struct catalog *m, uint64_t id)
{
    struct catalog_session *s = catalog_session(m, id);
    if (!s)
        return;
    names_unlock_all(&m->names, id);
    id_map_remove(&m->sessions, id);
    catalog_session_free(s);
}
