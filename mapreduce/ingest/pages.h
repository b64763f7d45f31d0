/* Between the writers of page rows: pages.c, captures.c, anchors.c, wat.c. */
#ifndef MAPREDUCE_INGEST_PAGES_H
#define MAPREDUCE_INGEST_PAGES_H

#include "mapreduce/ingest/capture_time.h"
#include "mapreduce/ingest/exported.h"
#include "mapreduce/ingest/request_pairs.h"
#include "mapreduce/ingest/time_set.h"
#include "mapreduce/ingest/webtable.h"
#include "mapreduce/warc/archive_reader.h"
#include "mapreduce/warc/archived_http.h"
#include "mapreduce/warc/links.h"
#include "mapreduce/warc/url.h"

struct main_text;

struct pages {
    struct run *run;
    struct revisits *revisits;
    struct run_batch batch;
    size_t path_index;
    const char *file_name; /* Without directories: names what is stored. */
    struct buf member;     /* That name, of an archive in another file. */
    struct time_set times; /* Of the captures in this file. */

    struct http_decoder *decoder;
    struct http_message message;
    struct html_scanner *scanner;
    struct main_text *texts; /* NULL until a page needs it. */

    /* The current capture. */
    struct exported exported;
    struct buf lines; /* Of a head, unmasked, */
    struct buf head;  /* and as it was received. */
    struct buf uri;   /* Normalised. */
    struct buf row;
    int64_t time_us;
    struct quarry_mutation *mutation;

    /* The last capture with a place of its own, for records that go with it. */
    uint64_t last_row;     /* Hash. */
    int64_t last_dated_us; /* Its date, */
    int64_t last_time_us;  /* and the time given to it. */

    /* Requests by other methods than GET: that of the current capture, or NULL;
     * and the last capture that had one, for records that go with it. */
    struct request_pairs pairs;
    const struct held_request *request;

    struct last_asked {
        struct buf id;
        struct buf uri;
        struct buf row;
    } asked;

    /* Its links: href and text, each with its length before it. */
    struct buf links;
    struct buf base;
    struct buf target_uri;
    struct buf target_row;
    struct buf text;
    struct charset_decoder *charsets;
    struct time_set targets;
};

/* Row and time of the capture of @uri, which is dated @us (INT64_MIN: no date).
 * False, and reported, when it has no row. */
bool pages__place(struct pages *p,
                  const struct warc_record *rec,
                  struct slice uri,
                  int64_t us);

/* The capture that a record is about. */
struct pages_subject {
    struct slice uri;
    struct slice date;
    int64_t us;      /* That date; INT64_MIN: it is not valid. */
    struct slice id; /* Of the capture's record, or "". */
};

/* Row and time of @subject, whether or not it has been seen: the record joins
 * its cells. Without an id it is the last capture of that page and date. */
bool pages__join(struct pages *p,
                 const struct warc_record *rec,
                 const struct pages_subject *subject);

/* Set a cell of the capture; empty values are skipped. */
void pages__set(struct pages *p,
                const char *family,
                const char *qualifier,
                struct slice value);
void pages__set_number(struct pages *p,
                       const char *family,
                       const char *qualifier,
                       uint64_t value);
/* The meta: cells that the record's head fills. */
void pages__put_record(struct pages *p, const struct warc_record *rec);

void pages__damage(struct pages *p,
                   const struct warc_record *rec,
                   bool lost,
                   const char *what);

/* One for each type of record that makes a row. */
MUST_CHECK int pages__put_response(struct pages *p,
                                   const struct warc_record *rec,
                                   struct err *err);
MUST_CHECK int pages__put_resource(struct pages *p,
                                   const struct warc_record *rec,
                                   struct err *err);
MUST_CHECK int pages__put_conversion(struct pages *p,
                                     const struct warc_record *rec,
                                     struct err *err);
MUST_CHECK int pages__put_revisit(struct pages *p,
                                  const struct warc_record *rec,
                                  struct err *err);
MUST_CHECK int pages__put_metadata(struct pages *p,
                                   const struct warc_record *rec,
                                   struct err *err);
/* For WAT: JSON about another record. False: it is not WAT. */
bool pages__is_wat(const struct warc_record *rec);
MUST_CHECK int
pages__put_wat(struct pages *p, const struct warc_record *rec, struct err *err);

/* Add a link of the capture, which p->charsets has decoded. */
void pages__add_link(void *ctx, const struct html_link *link);
/* Write an anchor cell on the row of each page linked to. @base is what links
 * are relative to besides the capture's URI, or "". */
MUST_CHECK int
pages__put_anchors(struct pages *p, struct slice base, struct err *err);

#endif /* MAPREDUCE_INGEST_PAGES_H */
