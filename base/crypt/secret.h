/* Memory for keys: whole pages that are not swapped out (mlock, as far as the
 * limit on locked memory allows), are left out of core dumps, and are
 * overwritten when keys are freed.
 *
 * Threads: a secret_slab is for any thread.
 */
#ifndef BASE_CRYPT_SECRET_H
#define BASE_CRYPT_SECRET_H

#include <stddef.h>

#include "base/crypt/aead.h"

struct secret_slab;

/* A slab without keys. Owned. */
struct secret_slab *secret_slab_new(void);
/* PRE: all of its keys were freed. NULL is allowed. */
void secret_slab_free(struct secret_slab *s);

/* Room for a key, zeroed. Owned: secret_key_free(). */
struct aead_key *secret_key_new(struct secret_slab *s);
/* Overwrite and free @k; NULL is allowed. */
void secret_key_free(struct secret_slab *s, struct aead_key *k);

/* Overwrite a buffer that held a key. */
void secret_wipe(void *p, size_t bytes);

#endif /* BASE_CRYPT_SECRET_H */
