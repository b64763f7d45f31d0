/* Clients' sessions: opened and ended by commands of the log, so that every
 * member of the cell has the same ones. A session's id is the index of the
 * command that opened it. When one ends because its client was silent is the
 * leader's decision (maintenance.c).
 */
#include "base/core/panic.h"
#include "gfs-lite/namenode/catalog.h"

void catalog_session_free(struct catalog_session *s)
{
    session_answers_close(&s->answers);
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
    PRE(!catalog_session(m, id));
    s->id = id;
    s->name = mem_strndup(name.data, name.len);
    s->principal = mem_strndup(principal.data, principal.len);
    id_map_put(&m->sessions, s);
    return s;
}

int catalog_open_session(struct catalog *m,
                         uint64_t index,
                         const struct gfs_command *c,
                         struct gfs_result *r,
                         struct err *err)
{
    PRE(index > 0);
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
    INVARIANT(s->id == id);
    names_unlock_all(&m->names, id);
    id_map_remove(&m->sessions, id);
    catalog_session_free(s);
}
