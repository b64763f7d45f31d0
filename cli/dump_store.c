/* quarry dump of the files that hold a store together: manifests and log
 * segments. Edits and log records are decoded by the engine's functions, so
 * that it shows what the engine would see; the framing of a manifest's records
 * is read here.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/crypt/sealer.h"
#include "bigtable/log/commit_log.h"
#include "bigtable/log/log_format.h"
#include "bigtable/log/log_seal.h"
#include "bigtable/log/segment_list.h"
#include "bigtable/store/manifest.h"
#include "bigtable/store/manifest_state.h"
#include "cli/cli.h"
#include "cli/dump.h"
#include "cli/table_printer.h"
#include "gfs-lite/fs.h"

#define MANIFEST_MAGIC "QRYMNFST"
#define LOG_MAGIC      "QRYCMLOG"
#define FILE_BYTES_MAX ((size_t)1 << 30)

/* docs/formats.md: header, then records of CRC, length and edit. */
#define MANIFEST_HEADER_BYTES ((size_t)16)
#define MANIFEST_RECORD_BYTES ((size_t)8)

bool is_manifest(struct slice head)
{
    return slice_starts_with(head, SLICE_LIT(MANIFEST_MAGIC));
}

bool is_log_segment(struct slice head)
{
    return slice_starts_with(head, SLICE_LIT(LOG_MAGIC));
}

/* --- manifests ----------------------------------------------------------- */

/* A segment of the log, and how long its file is at least. */
static void put_log_segment(struct buf *out,
                            bool json,
                            bool follows,
                            const struct log_named_segment *n)
{
    if (json)
        buf_printf(out, "%s{\"number\": %" PRIu64 ", \"bytes\": %" PRIu64 "}",
                   follows ? ", " : "", n->number, n->bytes);
    else
        buf_printf(out, " %" PRIu64 " (%" PRIu64 " bytes)", n->number,
                   n->bytes);
}

/* The log's segments and the snapshots that @state lists. */
static void put_named(struct buf *out,
                      const struct cli *cli,
                      const struct manifest_state *state)
{
    bool json = cli->format == FORMAT_JSON;
    buf_printf(out,
               json ? ", \"log\": {\"position\": %" PRIu64 ", \"segments\": ["
                    : ", log synced to %" PRIu64 ", segments:",
               state->log_position);
    for (size_t i = 0; i < state->log_segment_count; i++)
        put_log_segment(out, json, i > 0, &state->log_segments[i]);
    buf_append_str(out, json ? "]}, \"snapshots\": [" : "; snapshots:");
    for (size_t i = 0; i < state->snapshot_count; i++) {
        struct slice name = slice_str(state->snapshots[i]);
        if (json) {
            buf_append_str(out, i ? ", " : "");
            text_put_json(out, name);
        } else {
            buf_append_byte(out, ' ');
            text_put_escaped(out, name, 0);
        }
    }
    if (json)
        buf_append_str(out, "]}");
    else if (state->snapshot_count == 0)
        buf_append_str(out, " none");
}

/* One edit, and what it left in force. */
static void print_edit(const struct cli *cli,
                       const struct manifest_state *state,
                       size_t offset,
                       size_t bytes)
{
    struct buf line = BUF_INIT;
    if (cli->format == FORMAT_JSON)
        buf_printf(&line, "{\"offset\": %zu, \"bytes\": %zu", offset, bytes);
    else
        buf_printf(&line, "edit at %zu, %zu bytes", offset, bytes);
    put_named(&line, cli, state);
    puts(buf_cstr(&line));
    buf_close(&line);
}

/* The edits of a manifest, applied one after the other to @state. */
static int read_edits(struct cli *cli,
                      struct slice bytes,
                      struct unit_opener *opener,
                      struct buf *plain,
                      bool print,
                      struct manifest_state *state,
                      struct err *err)
{
    size_t at = MANIFEST_HEADER_BYTES;
    while (bytes.len >= at && bytes.len - at >= MANIFEST_RECORD_BYTES) {
        const char *p = bytes.data + at;
        size_t len = get_le32(p + 4);
        INVARIANT(at < bytes.len);
        struct slice edit = slice_make(p + MANIFEST_RECORD_BYTES, len);
        int rc = ERR_OK;
        if (len > bytes.len - at - MANIFEST_RECORD_BYTES ||
            get_le32(p) != crc32c(p + 4, len + 4))
            return err_set(err, ERR_CORRUPT, "offset %zu: bad record", at);
        if (opener) {
            rc = manifest_open_record(opener, at, edit, plain, err);
            edit = buf_slice(plain);
        }
        if (!rc)
            rc = manifest_state_apply(state, edit, err);
        if (rc) {
            err_wrap(err, "offset %zu", at);
            return rc;
        }
        if (print)
            print_edit(cli, state, at, len);
        at += MANIFEST_RECORD_BYTES + len;
    }
    return ERR_OK;
}

static const char *table_name(const struct manifest_state *s, uint64_t id)
{
    for (size_t i = 0; i < s->table_count; i++)
        if (s->tables[i].id == id)
            return s->tables[i].name;
    return "?";
}

static void add_files(struct sheet *s,
                      const struct manifest_state *state,
                      const struct manifest_tablet *t,
                      const struct manifest_group *g)
{
    for (size_t i = 0; i < g->file_count; i++) {
        const struct lsm_table *f = &g->files[i];
        sheet_add_str(s, table_name(state, t->table));
        sheet_add_u64(s, t->id);
        sheet_add(s, buf_slice(&t->start));
        sheet_add_u64(s, g->id);
        sheet_addf(s, "%06" PRIu64, f->number);
        sheet_add_u64(s, f->run);
        sheet_add_u64(s, f->entry_count);
        sheet_add_u64(s, f->bytes);
    }
    if (g->file_count > 0)
        return;
    sheet_add_str(s, table_name(state, t->table));
    sheet_add_u64(s, t->id);
    sheet_add(s, buf_slice(&t->start));
    sheet_add_u64(s, g->id);
    for (int i = 0; i < 4; i++)
        sheet_add_str(s, "");
}

/* The state that all edits together make: every file of every tablet. */
static void print_state(struct cli *cli, const struct manifest_state *state)
{
    static const struct sheet_column columns[] = {
        {"table", SHEET_TEXT},     {"tablet", SHEET_NUMBER},
        {"start", SHEET_TEXT},     {"group", SHEET_NUMBER},
        {"file", SHEET_TEXT},      {"run", SHEET_NUMBER},
        {"entries", SHEET_NUMBER}, {"bytes", SHEET_BYTES}};
    struct sheet s;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < state->tablet_count; i++)
        for (size_t g = 0; g < state->tablets[i].group_count; g++)
            add_files(&s, state, &state->tablets[i],
                      &state->tablets[i].groups[g]);
    sheet_print(&s, cli->format);
    sheet_close(&s);
}

int dump_manifest(struct cli *cli,
                  struct fs *fs,
                  const char *name,
                  const struct dump_options *opts,
                  struct err *err)
{
    struct buf bytes = BUF_INIT;
    struct buf plain = BUF_INIT;
    struct unit_opener *opener;
    struct manifest_state state;
    int rc = fs_read_all(fs, name, FILE_BYTES_MAX, &bytes, err);
    if (rc) {
        buf_close(&bytes);
        return rc;
    }
    manifest_state_init(&state);
    opener = manifest_opener(fs, buf_slice(&bytes));
    rc = read_edits(cli, buf_slice(&bytes), opener, &plain, opts->entries,
                    &state, err);
    unit_opener_free(opener);
    buf_close(&plain);
    if (!rc && !opts->entries)
        print_state(cli, &state);
    manifest_state_close(&state);
    buf_close(&bytes);
    return rc;
}

/* --- log segments -------------------------------------------------------- */

static const struct sheet_column record_columns[] = {
    {"offset", SHEET_NUMBER},  {"sequence", SHEET_NUMBER},
    {"entries", SHEET_NUMBER}, {"bytes", SHEET_NUMBER},
    {"synced", SHEET_NUMBER},  {"names", SHEET_TEXT}};

static const struct sheet_column segment_columns[] = {
    {"segment", SHEET_NUMBER},      {"base", SHEET_NUMBER},
    {"records", SHEET_NUMBER},      {"entries", SHEET_NUMBER},
    {"bytes", SHEET_BYTES},         {"sequence_min", SHEET_NUMBER},
    {"sequence_max", SHEET_NUMBER}, {"names", SHEET_TEXT}};

struct segment_totals {
    uint64_t records;
    uint64_t entries;
    uint64_t bytes;
    uint64_t sequence_min;
    uint64_t sequence_max;
    struct buf names; /* Other segments that it names. */
};

/* Print the names in a record without entries of a tablet server's log: the
 * other segments with their bytes, or the one that follows. */
static void put_names(struct slice payload, struct buf *out)
{
    struct cursor list;
    uint64_t number;
    uint64_t bytes;
    buf_append_str(out, out->len ? "; " : "");
    if (!segment_list_begin(payload, &list)) {
        if (payload.len == 8)
            buf_printf(out, "next %" PRIu64, get_le64(payload.data));
        return;
    }
    buf_append_str(out, "list");
    while (segment_list_next(&list, &number, &bytes))
        buf_printf(out, " %" PRIu64 " (%" PRIu64 " bytes)", number, bytes);
    if (list.bad)
        buf_append_str(out, " malformed");
}

/* The same of a record of a segment that may be encrypted; without the key
 * nothing is said. */
static void put_names_of(struct unit_opener *opener,
                         const struct log_segment_header *segment,
                         const struct log_record_header *h,
                         struct slice payload,
                         struct buf *out)
{
    struct buf copy = BUF_INIT;
    buf_append_slice(&copy, payload);
    payload = buf_slice(&copy);
    if (h->sequence == 0 && (!segment->is_sealed ||
                             log_open_payload(opener, segment->number, h,
                                              copy.data, &payload, NULL) == 0))
        put_names(payload, out);
    buf_close(&copy);
}

/* Records up to the first that is not whole: where the log ends. */
static void walk_segment(struct slice bytes,
                         const struct log_segment_header *segment,
                         struct unit_opener *opener,
                         uint64_t limit,
                         struct sheet *records,
                         struct segment_totals *t)
{
    size_t at = LOG_SEGMENT_HEADER_BYTES;
    struct log_record_header h;
    struct slice payload;
    while (at < bytes.len && t->records < limit &&
           log_get_record(slice_sub(bytes, at, bytes.len), segment->number, &h,
                          &payload)) {
        size_t named = t->names.len;
        put_names_of(opener, segment, &h, payload, &t->names);
        sheet_add_u64(records, at);
        sheet_add_u64(records, h.sequence);
        sheet_add_u64(records, h.count);
        sheet_add_u64(records, h.length);
        sheet_add_u64(records, h.synced);
        named += named && t->names.len > named ? strlen("; ") : 0;
        sheet_add(records,
                  slice_sub(buf_slice(&t->names), named, t->names.len));
        if (h.sequence && !t->sequence_min)
            t->sequence_min = h.sequence;
        if (h.sequence)
            t->sequence_max = h.sequence + (h.count ? h.count - 1 : 0);
        t->records++;
        t->entries += h.count;
        at += LOG_RECORD_HEADER_BYTES + h.length;
        t->bytes = at;
    }
    POST(t->bytes <= bytes.len);
}

static void print_segment(struct cli *cli,
                          const struct log_segment_header *header,
                          const struct segment_totals *t)
{
    struct sheet s;
    sheet_init(&s, segment_columns, ARRAY_LEN(segment_columns));
    sheet_add_u64(&s, header->number);
    sheet_add_u64(&s, header->base);
    sheet_add_u64(&s, t->records);
    sheet_add_u64(&s, t->entries);
    sheet_add_u64(&s, t->bytes);
    sheet_add_u64(&s, t->sequence_min);
    sheet_add_u64(&s, t->sequence_max);
    sheet_add(&s, buf_slice(&t->names));
    sheet_print(&s, cli->format);
    sheet_close(&s);
}

int dump_log_segment(struct cli *cli,
                     struct fs *fs,
                     const char *name,
                     const struct dump_options *opts,
                     struct err *err)
{
    struct buf bytes = BUF_INIT;
    struct log_segment_header header;
    struct segment_totals totals = {.names = BUF_INIT};
    struct unit_opener *opener = log_opener_new(fs_keyring(fs));
    struct sheet records;
    bool whole = false;
    int rc = fs_read_all(fs, name, FILE_BYTES_MAX, &bytes, err);
    if (!rc)
        rc = log_get_segment_header(buf_slice(&bytes), &header, &whole, err);
    if (!rc && !whole)
        rc = err_set(err, ERR_CORRUPT, "offset 0: bad segment header");
    if (!rc) {
        sheet_init(&records, record_columns, ARRAY_LEN(record_columns));
        walk_segment(buf_slice(&bytes), &header, opener, opts->limit, &records,
                     &totals);
        if (opts->entries)
            sheet_print(&records, cli->format);
        else
            print_segment(cli, &header, &totals);
        sheet_close(&records);
    }
    unit_opener_free(opener);
    buf_close(&totals.names);
    buf_close(&bytes);
    return rc;
}
