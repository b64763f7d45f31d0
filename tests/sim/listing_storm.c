/* Names of the lock service, in a history. */
#include "tests/sim/listing_storm.h"

#include <stdio.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "chubby-lite/chubby.h"
#include "tests/lib/history_names.h"
#include "tests/sim/storm.h"

#define DIRECTORY "/names"

/* Sessions act at the same moments, give or take: what one begins while another
 * is under way is what goes wrong. */
#define MOMENT_US (SECOND_US / 20)
#define BESIDE_US UINT64_C(2000)
#define LOOK_US   UINT64_C(150)

enum {
    NAMES = 2,
    NAME_BYTES = 16,
    LOOKS = 15, /* From caches most of the time. */
    MAKE = CHUBBY_READ | CHUBBY_WRITE | CHUBBY_CREATE | CHUBBY_NEW
};

struct listing_storm {
    struct history_names *history;
};

struct listing_storm *listing_storm_new(void)
{
    struct listing_storm *l = mem_zalloc(1, sizeof(*l));
    l->history = history_names_new();
    return l;
}

void listing_storm_free(struct listing_storm *l)
{
    history_names_free(l->history);
    mem_free(l);
}

/* --- calls --------------------------------------------------------------- */

static size_t
note_call(struct listing_session *s, enum names_kind kind, const char *path)
{
    return history_names_call(s->storm->history, storm_now_us(), s->number,
                              kind, path, NULL);
}

static void note_return(struct listing_session *s,
                        size_t op,
                        int rc,
                        const struct names_answer *answer)
{
    storm_running->call_count++;
    history_names_return(s->storm->history, op, storm_now_us(), rc, answer);
}

/* The handle is to a node that may be gone while another has its name: then
 * nothing was done, and nothing is said of the name. */
static int about_name(int rc)
{
    return rc == ERR_NOTFOUND ? ERR_BUSY : rc;
}

static void await_moment(struct listing_session *s)
{
    storm_sleep_us(MOMENT_US - storm_now_us() % MOMENT_US +
                   rand_below(s->rand, BESIDE_US));
}

static void create_name(struct listing_session *s, const char *path)
{
    struct chubby_handle *h = NULL;
    size_t op;
    int rc;
    await_moment(s);
    op = note_call(s, NAMES_CREATE_NEW, path);
    rc = chubby_open(s->chubby, path, MAKE, NULL, &h, NULL);
    note_return(s, op, rc, NULL);
    chubby_close(h);
}

static void remove_name(struct listing_session *s, const char *path)
{
    struct chubby_handle *h;
    size_t op;
    if (chubby_open(s->chubby, path, CHUBBY_READ | CHUBBY_WRITE, NULL, &h,
                    NULL))
        return;
    await_moment(s);
    op = note_call(s, NAMES_REMOVE, path);
    note_return(s, op, about_name(chubby_delete(h, NULL)), NULL);
    chubby_close(h);
}

static int stat_name(struct listing_session *s, const char *path)
{
    struct names_answer answer = {.id = 0};
    struct chubby_stat st = {.instance = 0};
    struct chubby_handle *h = NULL;
    size_t op = note_call(s, NAMES_STAT, path);
    int rc = chubby_open(s->chubby, path, CHUBBY_READ, NULL, &h, NULL);
    if (rc == 0)
        rc = about_name(chubby_get_stat(h, &st, NULL));
    answer.id = st.instance;
    note_return(s, op, rc, &answer);
    chubby_close(h);
    return rc;
}

static int list_names(struct listing_session *s)
{
    struct names_answer answer = {.list_count = 0};
    char **names = NULL;
    size_t op = note_call(s, NAMES_LIST, DIRECTORY);
    int rc = chubby_list(s->listed, &names, &answer.list_count, NULL);
    answer.list = (const char *const *)names;
    note_return(s, op, rc, &answer);
    if (rc == 0)
        chubby_names_free(names, answer.list_count);
    return rc;
}

/* As often as one can while others change it. */
static void watch_names(struct listing_session *s)
{
    int rc = 0;
    await_moment(s);
    for (int i = 0; i < LOOKS && rc == 0; i++) {
        rc = list_names(s);
        storm_sleep_us(LOOK_US);
    }
}

/* --- sessions ------------------------------------------------------------ */

static bool open_directory(struct listing_session *s)
{
    if (!s->listed &&
        chubby_open(s->chubby, DIRECTORY,
                    CHUBBY_READ | CHUBBY_CREATE | CHUBBY_DIRECTORY, NULL,
                    &s->listed, NULL))
        s->listed = NULL;
    return s->listed;
}

void listing_session_step(struct listing_session *s)
{
    uint64_t draw = rand_below(s->rand, 10);
    char path[NAME_BYTES];
    if (!open_directory(s))
        return;
    snprintf(path, sizeof(path), DIRECTORY "/%c",
             rand_one_in(s->rand, 4) ? 'b' : 'a');
    if (draw < 3)
        watch_names(s);
    else if (draw < 6)
        create_name(s, path);
    else if (draw < 9)
        remove_name(s, path);
    else
        (void)!stat_name(s, path);
}

void listing_session_finish(struct listing_session *s)
{
    int rc;
    STORM_CHECK(open_directory(s), "%s cannot be opened", DIRECTORY);
    rc = list_names(s);
    STORM_CHECK(rc == 0, "%s: %s", DIRECTORY, err_name(rc));
    for (int i = 0; i < NAMES; i++) {
        char path[NAME_BYTES];
        snprintf(path, sizeof(path), DIRECTORY "/%c", (char)('a' + i));
        rc = stat_name(s, path);
        STORM_CHECK(rc == 0 || rc == ERR_NOTFOUND, "%s: %s", path,
                    err_name(rc));
    }
}

void listing_session_close(struct listing_session *s)
{
    chubby_close(s->listed);
    s->listed = NULL;
}

/* --- judging ------------------------------------------------------------- */

void listing_storm_check(const struct listing_storm *l)
{
    struct buf why = BUF_INIT;
    enum history_verdict v = history_names_check(l->history, 0, &why);
    STORM_CHECK(v != HISTORY_WRONG,
                "%sthe lock service's answers about names have no order",
                buf_cstr(&why));
    STORM_CHECK(v != HISTORY_TOO_HARD,
                "the lock service's history of names is too hard to judge");
    buf_close(&why);
}
