/* Writing an object: its bytes gather in parts, which tasks upload while the
 * next one fills. The first part is a plain PUT if it is the only one.
 *
 * Parts begin at OBJECT_PART_BYTES_MIN and grow with their number, so that
 * small objects take little memory, and OBJECT_PARTS_MAX parts reach far: 1,000
 * of 8 MiB, 2,000 of 16, 3,000 of 32 and 4,000 of 64 are 382 GiB.
 *
 * Invariants of struct object_writer
 *     INV-1. Parts [0, sent) were given to uploads; part `sent` is in `data`.
 *     INV-2. At most UPLOADS_MAX uploads are under way.
 *     INV-3. There is an `id` if and only if a part was sent.
 */
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "gfs-lite/objects/object_fs.h"

#define UPLOADS_MAX 4

struct object_writer;

/* A part on its way. */
struct part_upload {
    struct object_writer *writer;
    struct task *task; /* NULL: there is none. */
    unsigned number;   /* From 1. */
    char *data;        /* Owned. */
    size_t len;
    struct object_part part;
    int rc;
    struct err err;
};

struct object_writer {
    struct fs_writer base;
    char *path; /* Owned. */
    bool exclusive;
    bool synced; /* The object is there. */
    bool failed;
    char *data; /* Of the part that fills; owned. */
    size_t len;
    size_t cap;
    char *id; /* Of the upload; owned; NULL: none yet. */
    char *token;
    struct object_part *parts; /* Owned. */
    unsigned sent;
    struct part_upload uploads[UPLOADS_MAX]; /* By number, in turn. */
};

static struct object_writer *object_writer(struct fs_writer *w)
{
    return (struct object_writer *)w;
}

static struct object_client *client_of(struct object_writer *w)
{
    return object_fs_client(w->base.fs);
}

static size_t part_bytes(unsigned index)
{
    size_t bytes = OBJECT_PART_BYTES_MIN;
    if (index >= 6000)
        bytes *= 8;
    else if (index >= 3000)
        bytes *= 4;
    else if (index >= 1000)
        bytes *= 2;
    POST(bytes <= OBJECT_PART_BYTES_MAX);
    return bytes;
}

int object_fs_create(struct fs *fs,
                     const char *path,
                     const struct fs_write_options *opts,
                     struct fs_writer **out,
                     struct err *err)
{
    struct object_client *c = object_fs_client(fs);
    struct object_info info;
    struct object_writer *w;
    int rc = object_fs_needs_s3(fs, "written", err);
    if (rc == 0)
        rc = object_fs_check(fs, path, err);
    /* To be known before all bytes are sent; the last word has the sync. */
    if (rc == 0 && opts->exclusive) {
        rc = object_head(c, path, &info, err);
        rc = rc == 0 ? err_set(err, ERR_EXISTS, "%s/%s exists already",
                               object_client_name(c), path)
             : rc == ERR_NOTFOUND ? 0
                                  : rc;
    }
    if (rc)
        return rc;
    w = mem_zalloc(1, sizeof(*w));
    w->base.fs = fs;
    w->path = mem_strdup(path);
    w->exclusive = opts->exclusive;
    *out = &w->base;
    return 0;
}

/* --- parts --------------------------------------------------------------- */

static void run_upload(void *arg)
{
    struct part_upload *u = arg;
    struct object_writer *w = u->writer;
    err_init(&u->err);
    u->rc = object_upload_part(client_of(w), w->path, w->id, u->number,
                               slice_make(u->data, u->len), &u->part, &u->err);
}

/* Wait for the upload in @u, and take what came of it. */
static int
end_upload(struct object_writer *w, struct part_upload *u, struct err *err)
{
    int rc;
    if (!u->task)
        return 0;
    task_join(u->task);
    u->task = NULL;
    mem_free(u->data);
    u->data = NULL;
    rc = u->rc ? err_copy(err, &u->err) : 0;
    if (rc == 0)
        w->parts[u->number - 1] = u->part;
    return rc;
}

static int end_all(struct object_writer *w, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < UPLOADS_MAX; i++) {
        int one = end_upload(w, &w->uploads[i], rc ? NULL : err);
        rc = rc ? rc : one;
    }
    return rc;
}

static int begin_parts(struct object_writer *w, struct err *err)
{
    int rc;
    PRE(!w->id);
    rc = object_upload_begin(client_of(w), w->path, &w->id, &w->token, err);
    if (rc == 0)
        w->parts = mem_zalloc(OBJECT_PARTS_MAX, sizeof(*w->parts));
    return rc;
}

/* Give the part that filled to an upload. */
static int send_part(struct object_writer *w, struct err *err)
{
    struct part_upload *u = &w->uploads[w->sent % UPLOADS_MAX];
    int rc = w->id ? 0 : begin_parts(w, err);
    if (rc == 0 && w->sent == OBJECT_PARTS_MAX)
        rc = err_set(err, ERR_TOOBIG,
                     "%s/%s: over %u parts, and %llu bytes: S3 takes no more",
                     object_client_name(client_of(w)), w->path,
                     OBJECT_PARTS_MAX, (unsigned long long)w->base.offset);
    if (rc == 0)
        rc = end_upload(w, u, err); /* INV-2 */
    if (rc)
        return rc;
    INVARIANT(!u->task);
    *u = (struct part_upload){
        .writer = w, .number = ++w->sent, .data = w->data, .len = w->len};
    w->data = NULL;
    w->len = w->cap = 0;
    u->task = task_start(w->base.fs->world, "upload", run_upload, u);
    return 0;
}

/* Memory for @more bytes of the part, which has room for them: it grows, as
 * most files are small. */
static void make_room(struct object_writer *w, size_t more)
{
    size_t most = part_bytes(w->sent);
    size_t cap = MAX_OF(w->cap, (size_t)64 << 10);
    PRE(w->len + more <= most);
    while (cap < w->len + more)
        cap *= 2;
    if (cap > w->cap || !w->data) {
        w->cap = MIN_OF(cap, most);
        w->data = mem_realloc(w->data, w->cap);
    }
    POST(w->len + more <= w->cap);
}

int object_fs_append(struct fs_writer *base,
                     const void *data,
                     size_t len,
                     struct err *err)
{
    struct object_writer *w = object_writer(base);
    const char *p = data;
    int rc = 0;
    if (w->synced && len > 0)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s/%s: an object is written whole: nothing is appended "
                       "to it after a sync",
                       object_client_name(client_of(w)), w->path);
    if (w->failed)
        return err_set(err, ERR_IO, "%s: an earlier write failed", w->path);
    while (len > 0 && rc == 0) {
        size_t n = MIN_OF(len, part_bytes(w->sent) - w->len);
        make_room(w, n);
        memcpy(w->data + w->len, p, n);
        w->len += n;
        w->base.offset += n;
        p += n;
        len -= n;
        if (w->len == part_bytes(w->sent))
            rc = send_part(w, err);
    }
    w->failed = rc != 0;
    return rc;
}

int object_fs_flush(struct fs_writer *base, struct err *err)
{
    struct object_writer *w = object_writer(base);
    if (w->synced)
        return 0;
    return err_set(err, ERR_UNSUPPORTED,
                   "%s/%s: an object is there when all of it is, after a sync",
                   object_client_name(client_of(w)), w->path);
}

static int finish_parts(struct object_writer *w, struct err *err)
{
    int rc = w->len > 0 ? send_part(w, err) : 0;
    int ended = end_all(w, rc ? NULL : err);
    rc = rc ? rc : ended;
    if (rc)
        return rc;
    return object_upload_complete(client_of(w), w->path, w->id, w->token,
                                  w->parts, w->sent, w->exclusive, err);
}

int object_fs_sync(struct fs_writer *base, struct err *err)
{
    struct object_writer *w = object_writer(base);
    int rc;
    if (w->synced)
        return 0;
    if (w->failed)
        return err_set(err, ERR_IO, "%s: an earlier write failed", w->path);
    if (w->id)
        rc = finish_parts(w, err);
    else
        rc = object_put(client_of(w), w->path, slice_make(w->data, w->len),
                        w->exclusive, err);
    w->failed = rc != 0;
    w->synced = rc == 0;
    return rc;
}

void object_fs_writer_close(struct fs_writer *base)
{
    struct object_writer *w = object_writer(base);
    int rc = end_all(w, NULL); /* After an error some may be under way. */
    if (w->id && (!w->synced || rc))
        object_upload_abort(client_of(w), w->path, w->id);
    mem_free(w->data);
    mem_free(w->id);
    mem_free(w->token);
    mem_free(w->parts);
    mem_free(w->path);
    mem_free(w);
}
