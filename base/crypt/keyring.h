/* Data keys, and the KEYS file that holds them.
 *
 *     KEYS   = "QRYKEYS1" crc le32 of the rest, count le32, master le64,
 *              { key } × count, nonce (12 bytes), tag (16 bytes)
 *     key    = id le64, created le64 (µs since 1970), nonce (12 bytes),
 *              the key sealed with the master key (32 + 16 bytes), of which
 *              "QRYKEYS1", id and created are the associated data
 *
 * `master` names the master key that all are sealed with. The tag at the end
 * is that of an empty text with all before it as associated data: nobody
 * without the master key adds, drops or reorders keys. The last key seals what
 * is written from now on, the others open what was written before.
 *
 * Nothing is sealed with a data key itself: each file, and each writer of a
 * log, has a key that is derived from it and 16 random bytes (HKDF-SHA256).
 *
 * A key is lent to a program that must not have the data keys: the writer of a
 * bulk load, an attempt of a job. It is derived from a data key and the loan's
 * name, 16 bytes that say for whom and for what it is (HKDF-SHA256, purpose
 * "quarry lent key"); keys of the files that are sealed with it are derived
 * from it as others are from a data key. It opens nothing else, and who has the
 * data key and the name can derive it again.
 *
 * KEYS is replaced as a whole, atomically. Another process may do so (`quarry
 * encryption rotate` beside a server): it is read again before a new file is
 * begun, at most once a second, and when a key is asked for that is not there.
 *
 * Threads: any. What reads or writes KEYS parks.
 *
 * Invariants
 *     INV-1. A key that was in KEYS once stays there: what it sealed may exist.
 *     INV-2. A key is used only after the KEYS that has it is on the disk.
 *     INV-3. Keys in memory lie in a secret_slab.
 */
#ifndef BASE_CRYPT_KEYRING_H
#define BASE_CRYPT_KEYRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "base/crypt/aead.h"

struct buf;
struct keyring;
struct master_keys;
struct world;

#define KEYRING_SALT_BYTES ((size_t)16)
/* Data keys of a KEYS file: a rotation a day for two years. */
#define KEYRING_KEYS_MAX ((size_t)1024)
/* The largest KEYS file. */
#define KEYRING_FILE_BYTES_MAX ((size_t)128 << 10)

/* Where KEYS is kept. All three park; `read` appends to @out and says
 * ERR_NOTFOUND where there is none. */
struct keyring_place {
    void *ctx; /* Owned: `close` frees it. */
    int (*read)(void *ctx, struct buf *out, struct err *err);
    int (*replace)(void *ctx, struct slice contents, struct err *err);
    void (*close)(void *ctx);
};

/* The file @path of @w, as a place. */
struct keyring_place keyring_world_place(struct world *w, const char *path);

/* Open KEYS in @place, which is taken over. @masters is shared; NULL: no master
 * key is given. With @create, a KEYS with one fresh key is made where there is
 * none and a master key is given. *@out is owned; NULL, without an error, where
 * nothing is encrypted: no KEYS, and none made.
 *
 * Errors: ERR_DENIED (there are KEYS, and no master key, or another one than
 * they are sealed with), ERR_CORRUPT, those of the place. */
MUST_CHECK int keyring_open(struct world *w,
                            struct keyring_place place,
                            struct master_keys *masters,
                            bool create,
                            struct keyring **out,
                            struct err *err);
/* A keyring in memory alone, with one fresh key: for what does not outlive the
 * process. Owned. */
struct keyring *keyring_new_ephemeral(struct world *w);
/* The same with the key @bytes, which other processes have: that of a job's
 * spills. Owned. */
struct keyring *keyring_new_of(struct world *w,
                               const unsigned char bytes[AEAD_KEY_BYTES]);
struct keyring *keyring_ref(struct keyring *k); /* NULL is allowed. */
void keyring_unref(struct keyring *k);          /* NULL is allowed. */

/* Make a new data key, which seals what is begun from now on. Parks. */
MUST_CHECK int keyring_rotate(struct keyring *k, struct err *err);
/* Is KEYS sealed with the previous master key? */
bool keyring_is_outdated(struct keyring *k);
/* Seal all data keys with the present master key, if they are sealed with the
 * previous one; *@done says whether that was so. No data is touched. Parks. */
MUST_CHECK int keyring_rewrap(struct keyring *k, bool *done, struct err *err);

/* See whether another process changed KEYS. What fails is tried again later:
 * the keys that are known go on to serve. Parks. */
void keyring_refresh(struct keyring *k);

struct keyring_status {
    size_t key_count;
    uint64_t current_id;
    uint64_t current_created_us;
    uint64_t master; /* Name of the master key. */
};

void keyring_get_status(struct keyring *k, struct keyring_status *out);

/* --- KEYS as bytes, for inspection ---------------------------------------- */

/* What can be said of a data key without the master key. */
struct keys_file_entry {
    uint64_t id;
    uint64_t created_us; /* Since 1970. */
};

/* Does KEYS begin so? */
bool keys_file_is_one(struct slice head);
/* What the KEYS in @bytes lists, oldest first, and the name of its master key.
 * It is not verified: that takes the master key. *@out is owned: mem_free();
 * *@count is at least 1. Errors: ERR_CORRUPT. */
MUST_CHECK int keys_file_list(struct slice bytes,
                              uint64_t *master,
                              struct keys_file_entry **out,
                              size_t *count,
                              struct err *err);

/* --- keys of files ------------------------------------------------------- */

/* The id of the key that seals what is begun now. */
uint64_t keyring_current_id(struct keyring *k);
/* 16 fresh random bytes. */
void keyring_salt(struct keyring *k, unsigned char salt[KEYRING_SALT_BYTES]);

/* The key of data key @id, @salt and @purpose (a literal). *@out is owned:
 * keyring_key_free(). Parks where KEYS must be read again. Errors:
 * ERR_CORRUPT: KEYS has no key @id. */
MUST_CHECK int keyring_derive(struct keyring *k,
                              uint64_t id,
                              const unsigned char salt[KEYRING_SALT_BYTES],
                              const char *purpose,
                              struct aead_key **out,
                              struct err *err);
/* The same of the key that is lent under the name @lent, where not that of @k
 * is meant (0s: of no loan). Errors also: ERR_DENIED: @k is a loan, and another
 * one. */
MUST_CHECK int keyring_derive_lent(struct keyring *k,
                                   uint64_t id,
                                   const unsigned char lent[KEYRING_SALT_BYTES],
                                   const unsigned char salt[KEYRING_SALT_BYTES],
                                   const char *purpose,
                                   struct aead_key **out,
                                   struct err *err);
void keyring_key_free(struct keyring *k, struct aead_key *key); /* NULL ok. */

/* --- loans --------------------------------------------------------------- */

/* A secret: close it. */
struct key_loan {
    uint64_t key_id; /* Of the data key; 0: nothing is lent, or encrypted. */
    unsigned char lent[KEYRING_SALT_BYTES]; /* Its name. */
    struct aead_key key;
};

/* The name of a loan for what @to says, which no other loan's says. */
void key_loan_name(struct slice to, unsigned char lent[KEYRING_SALT_BYTES]);
/* Lend of the current data key. PRE: @k is no loan. Parks. Errors: those of
 * keyring_derive(). */
MUST_CHECK int keyring_lend(struct keyring *k,
                            const unsigned char lent[KEYRING_SALT_BYTES],
                            struct key_loan *out,
                            struct err *err);
void key_loan_close(struct key_loan *l);
/* What @l gives to seal and open with. Owned; NULL where nothing is lent. */
struct keyring *keyring_new_borrowed(struct world *w, const struct key_loan *l);
/* The same, of every data key, for who has them all. PRE: @k is no loan.
 * Owned. */
struct keyring *keyring_view_loan(struct keyring *k,
                                  const unsigned char lent[KEYRING_SALT_BYTES]);
/* The name of the loan that @k is; 0s: it is none. KEYRING_SALT_BYTES. */
const unsigned char *keyring_lent(const struct keyring *k);

#endif /* BASE_CRYPT_KEYRING_H */
