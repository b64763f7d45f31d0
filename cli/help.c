/* The overview of all commands and the page of each, in one shape, from the
 * tables of commands: no help text exists twice.
 */
#include <string.h>

#include "base/core/buf.h"
#include "base/core/macros.h"
#include "base/core/text.h"
#include "cli/command.h"
#include "cli/remote_call.h"
#include "cli/table_printer.h"

#define USAGE_COLUMN   7
#define SUMMARY_COLUMN 19
#define OPTION_COLUMN  28

/* Lines are folded there, or where a narrower terminal ends. */
#define FOLD_COLUMN 80

/* The parts of the overview, each by its first command. */
static const struct {
    const char *first;
    const char *title;
} parts[] = {
    {"table create", "Tables"},      {"put", "Cells and rows"},
    {"import warc", "In and out"},   {"saw", "Questions"},
    {"dump", "Files and upkeep"},    {"shell", "Working with quarry"},
    {"server", "Clusters"},          {"lock ls", "Locks of a cluster"},
    {"fs ls", "Files of a cluster"}, {"bench tables", "About quarry"},
};

/* A text longer than @column gets a line of its own. */
static void pad_to(struct buf *out, size_t used, size_t column)
{
    if (used >= column) {
        buf_append_byte(out, '\n');
        used = 0;
    }
    buf_append_fill(out, ' ', column - used);
}

static size_t fold_column(void)
{
    size_t columns = terminal_columns();
    return columns > OPTION_COLUMN + 10 && columns < FOLD_COLUMN ? columns
                                                                 : FOLD_COLUMN;
}

/* How many bytes of @line, which has one at least, go into @room columns. */
static size_t help_fitting_length(struct slice line, size_t room)
{
    size_t best = 0;
    for (size_t i = 0; i <= line.len; i++) {
        if (i < line.len && line.data[i] != ' ')
            continue;
        if (best > 0 && utf8_columns(slice_sub(line, 0, i)) > room)
            break;
        best = i;
    }
    return best;
}

/* Append @line, indented, of which the first @indent columns are there. */
static void put_line(struct buf *out, struct slice line, size_t indent)
{
    size_t room = fold_column() - indent;
    while (utf8_columns(line) > room &&
           help_fitting_length(line, room) < line.len) {
        size_t n = help_fitting_length(line, room);
        buf_append_slice(out, slice_sub(line, 0, n));
        buf_append_byte(out, '\n');
        buf_append_fill(out, ' ', indent);
        line = slice_sub(line, n + 1, line.len);
    }
    buf_append_slice(out, line);
    buf_append_byte(out, '\n');
}

/* Where the paragraph at the beginning of @text ends: before a line that is
 * empty or indented. */
static size_t paragraph_end(struct slice text)
{
    for (size_t i = 0; i + 1 < text.len; i++)
        if (text.data[i] == '\n' &&
            (text.data[i + 1] == '\n' || text.data[i + 1] == ' '))
            return i;
    return text.len;
}

/* The next lines of @text, as they are if they fit: else the rest of the
 * paragraph is filled again. Returns how many bytes they have. */
static size_t put_lines(struct buf *out, struct slice text, size_t indent)
{
    size_t end = slice_find_byte(text, '\n');
    struct buf filled = BUF_INIT;
    if (utf8_columns(slice_sub(text, 0, end)) + indent <= fold_column()) {
        put_line(out, slice_sub(text, 0, end), indent);
        return end;
    }
    end = paragraph_end(text);
    buf_append_slice(&filled, slice_sub(text, 0, end));
    for (size_t i = 0; i < filled.len; i++)
        if (filled.data[i] == '\n')
            filled.data[i] = ' ';
    put_line(out, buf_slice(&filled), indent);
    buf_close(&filled);
    return end;
}

/* Append @text, whose lines begin at column @indent, where the first is. */
static void put_text(struct buf *out, const char *text, size_t indent)
{
    struct slice rest = slice_str(text);
    for (;;) {
        size_t end = put_lines(out, rest, indent);
        if (end == rest.len)
            break;
        rest = slice_sub(rest, end + 1, rest.len);
        if (rest.len > 0 && rest.data[0] != '\n')
            buf_append_fill(out, ' ', indent);
    }
}

static void put_summary(struct buf *out, const struct command *c)
{
    buf_printf(out, "  %s", c->name);
    pad_to(out, 2 + strlen(c->name), SUMMARY_COLUMN + 2);
    put_text(out, c->summary, SUMMARY_COLUMN + 2);
}

static void overview_line(void *ctx, const struct command *c)
{
    struct buf *out = ctx;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (strcmp(parts[i].first, c->name) == 0)
            buf_printf(out, "\n%s\n", parts[i].title);
    put_summary(out, c);
}

static void put_option(struct buf *out, const struct option *o)
{
    size_t begin = out->len;
    size_t used;
    if (o->letter)
        buf_printf(out, "  -%c, ", o->letter);
    else
        buf_append_fill(out, ' ', 6);
    buf_printf(out, "--%s", o->name);
    if (o->argument)
        buf_printf(out, " %s", o->argument);
    used = utf8_columns(slice_sub(buf_slice(out), begin, out->len));
    pad_to(out, used, OPTION_COLUMN);
    put_text(out, o->help, OPTION_COLUMN);
}

static void
put_options(struct buf *out, const char *title, const struct option *set)
{
    buf_printf(out, "\n%s:\n", title);
    for (; set->name; set++)
        if (set->help)
            put_option(out, set);
}

static bool command_has_option(const struct command *c, const char *name)
{
    for (size_t i = 0; i < COMMAND_OPTION_SETS && c->options[i]; i++)
        for (const struct option *o = c->options[i]; o->name; o++)
            if (strcmp(o->name, name) == 0)
                return true;
    return false;
}

/* The options of every command, but those that @c has its own form of. */
static void put_global_options(struct buf *out, const struct command *c)
{
    buf_append_str(out, "\nOptions of every command:\n");
    for (const struct option *o = global_options; o->name; o++)
        if (o->help && !command_has_option(c, o->name))
            put_option(out, o);
}

void help_overview(struct buf *out)
{
    buf_append_str(
        out, "Usage: quarry [-t TARGET] COMMAND [ARGUMENT…] [OPTION…]\n\n"
             "Tables of rows, columns and timed cells; MapReduce jobs and\n"
             "Sawzall programs over them. The store is a directory: nothing\n"
             "has to be started.\n");
    commands_each(overview_line, out);
    put_options(out, "Options of every command", global_options);
    put_options(out, "More of them, to be let into a cluster", remote_options);
    buf_append_str(out,
                   "\nquarry COMMAND --help explains one command and shows an "
                   "example.\n"
                   "Exit status: 0 done, 1 failed, 2 used wrongly.\n");
}

static void put_indented(struct buf *out, const char *text)
{
    bool at_start = true;
    for (const char *p = text; *p; p++) {
        if (at_start && *p != '\n')
            buf_append_str(out, "  ");
        buf_append_byte(out, *p);
        at_start = *p == '\n';
    }
    buf_append_byte(out, '\n');
}

void help_command(struct buf *out, const struct command *c)
{
    struct buf usage = BUF_INIT;
    buf_append_str(out, "Usage: ");
    buf_printf(&usage, "quarry %s%s%s", c->name, c->arguments[0] ? " " : "",
               c->arguments);
    put_text(out, buf_cstr(&usage), USAGE_COLUMN);
    buf_close(&usage);
    buf_printf(out, "\n%s.\n", c->summary);
    if (c->details) {
        buf_append_byte(out, '\n');
        put_text(out, c->details, 0);
    }
    for (size_t i = 0; i < COMMAND_OPTION_SETS && c->options[i]; i++)
        put_options(out, i == 0 ? "Options" : "More options", c->options[i]);
    put_global_options(out, c);
    buf_append_str(out, "\nExample:\n");
    put_indented(out, c->examples);
}

struct family_visit {
    struct buf *out;
    const char *word;
    size_t count;
};

static void family_line(void *ctx, const struct command *c)
{
    struct family_visit *v = ctx;
    size_t n = strlen(v->word);
    if (strncmp(c->name, v->word, n) != 0 || c->name[n] != ' ')
        return;
    if (v->count++ == 0)
        buf_printf(v->out, "Usage: quarry %s COMMAND\n\n", v->word);
    put_summary(v->out, c);
}

bool help_family(struct buf *out, const char *word)
{
    struct family_visit v = {out, word, 0};
    commands_each(family_line, &v);
    if (v.count > 0)
        buf_printf(out, "\nquarry %s COMMAND --help explains one of them.\n",
                   word);
    return v.count > 0;
}
