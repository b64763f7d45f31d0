/* Files of a world that have names of another kind, as s3://BUCKET/KEY: a
 * second world has them, and all functions of world.h that take a name ask it
 * for those. A file that it opened is its own.
 *
 * Threads: world_mount() before anybody else uses the world; then any.
 */
#ifndef BASE_RUNTIME_WORLD_MOUNT_H
#define BASE_RUNTIME_WORLD_MOUNT_H

#include <stdbool.h>

struct world;

/* The names that @has says are those of @files, which is borrowed: it must
 * provide the operations on files and names, and lives as long as @w. Its
 * directories need not be made. NULL: no more. */
void world_mount(struct world *w,
                 struct world *files,
                 bool (*has)(const char *path));
/* Mount in @w, in a child process, what its parent had mounted in @other. */
void world_mount_as(struct world *w, const struct world *other);
/* Is @path such a name? */
bool world_is_mounted(const struct world *w, const char *path);

#endif /* BASE_RUNTIME_WORLD_MOUNT_H */
