/* Writing files of a pool. Whole objects are sent in the background, several at
 * a time; the first flush gives the file its state and its name. From then on
 * each flush sends what came since and moves the length in the state, which is
 * what tells readers, in the step that compares it: a writer whose file was
 * taken is refused there, and what it sent behind the length is never read.
 *
 * Invariants of struct rados_writer
 *     INV-1. The first `sent` bytes are with the servers or on the way;
 *            data.len more wait. Both together are the offset, unless failed.
 *     INV-2. `placed`: the name is there, and the state is `state`.
 *     INV-3. in_flight counts the writes that have not ended.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "gfs-lite/rados/rados_fs.h"

/* Writes of one file at a time. */
#define IN_FLIGHT_MAX 6
#define STATE_BYTES   96

struct rados_writer {
    struct fs_writer base;
    char *path; /* Owned. */
    char id[RADOS_ID_BYTES];
    char pending[RADOS_VALUE_BYTES];
    char state[STATE_BYTES];  /* Of the first object; "": none. */
    struct rados_entry entry; /* Of the name. */
    struct buf data;
    uint64_t sent;
    bool exclusive;
    bool placed;
    bool failed;
    struct mutex mutex; /* Of what follows. */
    struct cond ended;
    unsigned in_flight;
    int rc; /* Of a write that failed. */
    struct err err;
};

struct part_write {
    struct rados_write write;
    struct rados_writer *writer;
    struct buf data; /* Owned. */
};

static struct rados_writer *rados_writer(struct fs_writer *w)
{
    return (struct rados_writer *)w;
}

static void new_id(struct fs *fs, char out[RADOS_ID_BYTES])
{
    snprintf(out, RADOS_ID_BYTES, "%016" PRIx64 "%016" PRIx64,
             world_random(fs->world), world_random(fs->world));
}

/* The object of the file @id that has the byte @offset. Owned. */
static char *object_at(const char *id, uint64_t offset)
{
    char key[RADOS_ID_BYTES + 2];
    snprintf(key, sizeof(key), "f/%s", id);
    return rados_object_name(key, offset / RADOS_OBJECT_BYTES);
}

/* --- parts --------------------------------------------------------------- */

static void part_ended(struct rados_write *write)
{
    struct part_write *p = CONTAINER_OF(write, struct part_write, write);
    struct rados_writer *w = p->writer;
    mutex_lock(&w->mutex);
    INVARIANT(w->in_flight > 0); /* INV-3 */
    w->in_flight--;
    if (write->rc && w->rc == 0)
        w->rc = err_copy(&w->err, &write->err);
    buf_close(&p->data);
    mem_free(write->object);
    mem_free(p);
    cond_broadcast(&w->ended);
    mutex_unlock(&w->mutex);
}

/* Wait until at most @most writes are under way; the error of any. */
static int await_parts(struct rados_writer *w, unsigned most, struct err *err)
{
    int rc;
    mutex_lock(&w->mutex);
    while (w->in_flight > most)
        cond_wait(&w->ended, &w->mutex);
    rc = w->rc ? err_copy(err, &w->err) : 0;
    mutex_unlock(&w->mutex);
    return rc;
}

/* Send what waits, in the background. */
static int send_part(struct rados_writer *w, struct err *err)
{
    struct part_write *p;
    int rc = await_parts(w, IN_FLIGHT_MAX - 1, err);
    if (rc || w->data.len == 0)
        return rc;
    p = mem_zalloc(1, sizeof(*p));
    p->writer = w;
    p->data = w->data;
    w->data = BUF_INIT;
    p->write.object = object_at(w->id, w->sent);
    p->write.offset = w->sent % RADOS_OBJECT_BYTES;
    p->write.data = buf_slice(&p->data);
    p->write.done = part_ended;
    w->sent += p->data.len;
    mutex_lock(&w->mutex);
    w->in_flight++;
    mutex_unlock(&w->mutex);
    rados_write_start(rados_fs_client(w->base.fs), &p->write);
    return 0;
}

static int check_failed(const struct rados_writer *w, struct err *err)
{
    return w->failed
               ? err_set(err, ERR_IO, "%s: an earlier write failed", w->path)
               : rados_fs_may_write(w->base.fs, err);
}

/* --- fs.h ---------------------------------------------------------------- */

/* To be known before all bytes are sent; the last word has the name. */
static int
check_name(struct fs *fs, const char *path, bool exclusive, struct err *err)
{
    const char *place = rados_client_name(rados_fs_client(fs));
    struct rados_entry e;
    int rc = rados_fs_check(fs, path, err);
    if (rc == 0)
        rc = rados_fs_may_write(fs, err);
    if (rc == 0)
        rc = rados_names_find(fs, path, &e, err);
    if (rc == 0 && e.kind == RADOS_DIRECTORY)
        rc = err_set(err, ERR_INVALID, "%s/%s: a directory", place, path);
    if (rc == 0 && e.kind == RADOS_FILE && exclusive)
        rc = err_set(err, ERR_EXISTS, "%s/%s exists already", place, path);
    return rc;
}

int rados_fs_create(struct fs *fs,
                    const char *path,
                    const struct fs_write_options *opts,
                    struct fs_writer **out,
                    struct err *err)
{
    struct rados_writer *w;
    char pending[RADOS_VALUE_BYTES];
    char id[RADOS_ID_BYTES];
    int rc = check_name(fs, path, opts->exclusive, err);
    new_id(fs, id);
    if (rc == 0)
        rc = rados_names_begin(fs, path, id, pending, err);
    if (rc)
        return rc;
    rados_fs_sweep(fs, path);
    w = mem_zalloc(1, sizeof(*w));
    w->base.fs = fs;
    w->path = mem_strdup(path);
    memcpy(w->id, id, sizeof(id));
    memcpy(w->pending, pending, sizeof(pending));
    w->exclusive = opts->exclusive;
    mutex_init(&w->mutex);
    cond_init(&w->ended);
    *out = &w->base;
    return 0;
}

int rados_fs_append(struct fs_writer *base,
                    const void *data,
                    size_t len,
                    struct err *err)
{
    struct rados_writer *w = rados_writer(base);
    const char *p = data;
    int rc = check_failed(w, err);
    while (len > 0 && rc == 0) {
        uint64_t at = w->sent + w->data.len;
        size_t n =
            (size_t)MIN_OF(len, RADOS_OBJECT_BYTES - at % RADOS_OBJECT_BYTES);
        buf_append(&w->data, p, n);
        base->offset += n;
        p += n;
        len -= n;
        if (base->offset % RADOS_OBJECT_BYTES == 0)
            rc = send_part(w, err);
    }
    w->failed |= rc != 0;
    POST(rc || w->sent + w->data.len == base->offset); /* INV-1 */
    return rc;
}

static void state_text(struct rados_writer *w, uint64_t now, char *out)
{
    snprintf(out, STATE_BYTES, "%s %" PRIu64 " %" PRIu64, w->id, w->base.offset,
             now);
}

/* Tell the length in the state, with what waits if the first object has it. */
static int move_length(struct rados_writer *w, uint64_t now, struct err *err)
{
    struct rados_client *c = rados_fs_client(w->base.fs);
    char *object = object_at(w->id, 0);
    struct slice data = buf_slice(&w->data);
    char state[STATE_BYTES];
    int rc = 0;
    state_text(w, now, state);
    if (w->sent + w->data.len > RADOS_OBJECT_BYTES) {
        rc = send_part(w, err);
        data = SLICE_EMPTY;
    }
    if (rc == 0)
        rc = await_parts(w, 0, err);
    if (rc == 0 && *w->state)
        rc = rados_object_append(c, object, w->state, state,
                                 w->sent % RADOS_OBJECT_BYTES, data, err);
    else if (rc == 0 && w->sent == 0)
        rc = rados_object_put(c, object, data, state, err);
    else if (rc == 0) /* The object has bytes, and no state yet. */
        rc = rados_object_append(c, object, "", state,
                                 w->sent % RADOS_OBJECT_BYTES, data, err);
    if (rc == 0) {
        w->sent += data.len;
        buf_clear(&w->data);
        memcpy(w->state, state, sizeof(state));
    }
    mem_free(object);
    return rc;
}

int rados_fs_flush(struct fs_writer *base, struct err *err)
{
    struct rados_writer *w = rados_writer(base);
    const struct rados_put_options o = {.exclusive = w->exclusive,
                                        .pending = w->pending};
    uint64_t now = world_now_us(base->fs->world);
    int rc = check_failed(w, err);
    if (rc)
        return rc;
    if (w->placed && w->data.len == 0 && w->sent == w->entry.size_bytes)
        return 0;
    rc = move_length(w, now, err);
    if (rc == 0 && !w->placed) {
        rados_entry_of_file(&w->entry, w->id, base->offset, now, true);
        rc = rados_names_put(base->fs, w->path, &w->entry, &o, err);
        w->placed = rc == 0; /* INV-2 */
    }
    if (rc)
        err_wrap(err, "%s", w->path);
    w->failed = rc != 0;
    return rc;
}

/* The name says the length from now on. Where this fails the state does. */
static void seal_name(struct rados_writer *w)
{
    const struct rados_put_options o = {.was = w->entry.value};
    struct rados_entry sealed;
    rados_entry_of_file(&sealed, w->id, w->base.offset,
                        world_now_us(w->base.fs->world), false);
    (void)!rados_names_put(w->base.fs, w->path, &sealed, &o, NULL);
}

void rados_fs_writer_close(struct fs_writer *base)
{
    struct rados_writer *w = rados_writer(base);
    struct fs *fs = base->fs;
    if (w->placed && !w->failed)
        (void)!rados_fs_flush(base, NULL);
    (void)!await_parts(w, 0, NULL);
    if (w->placed && !w->failed) {
        seal_name(w);
    } else if (!w->placed) {
        /* A name that may have come after all keeps its objects. */
        struct rados_entry e;
        int rc = rados_names_find(fs, w->path, &e, NULL);
        if (rc == 0 && strcmp(e.id, w->id) != 0 &&
            rados_fs_drop_objects(fs, w->id, w->sent, true, NULL) == 0)
            rados_names_end(fs, w->path, w->id, w->pending);
    }
    buf_close(&w->data);
    cond_close(&w->ended);
    mutex_close(&w->mutex);
    mem_free(w->path);
    mem_free(w);
}

int rados_fs_place(struct fs *fs,
                   const char *path,
                   struct slice contents,
                   bool exclusive,
                   struct err *err)
{
    const struct fs_write_options o = {.mode = FS_WRITE_STREAM,
                                       .exclusive = exclusive};
    struct rados_put_options put = {.exclusive = exclusive};
    struct rados_entry e;
    char pending[RADOS_VALUE_BYTES];
    char id[RADOS_ID_BYTES];
    struct fs_writer *w = NULL;
    char *object;
    int rc = check_name(fs, path, exclusive, err);
    if (rc)
        return rc;
    if (contents.len > RADOS_OBJECT_BYTES) {
        rc = rados_fs_create(fs, path, &o, &w, err);
        if (rc == 0)
            rc = rados_fs_append(w, contents.data, contents.len, err);
        if (rc == 0)
            rc = rados_fs_flush(w, err);
        if (w)
            rados_fs_writer_close(w);
        return rc;
    }
    new_id(fs, id);
    rc = rados_names_begin(fs, path, id, pending, err);
    if (rc)
        return rc;
    object = object_at(id, 0);
    rc = rados_object_put(rados_fs_client(fs), object, contents, "", err);
    put.pending = pending;
    rados_entry_of_file(&e, id, contents.len, world_now_us(fs->world), false);
    if (rc == 0)
        rc = rados_names_put(fs, path, &e, &put, err);
    /* After an unknown outcome the bytes stay. */
    if (rc == ERR_EXISTS || rc == ERR_INVALID) {
        (void)!rados_object_remove(rados_fs_client(fs), object, NULL);
        rados_names_end(fs, path, id, pending);
    }
    mem_free(object);
    return rc;
}

/* --- taking a file from its writer --------------------------------------- */

/* "WRITER BYTES MODIFIED_US" */
static int state_parse(struct slice state,
                       uint64_t *size_bytes,
                       uint64_t *modified_us,
                       bool *is_taken,
                       struct err *err)
{
    char text[STATE_BYTES] = "";
    char writer[RADOS_ID_BYTES] = "";
    int end = 0;
    if (state.len >= sizeof(text))
        return err_set(err, ERR_CORRUPT, "a file's state has %zu bytes",
                       state.len);
    memcpy(text, state.data, state.len);
    if (sscanf(text, "%32s %" SCNu64 " %" SCNu64 "%n", writer, size_bytes,
               modified_us, &end) != 3 ||
        (size_t)end != state.len)
        return err_set(err, ERR_CORRUPT, "a file's state is \"%.80s\"", text);
    *is_taken = strcmp(writer, "-") == 0;
    return 0;
}

int rados_fs_refresh(struct fs *fs, struct rados_entry *e, struct err *err)
{
    struct buf state = BUF_INIT;
    char *object = object_at(e->id, 0);
    bool is_taken = false;
    int rc = rados_object_state(rados_fs_client(fs), object, &state, err);
    if (rc == 0)
        rc = state_parse(buf_slice(&state), &e->size_bytes, &e->modified_us,
                         &is_taken, err);
    buf_close(&state);
    mem_free(object);
    return rc;
}

/* One try: the state names no writer any more, and then the name is sealed.
 * ERR_ABORTED: look again. */
static int
take_once(struct fs *fs, const char *path, uint64_t *length, struct err *err)
{
    struct rados_client *c = rados_fs_client(fs);
    struct rados_put_options o = {.exclusive = false};
    struct rados_entry e;
    struct rados_entry sealed;
    struct buf state = BUF_INIT;
    char taken[STATE_BYTES];
    char *object;
    uint64_t modified_us = 0;
    bool is_taken = false;
    int rc = rados_names_find(fs, path, &e, err);
    if (rc == 0 && e.kind == RADOS_NONE)
        rc = err_set(err, ERR_NOTFOUND, "%s/%s: not there",
                     rados_client_name(c), path);
    if (rc == 0 && e.kind == RADOS_DIRECTORY)
        rc = err_set(err, ERR_INVALID, "%s/%s: a directory",
                     rados_client_name(c), path);
    *length = e.size_bytes;
    if (rc || !e.grows)
        return rc;
    object = object_at(e.id, 0);
    rc = rados_object_state(c, object, &state, err);
    if (rc == 0)
        rc = state_parse(buf_slice(&state), length, &modified_us, &is_taken,
                         err);
    snprintf(taken, sizeof(taken), "- %" PRIu64 " %" PRIu64, *length,
             modified_us);
    if (rc == 0 && !is_taken)
        rc = rados_object_append(c, object, buf_cstr(&state), taken, 0,
                                 SLICE_EMPTY, err);
    if (rc == 0) {
        rados_entry_of_file(&sealed, e.id, *length, modified_us, false);
        o.was = e.value;
        rc = rados_names_put(fs, path, &sealed, &o, err);
    }
    buf_close(&state);
    mem_free(object);
    /* Replaced or removed in between. */
    return rc == ERR_NOTFOUND ? ERR_ABORTED : rc;
}

int rados_fs_recover(struct fs *fs,
                     const char *path,
                     uint64_t *length,
                     struct err *err)
{
    unsigned tries = 0;
    int rc = rados_fs_check(fs, path, err);
    if (rc)
        return rc;
    do {
        rc = take_once(fs, path, length, err);
    } while (rc && rados_names_again(fs, rc, &tries));
    return rc;
}
