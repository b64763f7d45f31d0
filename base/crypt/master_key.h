/* The master key: 32 bytes that the administrator keeps, in a file, or printed
 * by a command (a vault's client, say). It encrypts the data keys of a KEYS
 * file (keyring.h), and nothing else.
 *
 * Its text is 64 hexadecimal digits or base64, with optional white space around
 *     it: openssl rand -hex 32 > FILE; chmod 600 FILE
 *
 * master_keys_reload() reads the keys again, and the newest seals from then on.
 * Every key that was read once stays known while the process lives, so that a
 * rotation needs no restart.
 *
 * Threads: any; its reference count is atomic. Functions that read files park.
 */
#ifndef BASE_CRYPT_MASTER_KEY_H
#define BASE_CRYPT_MASTER_KEY_H

#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct aead_key;
struct world;

/* Where to get master keys; NULL where none is given. Borrowed texts. */
struct master_key_source {
    const char *key_file;
    const char *key_command; /* Its standard output is the text. */
    /* The previous key, while data keys are still wrapped by it. */
    const char *previous_key_file;
    const char *previous_key_command;
};

struct master_keys;

/* True if @s names a key. */
bool master_key_is_given(const struct master_key_source *s);

/* Read the keys that @s names. *@out is owned; NULL, without an error, if
 * none is named. Parks; a command blocks the calling thread while it runs.
 * Errors: ERR_DENIED (others than the owner may read the file), ERR_INVALID
 * (the text is not a key, both a file and a command are given, the command
 * failed), those of opening a file. */
MUST_CHECK int master_keys_read(struct world *w,
                                const struct master_key_source *s,
                                struct master_keys **out,
                                struct err *err);
/* Read the keys again, from @s, which is copied, or (NULL) from where they were
 * read before. Parks, as above. On error nothing changes. Errors: those of
 * master_keys_read(). */
MUST_CHECK int master_keys_reload(struct master_keys *m,
                                  struct world *w,
                                  const struct master_key_source *s,
                                  struct err *err);
/* The same, from where they were read before, at most once a second: for
 * callers that miss a key. A failure is not reported; the next call tries
 * again. Parks. */
void master_keys_look_again(struct master_keys *m, struct world *w);
/* A set with the key @bytes, for tests. Owned. */
struct master_keys *master_keys_of(const unsigned char bytes[32]);

/* One more reference, or one less. */
struct master_keys *master_keys_ref(struct master_keys *m); /* NULL allowed. */
void master_keys_unref(struct master_keys *m);              /* NULL allowed. */

/* The key to wrap with; the one with the name @name, or NULL. Borrowed as long
 * as @m lives. */
const struct aead_key *master_keys_current(const struct master_keys *m);
const struct aead_key *master_keys_find(const struct master_keys *m,
                                        uint64_t name);
/* The name of a master key, as KEYS files have it. */
uint64_t master_key_name(const struct aead_key *k);

/* Decode the text of a key to the 32 bytes at @out. @where is for messages.
 * Errors: ERR_INVALID. */
MUST_CHECK int master_key_parse(struct slice text,
                                const char *where,
                                unsigned char *out,
                                struct err *err);

#endif /* BASE_CRYPT_MASTER_KEY_H */
