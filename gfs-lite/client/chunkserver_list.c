/* Chunk servers as layouts name them: queries for layouts, addresses,
 * distances, and the length of an open chunk, which only its servers know.
 */
#include "base/core/arena.h"
#include "base/core/panic.h"
#include "gfs-lite/client/gfs_client.h"

static void gfs_servers_replace(char **text, struct slice s)
{
    mem_free(*text);
    *text = mem_strndup(s.data, s.len);
}

void gfs__note_servers(struct gfs *g, const struct gfs_layout *l)
{
    mutex_lock(&g->mutex);
    for (size_t i = 0; i < l->server_count; i++) {
        struct known_server *s = id_map_get(&g->servers, l->servers[i].number);
        if (!s) {
            s = mem_zalloc(1, sizeof(*s));
            s->number = l->servers[i].number;
            id_map_put(&g->servers, s);
        }
        gfs_servers_replace(&s->address, l->servers[i].address);
        gfs_servers_replace(&s->machine, l->servers[i].machine);
        gfs_servers_replace(&s->rack, l->servers[i].rack);
    }
    mutex_unlock(&g->mutex);
}

char *gfs__server_address(struct gfs *g, uint16_t number)
{
    struct known_server *s;
    char *address;
    mutex_lock(&g->mutex);
    s = id_map_get(&g->servers, number);
    address = s && s->address[0] ? mem_strdup(s->address) : NULL;
    mutex_unlock(&g->mutex);
    return address;
}

int gfs__server_number(struct gfs *g, struct slice address)
{
    size_t at = 0;
    struct known_server *s;
    int number = -1;
    mutex_lock(&g->mutex);
    while (number < 0 && (s = id_map_next(&g->servers, &at)))
        if (slice_eq_str(address, s->address))
            number = (int)s->number;
    mutex_unlock(&g->mutex);
    return number;
}

void gfs__forget_server(struct gfs *g, uint16_t number)
{
    struct known_server *s;
    mutex_lock(&g->mutex);
    s = id_map_get(&g->servers, number);
    if (s)
        gfs_servers_replace(&s->address, SLICE_EMPTY);
    mutex_unlock(&g->mutex);
}

/* Is it an address that only this machine reaches? */
static bool is_loopback(const char *address)
{
    struct slice a = slice_str(address);
    return slice_starts_with(a, SLICE_LIT("127.")) ||
           slice_starts_with(a, SLICE_LIT("localhost:")) ||
           slice_starts_with(a, SLICE_LIT("[::1]"));
}

int gfs__distance(struct gfs *g, uint16_t number)
{
    const struct known_server *s;
    int distance = 2;
    mutex_lock(&g->mutex);
    s = id_map_get(&g->servers, number);
    if (s &&
        (is_loopback(s->address) ||
         (g->machine[0] && slice_eq_str(slice_str(s->machine), g->machine))))
        distance = 0;
    else if (s && slice_eq_str(slice_str(s->rack), g->rack))
        distance = 1;
    mutex_unlock(&g->mutex);
    return distance;
}

int gfs__layout(struct gfs *g,
                struct slice path,
                uint64_t file,
                uint64_t offset,
                struct arena *a,
                struct buf *reply,
                struct gfs_layout *out,
                struct err *err)
{
    struct gfs_query q = {.path = path,
                          .file = file,
                          .offset = offset,
                          .length = UINT64_MAX - offset};
    int rc = gfs__query(g, GFS_LAYOUT, &q, reply, err);
    if (rc == 0)
        rc = gfs_layout_get(buf_slice(reply), a, out, err);
    if (rc == 0)
        gfs__note_servers(g, out);
    return rc;
}

/* Call server @number for the chunk's length. A server that refuses a fresh
 * proof does not have its key yet: ERR_UNAVAILABLE, because it will. */
static int ask_length(struct gfs *g,
                      const struct gfs_chunk *c,
                      uint16_t number,
                      struct chunk_answer *answer,
                      struct err *err)
{
    struct chunk_call call = {
        .handle = c->handle, .version = c->version, .proof = c->proof};
    char *address = gfs__server_address(g, number);
    struct buf body = BUF_INIT;
    struct buf reply = BUF_INIT;
    int rc;
    chunk_call_put(&call, &body);
    rc = address ? peers_call(g->peers, slice_str(address), CHUNK_OPEN, 2000000,
                              buf_slice(&body), SLICE_EMPTY, &reply, NULL, err)
                 : err_set(err, ERR_UNAVAILABLE, "no address");
    if (rc == 0)
        rc = chunk_answer_get(buf_slice(&reply), answer, err);
    if (rc == ERR_DENIED && err)
        err->code = ERR_UNAVAILABLE;
    if (rc == ERR_DENIED)
        rc = ERR_UNAVAILABLE;
    buf_close(&body);
    buf_close(&reply);
    mem_free(address);
    return rc;
}

int gfs__open_length(struct gfs *g,
                     const struct gfs_chunk *c,
                     uint64_t *length,
                     struct err *err)
{
    unsigned answers = 0;
    bool found = true; /* All that answered began after the chunk. */
    int unseen = 0;
    *length = 0;
    for (unsigned i = 0; i < c->servers.count; i++) {
        struct err why = ERR_INIT;
        struct chunk_answer one;
        int rc = ask_length(g, c, c->servers.numbers[i], &one, &why);
        if (rc && rc != ERR_NOTFOUND)
            unseen = err_copy(err, &why);
        /* A server that lost power since may lack bytes that others have. */
        if (rc || (one.found && !found))
            continue;
        *length = answers && one.found == found ? MIN_OF(*length, one.length)
                                                : one.length;
        found = one.found;
        answers++;
    }
    /* No server has it: it is not made yet. But a server that could not be
     * called may have bytes that others have lost. */
    return answers && !(found && unseen) ? 0 : unseen;
}
