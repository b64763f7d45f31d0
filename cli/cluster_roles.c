/* The long form of `quarry cluster status`: a row for each role of each node
 * with all that it reports, and one for the file system.
 */
#include "cli/cluster_answers.h"
#include "cli/status_text.h"
#include "cli/table_printer.h"

static const struct sheet_column columns[] = {
    {"node", SHEET_TEXT},  {"address", SHEET_TEXT}, {"pid", SHEET_NUMBER},
    {"state", SHEET_TEXT}, {"up", SHEET_AGE},       {"role", SHEET_TEXT},
    {"leads", SHEET_TEXT}, {"health", SHEET_TEXT},  {"detail", SHEET_PAIRS}};

/* Up to what its roles have to say. */
static void add_head(struct sheet *s, const struct question *q)
{
    sheet_add_str(s, q->node->name);
    sheet_add_str(s, q->node->address);
    if (q->pid > 0)
        sheet_addf(s, "%ld", (long)q->pid);
    else
        sheet_add_str(s, "");
    sheet_add_str(s, question_state(q));
    sheet_add(s, answer_up(q));
}

/* A node without roles to report. */
static void add_bare(struct sheet *s, const struct question *q, const char *why)
{
    add_head(s, q);
    sheet_add_str(s, "");
    sheet_add_str(s, "");
    sheet_add_str(s, "");
    sheet_add_str(s, why);
}

/* All but what has a column of its own. */
static void put_detail(struct slice line, struct buf *out)
{
    struct slice key;
    struct slice value;
    while (status_next_pair(&line, &key, &value))
        if (!slice_eq_str(key, "health"))
            buf_printf(out, "%s%.*s=%.*s", out->len ? " " : "", SLICE_ARG(key),
                       SLICE_ARG(value));
}

static void add_role(struct sheet *s,
                     const struct question *q,
                     struct slice role,
                     struct slice pairs)
{
    struct buf detail = BUF_INIT;
    add_head(s, q);
    sheet_add(s, role);
    sheet_add_str(s, status_leads(pairs) ? "yes" : "");
    sheet_add(s, status_value(pairs, "health"));
    put_detail(pairs, &detail);
    sheet_add(s, buf_slice(&detail));
    buf_close(&detail);
}

static void add_answer(struct sheet *s, const struct question *q)
{
    struct slice rest = answer_roles(q);
    struct slice role;
    struct slice pairs;
    if (rest.len == 0)
        add_bare(s, q, "");
    while (status_next_role(&rest, &role, &pairs))
        add_role(s, q, role, pairs);
}

static void put_files_detail(const struct gfs_status *f, struct buf *out)
{
    uint64_t capacity;
    uint64_t space;
    size_t alive = living_servers(f, &capacity, &space);
    buf_printf(out,
               "chunk-servers=%zu of=%zu capacity=%llu free=%llu files=%llu "
               "directories=%llu chunks=%llu bytes=%llu lost=%llu "
               "unreported=%llu under-replicated=%llu copying=%llu",
               alive, f->server_count, (unsigned long long)capacity,
               (unsigned long long)space, (unsigned long long)f->files,
               (unsigned long long)f->directories,
               (unsigned long long)f->chunks, (unsigned long long)f->bytes,
               (unsigned long long)f->lost, (unsigned long long)f->unreported,
               (unsigned long long)f->under_replicated,
               (unsigned long long)f->copying);
}

/* The file system is that of all nodes together. */
static void add_files(struct sheet *s, const struct inquiry *i)
{
    bool known = i->files_err.code == 0;
    struct buf health = BUF_INIT;
    struct buf detail = BUF_INIT;
    if (known) {
        put_files_health(&i->files, &health);
        put_files_detail(&i->files, &detail);
    }
    sheet_add_str(s, "all");
    sheet_add_str(s, "");
    sheet_add_str(s, "");
    sheet_add_str(s, known ? "up" : "silent");
    sheet_add_str(s, "");
    sheet_add_str(s, "files");
    sheet_add_str(s, "");
    sheet_add(s, buf_slice(&health));
    sheet_add(s, known ? buf_slice(&detail) : slice_str(i->files_err.text));
    buf_close(&health);
    buf_close(&detail);
}

void print_roles(const struct inquiry *i)
{
    struct sheet s;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    for (size_t n = 0; n < i->count; n++) {
        const struct question *q = &i->questions[n];
        if (q->pid == 0 || q->rc)
            add_bare(&s, q, q->err.text);
        else
            add_answer(&s, q);
    }
    if (i->about_files)
        add_files(&s, i);
    sheet_print(&s, i->cli->format);
    sheet_close(&s);
}
