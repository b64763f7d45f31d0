/* The overview of all commands and the page of each, in one shape. */
#include <stdio.h>
#include <string.h>

#include "base/core/macros.h"
#include "base/core/text.h"
#include "cli/command.h"
#include "cli/remote.h"

#define SUMMARY_COLUMN 19
#define OPTION_COLUMN  30

/* What belongs together in the overview, by the first command of each part. */
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

static void pad_to(size_t used, size_t column)
{
    do
        putchar(' ');
    while (++used < column);
}

static void overview_line(void *ctx, const struct command *c)
{
    (void)ctx;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (strcmp(parts[i].first, c->name) == 0)
            printf("\n%s\n", parts[i].title);
    printf("  %s", c->name);
    pad_to(2 + strlen(c->name), SUMMARY_COLUMN + 2);
    printf("%s\n", c->summary);
}

static void print_option(const struct option *o)
{
    size_t used = 0;
    if (o->letter)
        used += (size_t)printf("  -%c, ", o->letter);
    else
        used += (size_t)printf("      ");
    used += (size_t)printf("--%s", o->name);
    if (o->argument) {
        printf(" %s", o->argument);
        used += 1 + utf8_columns(slice_str(o->argument));
    }
    if (used >= OPTION_COLUMN - 1) {
        putchar('\n');
        used = 0;
    }
    pad_to(used, OPTION_COLUMN);
    for (const char *p = o->help; *p; p++) {
        putchar(*p);
        if (*p == '\n')
            pad_to(0, OPTION_COLUMN);
    }
    putchar('\n');
}

static void print_options(const char *title, const struct option *set)
{
    printf("\n%s:\n", title);
    for (; set->name; set++)
        if (set->help)
            print_option(set);
}

void help_overview(void)
{
    printf("Usage: quarry [-t TARGET] COMMAND [ARGUMENT…] [OPTION…]\n\n"
           "Tables of rows, columns and timed cells; MapReduce jobs and\n"
           "Sawzall programs over them. The store is a directory: nothing\n"
           "has to be started.\n");
    commands_each(overview_line, NULL);
    print_options("Options of every command", global_options);
    print_options("More of them, to be let into a cluster", remote_options);
    printf("\nquarry COMMAND --help explains one command and shows an "
           "example.\n"
           "Exit status: 0 done, 1 failed, 2 used wrongly.\n");
}

static void print_indented(const char *text)
{
    bool at_start = true;
    for (const char *p = text; *p; p++) {
        if (at_start && *p != '\n')
            fputs("  ", stdout);
        putchar(*p);
        at_start = *p == '\n';
    }
    putchar('\n');
}

void help_command(const struct command *c)
{
    printf("Usage: quarry %s%s%s\n\n%s.\n", c->name, c->arguments[0] ? " " : "",
           c->arguments, c->summary);
    if (c->details)
        printf("\n%s\n", c->details);
    for (size_t i = 0; i < COMMAND_OPTION_SETS && c->options[i]; i++)
        print_options(i == 0 ? "Options" : "More options", c->options[i]);
    print_options("Options of every command", global_options);
    printf("\nExample:\n");
    print_indented(c->examples);
}

struct family_visit {
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
        printf("Usage: quarry %s COMMAND\n\n", v->word);
    printf("  %s", c->name);
    pad_to(2 + strlen(c->name), SUMMARY_COLUMN + 2);
    printf("%s\n", c->summary);
}

bool help_family(const char *word)
{
    struct family_visit v = {word, 0};
    commands_each(family_line, &v);
    if (v.count > 0)
        printf("\nquarry %s COMMAND --help explains one of them.\n", word);
    return v.count > 0;
}
