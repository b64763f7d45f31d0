/* Data keys, and the KEYS file that holds them.
 *
 *     KEYS   = "QRYKEYS1" crc le32 of the rest, count le32, master le64,
 *              { key } × count, nonce (12 bytes), tag (16 bytes)
 *     key    = id le64, created le64 (µs since 1970), nonce (12 bytes),
 *              the key sealed with the master key (32 + 16 bytes), of which
 *              "QRYKEYS1", id and created are the associated data
 *
 * `master` identifies the master key that seals all of them. The tag at the end
 * is that of an empty text with everything before it as associated data:
 * without the master key nobody can add, drop or reorder keys. The last key
 * seals new files; the others open older ones.
 *
 * Nothing is sealed with a data key itself: each file, and each writer of a
 * log, has its own key, derived from a data key and 16 random bytes
 * (HKDF-SHA256).
 *
 * A loan is a key for a program that must not have the data keys: the writer of
 * a bulk load, an attempt of a job. It is derived from a data key and the
 * loan's name, 16 bytes that identify its receiver and purpose (HKDF-SHA256,
 * purpose "quarry lent key"); keys of files are derived from it as from a data
 * key. It opens nothing else, and every holder of the data key and the name can
 * derive it again.
 *
 * KEYS is replaced as a whole, atomically. Another process may do so (`quarry
 * encryption rotate` beside a server): it is read again before a new file is
 * begun, at most once a second, and when a key is missing.
 *
 * Threads: any. Functions that read or write KEYS park.
 *
 * Invariants
 *     INV-1. A key that was in KEYS once stays there: files that it sealed may
 *     exist.
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

/* Where KEYS is kept. All three park; `read` appends to @out and returns
 * ERR_NOTFOUND if there is none. */
struct keyring_place {
    void *ctx; /* Owned: `close` frees it. */
    int (*read)(void *ctx, struct buf *out, struct err *err);
    int (*replace)(void *ctx, struct slice contents, struct err *err);
    void (*close)(void *ctx);
};

/* The file @path of @w, as a place. */
struct keyring_place keyring_world_place(struct world *w, const char *path);

/* Open KEYS in @place, which becomes the keyring's. @masters is shared; NULL:
 * no master key is given. With @create and a master key, a missing KEYS is
 * made, with one new key. *@out is owned; NULL, without an error, if nothing is
 * encrypted: no KEYS, and none made.
 *
 * Errors: ERR_DENIED (there are KEYS, and no master key, or another one than
 * they are sealed with), ERR_CORRUPT, those of the place. */
MUST_CHECK int keyring_open(struct world *w,
                            struct keyring_place place,
                            struct master_keys *masters,
                            bool create,
                            struct keyring **out,
                            struct err *err);
/* A keyring in memory only, with one new key: for files that do not outlive
 * the process. Owned. */
struct keyring *keyring_new_ephemeral(struct world *w);
/* The same with the key @bytes, which other processes share: that of a job's
 * spills. Owned. */
struct keyring *keyring_new_of(struct world *w,
                               const unsigned char bytes[AEAD_KEY_BYTES]);
/* One more reference, or one less; the last one wipes and frees the keys. */
struct keyring *keyring_ref(struct keyring *k); /* NULL is allowed. */
void keyring_unref(struct keyring *k);          /* NULL is allowed. */

/* Add a new data key, which seals all files begun from now on. Parks. */
MUST_CHECK int keyring_rotate(struct keyring *k, struct err *err);
/* True if KEYS is sealed with the previous master key. */
bool keyring_is_outdated(struct keyring *k);
/* Seal all data keys with the present master key, if they are sealed with the
 * previous one; *@done says whether that was so. No data is touched. Parks. */
MUST_CHECK int keyring_rewrap(struct keyring *k, bool *done, struct err *err);

/* Read KEYS again if another process changed it. A failure is not reported:
 * the known keys stay in use, and the next call tries again. Parks. */
void keyring_refresh(struct keyring *k);

struct keyring_status {
    size_t key_count;
    uint64_t current_id;
    uint64_t current_created_us;
    uint64_t master; /* Name of the master key. */
};

/* Fill *@out, for people. */
void keyring_get_status(struct keyring *k, struct keyring_status *out);

/* --- KEYS as bytes, for inspection --------------------------------------- */

/* The part of a data key that is readable without the master key. */
struct keys_file_entry {
    uint64_t id;
    uint64_t created_us; /* Since 1970. */
};

/* True if @head is the beginning of a KEYS file. */
bool keys_file_is_one(struct slice head);
/* List the keys of the KEYS in @bytes, oldest first, and the name of its
 * master key. Not verified: that takes the master key. *@out is owned:
 * mem_free(); *@count is at least 1. Errors: ERR_CORRUPT. */
MUST_CHECK int keys_file_list(struct slice bytes,
                              uint64_t *master,
                              struct keys_file_entry **out,
                              size_t *count,
                              struct err *err);

/* --- keys of files ------------------------------------------------------- */

/* The id of the key that seals new files. */
uint64_t keyring_current_id(struct keyring *k);
/* 16 fresh random bytes. */
void keyring_salt(struct keyring *k, unsigned char salt[KEYRING_SALT_BYTES]);

/* The key of data key @id, @salt and @purpose (a literal). *@out is owned:
 * keyring_key_free(). Parks if KEYS must be read again. Errors: ERR_CORRUPT:
 * KEYS has no key @id. */
MUST_CHECK int keyring_derive(struct keyring *k,
                              uint64_t id,
                              const unsigned char salt[KEYRING_SALT_BYTES],
                              const char *purpose,
                              struct aead_key **out,
                              struct err *err);
/* The same from the loan named @lent (zeros: no loan). Errors also:
 * ERR_DENIED: @k is another loan. */
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
    uint64_t key_id; /* Of the data key; 0: no loan, nothing is encrypted. */
    unsigned char lent[KEYRING_SALT_BYTES]; /* Its name. */
    struct aead_key key;
};

/* The name of the loan whose receiver and purpose are @to, a text unique to
 * it. */
void key_loan_name(struct slice to, unsigned char lent[KEYRING_SALT_BYTES]);
/* Derive the loan named @lent from the current data key. PRE: @k is not a
 * loan. Parks. Errors: those of keyring_derive(). */
MUST_CHECK int keyring_lend(struct keyring *k,
                            const unsigned char lent[KEYRING_SALT_BYTES],
                            struct key_loan *out,
                            struct err *err);
/* Overwrite the secret. */
void key_loan_close(struct key_loan *l);
/* A keyring that seals and opens with @l. Owned; NULL if there is no loan. */
struct keyring *keyring_new_borrowed(struct world *w, const struct key_loan *l);
/* A view of @k that derives the loan named @lent from every data key. PRE:
 * @k is not a loan. Owned. */
struct keyring *keyring_view_loan(struct keyring *k,
                                  const unsigned char lent[KEYRING_SALT_BYTES]);
/* The name of the loan that @k is, KEYRING_SALT_BYTES; zeros: it is not a
 * loan. */
const unsigned char *keyring_lent(const struct keyring *k);

#endif /* BASE_CRYPT_KEYRING_H */
