/* libedit behind line_editor.h. Its own reading would sleep on when a Ctrl-C
 * came just before it, so that keys are read here.
 */
#include "cli/line_editor.h"

#include <histedit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "cli/completion.h"
#include "cli/interrupt.h"

#define HISTORY_LINES 1000

struct line_editor {
    struct line_editor_ops ops;
    EditLine *edit;
    History *history;
    char *history_path; /* Owned; NULL when there is no home. */
};

static const char *edit_prompt(EditLine *edit)
{
    struct line_editor *e;
    return el_get(edit, EL_CLIENTDATA, &e) == 0 ? e->ops.prompt(e->ops.ctx)
                                                : "> ";
}

/* The next character. Bytes that are no character are skipped. */
static int read_key(EditLine *edit, wchar_t *key)
{
    mbstate_t state = {0};
    char byte;
    ssize_t got;
    (void)edit;
    while ((got = interrupt_read(STDIN_FILENO, &byte, 1)) > 0) {
        size_t n = mbrtowc(key, &byte, 1, &state);
        if (n <= 1)
            return 1;
        if (n == (size_t)-1)
            state = (mbstate_t){0};
    }
    return (int)got;
}

static unsigned char on_tab(EditLine *edit, int key)
{
    struct line_editor *e;
    struct completion *offers = NULL;
    const LineInfo *info = el_line(edit);
    struct slice before =
        slice_make(info->buffer, (size_t)(info->cursor - info->buffer));
    struct buf insert = BUF_INIT;
    unsigned char result = CC_REFRESH;
    (void)key;
    if (el_get(edit, EL_CLIENTDATA, &e) != 0)
        return CC_ERROR;
    if (!e->ops.complete(e->ops.ctx, before, &offers, &insert))
        result = CC_REFRESH_BEEP;
    else if (insert.len > 0)
        el_insertstr(edit, buf_cstr(&insert));
    else {
        putchar('\n');
        completion_print(offers);
        result = CC_REDISPLAY;
    }
    buf_close(&insert);
    return result;
}

static void history_open(struct line_editor *e)
{
    HistEvent event;
    const char *home = getenv("HOME");
    struct buf path = BUF_INIT;
    e->history = history_init();
    history(e->history, &event, H_SETSIZE, HISTORY_LINES);
    history(e->history, &event, H_SETUNIQUE, 1);
    if (home) {
        buf_printf(&path, "%s/%s", home, e->ops.history_file);
        e->history_path = buf_take(&path);
        history(e->history, &event, H_LOAD, e->history_path);
    }
}

struct line_editor *line_editor_open(const struct line_editor_ops *ops)
{
    struct line_editor *e = mem_zalloc(1, sizeof(*e));
    e->ops = *ops;
    e->edit = el_init("quarry", stdin, stdout, stderr);
    if (!e->edit) {
        mem_free(e);
        return NULL;
    }
    history_open(e);
    el_set(e->edit, EL_CLIENTDATA, e);
    el_set(e->edit, EL_PROMPT, edit_prompt);
    el_set(e->edit, EL_GETCFN, read_key);
    /* Or a Ctrl-C could take away what poll() has seen, and read() sleep. */
    el_set(e->edit, EL_SETTY, "-d", "+noflsh", NULL);
    el_set(e->edit, EL_EDITOR, "emacs");
    el_set(e->edit, EL_HIST, history, e->history);
    el_set(e->edit, EL_ADDFN, "quarry-complete", "complete a word", on_tab);
    el_set(e->edit, EL_BIND, "^I", "quarry-complete", NULL);
    el_set(e->edit, EL_BIND, "^R", "em-inc-search-prev", NULL);
    el_source(e->edit, NULL);
    return e;
}

void line_editor_close(struct line_editor *e)
{
    HistEvent event;
    if (!e)
        return;
    if (e->history_path)
        history(e->history, &event, H_SAVE, e->history_path);
    history_end(e->history);
    el_end(e->edit);
    mem_free(e->history_path);
    mem_free(e);
}

enum line_outcome line_editor_read(struct line_editor *e, struct slice *line)
{
    int count = 0;
    const char *text;
    (void)interrupt_watch_shell();
    text = el_gets(e->edit, &count);
    if (interrupted()) {
        (void)tcflush(STDIN_FILENO, TCIFLUSH); /* Input typed before it. */
        return LINE_INTERRUPTED;
    }
    if (!text || count <= 0)
        return LINE_END;
    *line = slice_make(text, (size_t)count);
    return LINE_TYPED;
}

void line_editor_remember(struct line_editor *e, const char *text)
{
    HistEvent event;
    if (text[strspn(text, " \t\n")] != '\0')
        history(e->history, &event, H_ENTER, text);
}
