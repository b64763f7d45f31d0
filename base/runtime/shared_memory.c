/* Memory that two processes of one machine share: a sealed memfd. The seals
 * forbid shrinking, so a reader never gets SIGBUS; the receiver checks that
 * they are set and that the size is the agreed one before it maps anything. */
#define _GNU_SOURCE

#include "base/runtime/shared_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/panic.h"
#include "base/runtime/loop.h"
#include "base/runtime/stream.h"
#include "base/runtime/stream_ops.h"
#include "base/runtime/world.h"
#include "base/runtime/world_uv.h"

/* The size is fixed, so that reading cannot fault. */
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

struct shared_memory {
    void *bytes;
    size_t len;
    int fd;   /* -1: it was received, or has been sent. */
    bool own; /* May be written. */
};

bool stream_shares_memory(const struct stream *s)
{
    return s->ops->passes_files && s->ops->passes_files(s);
}

static int shared_memory_exhausted(int errnum, size_t bytes, struct err *err)
{
    err_set_errno(err, errnum, "%zu bytes of shared memory", bytes);
    if (err)
        err->code = ERR_EXHAUSTED;
    return ERR_EXHAUSTED;
}

static int shared_memory_map(int fd,
                             size_t bytes,
                             bool own,
                             struct shared_memory **out,
                             struct err *err)
{
    int protection = own ? PROT_READ | PROT_WRITE : PROT_READ;
    void *p = mmap(NULL, bytes, protection, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        return shared_memory_exhausted(errno, bytes, err);
    *out = mem_zalloc(1, sizeof(**out));
    **out = (struct shared_memory){p, bytes, -1, own};
    return 0;
}

int shared_memory_new(size_t bytes, struct shared_memory **out, struct err *err)
{
    int fd = memfd_create("quarry", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int rc;
    *out = NULL;
    if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0 ||
        fcntl(fd, F_ADD_SEALS, SEALS) < 0)
        rc = shared_memory_exhausted(errno, bytes, err);
    else
        rc = shared_memory_map(fd, bytes, true, out, err);
    if (rc == 0)
        (*out)->fd = fd;
    else if (fd >= 0)
        close(fd);
    return rc;
}

/* The mapping stays valid without the descriptor. */
int shared_memory_send(struct shared_memory *m,
                       struct stream *s,
                       struct err *err)
{
    struct file *f;
    int rc;
    PRE(m->fd >= 0);
    f = real_file_adopt(loop_world(s->loop), m->fd, "shared memory");
    m->fd = -1;
    rc = stream_send_file(s, f, err);
    file_close(f);
    return rc;
}

static int shared_memory_check(int fd, size_t bytes, struct err *err)
{
    struct stat st;
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &st) < 0 ||
        st.st_size != (off_t)bytes)
        return err_set(err, ERR_CORRUPT,
                       "what came is not %zu bytes of shared memory", bytes);
    return 0;
}

int shared_memory_receive(struct stream *s,
                          size_t bytes,
                          struct shared_memory **out,
                          struct err *err)
{
    struct file *f;
    int rc = stream_receive_file(s, &f, err);
    *out = NULL;
    if (rc)
        return rc;
    rc = shared_memory_check(real_file_descriptor(f), bytes, err);
    if (rc == 0)
        rc = shared_memory_map(real_file_descriptor(f), bytes, false, out, err);
    file_close(f);
    return rc;
}

void shared_memory_free(struct shared_memory *m)
{
    if (!m)
        return;
    munmap(m->bytes, m->len);
    if (m->fd >= 0)
        close(m->fd);
    mem_free(m);
}

char *shared_memory_own(struct shared_memory *m)
{
    PRE(m->own);
    return m->bytes;
}

const char *shared_memory_bytes(const struct shared_memory *m)
{
    return m->bytes;
}
