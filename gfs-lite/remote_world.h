/* Buckets and web servers as files of a world: mounted (world_mount.h), their
 * names can stand wherever a name of a file can. Public.
 *
 *     struct world *remote = remote_world_new(w, getenv);
 *     world_mount(w, remote, fs_name_is_remote);
 *     file_open(w, "s3://bucket/key", FILE_READ, &f, &err) …
 *     remote_world_free(remote)
 *
 * The limits of these file systems (objects.h) hold: a file that is written
 * grows at its end alone, and is there when it was synced or closed; a failure
 * that only closing finds leaves no file.
 *
 * After fork() a child opens connections of its own.
 *
 * Threads: any. Everything parks.
 */
#ifndef GFS_LITE_REMOTE_WORLD_H
#define GFS_LITE_REMOTE_WORLD_H

struct world;

/* A world that has these files and nothing else. @w is borrowed; settings come
 * from @variable, as getenv(). Owned: remote_world_free(). */
struct world *remote_world_new(struct world *w,
                               const char *(*variable)(const char *name));
/* PRE: no file of it is open, and it is mounted nowhere. NULL is allowed. */
void remote_world_free(struct world *w);

#endif /* GFS_LITE_REMOTE_WORLD_H */
