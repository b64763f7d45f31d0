/* Completion of commands, options, tables, families and files. The help texts
 * of commands are the source: an argument called TABLE completes to tables, one
 * called FILE to files of this machine.
 */
#include "cli/completion.h"

#define _POSIX_C_SOURCE 200809L

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/core/panic.h"
#include "bigtable/quarry.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/word_split.h"

/* Where the cursor is: the words before its word, and what it has so far. */
struct position {
    struct completion *out;
    struct slice typed;
    struct slice head; /* The line before the typed word, without blanks. */
};

void completion_init(struct completion *c)
{
    *c = (struct completion){.offers = BUF_INIT};
}

void completion_close(struct completion *c)
{
    buf_close(&c->offers);
}

void completion_offer_word(struct completion *c,
                           struct slice typed,
                           const char *text,
                           const char *suffix)
{
    size_t at = c->offers.len;
    buf_printf(&c->offers, "%s%s", text, suffix);
    buf_append_byte(&c->offers, '\0');
    if (slice_starts_with(slice_str(c->offers.data + at), typed))
        c->offer_count++;
    else
        buf_truncate(&c->offers, at);
}

static void
completion_offer(struct position *p, const char *text, const char *suffix)
{
    completion_offer_word(p->out, p->typed, text, suffix);
}

/* The next word of a command whose first words are the line's head. */
static void offer_command(void *ctx, const struct command *cmd)
{
    struct position *p = ctx;
    const char *rest = cmd->name;
    char word[64];
    size_t n;
    if (p->head.len > 0) {
        if (!slice_starts_with(slice_str(cmd->name), p->head) ||
            cmd->name[p->head.len] != ' ')
            return;
        rest = cmd->name + p->head.len + 1;
    }
    n = strcspn(rest, " ");
    if (n >= sizeof(word))
        return;
    memcpy(word, rest, n);
    word[n] = '\0';
    /* "table" comes with each of its commands, one after the other. */
    if (p->out->offer_count > 0) {
        size_t before = p->out->offers.len;
        if (before >= n + 2 &&
            strncmp(p->out->offers.data + before - n - 2, word, n) == 0 &&
            p->out->offers.data[before - 2] == ' ' &&
            (before == n + 2 || p->out->offers.data[before - n - 3] == '\0'))
            return;
    }
    completion_offer(p, word, " ");
}

static void offer_options(struct position *p, const struct command *cmd)
{
    char text[80];
    for (size_t i = 0; i <= COMMAND_OPTION_SETS; i++) {
        const struct option *o =
            i < COMMAND_OPTION_SETS ? cmd->options[i] : global_options;
        for (; o && o->name; o++) {
            snprintf(text, sizeof(text), "--%s", o->name);
            if (o->help)
                completion_offer(p, text, " ");
        }
    }
}

static void offer_tables(struct position *p, struct quarry *q)
{
    char **names;
    size_t count;
    if (quarry_table_list(q, &names, &count, NULL))
        return;
    for (size_t i = 0; i < count; i++)
        completion_offer(p, names[i], " ");
    quarry_names_free(names, count);
}

/* The families of any table named on the line. */
static void
offer_families(struct position *p, struct quarry *q, const char *word)
{
    struct quarry_table_info *info;
    if (quarry_table_describe(q, word, &info, NULL))
        return;
    for (size_t i = 0; i < info->family_count; i++)
        completion_offer(p, info->families[i].name, ":");
    quarry_table_info_free(info);
}

/* Files of this machine. Names that would have to be quoted are left out. */
static void offer_files(struct position *p)
{
    size_t at = p->typed.len;
    struct slice dir;
    struct dirent **names = NULL;
    char *path;
    int count;
    while (at > 0 && p->typed.data[at - 1] != '/')
        at--;
    dir = slice_sub(p->typed, 0, at);
    path = at ? mem_strndup(dir.data, dir.len) : mem_strdup(".");
    count = scandir(path, &names, NULL, alphasort);
    mem_free(path);
    for (int i = 0; i < count; i++) {
        const char *name = names[i]->d_name;
        bool hidden =
            name[0] == '.' && (at == p->typed.len || p->typed.data[at] != '.');
        struct buf full = BUF_INIT;
        struct stat st;
        buf_append_slice(&full, dir);
        buf_append_str(&full, name);
        if (!hidden && !strpbrk(name, " \t\"'\\") &&
            stat(buf_cstr(&full), &st) == 0)
            completion_offer(p, buf_cstr(&full),
                             S_ISDIR(st.st_mode) ? "/" : " ");
        buf_close(&full);
        mem_free(names[i]);
    }
    mem_free(names);
}

static const struct option *option_named(const struct command *cmd,
                                         const char *word)
{
    for (size_t i = 0; i <= COMMAND_OPTION_SETS; i++) {
        const struct option *o =
            i < COMMAND_OPTION_SETS ? cmd->options[i] : global_options;
        for (; o && o->name; o++)
            if ((strncmp(word, "--", 2) == 0 &&
                 strcmp(word + 2, o->name) == 0) ||
                (o->letter && word[0] == '-' && word[1] == o->letter &&
                 word[2] == '\0'))
                return o;
    }
    return NULL;
}

/* The name in help of positional argument @index: "TABLE", "FILE…". */
static struct slice argument_at(const struct command *cmd, size_t index)
{
    struct slice rest = slice_str(cmd->arguments);
    struct slice token = SLICE_EMPTY;
    for (size_t i = 0; i <= index && rest.len > 0; i++) {
        size_t end = slice_find_byte(rest, ' ');
        token = slice_sub(rest, 0, end);
        rest = slice_sub(rest, end + 1, rest.len);
        if (slice_ends_with(token, SLICE_LIT("…")) ||
            slice_ends_with(token, SLICE_LIT("…]")))
            break; /* It repeats. */
    }
    return token;
}

/* The name of the word at the cursor: an option's value or an argument. */
static struct slice meaning_of(const struct command *cmd,
                               const struct word_list *words,
                               size_t used)
{
    size_t index = 0;
    const struct option *o = NULL;
    PRE(used <= words->count);
    for (size_t i = used; i < words->count; i++) {
        bool is_value = o && o->argument;
        o = is_value ? NULL : option_named(cmd, words->words[i]);
        index += !is_value && !o;
    }
    return o && o->argument ? slice_str(o->argument) : argument_at(cmd, index);
}

static bool names_file(struct slice meaning)
{
    static const char *const files[] = {"FILE", "LOCAL", "PROGRAM", "DIR"};
    char *text = mem_strndup(meaning.data, meaning.len);
    bool found = false;
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        found |= strstr(text, files[i]) != NULL;
    mem_free(text);
    return found;
}

static void offer_all(struct position *p, struct cli *cli)
{
    struct word_list words;
    const struct command *cmd = NULL;
    struct quarry *q;
    int used = 0;
    commands_each(offer_command, p);
    if (words_split(p->head, &words, NULL))
        return;
    if (words.count > 0)
        cmd = command_find((int)words.count, words.words, &used, NULL);
    if (cmd && p->typed.len > 0 && p->typed.data[0] == '-') {
        offer_options(p, cmd);
    } else if (cmd && names_file(meaning_of(cmd, &words, (size_t)used))) {
        offer_files(p);
    } else if (cmd && !cli_store(cli, CLI_EXISTING, &q, NULL)) {
        struct slice meaning = meaning_of(cmd, &words, (size_t)used);
        if (words.count == (size_t)used ||
            slice_starts_with(meaning, SLICE_LIT("TABLE")))
            offer_tables(p, q);
        for (size_t i = (size_t)used; i < words.count; i++)
            offer_families(p, q, words.words[i]);
    }
    words_free(&words);
}

/* Bytes that all offers begin with. */
static struct slice common_prefix(const struct completion *c)
{
    const char *first = c->offers.data;
    size_t n = strlen(first);
    const char *p = first;
    PRE(c->offer_count > 0);
    for (size_t i = 0; i < c->offer_count; i++, p += strlen(p) + 1)
        while (strncmp(first, p, n) != 0)
            n--;
    return slice_make(first, n);
}

void completion_begin(struct completion *c)
{
    buf_clear(&c->offers);
    c->offer_count = 0;
}

bool completion_end(const struct completion *c,
                    struct slice typed,
                    struct buf *insert)
{
    struct slice common;
    if (c->offer_count == 0)
        return false;
    common = common_prefix(c);
    INVARIANT(common.len >= typed.len);
    buf_append_slice(insert, slice_sub(common, typed.len, common.len));
    return true;
}

bool completion_find(struct completion *c,
                     struct cli *cli,
                     struct slice before,
                     struct buf *insert)
{
    struct position p = {.out = c};
    size_t at = before.len;
    completion_begin(c);
    while (at > 0 && before.data[at - 1] != ' ' && before.data[at - 1] != '\t')
        at--;
    p.typed = slice_sub(before, at, before.len);
    p.head = slice_trim(slice_sub(before, 0, at));
    offer_all(&p, cli);
    return completion_end(c, p.typed, insert);
}

void completion_print(const struct completion *c)
{
    const char *p = c->offers.data;
    PRE(c->offer_count > 0);
    for (size_t i = 0; i < c->offer_count; i++, p += strlen(p) + 1)
        printf("%s%s", i ? " " : "", p);
    putchar('\n');
}
