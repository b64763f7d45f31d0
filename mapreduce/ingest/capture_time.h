/* The timestamp of a capture's cells, made of its record alone.
 *
 * Most crawlers date to the second, and two captures of one page within a
 * second (a redirect from http to https in another file, two crawlers at work)
 * would share all their cells. So the digits that a date does not tell, below
 * the second, are drawn from the capture's identity: its record id, or its
 * block where it has none. The same record has the same time whatever file it
 * lies in, whatever was imported before and in whatever order. Dates that tell
 * every microsecond stay as they are. Pure.
 */
#ifndef MAPREDUCE_INGEST_CAPTURE_TIME_H
#define MAPREDUCE_INGEST_CAPTURE_TIME_H

#include <stdint.h>

#include "mapreduce/warc/archive_reader.h"

/* A hash that differs from that of other captures of the same page and second.
 */
uint64_t capture_identity(const struct warc_record *rec);
/* The same, by the record id (with or without <>) that another record names. */
uint64_t capture_identity_of(struct slice id);

/* @us, the time in @date, with the digits below its precision filled in. */
int64_t capture_time(struct slice date, int64_t us, uint64_t identity);

#endif /* MAPREDUCE_INGEST_CAPTURE_TIME_H */
