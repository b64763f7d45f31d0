/* Rules about nodes: do they answer, and do their processes have what they
 * need?
 */
#include <math.h>
#include <string.h>

#include "base/core/panic.h"
#include "cli/monitor/finding.h"
#include "cli/status_text.h"

#define CLOCK_US                  250000
#define SWAP_BYTES                (64.0 * 1024 * 1024)
#define RESTARTS_MANY             3
#define UPDATE_SECONDS            1800
#define DAY_SECONDS               86400.0
#define CERTIFICATE_DAYS          14
#define CERTIFICATE_DAYS_LEFT_FEW 2
#define KEY_DAYS                  365

/* A node that its operator has taken out of service is not missed. */
static const struct fact_chunk_server *
chunk_server_of(const struct finding_facts *f, const struct fact_node *n)
{
    for (size_t i = 0; i < f->files.server_count; i++)
        if (strcmp(f->files.servers[i].address, n->address) == 0)
            return &f->files.servers[i];
    return NULL;
}

void rule_node_down(const struct finding_facts *f, struct finding_list *out)
{
    for (size_t i = 0; i < f->node_count; i++) {
        const struct fact_node *n = &f->nodes[i];
        const struct fact_chunk_server *s = chunk_server_of(f, n);
        uint64_t since = n->heard_at_us;
        if (n->state == FACT_UP || (s && s->leaves))
            continue;
        if (s && !s->alive && since == 0 && s->heard_us_ago > 0 &&
            s->heard_us_ago < f->now_us)
            since = f->now_us - s->heard_us_ago;
        finding_add(out, FINDING_FAILURE, "node %s", n->name)->since_at_us =
            since;
        finding_link_node(out, n);
        finding_say(out, "Node %s%s%s%s does not answer%s%s: %s.", n->name,
                    strcmp(n->name, n->address) ? " (" : "",
                    strcmp(n->name, n->address) ? n->address : "",
                    strcmp(n->name, n->address) ? ")" : "",
                    since ? " since " : "",
                    since ? finding_time(out, f, since) : "",
                    n->why ? n->why : "no answer");
    }
}

static bool is_about_space(struct slice health)
{
    static const char *const words[] = {"disk full", "disk is full", "space",
                                        "No space"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        for (size_t at = 0; at + strlen(words[i]) <= health.len; at++)
            if (memcmp(health.data + at, words[i], strlen(words[i])) == 0)
                return true;
    return false;
}

/* Call @say for each role that is not well. */
static void each_unwell(const struct finding_facts *f,
                        struct finding_list *out,
                        bool about_space)
{
    struct slice role;
    struct slice pairs;
    for (size_t i = 0; i < f->node_count; i++) {
        const struct fact_node *n = &f->nodes[i];
        struct slice rest = status_roles(n->now.status);
        while (status_next_role(&rest, &role, &pairs)) {
            struct slice health = status_value(pairs, "health");
            if (health.len == 0 || slice_eq_str(health, "well") ||
                is_about_space(health) != about_space)
                continue;
            finding_add(out, FINDING_FAILURE, "node %s role %.*s", n->name,
                        SLICE_ARG(role));
            finding_link_node(out, n);
            finding_say(out, "Role %.*s of node %s %s: %.*s.", SLICE_ARG(role),
                        n->name,
                        about_space ? "waits for space" : "is not well",
                        SLICE_ARG(health));
        }
    }
}

void rule_role_unwell(const struct finding_facts *f, struct finding_list *out)
{
    each_unwell(f, out, false);
}

void rule_disk_full(const struct finding_facts *f, struct finding_list *out)
{
    each_unwell(f, out, true);
}

/* --- what a process needs ------------------------------------------------ */

void rule_restarts(const struct finding_facts *f, struct finding_list *out)
{
    for (size_t i = 0; i < f->node_count; i++) {
        const struct fact_node *n = &f->nodes[i];
        double times = fact_sum_or(&n->now, "quarry_process_restarts", NULL, 0);
        if (times < RESTARTS_MANY)
            continue;
        finding_add(out, FINDING_WARNING, "node %s", n->name);
        finding_link_node(out, n);
        finding_say(out,
                    "The process of node %s has restarted itself %s times "
                    "in a row.",
                    n->name, finding_number(out, times));
    }
}

/* A finding for each node whose @used is above @warn of @limit. */
static void each_short(const struct finding_facts *f,
                       struct finding_list *out,
                       const char *used_name,
                       const char *limit_name,
                       const char *things,
                       double warn,
                       double fail)
{
    PRE(warn < fail);
    for (size_t i = 0; i < f->node_count; i++) {
        const struct fact_node *n = &f->nodes[i];
        double used;
        double limit;
        if (!fact_sum(&n->now, used_name, NULL, &used) ||
            !fact_sum(&n->now, limit_name, NULL, &limit) || limit <= 0 ||
            used <= warn * limit)
            continue;
        finding_add(out,
                    used > fail * limit ? FINDING_FAILURE : FINDING_WARNING,
                    "node %s", n->name);
        finding_link_node(out, n);
        finding_say(out, "Node %s uses %.0f %% of its %s: %s of %s.", n->name,
                    100 * used / limit, things, finding_number(out, used),
                    finding_number(out, limit));
    }
}

void rule_memory_short(const struct finding_facts *f, struct finding_list *out)
{
    for (size_t i = 0; i < f->node_count; i++) {
        const struct fact_node *n = &f->nodes[i];
        double used;
        double limit;
        if (!fact_sum(&n->now, "process_resident_memory_bytes", NULL, &used) ||
            !fact_sum(&n->now, "quarry_process_memory_limit_bytes", NULL,
                      &limit) ||
            limit <= 0 || used <= 0.9 * limit)
            continue;
        finding_add(out, FINDING_WARNING, "node %s", n->name);
        finding_link_node(out, n);
        finding_say(out,
                    "The process of node %s uses %s of the %s that it may "
                    "have (%.0f %%); beyond that the kernel ends it.",
                    n->name, finding_bytes(out, used),
                    finding_bytes(out, limit), 100 * used / limit);
    }
}

void rule_swap_used(const struct finding_facts *f, struct finding_list *out)
{
    for (size_t i = 0; i < f->node_count; i++) {
        const struct fact_node *n = &f->nodes[i];
        double bytes =
            fact_sum_or(&n->now, "quarry_process_swap_bytes", NULL, 0);
        if (bytes <= SWAP_BYTES)
            continue;
        finding_add(out, FINDING_WARNING, "node %s", n->name);
        finding_link_node(out, n);
        finding_say(out,
                    "%s of the process of node %s are in swap: any call "
                    "may wait for the disk.",
                    finding_bytes(out, bytes), n->name);
    }
}

void rule_descriptors_short(const struct finding_facts *f,
                            struct finding_list *out)
{
    each_short(f, out, "process_open_fds", "process_max_fds", "descriptors",
               0.8, 0.95);
}

void rule_connections_short(const struct finding_facts *f,
                            struct finding_list *out)
{
    each_short(f, out, "quarry_rpc_connections", "quarry_rpc_connections_limit",
               "connections", 0.8, 0.97);
}

void rule_peers_refused(const struct finding_facts *f, struct finding_list *out)
{
    for (size_t i = 0; i < f->node_count; i++) {
        const struct fact_node *n = &f->nodes[i];
        double all;
        double silent = 0; /* Port scanners, load balancers. */
        const char *name = "quarry_rpc_refused_connections_total";
        if (!fact_rate(n, name, NULL, &all))
            continue;
        (void)fact_rate(n, name, "reason=silent", &silent);
        if (all - silent < 0.2)
            continue;
        finding_add(out, FINDING_WARNING, "node %s", n->name);
        finding_link_node(out, n);
        finding_say(out, "Node %s refuses %.1f connections a second.", n->name,
                    all - silent);
    }
}

/* --- clocks -------------------------------------------------------------- */

void rule_clocks_apart(const struct finding_facts *f, struct finding_list *out)
{
    for (size_t i = 0; i < f->node_count; i++) {
        const struct fact_node *n = &f->nodes[i];
        uint64_t off = (uint64_t)(n->clock_us < 0 ? -n->clock_us : n->clock_us);
        if (!n->has_clock || off <= CLOCK_US + n->clock_slack_us)
            continue;
        finding_add(out, FINDING_WARNING, "node %s", n->name);
        finding_link_node(out, n);
        finding_say(out, "The clock of node %s is %s %s the others'.", n->name,
                    finding_duration(out, (double)off / 1e6),
                    n->clock_us < 0 ? "behind" : "ahead of");
    }
}

/* The host of "host:port". */
static struct slice host_of(const char *address)
{
    const char *colon = strrchr(address, ':');
    return slice_make(address,
                      colon ? (size_t)(colon - address) : strlen(address));
}

static bool is_on_many_machines(const struct finding_facts *f)
{
    for (size_t i = 1; i < f->node_count; i++)
        if (!slice_eq(host_of(f->nodes[i].address),
                      host_of(f->nodes[0].address)))
            return true;
    return false;
}

void rule_clock_unsynchronized(const struct finding_facts *f,
                               struct finding_list *out)
{
    if (!is_on_many_machines(f))
        return;
    for (size_t i = 0; i < f->node_count; i++) {
        const struct fact_node *n = &f->nodes[i];
        if (fact_sum_or(&n->now, "quarry_clock_synchronized", NULL, 1) > 0)
            continue;
        finding_add(out, FINDING_NOTE, "node %s", n->name);
        finding_link_node(out, n);
        finding_say(out, "No time service keeps the clock of node %s in step.",
                    n->name);
    }
}

/* --- versions and certificates ------------------------------------------- */

/* "" where it did not say. */
static const char *version_of(const struct fact_node *n)
{
    return n->version ? n->version : "";
}

/* Was a node restarted lately? Then an update may be under way. */
static bool is_updated_now(const struct finding_facts *f)
{
    for (size_t i = 0; i < f->node_count; i++) {
        double started = fact_sum_or(&f->nodes[i].now,
                                     "process_start_time_seconds", NULL, 0);
        if ((double)f->now_us / 1e6 - started < UPDATE_SECONDS)
            return true;
    }
    return false;
}

void rule_versions_mixed(const struct finding_facts *f,
                         struct finding_list *out)
{
    const struct fact_node *first = NULL;
    for (size_t i = 0; i < f->node_count; i++) {
        const struct fact_node *n = &f->nodes[i];
        if (*version_of(n) == '\0')
            continue;
        if (!first)
            first = n;
        if (strcmp(version_of(first), version_of(n)) == 0)
            continue;
        if (is_updated_now(f))
            return;
        finding_add(out, FINDING_WARNING, "cluster");
        finding_say(out, "Nodes run different versions: %s has %s, %s has %s.",
                    first->name, version_of(first), n->name, version_of(n));
        return;
    }
}

static void say_certificate(const struct fact_node *n,
                            const char *use,
                            double left_s,
                            struct finding_list *out)
{
    PRE(n);
    PRE(*use);
    if (left_s >= CERTIFICATE_DAYS * DAY_SECONDS)
        return;
    finding_add(out,
                left_s < CERTIFICATE_DAYS_LEFT_FEW * DAY_SECONDS
                    ? FINDING_FAILURE
                    : FINDING_WARNING,
                "node %s certificate %s", n->name, use);
    finding_link_node(out, n);
    if (left_s <= 0)
        finding_say(out,
                    "The certificate of node %s (%s) ended %s ago: new "
                    "connections fail.",
                    n->name, use, finding_duration(out, -left_s));
    else if (left_s < 2 * DAY_SECONDS)
        finding_say(out, "The certificate of node %s (%s) ends in %s.", n->name,
                    use, finding_duration(out, left_s));
    else
        finding_say(out, "The certificate of node %s (%s) ends in %.0f days.",
                    n->name, use, floor(left_s / DAY_SECONDS));
}

void rule_certificate_ends(const struct finding_facts *f,
                           struct finding_list *out)
{
    static const char *const uses[][2] = {{"use=cluster", "of the cluster"},
                                          {"use=api", "of the public API"}};
    for (size_t i = 0; i < f->node_count; i++)
        for (size_t u = 0; u < sizeof(uses) / sizeof(uses[0]); u++) {
            double end;
            if (fact_sum(&f->nodes[i].now, "quarry_certificate_end_seconds",
                         uses[u][0], &end))
                say_certificate(&f->nodes[i], uses[u][1],
                                end - (double)f->now_us / 1e6, out);
        }
}

/* --- safety -------------------------------------------------------------- */

static bool is_loopback(const char *address)
{
    struct slice host = host_of(address);
    return slice_eq_str(host, "localhost") || slice_eq_str(host, "[::1]") ||
           (host.len > 4 && memcmp(host.data, "127.", 4) == 0);
}

void rule_unauthenticated(const struct finding_facts *f,
                          struct finding_list *out)
{
    for (size_t i = 0; i < f->node_count; i++) {
        const struct fact_node *n = &f->nodes[i];
        if (!slice_eq_str(fact_status(&n->now, NULL, "security"), "none") ||
            is_loopback(n->address))
            continue;
        finding_add(out, FINDING_FAILURE, "node %s", n->name);
        finding_say(out,
                    "Anybody who reaches %s may read and change "
                    "everything: node %s asks nobody for a proof.",
                    n->address, n->name);
    }
}

void rule_unencrypted(const struct finding_facts *f, struct finding_list *out)
{
    size_t count = 0;
    for (size_t i = 0; i < f->node_count; i++)
        count += slice_eq_str(fact_status(&f->nodes[i].now, NULL, "security"),
                              "key") &&
                 !is_loopback(f->nodes[i].address);
    if (count == 0 || !is_on_many_machines(f))
        return;
    finding_add(out, FINDING_NOTE, "cluster");
    finding_say(out,
                "The traffic of %zu node%s is authenticated by a key and "
                "not encrypted.",
                count, count == 1 ? "" : "s");
}

void rule_console_unprotected(const struct finding_facts *f,
                              struct finding_list *out)
{
    for (size_t i = 0; i < f->node_count; i++) {
        const struct fact_node *n = &f->nodes[i];
        if (fact_sum_or(&n->now, "quarry_console_unprotected", NULL, 0) < 1)
            continue;
        finding_add(out, FINDING_WARNING, "node %s console", n->name);
        finding_say(out,
                    "Anybody who reaches the console of node %s over the "
                    "network may look at the cluster.",
                    n->name);
    }
}

/* All tablet servers seal with the same key. */
void rule_keys_old(const struct finding_facts *f, struct finding_list *out)
{
    double made = 0;
    double days;
    for (size_t i = 0; i < f->node_count; i++)
        made = MAX_OF(made, fact_sum_or(&f->nodes[i].now,
                                        "quarry_encryption_key_made_seconds",
                                        "use=tables", 0));
    days = ((double)f->now_us / 1e6 - made) / DAY_SECONDS;
    if (made <= 0 || days <= KEY_DAYS)
        return;
    finding_add(out, FINDING_NOTE, "data key of tables");
    finding_say(out,
                "The data key that seals new files of tables is %.0f days old.",
                floor(days));
}

static void
say_unasked(const char *what, const char *why, struct finding_list *out)
{
    PRE(*why);
    finding_add(out, FINDING_WARNING, "%s", what);
    finding_say(out, "Nothing is known about %s: %s.", what, why);
}

void rule_ask_failed(const struct finding_facts *f, struct finding_list *out)
{
    if (!f->files.known && f->files.why)
        say_unasked("files", f->files.why, out);
    if (!f->tablets.known && f->tablets.why)
        say_unasked("the load of tables", f->tablets.why, out);
    if (!f->jobs.known && f->jobs.why)
        say_unasked("jobs", f->jobs.why, out);
}
