/* Manual pages in roff, from the same tables as --help: no text exists twice.
 * Indented lines of a help text are kept as they are, other paragraphs are
 * filled by the reader's program.
 */
#include "cli/man_page.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/slice.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/remote_call.h"

/* --- text ---------------------------------------------------------------- */

/* A hyphen that may be typed is a minus in roff. */
static void man_put_byte(struct buf *out, char c)
{
    if (c == '\\')
        buf_append_str(out, "\\e");
    else if (c == '-')
        buf_append_str(out, "\\-");
    else
        buf_append_byte(out, c);
}

/* One line. At its beginning a dot or a quote would be a request. */
static void man_put_line(struct buf *out, struct slice line)
{
    if (line.len > 0 && (line.data[0] == '.' || line.data[0] == '\''))
        buf_append_str(out, "\\&");
    for (size_t i = 0; i < line.len; i++)
        man_put_byte(out, line.data[i]);
    buf_append_byte(out, '\n');
}

/* Lines as they are, from where @text is indented or, with @all, to its end.
 * Returns how many bytes they have. */
static size_t man_put_literal(struct buf *out, struct slice text, bool all)
{
    size_t at = 0;

    buf_append_str(out, ".nf\n");
    while (at < text.len && (all || text.data[at] == ' ')) {
        struct slice rest = slice_sub(text, at, text.len);
        size_t end = slice_find_byte(rest, '\n');
        man_put_line(out, slice_sub(rest, 0, end));
        at += MIN_OF(end + 1, rest.len);
    }
    buf_append_str(out, ".fi\n");
    return at;
}

static void man_put_text(struct buf *out, const char *text)
{
    struct slice rest = slice_str(text);

    while (rest.len > 0) {
        size_t end = slice_find_byte(rest, '\n');
        if (rest.data[0] == ' ') {
            end = man_put_literal(out, rest, false);
        } else if (end == 0) {
            buf_append_str(out, ".PP\n");
            end = 1;
        } else {
            man_put_line(out, slice_sub(rest, 0, end));
            end = MIN_OF(end + 1, rest.len);
        }
        rest = slice_sub(rest, end, rest.len);
    }
}

static void man_put_words(struct buf *out, const char *text)
{
    for (; *text; text++)
        man_put_byte(out, *text);
}

/* "quarry-table-create", its hyphens as @dash. */
static void man_put_name(struct buf *out, const char *command, const char *dash)
{
    buf_printf(out, "quarry%s", *command ? dash : "");
    for (; *command; command++)
        if (*command == ' ' || *command == '-')
            buf_append_str(out, dash);
        else
            buf_append_byte(out, *command);
}

static void
man_put_head(struct buf *out, const char *command, const char *summary)
{
    buf_append_str(out, ".TH \"");
    man_put_name(out, command, "\\-");
    buf_printf(out, "\" 1 \"\" \"quarry %s\" \"Quarry\"\n", QUARRY_VERSION);
    buf_append_str(out, ".SH NAME\n");
    man_put_name(out, command, "\\-");
    buf_append_str(out, " \\- ");
    man_put_words(out, summary);
    buf_append_str(out, "\n.SH SYNOPSIS\n");
}

static void man_put_option(struct buf *out, const struct option *o)
{
    buf_append_str(out, ".TP\n");
    if (o->letter)
        buf_printf(out, "\\fB\\-%c\\fR, ", o->letter);
    buf_append_str(out, "\\fB\\-\\-");
    man_put_words(out, o->name);
    buf_append_str(out, "\\fR");
    if (o->argument) {
        buf_append_str(out, " \\fI");
        man_put_words(out, o->argument);
        buf_append_str(out, "\\fR");
    }
    buf_append_byte(out, '\n');
    man_put_text(out, o->help);
}

static void
man_put_options(struct buf *out, const char *title, const struct option *set)
{
    buf_printf(out, ".SH %s\n", title);
    for (; set->name; set++)
        if (set->help)
            man_put_option(out, set);
}

/* --- pages --------------------------------------------------------------- */

static void man_put_status(struct buf *out)
{
    buf_append_str(out, ".SH EXIT STATUS\n0 done, 1 failed, 2 used wrongly.\n");
}

static void man_overview_line(void *ctx, const struct command *c)
{
    struct buf *out = ctx;

    buf_append_str(out, ".TP\n\\fB");
    man_put_name(out, c->name, "\\-");
    buf_append_str(out, "\\fR(1)\n");
    man_put_text(out, c->summary);
}

void man_page_overview(struct buf *out)
{
    man_put_head(out, "", "tables, MapReduce jobs and Sawzall programs");
    buf_append_str(out, "\\fBquarry\\fR [\\fB\\-t\\fR \\fITARGET\\fR] "
                        "\\fICOMMAND\\fR [\\fIARGUMENT\\fR…] "
                        "[\\fIOPTION\\fR…]\n"
                        ".SH DESCRIPTION\n"
                        "Tables of rows, columns and timed cells; MapReduce "
                        "jobs and Sawzall programs over them.\n"
                        "The store is a directory: nothing has to be started. "
                        "The same program is the server of a cluster.\n"
                        ".SH COMMANDS\n");
    commands_each(man_overview_line, out);
    man_put_options(out, "OPTIONS OF EVERY COMMAND", global_options);
    man_put_options(out, "OPTIONS OF A CLUSTER", remote_options);
    man_put_status(out);
}

void man_page_command(struct buf *out, const struct command *c)
{
    man_put_head(out, c->name, c->summary);
    buf_append_str(out, "\\fBquarry ");
    man_put_words(out, c->name);
    buf_append_str(out, "\\fR ");
    man_put_words(out, c->arguments);
    buf_append_str(out, "\n.SH DESCRIPTION\n");
    man_put_text(out, c->details ? c->details : c->summary);
    if (!c->details)
        buf_append_str(out, ".\n");
    for (size_t i = 0; i < COMMAND_OPTION_SETS && c->options[i]; i++)
        man_put_options(out, i == 0 ? "OPTIONS" : "MORE OPTIONS",
                        c->options[i]);
    buf_append_str(out, ".SH EXAMPLE\n");
    (void)man_put_literal(out, slice_str(c->examples), true);
    man_put_status(out);
    buf_append_str(out, ".SH SEE ALSO\n\\fBquarry\\fR(1), with the options of "
                        "every command\n");
}

/* --- files --------------------------------------------------------------- */

struct man_directory {
    const char *path;
    int rc;
    struct err *err;
};

static void man_write_file(struct man_directory *d,
                           const char *command,
                           const struct buf *page)
{
    struct buf path = BUF_INIT;
    FILE *file;

    if (d->rc)
        return;
    buf_printf(&path, "%s/", d->path);
    man_put_name(&path, command, "-");
    buf_append_str(&path, ".1");
    file = fopen(buf_cstr(&path), "w");
    if (file && fwrite(page->data, 1, page->len, file) < page->len)
        d->rc = ERR_IO;
    if (!file || fclose(file) || d->rc)
        d->rc =
            err_set(d->err, ERR_IO, "%s: %s", buf_cstr(&path), strerror(errno));
    buf_close(&path);
}

static void man_write_command(void *ctx, const struct command *c)
{
    struct buf page = BUF_INIT;

    man_page_command(&page, c);
    man_write_file(ctx, c->name, &page);
    buf_close(&page);
}

int man_pages_write(const char *dir, struct err *err)
{
    struct man_directory d = {dir, 0, err};
    struct buf page = BUF_INIT;

    man_page_overview(&page);
    man_write_file(&d, "", &page);
    buf_close(&page);
    commands_each(man_write_command, &d);
    return d.rc;
}
