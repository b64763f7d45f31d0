/* From host to host: the first row at or behind a place tells the next host,
 * whose robots.txt is one row, and the place behind the host is known. */
#include "web/replay/robots_scan.h"

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "bigtable/quarry.h"
#include "web/policy/archive_policy.h"

/* Captures of one robots.txt that count: the newest. */
#define ROBOTS_VERSIONS_MAX 1000

/* The key of the first row at or behind @from, into @out; "": there is none. */
static int next_key(struct quarry_table *table,
                    struct slice from,
                    struct buf *out,
                    struct err *err)
{
    const struct quarry_range range = {.start = from};
    const struct quarry_read_options opts = {.ranges = &range,
                                             .range_count = 1,
                                             .row_limit = 1,
                                             .versions = 1,
                                             .keys_only = true,
                                             .read_ahead_off = true};
    struct quarry_scanner *rows;
    const struct quarry_row *row;
    int rc = quarry_scan(table, &opts, &rows, err);
    if (rc)
        return rc;
    buf_clear(out);
    rc = quarry_scanner_next(rows, &row, err);
    if (rc == 0 && row)
        buf_append_slice(out, row->key);
    quarry_scanner_close(rows);
    return rc;
}

/* Did the server answer with a file at @us? Only 200 says that. */
static bool was_there(const struct quarry_row *row, int64_t us)
{
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct quarry_cell *c = &row->cells[i];
        if (c->timestamp_us == us && slice_eq_str(c->family, "http"))
            return slice_eq_str(c->value, "200");
    }
    return true;
}

static int add_site(struct quarry_table *table,
                    struct slice site,
                    struct archive_policy *policy,
                    struct err *err)
{
    static const char *const families[] = {"contents", "http"};
    const struct quarry_read_options opts = {.families = families,
                                             .family_count = 2,
                                             .column_regex =
                                                 "contents:|http:status",
                                             .versions = ROBOTS_VERSIONS_MAX};
    struct buf key = BUF_INIT;
    struct quarry_row *row = NULL;
    int rc;
    buf_append_slice(&key, site);
    buf_append_str(&key, "/robots.txt");
    rc = quarry_read_row(table, buf_slice(&key), &opts, &row, err);
    if (rc)
        row = NULL;
    /* Cells of a column are newest first; the policy wants them oldest first.
     */
    for (size_t i = row ? row->cell_count : 0; rc == 0 && i-- > 0;) {
        const struct quarry_cell *c = &row->cells[i];
        if (slice_eq_str(c->family, "contents") && c->qualifier.len == 0 &&
            was_there(row, c->timestamp_us))
            rc = archive_policy_add_robots(policy, site, c->timestamp_us,
                                           c->value, err);
    }
    quarry_row_free(row);
    buf_close(&key);
    return rc;
}

int robots_scan(struct quarry_table *table,
                struct archive_policy *policy,
                struct err *err)
{
    struct buf from = BUF_INIT;
    struct buf key = BUF_INIT;
    int rc;
    PRE(archive_policy_wants_robots_txt(policy));
    while ((rc = next_key(table, buf_slice(&from), &key, err)) == 0 &&
           key.len > 0) {
        struct slice site = slice_sub(buf_slice(&key), 0,
                                      slice_find_byte(buf_slice(&key), '/'));
        buf_clear(&from);
        if (site.len == key.len) {
            /* A URI without a host: "urn:…" is behind itself. */
            buf_append_slice(&from, buf_slice(&key));
            buf_append_byte(&from, '\0');
            continue;
        }
        rc = add_site(table, site, policy, err);
        if (rc)
            break;
        /* Behind the host's paths: '0' is the byte behind '/'. */
        buf_append_slice(&from, site);
        buf_append_byte(&from, '0');
    }
    buf_close(&from);
    buf_close(&key);
    return rc;
}
