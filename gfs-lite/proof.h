/* What shows a chunk server that the namenode lets somebody use a chunk.
 *
 * Where names are proved, whoever is not the cluster itself must show a proof
 * with each call for a chunk. The namenode makes it, with a layout or a new
 * chunk, for what the file's owner, mode and grants let him do; a chunk server
 * verifies it alone, by a key that namenodes give chunk servers with their
 * heartbeats. It names nobody else and no other chunk.
 *
 *     proof = key:le32 rights:u8 length:le32 mac:16      25 bytes
 *     mac   = of handle:le64 rights:u8 length:le32 principal
 *
 * A proof ends with its key. A namenode uses each for 45 minutes and names it
 * to chunk servers for 45 more; they forget one that no namenode has named for
 * 30 minutes. So a proof ends within two hours, and no clocks are compared.
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
/* Keys that a namenode names: that of now, the next one and the one before. */
#define PROOF_KEYS_MAX 3
/* Keys that a chunk server has: those, and some of leaders before. */
#define PROOF_KEYS_KEPT 8

enum proof_rights {
    PROOF_READ = 1,
    PROOF_WRITE = 2,
};

struct gfs_proof {
    uint8_t bytes[PROOF_BYTES];
    bool there; /* Else none was given: it is not asked for. */
};

struct proof_key {
    uint32_t id; /* 0: there is none. */
    uint8_t secret[RPC_MAC_KEY_BYTES];
};

/* @length: of a sealed chunk, 0 of an open one. */
void proof_make(const struct proof_key *key,
                uint64_t handle,
                uint8_t rights,
                uint32_t length,
                struct slice principal,
                struct gfs_proof *out);
/* Does @p show that @principal may do @rights with chunk @handle? *@length is
 * the chunk's if it was sealed, 0 else. ERR_DENIED says what is wrong. */
MUST_CHECK int proof_check(const struct gfs_proof *p,
                           const struct proof_key *keys,
                           size_t count,
                           uint64_t handle,
                           uint8_t rights,
                           struct slice principal,
                           uint32_t *length,
                           struct err *err);

#endif /* GFS_LITE_PROOF_H */
