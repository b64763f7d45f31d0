/* Sealed units: the encrypted form of records of logs and manifests, and of
 * small files.
 *
 *     unit = key id le64, salt (16 bytes), counter le64, ciphertext,
 *            tag (16 bytes)
 *
 * The key of a unit is derived from the data key, the salt and the purpose, its
 * nonce is the counter. So a unit can be opened with the keyring alone,
 * wherever it was moved.
 *
 * Threads: a sealer and an opener are for one thread at a time. A sealer is not
 * used on both sides of a fork.
 *
 * Invariants
 *     INV-1. No two units have the same key and nonce. A sealer draws 16 random
 *            bytes when it is made, and its counter rises with each unit, also
 *            one whose write failed, was torn, or is written a second time at
 *            the same place; a counter is never restored from disk. Places in
 *            files play no part, so spare segments and torn tails may be
 *            overwritten.
 */
#ifndef BASE_CRYPT_SEALER_H
#define BASE_CRYPT_SEALER_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct keyring;
struct unit_opener;
struct unit_sealer;

/* Bytes of a unit besides its text: before it, and in all. */
#define UNIT_HEAD_BYTES ((size_t)32)
#define UNIT_BYTES_MORE ((size_t)48)

/* @purpose is a literal. Owned: unit_sealer_free(). Parks. Errors: those of
 * keyring_derive(). */
MUST_CHECK int unit_sealer_new(struct keyring *k,
                               const char *purpose,
                               struct unit_sealer **out,
                               struct err *err);
void unit_sealer_free(struct unit_sealer *s); /* NULL is allowed. */

/* Seal @plain, with @aad, to @out, which has UNIT_BYTES_MORE more. The text
 * of a unit lies UNIT_HEAD_BYTES after its start, and @plain may be there. */
void unit_seal(struct unit_sealer *s,
               struct slice aad,
               struct slice plain,
               char *out);

/* Owned: unit_opener_free(). @k may be NULL: every unit is ERR_DENIED then. */
struct unit_opener *unit_opener_new(struct keyring *k, const char *purpose);
void unit_opener_free(struct unit_opener *o); /* NULL is allowed. */

/* Open @unit to @out, which has UNIT_BYTES_MORE less; it may be @unit's own
 * memory. Parks if KEYS must be read again. Errors: ERR_CORRUPT (also: the
 * data key is not in KEYS), ERR_DENIED. */
MUST_CHECK int unit_open(struct unit_opener *o,
                         struct slice aad,
                         struct slice unit,
                         char *out,
                         struct err *err);

#endif /* BASE_CRYPT_SEALER_H */
