/* Words and quotes of a command line typed into the shell: less than sh(1) has.
 * A backslash escapes blanks, quotes and "#", and in double quotes the quote;
 * before other characters it stays. "#" begins a comment.
 */
#include "cli/word_split.h"

#include <stdint.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Append the text in quotes that starts at *@at, which moves behind them. */
static int
take_quoted(struct slice line, size_t *at, struct buf *word, struct err *err)
{
    char quote = line.data[*at];
    size_t i = *at + 1;
    PRE(quote == '"' || quote == '\'');
    PRE(i <= line.len);
    for (; i < line.len && line.data[i] != quote; i++) {
        bool escaped = quote == '"' && line.data[i] == '\\' &&
                       i + 1 < line.len && line.data[i + 1] == '"';
        i += escaped;
        buf_append_byte(word, line.data[i]);
    }
    if (i >= line.len)
        return err_set(err, ERR_INVALID, "a %c without its end", quote);
    *at = i + 1;
    return ERR_OK;
}

static int
take_word(struct slice line, size_t *at, struct buf *word, struct err *err)
{
    PRE(*at < line.len);
    while (*at < line.len && !is_blank(line.data[*at])) {
        char c = line.data[*at];
        if (c == '"' || c == '\'') {
            int rc = take_quoted(line, at, word, err);
            if (rc)
                return rc;
            continue;
        }
        if (c == '\\' && *at + 1 < line.len &&
            strchr(" \t\"'#", line.data[*at + 1]) && line.data[*at + 1])
            c = line.data[++*at];
        buf_append_byte(word, c);
        ++*at;
    }
    return ERR_OK;
}

static void add_word(struct word_list *list, struct buf *word)
{
    list->words =
        mem_realloc(list->words, (list->count + 2) * sizeof(*list->words));
    list->words[list->count++] = buf_take(word);
    list->words[list->count] = NULL;
    POST(list->words[list->count - 1]);
}

int words_split(struct slice line, struct word_list *out, struct err *err)
{
    struct buf word = BUF_INIT;
    size_t at = 0;
    int rc = ERR_OK;
    *out = (struct word_list){NULL, 0};
    for (;;) {
        while (at < line.len && is_blank(line.data[at]))
            at++;
        if (at >= line.len || line.data[at] == '#')
            break;
        rc = take_word(line, &at, &word, err);
        if (rc)
            break;
        add_word(out, &word);
    }
    buf_close(&word);
    if (rc)
        words_free(out);
    return rc;
}

void words_free(struct word_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        mem_free((void *)(uintptr_t)list->words[i]);
    mem_free(list->words);
    *list = (struct word_list){NULL, 0};
}
