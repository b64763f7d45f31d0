/* Where an export goes, and in what form: by options, else by the name.
 *
 * Threads: one.
 */
#ifndef CLI_EXPORT_TARGET_H
#define CLI_EXPORT_TARGET_H

#include "base/core/buf.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "mapreduce/warc/packer.h"

enum export_form {
    EXPORT_JSON,
    EXPORT_CSV,
    EXPORT_TSV,
    EXPORT_WARC,
    EXPORT_WACZ,
    EXPORT_CDXJ,
    EXPORT_WET,
    EXPORT_WAT,
    EXPORT_RECORDS,
    EXPORT_PARQUET,
    EXPORT_FORMS
};

/* Files of one export. */
#define EXPORT_SPLIT_MAX 1024

struct export_target {
    const char *path; /* Borrowed; NULL: standard output. */
    enum export_form form;
    enum packing packing; /* Of lines. */
    size_t split;         /* Files; 0: one, called `path`. */
};

/* Is it made of the captures of a Webtable, whole? */
bool export_form_is_archive(enum export_form form);

/* Errors: ERR_USAGE. */
MUST_CHECK int export_target_parse(const struct cli *cli,
                                   const struct args *args,
                                   struct export_target *out,
                                   struct err *err);

/* Append the name of part @index: "t-00001-of-00004.jsonl.gz" of
 * "t.jsonl.gz". PRE: there is a path. */
void export_target_part(const struct export_target *t,
                        size_t index,
                        struct buf *out);

#endif /* CLI_EXPORT_TARGET_H */
