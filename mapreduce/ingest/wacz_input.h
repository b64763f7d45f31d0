/* The archives inside of a WACZ (https://specs.webrecorder.net/wacz/1.1.1/), a
 * ZIP with archive/….warc.gz, an index, pages, and datapackage.json, which has
 * a digest of each member. libzip reads it; members are streamed, and nothing
 * is written to the disk, so that names of members are only compared.
 *
 * A ZIP may lie about itself: the directory is bounded before
 * libzip reads it, members that overlap, which is how small bombs are built,
 * are refused, and a member takes memory for its current piece alone.
 *
 * Inside mapreduce/ingest only. Threads: an input belongs to one task. Parks.
 */
#ifndef MAPREDUCE_INGEST_WACZ_INPUT_H
#define MAPREDUCE_INGEST_WACZ_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct file;
struct wacz_input;

/* Members of a ZIP; one of more is refused. */
#define WACZ_MEMBERS_MAX ((uint64_t)1 << 17)
/* Of datapackage.json. */
#define WACZ_PACKAGE_BYTES_MAX ((uint64_t)64 << 20)

/* Does a file that begins with @head hold a ZIP? */
bool wacz_is_zip(struct slice head);

/* Told of what is wrong with a member, or lacks: @lost if something could not
 * be read. */
typedef void (*wacz_damage_fn)(void *ctx, const char *reason, bool lost);

/* Open the ZIP in @file, of @size_bytes, which is borrowed. Errors:
 * ERR_CORRUPT (it is none, lies, or has no archives),
 * those of reading. */
MUST_CHECK int wacz_open(struct file *file,
                         uint64_t size_bytes,
                         wacz_damage_fn on_damage,
                         void *ctx,
                         struct wacz_input **out,
                         struct err *err);
void wacz_close(struct wacz_input *w); /* NULL is allowed. */

/* Begin the next archive; *@name is its path in the ZIP, borrowed until the
 * next call, and "" behind the last. Members that cannot be opened are
 * reported. */
MUST_CHECK int
wacz_next(struct wacz_input *w, struct slice *name, struct err *err);

/* Bytes of the current archive; the read callback of readers, @ctx is a struct
 * wacz_input. Damage of the ZIP ends the archive, and is reported. */
MUST_CHECK int
wacz_read(void *ctx, void *dst, size_t len, size_t *got, struct err *err);

/* Read what is left of the current archive, and compare its digest. */
MUST_CHECK int wacz_end_member(struct wacz_input *w, struct err *err);

#endif /* MAPREDUCE_INGEST_WACZ_INPUT_H */
