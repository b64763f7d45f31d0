/* One record of comma-separated values cut into fields. Pure: no record can do
 * more than waste its own length in memory. Inside mapreduce/ingest only. */
#ifndef MAPREDUCE_INGEST_CSV_FIELDS_H
#define MAPREDUCE_INGEST_CSV_FIELDS_H

#include <stdbool.h>

#include "base/core/buf.h"
#include "base/core/slice.h"

struct csv_fields {
    size_t count;
    size_t cap;
    size_t *ends;    /* Of each field in text. */
    struct buf text; /* The fields unquoted, one after the other. */
};

void csv_fields_close(struct csv_fields *f);

/* Cut @record. A field starts in quotes or has none; after a closing quote,
 * bytes up to the separator are taken literally. At least one field. */
void csv_split(struct csv_fields *f, struct slice record, char separator);

/* Field @i, empty when there is none; borrowed until the next split. */
struct slice csv_field(const struct csv_fields *f, size_t i);

/* Is a quoted field open at the end of @line, if one was at its start? Counts
 * quotes, which is what every writer does. */
bool csv_ends_open(struct slice line, bool open);

/* The most frequent of , ; tab | outside quotes; ',' when there is none. */
char csv_guess_separator(struct slice record);

/* The one of , ; tab | that cuts most records of @head, the beginning of a text
 * (@whole: all of it), into the same number of fields, of at least two. False:
 * none does. */
bool csv_sniff_separator(struct slice head, bool whole, char *separator);

#endif /* MAPREDUCE_INGEST_CSV_FIELDS_H */
