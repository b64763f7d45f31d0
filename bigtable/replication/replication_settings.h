/* The settings of a stream as its record keeps them: JSON.
 *
 *     {"target": "…", "table": "…", "families": [{"from": "…", "to": "…"}],
 *      "start": HEX, "end": HEX, "qualifiers": RE, "deletions": BOOL,
 *      "copy": BOOL, "bytes_per_s": N, "key_file": "…", "cluster": "…",
 *      "principal": "…", "certificate_file": "…",
 *      "certificate_key_file": "…", "authority_file": "…"}
 *
 * All are optional. Keys are named by their files, and stay there.
 *
 * Threads: the owner's.
 */
#ifndef BIGTABLE_REPLICATION_REPLICATION_SETTINGS_H
#define BIGTABLE_REPLICATION_REPLICATION_SETTINGS_H

#include <stdbool.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/quarry_replication.h"

struct replication_settings {
    struct quarry_replication_spec spec; /* Its table is set by the owner. */
    bool copy;                           /* The stream begins with a copy. */
    void *json;                          /* Owned: texts are in it. */
    struct quarry_replication_family *families; /* Owned array. */
    struct buf start;
    struct buf end;
};

/* Append them. */
void replication_settings_put(const struct quarry_replication_spec *spec,
                              bool copy,
                              struct buf *out);
/* Into @s, which is closed in any case. ERR_CORRUPT. */
MUST_CHECK int replication_settings_get(struct slice text,
                                        struct replication_settings *s,
                                        struct err *err);
void replication_settings_close(struct replication_settings *s);

#endif /* BIGTABLE_REPLICATION_REPLICATION_SETTINGS_H */
