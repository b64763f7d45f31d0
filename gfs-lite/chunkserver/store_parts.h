/* Shared by the files that implement chunk_store.h. Private to chunk_store.c
 * and store_*.c. */
#ifndef GFS_LITE_CHUNKSERVER_STORE_PARTS_H
#define GFS_LITE_CHUNKSERVER_STORE_PARTS_H

#include "gfs-lite/chunkserver/chunk_store.h"

/* In the store's directory; chunks are in CHUNK_DIRS directories below. */
#define CHUNKS_DIR "chunks"
#define COPIES_DIR "copies"
#define CHUNK_DIRS 256
/* The end of the name of a chunk's file. */
#define CHUNK_SUFFIX ".chunk"

/* --- chunk_store.c ------------------------------------------------------- */

/* Add the chunk that @id describes to the table; not pinned. */
struct stored_chunk *chunk_store__add(struct chunk_store *s,
                                      const struct chunk_identity *id);
/* Free @c. PRE: it is in no table any more, and its file is closed. */
void chunk_store__free(struct stored_chunk *c);
/* @c's file was opened; the oldest unused one may be closed for it. */
void chunk_store__note_open(struct chunk_store *s, struct stored_chunk *c);

/* --- store_files.c ------------------------------------------------------- */

/* The number in the @name of a chunk's file; false: it is not such a name. */
bool chunk_store__parse_name(const char *name, uint64_t *handle);
/* Full path of @handle's file. Owned. */
char *chunk_store__path(const struct chunk_store *s, uint64_t handle);

#endif /* GFS_LITE_CHUNKSERVER_STORE_PARTS_H */
