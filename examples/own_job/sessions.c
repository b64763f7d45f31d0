/* Visits to a site, from its access log: requests of one visitor with no pause
 * of half an hour between them are one session.
 *
 *     input    lines "seconds visitor page"
 *     result   lines "visitor  sessions  requests  longest"
 *     output "long", if given: the sessions longer than --param long_s
 *
 * Shown here: a secondary sort (the key is visitor and time, the group the
 * visitor), parameters, counters, a side file (visitors that are robots), a
 * second output, setup and teardown.
 */
#include <inttypes.h>
#include <quarry/mapreduce.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES_MAX 256

struct state {
    int64_t gap_s;
    int64_t long_s;
    char **robots;
    size_t robot_count;
};

/* --- around each task ---------------------------------------------------- */

static int read_robots(struct state *s, const char *path, struct err *err)
{
    char line[LINE_BYTES_MAX];
    FILE *f = fopen(path, "r");
    if (!f)
        return err_set(err, ERR_IO, "read %s", path);
    while (fgets(line, sizeof(line), f)) {
        line[strcspn(line, "\n")] = '\0';
        s->robots =
            realloc(s->robots, (s->robot_count + 1) * sizeof(*s->robots));
        s->robots[s->robot_count++] = strdup(line);
    }
    fclose(f);
    return 0;
}

static int setup(struct mr_task *t, struct err *err)
{
    struct state *s = calloc(1, sizeof(*s));
    int rc;
    mr_set_state(t, s);
    rc = mr_param_i64(t, "gap_s", 1, 86400, &s->gap_s, err);
    if (rc == 0)
        rc = mr_param_i64(t, "long_s", 0, INT64_MAX, &s->long_s, err);
    if (rc == 0 && mr_file(t, "robots"))
        rc = read_robots(s, mr_file(t, "robots"), err);
    return rc;
}

static void teardown(struct mr_task *t)
{
    struct state *s = mr_state(t);
    for (size_t i = 0; i < s->robot_count; i++)
        free(s->robots[i]);
    free(s->robots);
    free(s);
}

/* --- map ----------------------------------------------------------------- */

static int is_robot(const struct state *s, const char *visitor)
{
    for (size_t i = 0; i < s->robot_count; i++)
        if (strcmp(s->robots[i], visitor) == 0)
            return 1;
    return 0;
}

static int map(struct mr_task *t, const struct mr_record *r, struct err *err)
{
    char line[LINE_BYTES_MAX];
    char visitor[LINE_BYTES_MAX];
    char key[LINE_BYTES_MAX + 32];
    int64_t seconds;
    (void)err;
    snprintf(line, sizeof(line), "%.*s", (int)r->value.len, r->value.data);
    if (sscanf(line, "%" SCNd64 " %255s", &seconds, visitor) != 2) {
        mr_count(t, "bad_lines", 1);
        return 0;
    }
    if (is_robot(mr_state(t), visitor)) {
        mr_count(t, "robot_requests", 1);
        return 0;
    }
    /* Times of one width sort as numbers do. */
    snprintf(key, sizeof(key), "%s %012" PRId64, visitor, seconds);
    mr_emit_count(t, slice_make(key, strlen(key)), 1);
    return 0;
}

/* A visitor's requests come to one reduce call, in order of time. */
static size_t group(struct mr_task *t, struct slice key)
{
    (void)t;
    return key.len - 13;
}

/* --- reduce -------------------------------------------------------------- */

struct visits {
    int64_t sessions;
    int64_t requests;
    int64_t longest;
};

static void end_session(struct mr_task *t,
                        struct slice visitor,
                        struct visits *v,
                        int64_t begin,
                        int64_t end)
{
    const struct state *s = mr_state(t);
    v->sessions++;
    if (end - begin > v->longest)
        v->longest = end - begin;
    if (end - begin > s->long_s && mr_has_output(t, "long"))
        mr_write_count(mr_output(t, "long"), visitor, end - begin);
}

static int reduce(struct mr_task *t,
                  struct slice visitor,
                  struct mr_values *values,
                  struct err *err)
{
    const struct state *s = mr_state(t);
    struct visits v = {0, 0, 0};
    struct slice value;
    int64_t begin = 0;
    int64_t last = 0;
    char line[96];
    (void)err;
    while (mr_values_next(values, &value)) {
        struct slice key = mr_values_key(values);
        int64_t now = strtoll(key.data + visitor.len + 1, NULL, 10);
        if (v.requests > 0 && now - last > s->gap_s) {
            end_session(t, visitor, &v, begin, last);
            begin = now;
        } else if (v.requests == 0) {
            begin = now;
        }
        last = now;
        v.requests += mr_value_count(value);
    }
    end_session(t, visitor, &v, begin, last);
    mr_count(t, "sessions", v.sessions);
    snprintf(line, sizeof(line), "%" PRId64 "\t%" PRId64 "\t%" PRId64,
             v.sessions, v.requests, v.longest);
    mr_write(mr_output(t, NULL), visitor, slice_make(line, strlen(line)));
    return 0;
}

static const struct mr_param params[] = {
    {"gap_s", "1800", "Seconds without a request that end a session."},
    {"long_s", "3600", "Longer sessions go to the output \"long\"."},
};

static const struct mr_job sessions = {
    .abi_version = MR_ABI_VERSION,
    .name = "sessions",
    .help = "Count the sessions of each visitor.",
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    .setup = setup,
    .teardown = teardown,
    .map = map,
    .group = group,
    .reduce = reduce,
    .combine = mr_combine_sum,
};
MAPREDUCE_JOB(sessions);
