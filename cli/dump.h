/* The files of a store in readable form: one function for each kind, all
 * behind `quarry dump FILE`.
 *
 * This is the one place of the command line that looks inside the engine.
 */
#ifndef CLI_DUMP_H
#define CLI_DUMP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct cli;
struct fs;
struct keyring;

struct dump_options {
    bool entries;   /* Print each entry instead of a summary. */
    uint64_t limit; /* Of entries; UINT64_MAX: all. */
};

/* @name is the file's below @fs. Errors: ERR_CORRUPT names the place. */
MUST_CHECK int dump_sstable_file(struct cli *cli,
                                 struct fs *fs,
                                 const char *name,
                                 const struct dump_options *opts,
                                 struct err *err);
MUST_CHECK int dump_manifest(struct cli *cli,
                             struct fs *fs,
                             const char *name,
                             const struct dump_options *opts,
                             struct err *err);
MUST_CHECK int dump_log_segment(struct cli *cli,
                                struct fs *fs,
                                const char *name,
                                const struct dump_options *opts,
                                struct err *err);
/* A file of keys and values, as jobs write it; @path is the world's. */
MUST_CHECK int dump_record_file(struct cli *cli,
                                const char *path,
                                const struct dump_options *opts,
                                struct err *err);

/* A segment of the log of a cell's member; a snapshot of its machine, or with
 * opts->entries the members of the cell as of then, of a namenode its names.
 * @path is the world's. */
MUST_CHECK int dump_replica_log(struct cli *cli,
                                const char *path,
                                const struct dump_options *opts,
                                struct err *err);
MUST_CHECK int dump_replica_snapshot(struct cli *cli,
                                     struct keyring *keys,
                                     const char *path,
                                     const struct dump_options *opts,
                                     struct err *err);

/* The file beside the segments that says how much of the log there is:
 * log/synced; with opts->entries each of its slots. */
MUST_CHECK int dump_replica_synced(struct cli *cli,
                                   const char *path,
                                   const struct dump_options *opts,
                                   struct err *err);

/* A KEYS file: ids and ages of its data keys, none of which is shown. @path is
 * the world's; no master key is needed. */
MUST_CHECK int dump_keys_file(struct cli *cli,
                              const char *path,
                              const struct dump_options *opts,
                              struct err *err);

/* A chunk of the cluster's file system, with each block compared with its
 * checksum. @path is the world's. */
MUST_CHECK int dump_chunk_file(struct cli *cli,
                               const char *path,
                               const struct dump_options *opts,
                               struct err *err);
/* The namenode's state in a snapshot as of entry @index of the log. */
MUST_CHECK int dump_namenode_image(struct cli *cli,
                                   uint64_t index,
                                   struct slice image,
                                   const struct dump_options *opts,
                                   struct err *err);

/* Of a search index: its manifest; a segment, with opts->entries its terms. */
MUST_CHECK int dump_search_manifest(struct cli *cli,
                                    struct fs *fs,
                                    const char *name,
                                    struct err *err);
MUST_CHECK int dump_search_segment(struct cli *cli,
                                   struct fs *fs,
                                   const char *name,
                                   const struct dump_options *opts,
                                   struct err *err);

/* By the first or last bytes of a file. */
bool is_search_manifest(struct slice head);
bool is_search_segment(struct slice head);
bool is_sstable_file(struct slice tail);
bool is_manifest(struct slice head);
bool is_log_segment(struct slice head);
bool is_replica_log(struct slice head);
bool is_replica_snapshot(struct slice head);
bool is_replica_synced(struct slice head);
bool is_keys_file(struct slice head);
bool is_chunk_file(struct slice head);
bool is_namenode_image(struct slice image);

#endif /* CLI_DUMP_H */
