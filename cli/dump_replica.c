/* quarry dump of what a member of a cell keeps: segments of its log, the file
 * that says how much of the log there is, and snapshots.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/replica/log_synced.h"
#include "base/replica/replica_log_format.h"
#include "base/replica/replica_snapshot.h"
#include "base/runtime/world.h"
#include "cli/cli.h"
#include "cli/dump.h"
#include "cli/table_printer.h"

bool is_replica_log(struct slice head)
{
    return slice_starts_with(head, SLICE_LIT(LOG_MAGIC));
}

bool is_replica_synced(struct slice head)
{
    return log_synced_is_one(head);
}

bool is_replica_snapshot(struct slice head)
{
    return snapshot_is_one(head) ||
           slice_starts_with(head, SLICE_LIT("QRYSEALF")); /* Encrypted. */
}

/* --- logs ---------------------------------------------------------------- */

struct totals {
    uint64_t records;
    uint64_t entries;
    uint64_t first_index;
    uint64_t last_index;
    uint64_t bytes; /* Up to the first that is not whole. */
};

static const char *kind_name(enum log_kind kind)
{
    switch (kind) {
    case LOG_META: return "term, vote";
    case LOG_RESET: return "reset";
    case LOG_MARK: return "mark";
    case LOG_COMMAND: return "command";
    case LOG_NOOP: return "no-op";
    case LOG_CONFIG: return "members";
    case LOG_COMMANDS: return "commands";
    }
    return "?";
}

static uint64_t count_entries(const struct log_record *r)
{
    struct slice rest = r->payload;
    struct slice command;
    uint64_t count = 0;
    switch (r->kind) {
    case LOG_META:
    case LOG_RESET:
    case LOG_MARK: return 0;
    case LOG_COMMAND:
    case LOG_NOOP:
    case LOG_CONFIG: return 1;
    case LOG_COMMANDS: break;
    }
    while (rest.len && log_commands_next(&rest, &command))
        count++;
    return count;
}

static void add_record(struct sheet *s, const struct log_record *r)
{
    sheet_add_u64(s, r->position);
    sheet_add_str(s, kind_name(r->kind));
    sheet_add_u64(s, r->index);
    sheet_add_u64(s, r->term);
    sheet_add_u64(s, r->payload.len);
    sheet_add_u64(s, r->synced);
}

static void count_record(struct totals *t, const struct log_record *r)
{
    uint64_t count = count_entries(r);
    t->records++;
    if (!count)
        return;
    t->first_index = t->entries ? t->first_index : r->index;
    t->last_index = r->index + count - 1;
    t->entries += count;
}

static void dump_replica_walk(struct slice bytes,
                              const struct log_header *h,
                              uint64_t limit,
                              struct sheet *records,
                              struct totals *t)
{
    size_t at = LOG_HEADER_BYTES;
    struct log_record r;
    while (t->records < limit &&
           log_record_get(slice_sub(bytes, at, bytes.len), h->number,
                          h->base + at - LOG_HEADER_BYTES, &r)) {
        add_record(records, &r);
        count_record(t, &r);
        at += log_record_bytes(r.payload.len);
        t->bytes = at;
    }
}

static void print_totals(struct cli *cli,
                         const struct log_header *h,
                         const struct totals *t)
{
    static const struct sheet_column columns[] = {
        {"segment", SHEET_NUMBER},     {"base", SHEET_NUMBER},
        {"term", SHEET_NUMBER},        {"vote", SHEET_NUMBER},
        {"records", SHEET_NUMBER},     {"entries", SHEET_NUMBER},
        {"first_index", SHEET_NUMBER}, {"last_index", SHEET_NUMBER},
        {"bytes", SHEET_BYTES}};
    struct sheet s;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    sheet_add_u64(&s, h->number);
    sheet_add_u64(&s, h->base);
    sheet_add_u64(&s, h->term);
    sheet_add_u64(&s, h->vote);
    sheet_add_u64(&s, t->records);
    sheet_add_u64(&s, t->entries);
    sheet_add_u64(&s, t->first_index);
    sheet_add_u64(&s, t->last_index);
    sheet_add_u64(&s, t->bytes);
    sheet_print(&s, cli->format);
    sheet_close(&s);
}

static int
read_file(struct cli *cli, const char *path, struct buf *out, struct err *err)
{
    struct file *f;
    uint64_t size;
    size_t got = 0;
    int rc = file_open(cli->world, path, FILE_READ, &f, err);
    if (rc)
        return rc;
    rc = file_size(f, &size, err);
    if (!rc && size > LOG_SEGMENT_MAX)
        rc = err_set(err, ERR_TOOBIG, "%" PRIu64 " bytes", size);
    if (!rc)
        rc = file_read_at(f, 0, buf_reserve(out, (size_t)size), (size_t)size,
                          &got, err);
    if (!rc)
        buf_extend(out, got);
    file_close(f);
    return rc;
}

int dump_replica_log(struct cli *cli,
                     const char *path,
                     const struct dump_options *opts,
                     struct err *err)
{
    static const struct sheet_column columns[] = {
        {"position", SHEET_NUMBER}, {"kind", SHEET_TEXT},
        {"index", SHEET_NUMBER},    {"term", SHEET_NUMBER},
        {"bytes", SHEET_NUMBER},    {"synced", SHEET_NUMBER}};
    struct buf bytes = BUF_INIT;
    struct log_header header;
    struct totals totals = {0};
    struct sheet records;
    int rc = read_file(cli, path, &bytes, err);
    if (!rc)
        rc = log_header_get(buf_slice(&bytes), &header, err);
    if (!rc) {
        sheet_init(&records, columns, ARRAY_LEN(columns));
        dump_replica_walk(buf_slice(&bytes), &header, opts->limit, &records,
                          &totals);
        if (opts->entries)
            sheet_print(&records, cli->format);
        else
            print_totals(cli, &header, &totals);
        sheet_close(&records);
    }
    buf_close(&bytes);
    return rc;
}

/* --- how much of a log there is ------------------------------------------ */

static void add_reach(struct sheet *s, const struct log_reach *r)
{
    sheet_add_u64(s, r->segment);
    sheet_add_u64(s, r->position);
    sheet_add_u64(s, r->bytes);
}

static void
print_slots(struct cli *cli, const struct log_reach *slots, uint64_t count)
{
    static const struct sheet_column columns[] = {{"slot", SHEET_NUMBER},
                                                  {"segment", SHEET_NUMBER},
                                                  {"position", SHEET_NUMBER},
                                                  {"file_bytes", SHEET_BYTES}};
    struct sheet s;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    for (uint64_t i = 0; i < count; i++) {
        if (slots[i].segment == 0)
            continue; /* Not written, or not whole. */
        sheet_add_u64(&s, i);
        add_reach(&s, &slots[i]);
    }
    sheet_print(&s, cli->format);
    sheet_close(&s);
}

static void print_reach(struct cli *cli, const struct log_reach *r)
{
    static const struct sheet_column columns[] = {{"segment", SHEET_NUMBER},
                                                  {"position", SHEET_NUMBER},
                                                  {"file_bytes", SHEET_BYTES}};
    struct sheet s;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    add_reach(&s, r);
    sheet_print(&s, cli->format);
    sheet_close(&s);
}

int dump_replica_synced(struct cli *cli,
                        const char *path,
                        const struct dump_options *opts,
                        struct err *err)
{
    struct log_reach slots[LOG_SYNCED_SLOTS] = {{0}};
    struct log_reach all = {0};
    struct buf bytes = BUF_INIT;
    int rc = read_file(cli, path, &bytes, err);
    for (size_t i = 0; !rc && i < LOG_SYNCED_SLOTS; i++) {
        struct slice slot =
            slice_sub(buf_slice(&bytes), MIN_OF(i * LOG_SYNCED_STEP, bytes.len),
                      bytes.len);
        rc = log_synced_take(slot, &slots[i], err);
        if (!rc)
            rc = log_synced_take(slot, &all, err);
    }
    if (!rc && opts->entries)
        print_slots(cli, slots, MIN_OF(opts->limit, LOG_SYNCED_SLOTS));
    else if (!rc)
        print_reach(cli, &all);
    buf_close(&bytes);
    return rc;
}

/* --- snapshots ----------------------------------------------------------- */

static void print_members(struct cli *cli, const struct raft_config *c)
{
    static const struct sheet_column columns[] = {{"member", SHEET_NUMBER},
                                                  {"address", SHEET_TEXT},
                                                  {"votes", SHEET_TEXT}};
    struct sheet s;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < c->count; i++) {
        sheet_add_u64(&s, c->members[i].id);
        sheet_add_str(&s, c->members[i].address);
        sheet_add_str(&s, c->members[i].voting ? "yes" : "no");
    }
    sheet_print(&s, cli->format);
    sheet_close(&s);
}

static void print_snapshot(struct cli *cli, const struct snapshot_info *info)
{
    static const struct sheet_column columns[] = {{"index", SHEET_NUMBER},
                                                  {"term", SHEET_NUMBER},
                                                  {"members", SHEET_NUMBER},
                                                  {"image", SHEET_BYTES}};
    struct sheet s;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    sheet_add_u64(&s, info->index);
    sheet_add_u64(&s, info->term);
    sheet_add_u64(&s, info->config.count);
    sheet_add_u64(&s, info->image_bytes);
    sheet_print(&s, cli->format);
    sheet_close(&s);
}

int dump_replica_snapshot(struct cli *cli,
                          struct keyring *keys,
                          const char *path,
                          const struct dump_options *opts,
                          struct err *err)
{
    struct snapshot_info info;
    struct buf image = BUF_INIT;
    int rc = snapshot_load_file(cli->world, keys, path, &info, &image, err);
    if (!rc && is_namenode_image(buf_slice(&image)))
        rc = dump_namenode_image(cli, info.index, buf_slice(&image), opts, err);
    else if (!rc && opts->entries)
        print_members(cli, &info.config);
    else if (!rc)
        print_snapshot(cli, &info);
    buf_close(&image);
    return rc;
}
