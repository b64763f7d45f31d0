/* Proofs, by which a chunk server knows that the namenode lets a principal use
 * a chunk.
 *
 * Where principals are authenticated, every caller but the cluster itself must
 * show a proof with each call for a chunk. The namenode makes it, with a layout
 * or a new chunk, for the rights that the file's owner, mode and grants give; a
 * chunk server verifies it alone, with a key that namenodes give it with
 * heartbeats. A proof is valid for one principal and one chunk.
 *
 *     proof = key:le32 rights:u8 length:le32 mac:16      25 bytes
 *     mac   = of handle:le64 rights:u8 length:le32 principal
 *
 * A proof expires with its key. A namenode signs with each for 45 minutes and
 * names it to chunk servers for 45 more; they forget one that no namenode has
 * named for 30 minutes. So a proof expires within two hours, and no clocks are
 * compared.
 *
 * Threads: any.
 */
#ifndef GFS_LITE_PROOF_H
#define GFS_LITE_PROOF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "base/rpc/security_code.h"

#define PROOF_BYTES 25
/* Keys that a namenode names: the present, the next and the previous one. */
#define PROOF_KEYS_MAX 3
/* Keys that a chunk server keeps: those, and some of earlier leaders. */
#define PROOF_KEYS_KEPT 8

enum proof_rights {
    PROOF_READ = 1,
    PROOF_WRITE = 2,
};

struct gfs_proof {
    uint8_t bytes[PROOF_BYTES];
    bool there; /* False: none was made, because none is needed. */
};

struct proof_key {
    uint32_t id; /* 0: there is none. */
    uint8_t secret[RPC_MAC_KEY_BYTES];
};

/* Sign with @key. @length: of a sealed chunk, 0 of an open one. */
void proof_make(const struct proof_key *key,
                uint64_t handle,
                uint8_t rights,
                uint32_t length,
                struct slice principal,
                struct gfs_proof *out);
/* Does @p prove the @rights of @principal to chunk @handle? *@length is the
 * chunk's if it was sealed, else 0. ERR_DENIED gives the reason. */
MUST_CHECK int proof_check(const struct gfs_proof *p,
                           const struct proof_key *keys,
                           size_t count,
                           uint64_t handle,
                           uint8_t rights,
                           struct slice principal,
                           uint32_t *length,
                           struct err *err);

#endif /* GFS_LITE_PROOF_H */
