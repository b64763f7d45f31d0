/* quarry backup: backups of tables at a place outside of the store. The library
 * does the work (quarry_backup.h); here are words, progress and tables.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/crypt/master_key.h"
#include "base/runtime/world.h"
#include "bigtable/client/bulk_load.h"
#include "bigtable/quarry.h"
#include "bigtable/quarry_backup.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/remote_fs.h"
#include "cli/table_printer.h"
#include "cli/time_form.h"

struct backup_command {
    struct cli *cli;
    const struct args *args;
    struct progress progress;
    struct quarry *store; /* Borrowed; NULL: the command needs none. */
    struct master_keys *keys;
    struct quarry_backups *backups;
    struct quarry_backup_counts counts;
};

static const struct option place_options[] = {
    {"jobs", 'j', "N", "files at once (4)"},
    {"rate", 0, "BYTES", "a second, at most: 20M"},
    {"lease", 0, "TIME",
     "a command at this place that gave no sign of life for this\n"
     "time is dead (5m); the same for all commands"},
    {NULL, 0, NULL, NULL},
};

/* --- opening ------------------------------------------------------------- */

static void show_progress(void *ctx, const struct quarry_backup_counts *counts)
{
    struct backup_command *c = ctx;
    progress_bytes(&c->progress, counts->done_bytes, counts->bytes, NULL);
}

static void show_problem(void *ctx, const char *text)
{
    (void)ctx;
    printf("%s\n", text);
}

static int read_options(const struct args *args,
                        struct quarry_backup_options *o,
                        struct err *err)
{
    const char *rate = args_value(args, "rate");
    const char *lease = args_value(args, "lease");
    uint64_t jobs = 0;
    int rc = args_number(args, "jobs", 1, 64, &jobs, err);
    o->jobs = (unsigned)jobs;
    if (rc == 0 && rate &&
        text_parse_bytes(slice_str(rate), &o->rate_bytes, err))
        rc = usage_error(args, err, "--rate %s is no number of bytes", rate);
    if (rc == 0 && lease &&
        (text_parse_duration(slice_str(lease), &o->lease_us, err) ||
         o->lease_us < 1000000))
        rc = usage_error(args, err, "--lease %s is no duration of 1s and more",
                         lease);
    return rc;
}

/* Open the place that the first word names, and the store, if @access is given.
 */
static int backup_command_open(struct backup_command *c,
                               const enum cli_access *access,
                               struct err *err)
{
    struct quarry_backup_options o = {.world = c->cli->world,
                                      .variable = remote_fs_variable,
                                      .progress = show_progress,
                                      .problem = show_problem,
                                      .ctx = c};
    struct quarry_bulk_place place;
    const char *key = args_value(c->args, "backup-key");
    const struct master_key_source source = {.key_file = key};
    int rc = read_options(c->args, &o, err);
    if (rc == 0 && access)
        rc = cli_store(c->cli, *access, &c->store, err);
    if (rc == 0 && c->store) {
        quarry_bulk_place_of(c->store, &place);
        o.security = place.security;
    }
    if (rc == 0 && key)
        rc = master_keys_read(c->cli->world, &source, &c->keys, err);
    if (rc == 0 && !key && c->store) {
        rc = cli_master_keys(c->cli, &o.master_keys, err);
        c->keys = master_keys_ref(o.master_keys);
    }
    o.master_keys = c->keys;
    if (rc == 0)
        rc = quarry_backups_open(c->args->words[0], &o, &c->backups, err);
    if (rc == 0)
        progress_start(&c->progress, c->cli, c->args->command->name);
    return rc;
}

static void backup_command_close(struct backup_command *c)
{
    if (c->backups)
        progress_end(&c->progress);
    quarry_backups_close(c->backups);
    master_keys_unref(c->keys);
}

/* "3 tables, 12 files, 1.5 GiB" and more, on one line. */
static void print_bytes(const char *before, uint64_t bytes, const char *after)
{
    struct buf b = BUF_INIT;
    text_put_bytes(&b, bytes);
    printf("%s%s%s", before, buf_cstr(&b), after);
    buf_close(&b);
}

static void print_counts(const struct quarry_backup_counts *n,
                         const char *moved)
{
    printf("%" PRIu64 " tables, %" PRIu64 " files", n->tables, n->files);
    print_bytes(", ", n->bytes, "");
    printf("; %s %" PRIu64 " files", moved, n->moved_files);
    print_bytes(", ", n->moved_bytes, "\n");
}

/* --- create -------------------------------------------------------------- */

static const struct option create_options[] = {
    {"table", 't', "TABLE", "this one; without, all tables"},
    {"keep", 0, "N", "drop older backups of the place then, but for N in all"},
    {NULL, 0, NULL, NULL},
};

/* A name that sorts by time: 2026-05-01T10-20-30Z. */
static void name_of_now(struct cli *cli, char out[32])
{
    struct buf b = BUF_INIT;
    size_t n = 0;
    text_put_time(&b, (int64_t)(world_now_us(cli->world) / 1000000 * 1000000));
    for (const char *p = buf_cstr(&b); *p && n < 31; p++)
        if (*p == ':')
            out[n++] = '-';
        else if (*p != '.')
            out[n++] = *p;
        else
            break;
    out[n] = '\0';
    buf_close(&b);
}

static int run_create(struct cli *cli, const struct args *args, struct err *err)
{
    static const enum cli_access access = CLI_EXISTING;
    struct backup_command c = {.cli = cli, .args = args};
    size_t count = args_count(args, "table");
    const char **tables = mem_zalloc(count + 1, sizeof(char *));
    uint64_t keep = 0;
    char now[32];
    const char *name = args->word_count > 1 ? args->words[1] : now;
    int rc = args_number(args, "keep", 1, UINT32_MAX, &keep, err);
    name_of_now(cli, now);
    for (size_t i = 0; i < count; i++)
        tables[i] = args_nth(args, "table", i);
    if (rc == 0)
        rc = backup_command_open(&c, &access, err);
    if (rc == 0)
        rc = quarry_backup_create(c.backups, c.store, name, tables, count,
                                  &c.counts, err);
    if (rc == 0) {
        progress_end(&c.progress);
        printf("backup %s: ", name);
        print_counts(&c.counts, "sent");
    }
    if (rc == 0 && keep)
        rc = quarry_backup_drop(c.backups, NULL, 0, keep, NULL, err);
    backup_command_close(&c);
    mem_free(tables);
    return rc;
}

/* --- archive ------------------------------------------------------------- */

#define ARCHIVE_EVERY_US UINT64_C(60000000)
/* Between looks for Ctrl-C. */
#define ARCHIVE_NAP_US UINT64_C(200000)

static const struct option archive_options[] = {
    {"table", 't', "TABLE", "this one; without, all that keep their changes"},
    {"follow", 'F', NULL, "again and again, until it is interrupted"},
    {"every", 0, "TIME", "with --follow: how often (1m)"},
    {"restart", 0, NULL,
     "begin again from now on, where the changes that would\n"
     "follow are not kept any more"},
    {NULL, 0, NULL, NULL},
};

static void nap_until(struct cli *cli, uint64_t us)
{
    uint64_t end_us = world_mono_ns(cli->world) / 1000 + us;
    while (!interrupted() && world_mono_ns(cli->world) / 1000 < end_us)
        world_sleep_us(cli->world, ARCHIVE_NAP_US);
}

static int archive_again(struct backup_command *c,
                         const char **tables,
                         size_t count,
                         uint64_t every_us,
                         struct err *err)
{
    bool restart = args_flag(c->args, "restart");
    bool follow = args_flag(c->args, "follow");
    int rc;
    if (follow)
        (void)interrupt_watch();
    do {
        rc = quarry_backup_archive(c->backups, c->store, tables, count, restart,
                                   &c->counts, err);
        restart = false;
        if (rc == 0) {
            printf("%" PRIu64 " tables, %" PRIu64 " files", c->counts.tables,
                   c->counts.moved_files);
            print_bytes(", ", c->counts.moved_bytes, "\n");
            fflush(stdout);
        }
        if (rc == 0 && follow)
            nap_until(c->cli, every_us);
    } while (rc == 0 && follow && !interrupted());
    return rc;
}

static int
run_archive(struct cli *cli, const struct args *args, struct err *err)
{
    static const enum cli_access access = CLI_EXISTING;
    struct backup_command c = {.cli = cli, .args = args};
    size_t count = args_count(args, "table");
    const char **tables = mem_zalloc(count + 1, sizeof(char *));
    const char *every = args_value(args, "every");
    uint64_t every_us = ARCHIVE_EVERY_US;
    int rc = 0;
    for (size_t i = 0; i < count; i++)
        tables[i] = args_nth(args, "table", i);
    if (every && (text_parse_duration(slice_str(every), &every_us, err) ||
                  every_us < 1000000))
        rc = usage_error(args, err, "--every %s is no duration of 1s and more",
                         every);
    if (rc == 0)
        rc = backup_command_open(&c, &access, err);
    if (rc == 0)
        rc = archive_again(&c, tables, count, every_us, err);
    backup_command_close(&c);
    mem_free(tables);
    return rc;
}

/* --- list, show ---------------------------------------------------------- */

static void print_list(struct cli *cli, const struct quarry_backup_list *l)
{
    static const struct sheet_column columns[] = {
        {"backup", SHEET_TEXT},   {"created", SHEET_TIME},
        {"tables", SHEET_NUMBER}, {"files", SHEET_NUMBER},
        {"bytes", SHEET_BYTES},   {"encrypted", SHEET_TEXT},
        {"source", SHEET_TEXT}};
    struct sheet s;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < l->count; i++) {
        const struct quarry_backup *x = &l->list[i];
        if (x->damage)
            continue;
        sheet_add_str(&s, x->name);
        sheet_add_u64(&s, x->created_us);
        sheet_add_u64(&s, x->table_count);
        sheet_add_u64(&s, x->files);
        sheet_add_u64(&s, x->bytes);
        sheet_add_str(&s, x->is_encrypted ? "yes" : "no");
        sheet_add_str(&s, x->source);
    }
    sheet_print(&s, cli->format);
    sheet_close(&s);
    for (size_t i = 0; i < l->count; i++)
        if (l->list[i].damage) {
            cli_remark(cli, "%s", l->list[i].damage);
            cli->status = 1;
        }
}

static int run_list(struct cli *cli, const struct args *args, struct err *err)
{
    struct backup_command c = {.cli = cli, .args = args};
    struct quarry_backup_list *l = NULL;
    int rc = backup_command_open(&c, NULL, err);
    if (rc == 0)
        rc = quarry_backup_list(c.backups, NULL, &l, err);
    if (rc == 0)
        print_list(cli, l);
    quarry_backup_list_free(l);
    backup_command_close(&c);
    return rc;
}

static void print_backup(struct cli *cli, const struct quarry_backup *x)
{
    static const struct sheet_column columns[] = {
        {"table", SHEET_TEXT},     {"as_of", SHEET_TIME},
        {"tablets", SHEET_NUMBER}, {"files", SHEET_NUMBER},
        {"bytes", SHEET_BYTES},    {"rights", SHEET_TEXT}};
    struct sheet s;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < x->table_count; i++) {
        const struct quarry_backup_table *t = &x->tables[i];
        sheet_add_str(&s, t->name);
        sheet_add_u64(&s, t->as_of_us);
        sheet_add_u64(&s, t->tablets);
        sheet_add_u64(&s, t->files);
        sheet_add_u64(&s, t->bytes);
        sheet_add_str(&s, t->has_rights ? "yes" : "no");
    }
    sheet_print(&s, cli->format);
    sheet_close(&s);
}

static int run_show(struct cli *cli, const struct args *args, struct err *err)
{
    struct backup_command c = {.cli = cli, .args = args};
    struct quarry_backup_list *l = NULL;
    int rc = backup_command_open(&c, NULL, err);
    if (rc == 0)
        rc = quarry_backup_list(c.backups, args->words[1], &l, err);
    if (rc == 0)
        print_backup(cli, &l->list[0]);
    quarry_backup_list_free(l);
    backup_command_close(&c);
    return rc;
}

/* --- verify -------------------------------------------------------------- */

static int run_verify(struct cli *cli, const struct args *args, struct err *err)
{
    struct backup_command c = {.cli = cli, .args = args};
    int rc = backup_command_open(&c, NULL, err);
    if (rc == 0)
        rc = quarry_backup_verify(c.backups, args->words + 1,
                                  args->word_count - 1, &c.counts, err);
    if (rc == 0) {
        progress_end(&c.progress);
        printf("%" PRIu64 " tables, %" PRIu64 " files", c.counts.tables,
               c.counts.files);
        print_bytes(", ", c.counts.bytes, ": as they were written\n");
    }
    backup_command_close(&c);
    return rc;
}

/* --- restore ------------------------------------------------------------- */

static const struct option restore_options[] = {
    {"table", 't', "TABLE[=NEW]",
     "this one, under the name NEW; without, all of the backup"},
    {"to", 0, "TIME",
     "as they were at that time, by the archive of their changes:\n"
     "2026-05-01T10:20:30Z, or as \"3h\" ago"},
    {"rights", 0, NULL, "with their lists of rights, as they were"},
    {"backup-key", 0, "FILE",
     "the master key of the backup's store, if it is encrypted\n"
     "and the key is not that of the target"},
    {NULL, 0, NULL, NULL},
};

/* "TABLE" or "TABLE=NEW"; both are owned. */
static void parse_choice(const char *text, struct quarry_backup_choice *out)
{
    const char *equals = strchr(text, '=');
    size_t len = equals ? (size_t)(equals - text) : strlen(text);
    out->table = mem_strndup(text, len);
    out->as = mem_strdup(equals ? equals + 1 : out->table);
}

static int
run_restore(struct cli *cli, const struct args *args, struct err *err)
{
    static const enum cli_access access = CLI_CREATE;
    struct backup_command c = {.cli = cli, .args = args};
    size_t count = args_count(args, "table");
    struct quarry_backup_choice *choices =
        mem_zalloc(count + 1, sizeof(*choices));
    const char *to = args_value(args, "to");
    int64_t to_us = 0;
    int rc = 0;
    for (size_t i = 0; i < count; i++)
        parse_choice(args_nth(args, "table", i), &choices[i]);
    if (to)
        rc = time_parse(to, (int64_t)world_now_us(cli->world), &to_us, err);
    if (rc == 0 && to && to_us <= 0)
        rc = usage_error(args, err, "--to %s is no time since 1970", to);
    if (rc == 0)
        rc = backup_command_open(&c, &access, err);
    if (rc == 0)
        rc = quarry_backup_restore_to(
            c.backups, args->word_count > 1 ? args->words[1] : NULL, c.store,
            choices, count, args_flag(args, "rights"), to_us, &c.counts, err);
    if (rc == 0) {
        progress_end(&c.progress);
        print_counts(&c.counts, "fetched");
    }
    for (size_t i = 0; i < count; i++) {
        mem_free((void *)(uintptr_t)choices[i].table);
        mem_free((void *)(uintptr_t)choices[i].as);
    }
    backup_command_close(&c);
    mem_free(choices);
    return rc;
}

/* --- drop ---------------------------------------------------------------- */

static const struct option drop_options[] = {
    {"keep", 0, "N", "the newest N, and drop the others"},
    {NULL, 0, NULL, NULL},
};

static int run_drop(struct cli *cli, const struct args *args, struct err *err)
{
    struct backup_command c = {.cli = cli, .args = args};
    uint64_t keep = 0;
    int rc = args_number(args, "keep", 1, UINT32_MAX, &keep, err);
    if (rc == 0)
        rc = backup_command_open(&c, NULL, err);
    if (rc == 0)
        rc = quarry_backup_drop(c.backups, args->words + 1,
                                args->word_count - 1, keep, &c.counts, err);
    if (rc == 0) {
        progress_end(&c.progress);
        printf("%" PRIu64 " files removed", c.counts.removed_files);
        print_bytes(", ", c.counts.removed_bytes, "\n");
        if (c.counts.was_interrupted)
            cli_remark(cli, "a backup is being made: the next drop removes "
                            "files that are not needed");
    }
    backup_command_close(&c);
    return rc;
}

const struct command backup_commands[] = {
    {.name = "backup create",
     .arguments = "PLACE [NAME]",
     .summary = "Back up tables, sending what the place does not have",
     .details =
         "PLACE is a directory, s3://BUCKET/PREFIX, rados://POOL/PATH or\n"
         "hdfs://HOST:PORT/PATH. NAME is the time, if it is not given. Each\n"
         "table is backed up as of one moment while the command runs, beside\n"
         "its readers and writers; the backup is there when the command has\n"
         "succeeded. Interrupted, the same command sends only what is\n"
         "missing. Of a cluster its members make backups.",
     .examples = "quarry backup create /mnt/backups\n"
                 "quarry backup create s3://backups/web monday -t webtable",
     .words_min = 1,
     .words_max = 2,
     .options = {create_options, place_options},
     .run = run_create},
    {.name = "backup archive",
     .arguments = "PLACE",
     .summary = "Bring what was written to tables up to now",
     .details =
         "Behind what the place has already, of tables that keep their\n"
         "changes. Backups that are made behind the first such command can be\n"
         "restored to any moment up to the last one: backup restore --to.",
     .examples = "quarry backup archive s3://backups/web --follow --every 30s",
     .words_min = 1,
     .words_max = 1,
     .options = {archive_options, place_options},
     .run = run_archive},
    {.name = "backup list",
     .arguments = "PLACE",
     .summary = "List the backups of a place",
     .details = "One whose manifest is damaged is told; the exit status is 1.",
     .examples = "quarry backup list s3://backups/web",
     .words_min = 1,
     .words_max = 1,
     .run = run_list},
    {.name = "backup show",
     .arguments = "PLACE NAME",
     .summary = "Show the tables of a backup",
     .examples = "quarry backup show /mnt/backups monday",
     .words_min = 2,
     .words_max = 2,
     .run = run_show},
    {.name = "backup verify",
     .arguments = "PLACE [NAME…]",
     .summary = "Read backups whole, and compare digests",
     .details = "Every damage is told, with the name of the file.",
     .examples = "quarry backup verify /mnt/backups",
     .words_min = 1,
     .words_max = WORDS_ANY,
     .options = {place_options},
     .run = run_verify},
    {.name = "backup restore",
     .arguments = "PLACE [NAME]",
     .summary = "Make tables of those in a backup",
     .details =
         "Without NAME, of the newest; with --to, of the newest that leads to\n"
         "that time. Tables that are there are not changed:\n"
         "--table OLD=NEW gives them another name. Each appears whole, when\n"
         "all of its files were fetched and checked. Interrupted, the same\n"
         "command fetches only what is missing.",
     .examples =
         "quarry backup restore /mnt/backups monday\n"
         "quarry backup restore s3://backups/web -t webtable=then\n"
         "quarry backup restore s3://backups/web --to 3h -t webtable=was",
     .words_min = 1,
     .words_max = 2,
     .options = {restore_options, place_options},
     .run = run_restore},
    {.name = "backup drop",
     .arguments = "PLACE [NAME…]",
     .summary = "Drop backups, and files that no other needs",
     .examples = "quarry backup drop /mnt/backups monday\n"
                 "quarry backup drop s3://backups/web --keep 7",
     .words_min = 1,
     .words_max = WORDS_ANY,
     .options = {drop_options, place_options},
     .run = run_drop},
    {.name = NULL},
};
