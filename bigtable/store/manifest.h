/* The manifest: a log of edits that says what the store consists of.
 *
 *     CURRENT            the name of the manifest in force
 *     manifest-000012    header, then records
 *     header = "QRYMNFST" version:le32 crc:le32 of the 12 bytes before
 *     record = crc:le32 of the rest, length:le32, edit
 *
 * In an encrypted store the header's version is STORE_FORMAT_SEALED, and a
 * record holds a sealed unit (base/crypt/sealer.h) in the place of the edit,
 * whose associated data is the record's offset in the file.
 *
 * The first record is a whole state, every later one an edit, synced before it
 * counts. A manifest is never appended to by a second process: who opens the
 * store to write starts a new one with its first edit, and the switch is the
 * atomic replacement of CURRENT. After a failed write the next edit starts a
 * new one too, so that nothing is ever written behind bytes that are in doubt.
 *
 * After a crash. An edit that was being written when the power went was
 * acknowledged to nobody, and is left out: its record is the last, and either
 * shorter than it says or with a sector that was never written, all zero. A bad
 * record that is neither was damaged later: it is reported, and refused,
 * because the edit may have been acknowledged and may be the only one to know
 * of files.
 *
 * An edit that failed when it was written is taken back: a new manifest without
 * it is put in force. Where that fails, too, its author is told that the
 * outcome is unknown: it may be found again by the next open. If it adds files,
 * which its author has removed, it is the last record, and they are not there:
 * opening leaves it out.
 *
 * Threads: any; edits are ordered by a mutex inside.
 *
 * Invariants
 *     INV-1. CURRENT names a manifest whose first record is on the disk.
 *     INV-2. The state changes by an edit only after the edit is on the disk.
 *     INV-3. Nothing is written behind bytes that are in doubt: after an error,
 *            and after another process, the next edit begins a new file.
 *     INV-4. A process gives no number to two manifests.
 */
#ifndef BIGTABLE_STORE_MANIFEST_H
#define BIGTABLE_STORE_MANIFEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/store/manifest_state.h"

/* Of everything in the store: manifest, log and SSTables. A reader refuses a
 * higher one. */
#define STORE_FORMAT_VERSION 2
/* The same with a manifest whose records are encrypted. */
#define STORE_FORMAT_SEALED 3

#define STORE_TABLES_DIR "tables" /* <number>.sst, below the root. */

struct buf;
struct fs;
struct manifest;
struct unit_opener;

/* Load the manifest below the root of @fs (borrowed). When there is none the
 * state is empty and *@fresh is set. With @pinned, read the state that
 * manifest_write_pin() left, if it is there. With @repair, a damaged last edit
 * is given up. Parks.
 * Errors: ERR_CORRUPT (file and offset), ERR_UNSUPPORTED (newer format). */
MUST_CHECK int manifest_open(struct fs *fs,
                             bool pinned,
                             bool repair,
                             struct manifest **out,
                             bool *fresh,
                             struct err *err);
void manifest_close(struct manifest *m); /* NULL is allowed. Parks. */

/* Make @edit durable and apply it to the state. Parks. On error the state is as
 * before, also after the next open, unless the error is ERR_UNKNOWN_OUTCOME. */
MUST_CHECK int
manifest_commit(struct manifest *m, struct slice edit, struct err *err);

/* Do the state that manifest_open() read and the log still make up the rows of
 * the store? For a reader beside the process that writes it. With @log_is_held
 * no segment of the log was released since: what flushes and compactions have
 * changed is then in the log too. Otherwise the manifest must be what it was,
 * byte for byte. PRE: @m has committed nothing, and is not pinned. Parks. */
bool manifest_rows_unchanged(struct manifest *m, bool log_is_held);

/* The state; not to be used beside commits of other threads. */
const struct manifest_state *manifest_state(const struct manifest *m);

/* Call fn(ctx, state) while no commit runs; it must not wait. */
typedef void (*manifest_look_fn)(void *ctx, const struct manifest_state *state);
void manifest_look(struct manifest *m, manifest_look_fn fn, void *ctx);

/* Remove manifests that are not in force, and SSTables that no tablet refers
 * to and that are not among @kept. PRE: no other process and no reader uses the
 * store. Parks. */
MUST_CHECK int manifest_remove_orphans(struct manifest *m,
                                       const uint64_t *kept,
                                       size_t kept_count,
                                       struct err *err);

/* Leave the present state where manifest_open(pinned) finds it. Parks. */
MUST_CHECK int manifest_write_pin(struct manifest *m, struct err *err);
void manifest_remove_pin(struct manifest *m);

/* --- encryption, for who reads a manifest's bytes ------------------------ */

/* An opener of the records of the manifest in @bytes, or NULL where they are
 * not encrypted. Owned. */
struct unit_opener *manifest_opener(struct fs *fs, struct slice bytes);
/* Open the record at @at, which holds @unit, into @plain. Errors: those of
 * unit_open(). */
MUST_CHECK int manifest_open_record(struct unit_opener *o,
                                    size_t at,
                                    struct slice unit,
                                    struct buf *plain,
                                    struct err *err);

#endif /* BIGTABLE_STORE_MANIFEST_H */
