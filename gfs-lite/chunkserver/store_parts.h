/* What the files about a chunk server's store share. Private to store*.c. */
#ifndef GFS_LITE_CHUNKSERVER_STORE_PARTS_H
#define GFS_LITE_CHUNKSERVER_STORE_PARTS_H

#include "gfs-lite/chunkserver/store.h"

/* In the store's directory; the chunks' is one of so many more. */
#define CHUNKS_DIR "chunks"
#define COPIES_DIR "copies"
#define CHUNK_DIRS 256
/* What the name of a chunk's file ends with. */
#define CHUNK_SUFFIX ".chunk"

/* --- store.c ----------------------------------------------------------- */

/* Put what @id says into the table; not pinned. */
struct stored_chunk *chunk_store__add(struct chunk_store *s,
                                      const struct chunk_identity *id);
/* PRE: it is in no table any more, and its file is closed. */
void chunk_store__free(struct stored_chunk *c);
/* @c has its file open from now on; others' may be closed for it. */
void chunk_store__note_open(struct chunk_store *s, struct stored_chunk *c);

/* --- store_files.c ----------------------------------------------------- */

/* The number in the @name of a chunk's file; false: it is not such a name. */
bool chunk_store__parse_name(const char *name, uint64_t *handle);
/* Full path of @handle's file. Owned. */
char *chunk_store__path(const struct chunk_store *s, uint64_t handle);

#endif /* GFS_LITE_CHUNKSERVER_STORE_PARTS_H */
