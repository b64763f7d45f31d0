/* The input formats, in one table.
 *
 * A format is one file that defines `const struct input_format
 * input_format_NAME`, and its line in INPUT_FORMATS. It says how its SPECs
 * begin, which parameters they take, how an input is cut into splits and how a
 * split is read; nothing else knows a format by name.
 */
#ifndef MAPREDUCE_INPUT_FORMATS_H
#define MAPREDUCE_INPUT_FORMATS_H

#include <stdbool.h>

#include "base/core/err.h"
#include "mapreduce/job.h"

struct input_context;
struct input_reader;
struct input_split;
struct input_splits;
struct world;

struct input_format {
    enum mr_spec_kind kind;
    const char
        *prefix; /* How its SPECs begin: "warc:". No other format has it. */
    const char *usage;  /* An input SPEC, for messages: "warc:GLOB". */
    const char *output; /* The same of an output; NULL: it cannot be written. */
    bool is_view;       /* SPECs are of a view, not a table, of this kind. */
    bool is_glob; /* The path is a pattern: plan() is called for each file. */
    /* Parse the text after '?' of an input SPEC into @s. Returns NULL, or what
     * is wrong with the text (static). Where a file it names cannot be read,
     * sets *@code and @err and returns NULL. Parks. The member is NULL where
     * the format takes no parameters and '?' is part of the path. */
    const char *(*parameters)(struct mr_spec *s,
                              const char *text,
                              struct world *world,
                              int *code,
                              struct err *err);
    /* Append the splits of @path to @splits. Parks. */
    int (*plan)(const struct input_context *ctx,
                unsigned input,
                const char *path,
                struct input_splits *splits,
                struct err *err);
    /* Read @split; as input_open(). Parks. */
    int (*open)(const struct input_context *ctx,
                const struct input_split *split,
                struct input_reader **out,
                struct err *err);
};

/* One line per format; the first is that of SPECs without a prefix. */
#define INPUT_FORMATS(X)                                                       \
    X(text)                                                                    \
    X(records)                                                                 \
    X(warc)                                                                    \
    X(table)                                                                   \
    X(view)

#define INPUT_FORMAT_DECLARE(name)                                             \
    extern const struct input_format input_format_##name;
INPUT_FORMATS(INPUT_FORMAT_DECLARE)
#undef INPUT_FORMAT_DECLARE

/* The format of @kind; NULL: there is none. */
const struct input_format *input_format_find(enum mr_spec_kind kind);

/* The format whose prefix @text begins with; NULL: it begins with none. */
const struct input_format *input_format_of_text(const char *text);

/* The format at @index of the table, NULL after the last: to list them. */
const struct input_format *input_format_at(unsigned index);

#endif /* MAPREDUCE_INPUT_FORMATS_H */
