/* A cluster of pure cores: virtual time, a network that loses, doubles, delays
 * and cuts, disks that lag and forget, and the checks of Raft's promises after
 * each step. For one test program each.
 */
#ifndef TESTS_UNIT_REPLICA_RAFT_CLUSTER_H
#define TESTS_UNIT_REPLICA_RAFT_CLUSTER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/coding.h"
#include "base/core/hash.h"
#include "base/core/hash_map.h"
#include "base/core/panic.h"
#include "base/core/rand.h"
#include "base/replica/raft.h"
#include "tests/lib/check_main.h"

enum {
    NODES_MAX = 5,
    WIRE_MAX = 4096,
    COMMITS_MAX = 1 << 16,
    TERMS_MAX = 4096,
    CHUNK = 24, /* Bytes of a snapshot's chunk. */
    ELECTION_US = 60000,
    HEARTBEAT_US = 15000
};

/* The state that survives a crash. */
struct disk {
    uint64_t term;
    uint64_t vote;
    struct raft_log log;
    uint64_t snapshot_index;
    uint64_t snapshot_term;
    struct raft_config config;
    struct buf incoming;
};

struct node {
    uint64_t id;
    struct raft *raft; /* NULL: crashed. */
    struct disk disk;
    struct raft_action queue[1024]; /* Of the disk; oldest first. */
    uint64_t queue_at[1024];        /* When each is done. */
    size_t queue_count;
    struct raft_action held[256]; /* Messages that wait for the disk. */
    size_t held_count;
    uint64_t done_op;
    uint64_t applied;
    uint64_t up_at; /* Of a crashed one: when it comes back. */
    uint64_t paused_until;
    uint64_t rate; /* Of its clock, in percent of the true one. */
    bool was_leader;
    struct raft_action install; /* kind 0: none. */
    /* A barrier asked for. */
    uint64_t barrier; /* 0: none. */
    uint64_t barrier_term;
    uint64_t barrier_floor; /* Committed anywhere when it began. */
    uint64_t barrier_us;    /* When. */
};

struct packet {
    struct raft_message message;
    uint64_t at;
};

/* Rates are per thousand; times in µs. */
struct weather {
    unsigned loss;
    unsigned doubles;
    uint64_t delay_us;
    uint64_t disk_us;
    unsigned crashes;   /* Per 100 s of a node's life. */
    unsigned pauses;    /* The same. */
    unsigned cuts;      /* The same of a pair's. */
    unsigned proposals; /* Per ms and leader. */
    unsigned compactions;
    unsigned changes; /* Of members; per 100 s. */
    bool no_reads;
};

struct cluster {
    struct node nodes[NODES_MAX];
    size_t count;
    uint64_t now_us;
    struct rand_gen rand;
    struct weather weather;
    struct packet wire[WIRE_MAX];
    size_t wire_count;
    uint64_t cut_until[NODES_MAX][NODES_MAX]; /* One way. */
    uint64_t append_bytes_max;
    uint64_t lease_us;
    uint64_t rest_us;
    uint64_t sent;     /* Messages. */
    bool clocks_stray; /* Times of members cannot be compared. */
    bool disks_forget; /* Entries that they confirmed. */
    /* The cell's promises. */
    uint64_t leader_of[TERMS_MAX];           /* By term. */
    uint64_t committed_term[COMMITS_MAX];    /* By index; 0: not committed. */
    uint64_t committed_in[COMMITS_MAX];      /* The term of who did it. */
    uint64_t committed_content[COMMITS_MAX]; /* A hash. */
    uint64_t max_commit;
    struct hash_map seen; /* (index, term) to hash of content and prefix. */
    uint64_t next_command;
    uint64_t barriers_passed;
    uint64_t barrier_began[TERMS_MAX]; /* The last that passed; by term. */
    uint64_t quiet_since[TERMS_MAX];   /* As its leader says; 0: no leader. */
    uint64_t terms;                    /* Those up to here had leaders. */
    uint64_t quiet_us;                 /* Told by all of them. */
    uint64_t elections;
    const char *broken; /* The first promise that was. */
};

/* The time by the clock of @n: it may go wrong without any promise doing so. */
static uint64_t clock_of(const struct cluster *c, const struct node *n)
{
    return c->now_us / 100 * n->rate;
}

/* --- promises ------------------------------------------------------------ */

static void break_promise(struct cluster *c, const char *what)
{
    if (!c->broken)
        c->broken = what;
}

static uint64_t content_of(const struct raft_entry *e)
{
    return hash64(e->bytes->data, e->bytes->len, (uint64_t)e->kind);
}

/* A time by the clock of @n, in the true one. */
static uint64_t true_us(const struct node *n, uint64_t us)
{
    return us / n->rate * 100;
}

/* No leader before that of @term has passed a barrier that began after that
 * one says. Clocks that differ make its reckoning wrong by as much, and a lease
 * lets barriers pass for so much longer. */
static void check_quiet(struct cluster *c, uint64_t term)
{
    uint64_t since = c->quiet_since[term];
    uint64_t apart = 200 + (c->lease_us ? (c->now_us - since) / 10 : 0);
    if (!since || c->clocks_stray)
        return;
    for (uint64_t t = 0; t < term; t++)
        if (c->barrier_began[t] > since + apart + c->lease_us * 11 / 10)
            break_promise(c, "a barrier passed in what a leader calls quiet");
}

/* Election safety, and leader completeness as it takes over. */
static void check_leader(struct cluster *c, struct node *n)
{
    const struct raft_log *l = raft_entries(n->raft);
    uint64_t term = raft_term(n->raft);
    bool leads = raft_role(n->raft) == RAFT_LEADER;
    if (leads && !n->was_leader) {
        c->elections++;
        for (uint64_t i = l->base_index; i <= c->max_commit; i++)
            /* One that votes made a leader and that was asleep until now may
             * lack what a later term has committed since. */
            if (i > 0 && c->committed_term[i] && c->committed_in[i] < term &&
                raft_log_term(l, i) != c->committed_term[i])
                break_promise(c, "leader completeness");
    }
    if (leads) {
        ck_assert_uint_lt(term, TERMS_MAX);
        if (c->leader_of[term] && c->leader_of[term] != n->id)
            break_promise(c, "election safety");
        c->leader_of[term] = n->id;
        if (!n->was_leader) {
            c->terms = MAX_OF(c->terms, term);
            c->quiet_since[term] =
                MAX_OF(true_us(n, raft_quiet_since_us(n->raft)), 1);
            c->quiet_us += c->now_us - c->quiet_since[term];
            check_quiet(c, term);
        }
    }
    n->was_leader = leads;
}

/* State-machine safety: an index is committed with one content, for ever. */
static void check_commits(struct cluster *c, struct node *n)
{
    const struct raft_log *l = raft_entries(n->raft);
    uint64_t commit = raft_commit(n->raft);
    ck_assert_uint_lt(commit, COMMITS_MAX);
    while (n->applied < commit) {
        uint64_t i = ++n->applied;
        const struct raft_entry *e = raft_log_get(l, i);
        if (!e) {
            break_promise(c, "a committed entry is not there");
            return;
        }
        if (c->committed_term[i] && (c->committed_term[i] != e->term ||
                                     c->committed_content[i] != content_of(e)))
            break_promise(c, "state machine safety");
        if (!c->committed_term[i]) /* Leaders are the first to know. */
            c->committed_in[i] = raft_term(n->raft);
        c->committed_term[i] = e->term;
        c->committed_content[i] = content_of(e);
        c->max_commit = MAX_OF(c->max_commit, i);
    }
    if (raft_contradictions(n->raft) ||
        (raft_missing(n->raft) && !c->disks_forget))
        break_promise(c, "a member contradicts what is committed");
}

/* Log matching: the same index and term mean the same entry and the same
 * before it. */
static void check_matching(struct cluster *c, struct node *n)
{
    const struct raft_log *l = raft_entries(n->raft);
    uint64_t last = raft_log_last(l);
    for (uint64_t i = MAX_OF(l->base_index + 1, n->applied); i <= last; i++) {
        const struct raft_entry *e = raft_log_get(l, i);
        uint64_t key[2] = {i, e->term};
        uint64_t content = content_of(e) ^ hash_mix(raft_log_term(l, i - 1));
        bool added;
        union hash_value *v =
            hash_map_put(&c->seen, slice_make(key, sizeof(key)), &added);
        if (added)
            v->number = content;
        else if (v->number != content)
            break_promise(c, "log matching");
    }
}

static void check_barrier(struct cluster *c, struct node *n)
{
    if (!n->barrier)
        return;
    if (raft_role(n->raft) != RAFT_LEADER ||
        raft_term(n->raft) != n->barrier_term) {
        n->barrier = 0;
        return;
    }
    if (raft_barrier_done(n->raft) < n->barrier ||
        n->applied < raft_barrier_index(n->raft))
        return;
    if (n->applied < n->barrier_floor)
        break_promise(c, "a barrier let a stale read pass");
    n->barrier = 0;
    c->barriers_passed++;
    c->barrier_began[n->barrier_term] =
        MAX_OF(c->barrier_began[n->barrier_term], n->barrier_us);
    for (uint64_t t = n->barrier_term + 1; t <= c->terms; t++)
        check_quiet(c, t);
}

/* --- disks --------------------------------------------------------------- */

static void do_disk(struct disk *d, struct raft_action *a)
{
    switch (a->kind) {
    case RAFT_DO_META:
        d->term = a->term;
        d->vote = a->vote;
        break;
    case RAFT_DO_APPEND:
        ck_assert_uint_le(a->index, raft_log_last(&d->log) + 1);
        if (a->index <= raft_log_last(&d->log))
            raft_log_truncate(&d->log, a->index);
        for (size_t i = 0; i < a->entry_count; i++)
            raft_log_append(&d->log, a->entries[i].term, a->entries[i].kind,
                            raft_bytes_ref(a->entries[i].bytes));
        break;
    case RAFT_DO_RESET: raft_log_reset(&d->log, a->index, a->term); break;
    case RAFT_DO_COMPACT:
        if (a->index > d->log.base_index)
            raft_log_drop_prefix(&d->log, a->index);
        break;
    case RAFT_DO_CHUNK:
        if (a->offset == 0)
            buf_clear(&d->incoming);
        ck_assert_uint_eq(d->incoming.len, a->offset);
        buf_append_slice(&d->incoming, buf_slice(&a->data));
        break;
    case RAFT_DO_INSTALL:
    case RAFT_DO_SEND: ck_abort_msg("not the disk's");
    }
}

static void image_of(const struct disk *d, struct buf *out)
{
    buf_put_le64(out, d->snapshot_index);
    buf_put_le64(out, d->snapshot_term);
    raft_config_encode(&d->config, out);
    buf_append_fill(out, 'x', 40);
}

static void install(struct cluster *c, struct node *n)
{
    struct cursor r = cursor_make(buf_slice(&n->disk.incoming));
    struct raft_config config;
    uint64_t index = cursor_le64(&r);
    uint64_t term = cursor_le64(&r);
    bool ok = !r.bad && r.end - r.p >= 40 &&
              raft_config_decode(slice_make(r.p, (size_t)(r.end - r.p) - 40),
                                 &config) &&
              index == n->install.index && term == n->install.term;
    n->install.kind = 0;
    if (ok) {
        n->disk.snapshot_index = index;
        n->disk.snapshot_term = term;
        n->disk.config = config;
        n->applied = index;
        if (c->committed_term[index] && c->committed_term[index] != term)
            break_promise(c, "a snapshot of what is not committed");
    }
    raft_installed(n->raft, clock_of(c, n), index, term, ok ? &config : NULL);
}

/* --- actions ------------------------------------------------------------- */

static void post(struct cluster *c, struct raft_message *m)
{
    struct packet *p;
    unsigned copies = 1 + (rand_below(&c->rand, 1000) < c->weather.doubles);
    if (rand_below(&c->rand, 1000) < c->weather.loss ||
        c->wire_count + 2 > WIRE_MAX ||
        c->cut_until[m->from - 1][m->to - 1] > c->now_us) {
        raft_message_close(m);
        return;
    }
    for (unsigned i = 0; i < copies; i++) {
        p = &c->wire[c->wire_count++];
        c->sent++;
        p->message = *m;
        p->at = c->now_us + 100 + rand_below(&c->rand, c->weather.delay_us);
        if (i == 0)
            continue;
        p->message.entries = NULL;
        if (m->entry_count) {
            p->message.entries =
                mem_alloc(m->entry_count * sizeof(*m->entries));
            memcpy(p->message.entries, m->entries,
                   m->entry_count * sizeof(*m->entries));
            for (size_t k = 0; k < m->entry_count; k++)
                raft_bytes_ref(m->entries[k].bytes);
        }
        p->message.data = BUF_INIT;
        buf_append_slice(&p->message.data, buf_slice(&m->data));
    }
}

static void fill_chunk(struct node *n, struct raft_message *m)
{
    struct buf image = BUF_INIT;
    image_of(&n->disk, &image);
    m->index = n->disk.snapshot_index;
    m->index_term = n->disk.snapshot_term;
    buf_append_slice(
        &m->data, slice_sub(buf_slice(&image), m->offset, m->offset + CHUNK));
    m->last = m->offset + CHUNK >= image.len;
    buf_close(&image);
}

static void
send_or_hold(struct cluster *c, struct node *n, struct raft_action *a)
{
    if (a->op > n->done_op) {
        if (n->held_count == 256)
            raft_action_close(a); /* As good as lost. */
        else
            n->held[n->held_count++] = *a;
        return;
    }
    if (a->message.kind == RAFT_SNAPSHOT)
        fill_chunk(n, &a->message);
    post(c, &a->message);
}

static void pump(struct cluster *c, struct node *n)
{
    struct raft_action a;
    while (raft_next_action(n->raft, &a)) {
        if (a.kind == RAFT_DO_SEND) {
            send_or_hold(c, n, &a);
            continue;
        }
        ck_assert_uint_lt(n->queue_count, 1024);
        n->queue_at[n->queue_count] =
            c->now_us + 50 + rand_below(&c->rand, c->weather.disk_us);
        n->queue[n->queue_count++] = a;
    }
    check_leader(c, n);
    check_matching(c, n);
    check_commits(c, n);
    check_barrier(c, n);
}

static void release_held(struct cluster *c, struct node *n)
{
    size_t count = n->held_count;
    static struct raft_action held[256];
    memcpy(held, n->held, count * sizeof(held[0]));
    n->held_count = 0;
    for (size_t i = 0; i < count; i++)
        send_or_hold(c, n, &held[i]);
}

/* Finish what the disk has done by now. */
static void run_disk(struct cluster *c, struct node *n)
{
    size_t done = 0;
    while (done < n->queue_count && n->queue_at[done] <= c->now_us) {
        struct raft_action *a = &n->queue[done++];
        if (a->kind == RAFT_DO_INSTALL) {
            n->install = *a;
            continue;
        }
        do_disk(&n->disk, a);
        n->done_op = a->op;
        raft_action_close(a);
    }
    if (done == 0)
        return;
    n->queue_count -= done;
    memmove(n->queue, n->queue + done, n->queue_count * sizeof(n->queue[0]));
    memmove(n->queue_at, n->queue_at + done,
            n->queue_count * sizeof(n->queue_at[0]));
    raft_stored(n->raft, clock_of(c, n), n->done_op);
    if (n->install.kind)
        install(c, n);
    release_held(c, n);
    pump(c, n);
}

/* --- life ---------------------------------------------------------------- */

static void boot(struct cluster *c, struct node *n)
{
    struct disk *d = &n->disk;
    struct raft_options opts = {.id = n->id,
                                .election_us = ELECTION_US,
                                .heartbeat_us = HEARTBEAT_US,
                                .lease_us = c->lease_us,
                                .rest_us = c->rest_us,
                                .seed = rand_u64(&c->rand),
                                .append_bytes_max = c->append_bytes_max};
    struct raft_stable s = {.vote = d->vote,
                            .snapshot_index = d->snapshot_index,
                            .snapshot_term = d->snapshot_term,
                            .config = &d->config};
    uint64_t last;
    if (raft_log_last(&d->log) < d->snapshot_index ||
        raft_log_term(&d->log, d->snapshot_index) != d->snapshot_term)
        raft_log_reset(&d->log, d->snapshot_index, d->snapshot_term);
    last = raft_log_last(&d->log);
    s.term = MAX_OF(d->term, raft_log_term(&d->log, last));
    if (s.term != d->term)
        s.vote = 0;
    s.entry_count = (size_t)(last - d->snapshot_index);
    s.entries = raft_log_copy(&d->log, d->snapshot_index + 1, s.entry_count);
    n->raft = raft_new(&opts, &s, clock_of(c, n));
    n->applied = d->snapshot_index;
    n->was_leader = false;
    n->barrier = 0;
    n->done_op = 0;
    n->install.kind = 0;
}

/* Some of what the disk was doing is done, in order; the rest never was. */
static void crash(struct cluster *c, struct node *n, uint64_t down_us)
{
    size_t keep = rand_below(&c->rand, n->queue_count + 1);
    for (size_t i = 0; i < n->queue_count; i++) {
        if (i < keep && n->queue[i].kind != RAFT_DO_INSTALL)
            do_disk(&n->disk, &n->queue[i]);
        raft_action_close(&n->queue[i]);
    }
    for (size_t i = 0; i < n->held_count; i++)
        raft_action_close(&n->held[i]);
    n->queue_count = n->held_count = 0;
    raft_free(n->raft);
    n->raft = NULL;
    n->up_at = c->now_us + down_us;
}

static void
cluster_init(struct cluster *c, size_t count, size_t voters, uint64_t seed)
{
    struct raft_config config = {0};
    memset(c, 0, sizeof(*c));
    rand_init(&c->rand, seed);
    hash_map_init(&c->seen, HASH_KEYS_COPIED);
    c->count = count;
    c->now_us = 1000000;
    c->weather.delay_us = 2000;
    c->weather.disk_us = 1000;
    for (size_t i = 0; i < voters; i++) {
        struct raft_member m = {.id = i + 1, .voting = true};
        raft_config_put(&config, &m);
    }
    for (size_t i = 0; i < count; i++) {
        struct node *n = &c->nodes[i];
        bool member = i < voters;
        n->id = i + 1;
        n->rate = 100;
        n->disk.term = member;
        n->disk.snapshot_index = n->disk.snapshot_term = member;
        raft_log_init(&n->disk.log, member, member);
        if (member)
            n->disk.config = config;
        boot(c, n);
    }
    c->committed_term[1] = 1;
    c->max_commit = 1;
}

/* Leases of @lease_us, over clocks that run at up to @spread percent more or
 * less than they should. Before anything else happens. */
static void
cluster_set_lease(struct cluster *c, uint64_t lease_us, uint64_t spread)
{
    c->lease_us = lease_us;
    for (size_t i = 0; i < c->count; i++) {
        struct node *n = &c->nodes[i];
        raft_free(n->raft);
        n->rate = 100 - spread + rand_below(&c->rand, 2 * spread + 1);
        boot(c, n);
    }
}

/* Cores that rest after @rest_us without an entry. Before anything else
 * happens. */
static void cluster_set_rest(struct cluster *c, uint64_t rest_us)
{
    c->rest_us = rest_us;
    cluster_set_lease(c, c->lease_us, 0);
}

static void cluster_close(struct cluster *c)
{
    for (size_t i = 0; i < c->count; i++) {
        struct node *n = &c->nodes[i];
        if (n->raft)
            crash(c, n, 0);
        raft_log_close(&n->disk.log);
        buf_close(&n->disk.incoming);
    }
    for (size_t i = 0; i < c->wire_count; i++)
        raft_message_close(&c->wire[i].message);
    hash_map_close(&c->seen);
}

/* --- events -------------------------------------------------------------- */

static void deliver(struct cluster *c, struct raft_message *m)
{
    struct node *n = &c->nodes[m->to - 1];
    struct raft_action a = {.kind = RAFT_DO_SEND};
    if (n->raft && c->cut_until[m->from - 1][m->to - 1] <= c->now_us) {
        if (raft_receive(n->raft, clock_of(c, n), m, &a.message, &a.op))
            send_or_hold(c, n, &a);
        pump(c, n);
    }
    raft_message_close(m);
}

static bool is_paused(const struct cluster *c, uint64_t id)
{
    return c->nodes[id - 1].paused_until > c->now_us;
}

static void run_wire(struct cluster *c)
{
    for (size_t i = 0; i < c->wire_count;) {
        struct raft_message m;
        if (c->wire[i].at > c->now_us || is_paused(c, c->wire[i].message.to)) {
            i++;
            continue;
        }
        m = c->wire[i].message;
        c->wire[i] = c->wire[--c->wire_count];
        deliver(c, &m);
    }
}

static uint64_t propose(struct cluster *c, struct node *n, size_t count)
{
    struct raft_bytes *commands[8];
    uint64_t first;
    for (size_t i = 0; i < count; i++) {
        uint64_t v = ++c->next_command;
        commands[i] = raft_bytes_new(slice_make(&v, sizeof(v)));
    }
    first = raft_propose(n->raft, clock_of(c, n), commands, count);
    pump(c, n);
    return first;
}

static struct node *find_leader(struct cluster *c)
{
    struct node *best = NULL;
    for (size_t i = 0; i < c->count; i++) {
        struct node *n = &c->nodes[i];
        if (n->raft && raft_role(n->raft) == RAFT_LEADER &&
            (!best || raft_term(n->raft) > raft_term(best->raft)))
            best = n;
    }
    return best;
}

static void change_members(struct cluster *c, struct node *n)
{
    struct raft_config config = *raft_members(n->raft);
    struct raft_member m = {.id = 1 + rand_below(&c->rand, c->count),
                            .voting = rand_one_in(&c->rand, 2)};
    uint64_t index;
    if (rand_one_in(&c->rand, 2) && raft_config_voter_count(&config) > 1)
        raft_config_drop(&config, m.id);
    else
        raft_config_put(&config, &m);
    (void)!raft_change(n->raft, clock_of(c, n), &config, &index, NULL);
    pump(c, n);
}

static void lead_some(struct cluster *c, struct node *n)
{
    if (raft_may_propose(n->raft) &&
        rand_below(&c->rand, 1000) < c->weather.proposals)
        propose(c, n, 1 + rand_below(&c->rand, 4));
    if (!c->weather.no_reads && rand_one_in(&c->rand, 5) && !n->barrier) {
        n->barrier_floor = c->max_commit;
        n->barrier_us = c->now_us;
        n->barrier_term = raft_term(n->raft);
        n->barrier = raft_barrier(n->raft, clock_of(c, n));
        pump(c, n);
    }
    if (rand_below(&c->rand, 100000) < c->weather.changes)
        change_members(c, n);
    if (rand_below(&c->rand, 100000) < c->weather.changes) {
        (void)!raft_transfer(n->raft, clock_of(c, n), 0, NULL);
        pump(c, n);
    }
}

static void compact_some(struct cluster *c, struct node *n)
{
    struct raft_config config;
    const struct raft_log *l = raft_entries(n->raft);
    if (rand_below(&c->rand, 1000) >= c->weather.compactions ||
        n->applied <= raft_snapshot_index(n->raft) || n->install.kind)
        return;
    raft_members_at(n->raft, n->applied, &config);
    n->disk.snapshot_index = n->applied;
    n->disk.snapshot_term = raft_log_term(l, n->applied);
    n->disk.config = config;
    raft_compact(n->raft, clock_of(c, n), n->applied,
                 rand_below(&c->rand, 400));
    pump(c, n);
}

static void storm(struct cluster *c, struct node *n)
{
    if (rand_below(&c->rand, 100000) < c->weather.pauses)
        n->paused_until = c->now_us + rand_below(&c->rand, 5 * ELECTION_US);
    if (rand_below(&c->rand, 100000) < c->weather.crashes) {
        uint64_t longest = rand_one_in(&c->rand, 2) ? 10000 : 500000;
        crash(c, n, 1000 + rand_below(&c->rand, longest));
        return;
    }
    if (rand_below(&c->rand, 100000) < c->weather.cuts) {
        size_t to = rand_below(&c->rand, c->count);
        uint64_t until = c->now_us + rand_below(&c->rand, 1000000);
        c->cut_until[n->id - 1][to] = until;
        if (rand_one_in(&c->rand, 2))
            c->cut_until[to][n->id - 1] = until;
    }
}

static void tick(struct cluster *c, struct node *n)
{
    if (raft_due_us(n->raft) <= clock_of(c, n)) {
        raft_tick(n->raft, clock_of(c, n));
        pump(c, n);
    }
}

static void run_node(struct cluster *c, struct node *n)
{
    bool tick_first = rand_one_in(&c->rand, 2);
    if (!n->raft) {
        if (c->now_us >= n->up_at)
            boot(c, n);
        return;
    }
    if (is_paused(c, n->id))
        return;
    run_disk(c, n);
    if (tick_first)
        tick(c, n);
    if (raft_role(n->raft) == RAFT_LEADER)
        lead_some(c, n);
    if (!tick_first)
        tick(c, n);
    compact_some(c, n);
    storm(c, n);
}

/* Let @ms milliseconds go by. */
static UNUSED void run_ms(struct cluster *c, uint64_t ms)
{
    for (uint64_t i = 0; i < ms && !c->broken; i++) {
        bool wire_first = rand_one_in(&c->rand, 2);
        c->now_us += 1000;
        if (wire_first)
            run_wire(c);
        for (size_t k = 0; k < c->count; k++)
            run_node(c, &c->nodes[k]);
        if (!wire_first)
            run_wire(c);
    }
}

#endif /* TESTS_UNIT_REPLICA_RAFT_CLUSTER_H */
