/* Raft's promises hold under loss, delay, doubling, cuts, crashes and changes
 * of members, for every seed; and two mistakes that chance alone hardly finds
 * stay out for good. */
#include "tests/unit/replica/raft_cluster.h"

/* --- Storms -------------------------------------------------------------- */

static struct cluster cluster;

static unsigned maybe(struct rand_gen *r, uint64_t most)
{
    return rand_one_in(r, 2) ? 0 : (unsigned)rand_below(r, most);
}

static void draw_weather(struct cluster *c)
{
    struct rand_gen *r = &c->rand;
    struct weather *w = &c->weather;
    w->loss = maybe(r, 300);
    w->doubles = maybe(r, 200);
    w->delay_us = rand_one_in(r, 2) ? 1 + rand_below(r, 60000) : 3000;
    w->disk_us = rand_one_in(r, 2) ? 1 + rand_below(r, 100000) : 2000;
    w->crashes = maybe(r, 1500);
    w->pauses = maybe(r, 1500);
    w->cuts = maybe(r, 1000);
    w->proposals = (unsigned)rand_below(r, 200);
    w->compactions = maybe(r, 30);
    w->changes = maybe(r, 600);
    for (size_t i = 0; i < c->count && c->clocks_stray; i++)
        c->nodes[i].rate += rand_below(r, 20); /* No clock goes back. */
}

/* Once the storm is over the cell elects, commits and agrees again. */
static void expect_recovery(struct cluster *c, uint64_t seed)
{
    struct node *n = NULL;
    uint64_t index, term;
    memset(c->cut_until, 0, sizeof(c->cut_until));
    c->weather = (struct weather){.delay_us = 2000, .disk_us = 1000};
    for (int tries = 0; tries < 40; tries++) {
        run_ms(c, 500);
        n = find_leader(c);
        if (n && raft_may_propose(n->raft) &&
            raft_commit(n->raft) >= c->max_commit)
            break;
    }
    ck_assert_msg(n && raft_may_propose(n->raft), "seed %llu: no leader",
                  (unsigned long long)seed);
    index = propose(c, n, 1);
    term = raft_term(n->raft);
    run_ms(c, 1000);
    ck_assert_msg(c->committed_term[index] == term,
                  "seed %llu: nothing is committed any more",
                  (unsigned long long)seed);
    for (size_t i = 0; i < c->count && !c->broken; i++)
        if (raft_config_find(raft_members(n->raft), i + 1))
            ck_assert_msg(c->nodes[i].applied >= index,
                          "seed %llu: member %zu lags behind",
                          (unsigned long long)seed, i + 1);
}

/* One lease or none, and clocks as far apart as it allows. */
enum {
    SPREAD = 5,
    LEASE_US = ELECTION_US * (100 - SPREAD) / (100 + SPREAD),
    REST_US = 3 * ELECTION_US
};

static void weather_storm(struct cluster *c)
{
    for (int i = 0; i < 4 && !c->broken; i++) {
        draw_weather(c);
        run_ms(c, 1000);
    }
}

static void run_seed(uint64_t seed)
{
    struct rand_gen r;
    size_t count;
    rand_init(&r, seed);
    count = 1 + rand_below(&r, NODES_MAX);
    cluster_init(&cluster, count, 1 + rand_below(&r, count), seed);
    cluster.append_bytes_max = rand_one_in(&r, 2) ? 0 : 100;
    if (rand_one_in(&r, 2))
        cluster_set_rest(&cluster, REST_US);
    cluster.clocks_stray = seed % 4 == 0;
    if (seed % 2)
        cluster_set_lease(&cluster, LEASE_US, SPREAD);
    weather_storm(&cluster);
    if (!cluster.broken)
        expect_recovery(&cluster, seed);
    ck_assert_msg(!cluster.broken, "seed %llu: %s", (unsigned long long)seed,
                  cluster.broken);
    cluster_close(&cluster);
}

static uint64_t seed_count(void)
{
    const char *s = getenv("QUARRY_RAFT_SEEDS");
    return s ? strtoull(s, NULL, 10) : 80;
}

START_TEST(test_promises_hold_in_storms)
{
    uint64_t first = test_seed();
    uint64_t elections = 0;
    uint64_t commits = 0;
    uint64_t barriers = 0;
    uint64_t quiet_us = 0;
    for (uint64_t i = 0; i < seed_count(); i++) {
        run_seed(first + i);
        elections += cluster.elections;
        commits += cluster.max_commit;
        barriers += cluster.barriers_passed;
        quiet_us += cluster.quiet_us;
    }
    printf("%llu seeds: %llu elections, %llu commits, %llu barriers, quiet for "
           "%llu us\n",
           (unsigned long long)seed_count(), (unsigned long long)elections,
           (unsigned long long)commits, (unsigned long long)barriers,
           (unsigned long long)(quiet_us / MAX_OF(elections, 1U)));
    /* The storms must leave something to check. */
    ck_assert_uint_gt(elections, 4 * seed_count());
    ck_assert_uint_gt(commits, 20 * seed_count());
    ck_assert_uint_gt(barriers, 2 * seed_count());
    ck_assert_uint_gt(quiet_us, elections * ELECTION_US / 2);
}

END_TEST

/* --- Directed: leases ---------------------------------------------------- */

/* Clocks that the lease does not allow: the check of barriers, on which the
 * storms rely, sees the stale read. */
START_TEST(test_a_lease_beyond_what_clocks_allow_is_found)
{
    struct node *old, *fresh;
    cluster_init(&cluster, 3, 3, 1);
    cluster_set_lease(&cluster, LEASE_US, 0);
    cluster.weather = (struct weather){.delay_us = 1000, .disk_us = 1000};
    run_ms(&cluster, 1000);
    old = find_leader(&cluster);
    cluster.clocks_stray = true;
    for (size_t i = 0; i < 3; i++) {
        struct node *n = &cluster.nodes[i];
        /* From here on: a clock that merely became slower would go back. */
        n->rate = n == old ? 100 : 400;
        cluster.cut_until[old->id - 1][i] = cluster.cut_until[i][old->id - 1] =
            UINT64_MAX;
    }
    for (int ms = 0; find_leader(&cluster) == old && ms < 100; ms++)
        run_ms(&cluster, 1);
    fresh = find_leader(&cluster);
    ck_assert_ptr_ne(fresh, old);
    propose(&cluster, fresh, 1);
    run_ms(&cluster, 20); /* In which the old one serves reads. */
    ck_assert_str_eq(cluster.broken, "a barrier let a stale read pass");
    cluster_close(&cluster);
}

END_TEST

START_TEST(test_a_lease_spares_rounds_and_ends_with_silence)
{
    struct node *n;
    uint64_t round;
    cluster_init(&cluster, 3, 3, 1);
    cluster_set_lease(&cluster, LEASE_US, 0);
    cluster.weather = (struct weather){.delay_us = 1000, .disk_us = 1000};
    run_ms(&cluster, 1000);
    n = find_leader(&cluster);
    ck_assert_ptr_nonnull(n);
    /* At once, without an answer of anybody. */
    round = raft_barrier(n->raft, clock_of(&cluster, n));
    ck_assert_uint_le(round, raft_barrier_done(n->raft));
    ck_assert_uint_eq(raft_barrier_index(n->raft), raft_commit(n->raft));
    /* Cut off, it leads on for a time, and its lease is over before. */
    for (size_t i = 0; i < 3; i++)
        cluster.cut_until[n->id - 1][i] = cluster.cut_until[i][n->id - 1] =
            UINT64_MAX;
    run_ms(&cluster, LEASE_US / 1000);
    ck_assert_int_eq(raft_role(n->raft), RAFT_LEADER);
    round = raft_barrier(n->raft, clock_of(&cluster, n));
    ck_assert_uint_gt(round, raft_barrier_done(n->raft));
    cluster_close(&cluster);
}

END_TEST

START_TEST(test_a_hand_over_ends_leases_for_the_term)
{
    struct err err = ERR_INIT;
    struct node *n;
    uint64_t term;
    cluster_init(&cluster, 3, 3, 1);
    cluster_set_lease(&cluster, LEASE_US, 0);
    cluster.weather = (struct weather){.delay_us = 1000, .disk_us = 1000};
    run_ms(&cluster, 1000);
    n = find_leader(&cluster);
    term = raft_term(n->raft);
    cluster.weather.loss = 1000; /* The message is lost, or only late. */
    ck_assert_int_eq(raft_transfer(n->raft, clock_of(&cluster, n), 0, &err), 0);
    pump(&cluster, n);
    cluster.weather.loss = 0;
    run_ms(&cluster, 500);
    ck_assert_uint_eq(raft_term(n->raft), term);
    ck_assert_int_eq(raft_role(n->raft), RAFT_LEADER);
    ck_assert_uint_gt(raft_barrier(n->raft, clock_of(&cluster, n)),
                      raft_barrier_done(n->raft));
    cluster_close(&cluster);
}

END_TEST

/* --- Directed: rest ------------------------------------------------------ */

static void cut_off(struct cluster *c, const struct node *n)
{
    for (size_t i = 0; i < c->count; i++)
        c->cut_until[n->id - 1][i] = c->cut_until[i][n->id - 1] = UINT64_MAX;
}

static struct node *begin_resting_seed(struct cluster *c, uint64_t seed)
{
    cluster_init(c, 3, 3, seed);
    cluster_set_rest(c, REST_US);
    c->weather =
        (struct weather){.delay_us = 1000, .disk_us = 1000, .no_reads = true};
    run_ms(c, 1000);
    ck_assert_ptr_nonnull(find_leader(c));
    return find_leader(c);
}

static struct node *begin_resting(struct cluster *c)
{
    return begin_resting_seed(c, 1);
}

/* Messages in @ms of silence. */
static uint64_t messages_in(struct cluster *c, unsigned ms)
{
    uint64_t from = c->sent;
    run_ms(c, ms);
    return c->sent - from;
}

/* A cell without work sends a quarter of the messages, keeps its leader, and is
 * wide awake with the first command. */
START_TEST(test_a_cell_without_work_rests)
{
    struct node *n = begin_resting(&cluster);
    uint64_t term = raft_term(n->raft);
    uint64_t busy = (uint64_t)2 * 2 * 1000000 / HEARTBEAT_US;
    uint64_t index;
    ck_assert_uint_eq(raft_patience_us(n->raft),
                      RAFT_REST_ELECTIONS * ELECTION_US);
    ck_assert_uint_le(messages_in(&cluster, 1000), busy / 4 + 2);
    ck_assert_ptr_eq(find_leader(&cluster), n);
    ck_assert_uint_eq(raft_term(n->raft), term);
    index = propose(&cluster, n, 1);
    ck_assert_uint_eq(raft_patience_us(n->raft), ELECTION_US);
    run_ms(&cluster, 20);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_uint_eq(raft_patience_us(cluster.nodes[i].raft), ELECTION_US);
        ck_assert_uint_ge(raft_commit(n->raft), index);
    }
    ck_assert_uint_ge(messages_in(&cluster, REST_US / 2000),
                      busy * (REST_US / 2000) / 1000 - 6);
    cluster_close(&cluster);
}

END_TEST

/* How long until another leads than @old, which is cut off. */
static uint64_t replace_us(struct cluster *c, struct node *old)
{
    uint64_t from = c->now_us;
    uint64_t term = raft_term(old->raft);
    bool replaced = false;
    cut_off(c, old);
    while (!replaced && c->now_us < from + 1000000) {
        run_ms(c, 1);
        for (size_t i = 0; i < 3; i++)
            replaced |= &c->nodes[i] != old &&
                        raft_role(c->nodes[i].raft) == RAFT_LEADER &&
                        raft_term(c->nodes[i].raft) > term;
    }
    ck_assert(replaced);
    return c->now_us - from;
}

static int compare_us(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* A leader that dies at rest is missed for a longer time, which is bounded.
 * Those that stand then wait for each other no longer than others do. */
START_TEST(test_a_leader_that_dies_at_rest_is_replaced)
{
    uint64_t us[41];
    for (size_t seed = 0; seed < ARRAY_LEN(us); seed++) {
        struct node *n = begin_resting_seed(&cluster, seed);
        us[seed] = replace_us(&cluster, n);
        /* And the old one knows that it does not lead. */
        run_ms(&cluster, RAFT_REST_ELECTIONS * ELECTION_US / 1000);
        ck_assert_int_ne(raft_role(n->raft), RAFT_LEADER);
        cluster_close(&cluster);
    }
    qsort(us, ARRAY_LEN(us), sizeof(us[0]), compare_us);
    ck_assert_uint_le(us[ARRAY_LEN(us) / 2],
                      RAFT_REST_ELECTIONS * ELECTION_US + ELECTION_US / 3);
    ck_assert_uint_le(us[ARRAY_LEN(us) - 1],
                      2 * RAFT_REST_ELECTIONS * ELECTION_US);
}

END_TEST

/* A follower that does not say that it bears the silence, as one of an older
 * version, hears each heartbeat. */
START_TEST(test_a_cell_waits_with_its_rest_for_all)
{
    struct node *n = begin_resting(&cluster);
    struct raft_message reply = {.kind = RAFT_APPEND_REPLY, .to = n->id};
    struct raft_message none;
    uint64_t after;
    reply.from = n->id % 3 + 1;
    reply.term = raft_term(n->raft);
    reply.index = raft_commit(n->raft);
    ck_assert_uint_gt(raft_patience_us(n->raft), ELECTION_US);
    cut_off(&cluster, &cluster.nodes[reply.from - 1]);
    for (int i = 0; i < 40; i++) {
        raft_receive(n->raft, clock_of(&cluster, n), &reply, &none, &after);
        pump(&cluster, n);
        run_ms(&cluster, 10);
    }
    ck_assert_int_eq(raft_role(n->raft), RAFT_LEADER);
    ck_assert_uint_eq(raft_patience_us(n->raft), ELECTION_US);
    cluster_close(&cluster);
}

END_TEST

/* --- Directed: members that do not answer --------------------------------- */

/* The next leader after @old, as soon as it has committed an entry. */
static struct node *await_next_leader(struct cluster *c, const struct node *old)
{
    for (int ms = 0; ms < 2000; ms++) {
        for (size_t i = 0; i < c->count; i++) {
            struct node *n = &c->nodes[i];
            const struct raft_log *l = raft_entries(n->raft);
            if (n != old && raft_role(n->raft) == RAFT_LEADER &&
                raft_log_term(l, raft_commit(n->raft)) == raft_term(n->raft))
                return n;
        }
        run_ms(c, 1);
    }
    ck_abort_msg("nobody leads after member %d", (int)old->id);
}

static int drop_member(struct cluster *c, struct node *leader, uint64_t id)
{
    struct raft_config config = *raft_members(leader->raft);
    uint64_t index;
    int rc;
    raft_config_drop(&config, id);
    rc = raft_change(leader->raft, clock_of(c, leader), &config, &index, NULL);
    pump(c, leader);
    return rc;
}

/* A leader that was just elected has not heard from the dead one yet, and does
 * not count on it: with the other one removed, the two would be no cell. */
START_TEST(test_a_table_needs_voters_that_answer)
{
    struct node *dead = begin_resting(&cluster);
    struct node *leader;
    uint64_t other;
    cut_off(&cluster, dead);
    leader = await_next_leader(&cluster, dead);
    other = 1 + 2 + 3 - dead->id - leader->id;
    ck_assert_int_eq(drop_member(&cluster, leader, other), ERR_BUSY);
    run_ms(&cluster, 1000);
    ck_assert_int_eq(raft_role(leader->raft), RAFT_LEADER);
    ck_assert_int_eq(drop_member(&cluster, leader, other), ERR_BUSY);
    ck_assert_int_eq(drop_member(&cluster, leader, dead->id), 0);
    run_ms(&cluster, 1000);
    ck_assert_int_eq(raft_role(leader->raft), RAFT_LEADER);
    ck_assert_int_eq(drop_member(&cluster, leader, other), 0);
    run_ms(&cluster, 100);
    ck_assert_uint_eq(raft_members(leader->raft)->count, 1);
    ck_assert_int_eq(raft_role(leader->raft), RAFT_LEADER);
    cluster_close(&cluster);
}

END_TEST

static bool explains(const struct node *n, const char *words)
{
    struct buf out = BUF_INIT;
    bool has;
    raft_explain_votes(n->raft, &out);
    has = strstr(buf_cstr(&out), words) != NULL;
    if (!has)
        printf("member %d: %s\n", (int)n->id, buf_cstr(&out));
    buf_close(&out);
    return has;
}

/* Of three one is cut off, one leads, and the disk of the third is full. */
START_TEST(test_votes_are_explained)
{
    struct node *lonely = begin_resting(&cluster);
    struct node *leader;
    struct node *third;
    char votes[64];
    cut_off(&cluster, lonely);
    leader = await_next_leader(&cluster, lonely);
    run_ms(&cluster, 1000);
    third = &cluster.nodes[1 + 2 + 3 - lonely->id - leader->id - 1];
    snprintf(votes, sizeof(votes), "%d:granted:", (int)third->id);
    ck_assert(explains(leader, votes));
    ck_assert(explains(leader, "stands=yes needs=2"));
    raft_set_stuck(third->raft, clock_of(&cluster, third), true);
    ck_assert(explains(third, "stands=no:its_disk_takes_nothing needs=2"));
    ck_assert(explains(lonely, "stands=yes needs=2"));
    ck_assert_int_ne(raft_role(lonely->raft), RAFT_LEADER);
    /* Back, it asks with an older log. */
    memset(cluster.cut_until, 0, sizeof(cluster.cut_until));
    cut_off(&cluster, leader);
    run_ms(&cluster, 1000);
    snprintf(votes, sizeof(votes), "refused=%d:its_log_is_older",
             (int)lonely->id);
    ck_assert(explains(third, votes));
    cluster_close(&cluster);
}

END_TEST

/* --- Directed: figure 8 -------------------------------------------------- */

/* Deliver what is on the wire from one of @from to one of @to (bit sets of
 * members), if @index is 0 or it is no append or its first entry is @index;
 * drop the rest. Repeat while new messages come. */
static void exchange(struct cluster *c, unsigned members, uint64_t index)
{
    for (int round = 0; round < 30; round++) {
        static struct packet wire[256];
        size_t count = c->wire_count;
        ck_assert_uint_lt(count, 256);
        memcpy(wire, c->wire, count * sizeof(wire[0]));
        c->wire_count = 0;
        c->now_us += 100;
        for (size_t i = 0; i < count; i++) {
            struct raft_message *m = &wire[i].message;
            bool wanted = (members >> m->from & 1) && (members >> m->to & 1) &&
                          (index == 0 || m->entry_count == 0 ||
                           m->index + m->entry_count <= index);
            if (wanted)
                deliver(c, m);
            else
                raft_message_close(m);
        }
        for (size_t k = 0; k < c->count; k++)
            if (c->nodes[k].raft)
                run_disk(c, &c->nodes[k]);
    }
}

/* Let time pass without a leader until @n may stand, and elect it by the
 * members given. */
static void elect(struct cluster *c, struct node *n, unsigned members)
{
    for (int tries = 0; tries < 20 && raft_role(n->raft) != RAFT_LEADER;
         tries++) {
        c->now_us += 3 * ELECTION_US;
        raft_tick(n->raft, c->now_us);
        pump(c, n);
        exchange(c, members, 1);
    }
    ck_assert_int_eq(raft_role(n->raft), RAFT_LEADER);
}

#define SET1(a)       (1u << (a))
#define SET3(a, b, c) (SET1(a) | SET1(b) | SET1(c))

START_TEST(test_an_old_terms_entry_is_not_committed_by_counting_copies)
{
    struct cluster *c = &cluster;
    struct node *s1, *s5;
    uint64_t index;
    const struct raft_log *l;
    cluster_init(c, 5, 5, 1);
    c->append_bytes_max = 1; /* One entry a message. */
    for (size_t i = 0; i < 5; i++) {
        raft_free(c->nodes[i].raft);
        boot(c, &c->nodes[i]);
    }
    s1 = &c->nodes[0];
    s5 = &c->nodes[4];
    /* (a) S1 leads; an entry of its reaches S2 alone. */
    elect(c, s1, SET3(1, 2, 3));
    exchange(c, SET3(1, 2, 3) | SET3(4, 5, 0), 0);
    raft_tick(s1->raft, c->now_us += HEARTBEAT_US);
    pump(c, s1);
    exchange(c, SET3(1, 2, 3) | SET3(4, 5, 0), 0);
    index = propose(c, s1, 1);
    exchange(c, SET1(1) | SET1(2), 0);
    crash(c, s1, 0);
    /* (b) S5 leads by S3 and S4, and has another entry there. */
    elect(c, s5, SET3(3, 4, 5));
    ck_assert_uint_eq(raft_log_last(raft_entries(s5->raft)), index);
    crash(c, s5, 0);
    boot(c, s5);
    /* (c) S1 is back, leads, and brings its old entry to S3: a majority has
     * it, its own no-op nobody else. */
    boot(c, s1);
    elect(c, s1, SET3(1, 2, 3));
    for (int i = 0; i < 10; i++) {
        raft_tick(s1->raft, c->now_us += HEARTBEAT_US);
        pump(c, s1);
        exchange(c, SET3(1, 2, 3), index);
    }
    l = raft_entries(c->nodes[2].raft);
    ck_assert_uint_eq(raft_log_term(l, index),
                      raft_log_term(raft_entries(s1->raft), index));
    ck_assert_uint_lt(raft_commit(s1->raft), index);
    /* (d) So S5 may still overwrite it, */
    crash(c, s1, 0);
    for (int i = 1; i < 4; i++) {
        crash(c, &c->nodes[i], 0);
        boot(c, &c->nodes[i]);
    }
    elect(c, s5, SET3(2, 3, 4) | SET1(5));
    for (int i = 0; i < 20; i++) {
        raft_tick(s5->raft, c->now_us += HEARTBEAT_US);
        pump(c, s5);
        exchange(c, SET3(2, 3, 4) | SET1(5), 0);
    }
    /* and commits its own once an entry of its term is. */
    ck_assert_uint_gt(raft_commit(s5->raft), index);
    ck_assert_ptr_null(c->broken);
    cluster_close(c);
}

END_TEST

START_TEST(test_a_new_leader_commits_one_of_its_own_first)
{
    struct cluster *c = &cluster;
    struct node *n;
    uint64_t index;
    cluster_init(c, 3, 3, 2);
    run_ms(c, 2000);
    n = find_leader(c);
    index = propose(c, n, 1);
    exchange(c, SET3(1, 2, 3),
             0); /* All have it; none knows that it is committed. */
    crash(c, n, 10000000);
    run_ms(c, 2000);
    n = find_leader(c);
    ck_assert_ptr_nonnull(n);
    /* Without any proposal, what the old leader left is committed. */
    ck_assert_uint_gt(raft_commit(n->raft), index);
    ck_assert_int_eq(
        raft_log_get(raft_entries(n->raft), raft_commit(n->raft))->kind,
        RAFT_ENTRY_NOOP);
    ck_assert_ptr_null(c->broken);
    cluster_close(c);
}

END_TEST

/* --- Directed: a disk that forgets --------------------------------------- */

/* A follower that comes back without the last entry it acknowledged is told by
 * its leader: it takes nothing, and does not help another one to lead. */
START_TEST(test_a_follower_that_lost_an_entry_is_told)
{
    struct cluster *c = &cluster;
    struct node *leader, *lost, *other;
    uint64_t index;
    cluster_init(c, 3, 3, 3);
    c->disks_forget = true;
    run_ms(c, 2000);
    leader = find_leader(c);
    lost = &c->nodes[leader->id % 3];
    other = &c->nodes[(leader->id + 1) % 3];
    crash(c, other, 10000000); /* The entry is on two disks alone. */
    index = propose(c, leader, 1);
    run_ms(c, 200);
    ck_assert_uint_ge(raft_commit(leader->raft), index);
    crash(c, lost, 10000000);
    raft_log_truncate(&lost->disk.log, index);
    boot(c, lost);
    ck_assert_uint_eq(raft_missing(lost->raft), 0);
    run_ms(c, 200);
    ck_assert_uint_eq(raft_missing(lost->raft), index);
    ck_assert_uint_lt(raft_log_last(raft_entries(lost->raft)), index);
    /* Without the leader, the other one that lacks it finds no majority. */
    crash(c, leader, 10000000);
    boot(c, other);
    run_ms(c, 5000);
    ck_assert_ptr_null(find_leader(c));
    boot(c, leader);
    run_ms(c, 5000);
    ck_assert_ptr_nonnull(find_leader(c));
    ck_assert_ptr_null(c->broken);
    cluster_close(c);
}

END_TEST

/* --- Directed: truncation and snapshot ----------------------------------- */

/* A follower with entries 1 to 9, of which a new leader replaces those from 7
 * on while a snapshot of 6 is being written. */
START_TEST(test_a_truncation_that_meets_a_snapshot_is_not_lost)
{
    for (size_t keep = 0; keep < 8; keep++) {
        struct raft_config config = {0};
        struct disk d = {.term = 1};
        struct raft_options opts = {.id = 1,
                                    .election_us = ELECTION_US,
                                    .heartbeat_us = HEARTBEAT_US,
                                    .seed = 1};
        struct raft_stable s = {.term = 1, .config = &config};
        struct raft_message m = {.kind = RAFT_APPEND, .from = 2, .to = 1};
        struct raft_message reply;
        struct raft_action actions[32];
        size_t count = 0;
        uint64_t after;
        struct raft *r;
        for (uint64_t id = 1; id <= 3; id++)
            raft_config_put(&config, &(struct raft_member){id, true, ""});
        s.snapshot_index = s.snapshot_term = 1;
        r = raft_new(&opts, &s, 1000);
        raft_log_init(&d.log, 1, 1);
        m.term = 2;
        m.index = m.index_term = 1;
        m.commit = 6;
        m.entries = mem_alloc(8 * sizeof(*m.entries));
        m.entry_count = 8; /* 2 to 9 */
        for (size_t i = 0; i < 8; i++)
            m.entries[i] = (struct raft_entry){
                2, RAFT_ENTRY_COMMAND, raft_bytes_new(SLICE_LIT("old")), 0};
        ck_assert(raft_receive(r, 2000, &m, &reply, &after));
        raft_message_close(&m);
        /* The new leader's entry 7 comes before the snapshot is done, */
        m = (struct raft_message){.kind = RAFT_APPEND,
                                  .from = 3,
                                  .to = 1,
                                  .term = 3,
                                  .index = 6,
                                  .index_term = 2,
                                  .commit = 6,
                                  .entry_count = 1};
        m.entries = mem_alloc(sizeof(*m.entries));
        m.entries[0] = (struct raft_entry){3, RAFT_ENTRY_COMMAND,
                                           raft_bytes_new(SLICE_LIT("new")), 0};
        ck_assert(raft_receive(r, 3000, &m, &reply, &after));
        ck_assert_int_eq(reply.refusal, RAFT_ACCEPTED);
        raft_message_close(&m);
        raft_compact(r, 4000, 6, 0);
        while (raft_next_action(r, &actions[count]))
            count++;
        /* and the power goes after any number of the disk's operations. */
        for (size_t i = 0; i < count; i++) {
            if (i < keep)
                do_disk(&d, &actions[i]);
            if (i < keep && actions[i].op == after) {
                ck_assert_uint_eq(raft_log_last(&d.log), 7);
                ck_assert_uint_eq(raft_log_term(&d.log, 7), 3);
            }
            raft_action_close(&actions[i]);
        }
        if (keep >= count) {
            ck_assert_uint_eq(raft_log_last(&d.log), 7);
            ck_assert_uint_eq(raft_log_term(&d.log, 7), 3);
            ck_assert_uint_eq(d.log.base_index, 6);
        }
        raft_log_close(&d.log);
        raft_free(r);
    }
}

END_TEST

/* --- Directed: what is stored -------------------------------------------- */

static struct raft_message append_of(uint64_t from,
                                     uint64_t term,
                                     uint64_t index,
                                     uint64_t index_term,
                                     size_t count)
{
    struct raft_message m = {.kind = RAFT_APPEND,
                             .from = from,
                             .to = 1,
                             .term = term,
                             .index = index,
                             .index_term = index_term,
                             .entry_count = count};
    m.entries = mem_zalloc(count + 1, sizeof(*m.entries));
    for (size_t i = 0; i < count; i++)
        m.entries[i] = (struct raft_entry){term, RAFT_ENTRY_COMMAND,
                                           raft_bytes_new(SLICE_LIT("x")), 0};
    return m;
}

/* A heartbeat's answer reports the disk, also when what was being written is
 * void by the time it is there. */
START_TEST(test_void_entries_do_not_count_as_stored)
{
    struct raft_config config = {0};
    struct raft_options opts = {.id = 1,
                                .election_us = ELECTION_US,
                                .heartbeat_us = HEARTBEAT_US,
                                .seed = 1};
    struct raft_stable s = {
        .term = 1, .snapshot_index = 1, .snapshot_term = 1, .config = &config};
    struct raft_message m, reply;
    uint64_t first, second, after;
    struct raft *r;
    for (uint64_t id = 1; id <= 3; id++)
        raft_config_put(&config, &(struct raft_member){id, true, ""});
    r = raft_new(&opts, &s, 1000);
    m = append_of(2, 2, 1, 1, 8); /* Entries 2 to 9, */
    ck_assert(raft_receive(r, 2000, &m, &reply, &first));
    raft_message_close(&m);
    m = append_of(3, 3, 6, 2, 1); /* of which another leader replaces 7. */
    ck_assert(raft_receive(r, 3000, &m, &reply, &second));
    raft_message_close(&m);
    raft_stored(r, 4000, first);
    m = append_of(3, 3, 7, 3, 0);
    ck_assert(raft_receive(r, 5000, &m, &reply, &after));
    raft_message_close(&m);
    ck_assert_uint_eq(reply.index, 6);
    ck_assert_uint_lt(after, second);
    raft_stored(r, 6000, second);
    m = append_of(3, 3, 7, 3, 0);
    ck_assert(raft_receive(r, 7000, &m, &reply, &after));
    raft_message_close(&m);
    ck_assert_uint_eq(reply.index, 7);
    raft_free(r);
}

END_TEST

/* An append whose entries go back in term, or are newer than its leader, comes
 * from no correct member: nothing of it is taken. */
START_TEST(test_terms_along_a_log_never_decrease)
{
    static const uint64_t terms[][2] = {{3, 2}, {1, 3}, {3, 4}};
    struct raft_config config = {0};
    struct raft_options opts = {.id = 1,
                                .election_us = ELECTION_US,
                                .heartbeat_us = HEARTBEAT_US,
                                .seed = 1};
    struct raft_stable s = {
        .term = 2, .snapshot_index = 1, .snapshot_term = 2, .config = &config};
    struct raft_message m, reply;
    uint64_t after;
    struct raft *r;
    for (uint64_t id = 1; id <= 3; id++)
        raft_config_put(&config, &(struct raft_member){id, true, ""});
    r = raft_new(&opts, &s, 1000);
    for (size_t i = 0; i < ARRAY_LEN(terms); i++) {
        m = append_of(2, 3, 1, 2, 2);
        m.entries[0].term = terms[i][0];
        m.entries[1].term = terms[i][1];
        ck_assert(!raft_receive(r, 2000, &m, &reply, &after));
        raft_message_close(&m);
        ck_assert_uint_eq(raft_log_last(raft_entries(r)), 1);
        ck_assert_uint_eq(raft_contradictions(r), i + 1);
    }
    raft_free(r);
}

END_TEST

TEST_MAIN("raft",
          test_promises_hold_in_storms,
          test_a_lease_beyond_what_clocks_allow_is_found,
          test_a_lease_spares_rounds_and_ends_with_silence,
          test_a_hand_over_ends_leases_for_the_term,
          test_a_cell_without_work_rests,
          test_a_leader_that_dies_at_rest_is_replaced,
          test_a_cell_waits_with_its_rest_for_all,
          test_a_table_needs_voters_that_answer,
          test_votes_are_explained,
          test_an_old_terms_entry_is_not_committed_by_counting_copies,
          test_a_new_leader_commits_one_of_its_own_first,
          test_a_follower_that_lost_an_entry_is_told,
          test_a_truncation_that_meets_a_snapshot_is_not_lost,
          test_void_entries_do_not_count_as_stored,
          test_terms_along_a_log_never_decrease)
