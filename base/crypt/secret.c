/* Pages of keys, with a free list inside. Keys are few and small, so whole
 * pages of them can be locked, where locking a malloc()ed key would lock its
 * neighbours. */
#define _GNU_SOURCE /* MADV_DONTDUMP */

#include "base/crypt/secret.h"

#include <openssl/crypto.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "base/core/panic.h"
#include "base/runtime/sync.h"

#define SECRET_PAGE_BYTES ((size_t)4096)

/* A place for a key, or a node of the free list. */
union secret_place {
    struct aead_key key;
    union secret_place *next;
};

#define PLACES_A_PAGE (SECRET_PAGE_BYTES / sizeof(union secret_place) - 1)

struct secret_page {
    struct secret_page *next;
    char unused[sizeof(union secret_place) - sizeof(void *)];
    union secret_place places[PLACES_A_PAGE];
};

STATIC_ASSERT(sizeof(struct secret_page) == SECRET_PAGE_BYTES, "one page");

struct secret_slab {
    struct mutex mutex; /* Guards everything: any thread makes and frees
                           keys. */
    struct secret_page *pages;
    union secret_place *free;
    size_t used;
};

struct secret_slab *secret_slab_new(void)
{
    struct secret_slab *s = mem_zalloc(1, sizeof(*s));
    mutex_init(&s->mutex);
    return s;
}

void secret_slab_free(struct secret_slab *s)
{
    if (!s)
        return;
    PRE(s->used == 0);
    while (s->pages) {
        struct secret_page *p = s->pages;
        s->pages = p->next;
        OPENSSL_cleanse(p, sizeof(*p));
        munmap(p, sizeof(*p));
    }
    mutex_close(&s->mutex);
    mem_free(s);
}

static void secret_slab_grow(struct secret_slab *s)
{
    struct secret_page *p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        PANIC("no memory for keys");
    /* Failures are ignored: a limit on locked memory must not keep a server
     * from starting. */
    (void)mlock(p, sizeof(*p));
    (void)madvise(p, sizeof(*p), MADV_DONTDUMP);
    p->next = s->pages;
    s->pages = p;
    for (size_t i = 0; i < PLACES_A_PAGE; i++) {
        p->places[i].next = s->free;
        s->free = &p->places[i];
    }
}

struct aead_key *secret_key_new(struct secret_slab *s)
{
    union secret_place *place;

    mutex_lock(&s->mutex);
    if (!s->free)
        secret_slab_grow(s);
    place = s->free;
    s->free = place->next;
    s->used++;
    mutex_unlock(&s->mutex);
    memset(place, 0, sizeof(*place));
    return &place->key;
}

void secret_key_free(struct secret_slab *s, struct aead_key *k)
{
    union secret_place *place = (union secret_place *)k;

    if (!k)
        return;
    OPENSSL_cleanse(place, sizeof(*place));
    mutex_lock(&s->mutex);
    INVARIANT(s->used > 0);
    place->next = s->free;
    s->free = place;
    s->used--;
    mutex_unlock(&s->mutex);
}

void secret_wipe(void *p, size_t bytes)
{
    OPENSSL_cleanse(p, bytes);
}
