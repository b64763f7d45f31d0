/* The screen: keys are read and lines are drawn, while the documents come from
 * a thread of their own. Signals set a flag, which the loop looks at: nothing
 * of ncurses is called by a handler.
 */
#define _XOPEN_SOURCE 700

#include "cli/top/top_screen.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <ncurses.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/runtime/world.h"
#include "cli/cli.h"
#include "cli/top/top_fetch.h"
#include "cli/top/top_model.h"
#include "cli/top/top_paint.h"

/* How soon an answer is seen that comes while no key is pressed. */
#define LOOK_MS 100
/* "…", at the end of what a cell had no room for. */
#define CUT_CODE 0x2026
/* An Esc that no other byte follows is the key; terminals send the bytes of
 * one key at once. */
#define ESCAPE_MS    25
#define STOP_WAIT_US UINT64_C(300000)

static volatile sig_atomic_t ended_by;

static void on_end(int number)
{
    ended_by = number;
}

struct screen {
    struct top_model *model;
    struct top_fetch *fetch;
    struct world *world;
    struct top_picture picture;
    bool has_colours;
    bool is_utf8;         /* The terminal takes it. */
    uint64_t asked_place; /* The fetcher knows these three. */
    uint64_t asked_delay_us;
    bool asked_paused;
};

static void watch_signals(bool watch)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    struct sigaction action = {.sa_flags = 0};
    action.sa_handler = watch ? on_end : SIG_DFL;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        sigaction(numbers[i], &action, NULL);
}

/* --- drawing ------------------------------------------------------------- */

static void choose_colours(struct screen *s)
{
    const char *no = getenv("NO_COLOR");
    s->has_colours = has_colors() && !(no && no[0]);
    if (!s->has_colours)
        return;
    start_color();
    use_default_colors();
    init_pair(TOP_STYLE_WELL, COLOR_GREEN, -1);
    init_pair(TOP_STYLE_WARNING, COLOR_YELLOW, -1);
    init_pair(TOP_STYLE_FAILING, COLOR_RED, -1);
}

static attr_t attributes_of(const struct screen *s, const struct top_line *line)
{
    attr_t a = A_NORMAL;
    if (s->has_colours && line->style >= TOP_STYLE_WELL &&
        line->style <= TOP_STYLE_FAILING)
        a |= COLOR_PAIR(line->style);
    if (line->style == TOP_STYLE_HEADER)
        a |= A_BOLD | A_UNDERLINE;
    if (line->style == TOP_STYLE_FAILING)
        a |= A_BOLD;
    if (line->style == TOP_STYLE_KEYS || line->is_chosen)
        a |= A_REVERSE;
    return a;
}

/* The program itself is always in UTF-8 (main.c). */
static bool terminal_is_utf8(void)
{
    locale_t l = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    bool is_utf8 = false;
    if (l == (locale_t)0)
        return false;
    is_utf8 = strcmp(nl_langinfo_l(CODESET, l), "UTF-8") == 0;
    freelocale(l);
    return is_utf8;
}

/* @text with a '?' for each column of a character that is not ASCII, and a '~'
 * for what cut a cell. */
static void put_ascii(struct slice text, struct buf *out)
{
    const char *p = text.data;
    const char *end = text.data + text.len;
    while (p < end) {
        uint32_t code;
        size_t len = utf8_decode(p, end, &code);
        if (code < 0x80)
            buf_append_byte(out, (char)code);
        else
            buf_append_fill(out, code == CUT_CODE ? '~' : '?',
                            utf8_columns(slice_make(p, len)));
        p += len;
    }
}

static void draw_text(const struct screen *s, int row, struct slice text)
{
    struct buf ascii = BUF_INIT;
    if (!s->is_utf8) {
        put_ascii(text, &ascii);
        text = buf_slice(&ascii);
    }
    (void)mvaddnstr(row, 0, text.data, (int)text.len);
    buf_close(&ascii);
}

static void draw_screen(struct screen *s)
{
    size_t width = COLS > 0 ? (size_t)COLS : 1;
    size_t height = LINES > 0 ? (size_t)LINES : 1;
    top_paint(s->model, width, height, world_now_us(s->world), &s->picture);
    erase();
    for (size_t i = 0; i < s->picture.count; i++) {
        const struct top_line *line = &s->picture.lines[i];
        struct slice text = top_picture_line(&s->picture, i);
        attr_t a = attributes_of(s, line);
        attrset((int)a);
        draw_text(s, (int)i, text);
        if (line->is_chosen || line->style == TOP_STYLE_KEYS)
            (void)mvchgat((int)i, 0, -1, a, 0, NULL);
    }
    attrset(A_NORMAL);
    refresh();
}

/* --- keys ---------------------------------------------------------------- */

static uint32_t key_of(wint_t code)
{
    switch (code) {
    case KEY_UP: return TOP_KEY_UP;
    case KEY_DOWN: return TOP_KEY_DOWN;
    case KEY_PPAGE: return TOP_KEY_PAGE_UP;
    case KEY_NPAGE: return TOP_KEY_PAGE_DOWN;
    case KEY_HOME: return TOP_KEY_HOME;
    case KEY_END: return TOP_KEY_END;
    case KEY_ENTER:
    case KEY_RIGHT: return TOP_KEY_ENTER;
    case KEY_BACKSPACE:
    case KEY_LEFT: return TOP_KEY_BACKSPACE;
    default: return 0;
    }
}

static uint32_t character_of(wint_t c)
{
    switch (c) {
    case '\r':
    case '\n': return TOP_KEY_ENTER;
    case '\t': return TOP_KEY_TAB;
    case 0x1b: return TOP_KEY_ESCAPE;
    case 0x7f:
    case '\b': return TOP_KEY_BACKSPACE;
    default: return (uint32_t)c;
    }
}

/* All keys that wait. False: the terminal is gone. */
static bool read_keys(struct screen *s)
{
    wint_t c;
    int rc;
    while ((rc = get_wch(&c)) != ERR) {
        uint32_t key = rc == KEY_CODE_YES ? key_of(c) : character_of(c);
        if (rc == KEY_CODE_YES && c == KEY_RESIZE)
            clearok(stdscr, TRUE);
        else if (key)
            top_model_key(s->model, key);
        if (s->model->is_ended)
            return true;
    }
    return true;
}

/* Wait for a key or for a while. False: the terminal is gone. */
static bool await_key(void)
{
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
    int n = poll(&p, 1, LOOK_MS);
    if (n < 0)
        return errno == EINTR;
    return !(p.revents & (POLLHUP | POLLERR | POLLNVAL));
}

/* --- the loop ------------------------------------------------------------ */

static void tell_wish(struct screen *s)
{
    struct top_model *m = s->model;
    const struct top_place *p = top_place(m);
    struct top_wish wish = {.view = p->view,
                            .place_number = m->place_number,
                            .delay_us = m->delay_us,
                            .is_paused = m->is_paused};
    if (s->asked_place == m->place_number && s->asked_delay_us == m->delay_us &&
        s->asked_paused == m->is_paused)
        return;
    for (size_t i = 0; i < TOP_PARAMS_MAX; i++)
        wish.params[i] = p->params[i];
    top_fetch_wish(s->fetch, &wish);
    s->asked_place = m->place_number;
    s->asked_delay_us = m->delay_us;
    s->asked_paused = m->is_paused;
}

/* An answer for a place that was left is of no use, but for its overview. */
static void take_answer(struct screen *s)
{
    struct top_answer a;
    if (!top_fetch_take(s->fetch, &a))
        return;
    if (a.place_number == s->model->place_number)
        top_model_take(s->model, a.overview, a.document,
                       a.document ? NULL : a.failure);
    top_answer_close(&a);
}

static void screen_loop(struct screen *s)
{
    while (!ended_by && !s->model->is_ended) {
        tell_wish(s);
        take_answer(s);
        draw_screen(s);
        if (!await_key() || !read_keys(s))
            break;
    }
}

/* The thread may wait for a node that hangs. Nothing is lost with it: it only
 * reads. */
static void screen_stop(struct screen *s)
{
    if (!top_fetch_stop(s->fetch, STOP_WAIT_US) || ended_by) {
        int number = ended_by;
        if (number == SIGTERM || number == SIGHUP || number == SIGQUIT)
            raise(number);
        fflush(stdout);
        _exit(0);
    }
}

static int screen_begin(SCREEN **terminal, struct err *err)
{
    const char *name = getenv("TERM");
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
        err_set(err, ERR_UNSUPPORTED, "top: there is no terminal to paint on");
        err_hint(err, "print one view: quarry top --once");
        return ERR_UNSUPPORTED;
    }
    *terminal = newterm(NULL, stdout, stdin);
    if (*terminal)
        return 0;
    err_set(err, ERR_UNSUPPORTED, "top: the terminal %.50s is not known",
            name ? name : "without $TERM");
    err_hint(err, "set TERM, for example to xterm; or print one view: quarry "
                  "top --once");
    return ERR_UNSUPPORTED;
}

int top_screen(struct cli *cli,
               const struct args *args,
               struct top_model *m,
               struct err *err)
{
    struct screen s = {.model = m, .world = cli->world};
    SCREEN *terminal;
    int rc = screen_begin(&terminal, err);
    if (rc)
        return rc;
    ended_by = 0;
    watch_signals(true);
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    set_escdelay(ESCAPE_MS);
    (void)curs_set(0);
    choose_colours(&s);
    s.is_utf8 = terminal_is_utf8();
    top_picture_init(&s.picture);
    s.fetch = top_fetch_start(cli, args);
    screen_loop(&s);
    endwin();
    delscreen(terminal);
    watch_signals(false);
    screen_stop(&s);
    top_picture_close(&s.picture);
    return 0;
}
