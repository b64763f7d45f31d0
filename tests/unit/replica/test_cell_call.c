/* Calls about members: what is written is read again, and nothing else is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/rand.h"
#include "base/replica/cell_call.h"
#include "tests/lib/check_main.h"

static void draw_address(struct rand_gen *r, char out[256])
{
    size_t len = rand_below(r, 256);
    for (size_t i = 0; i < len; i++)
        out[i] = (char)('!' + rand_below(r, 90));
    out[len] = '\0';
}

/* A number of any length. */
static uint64_t draw_number(struct rand_gen *r)
{
    return rand_u64(r) >> rand_below(r, 64);
}

static void draw_view(struct rand_gen *r, struct cell_view *v)
{
    struct replica_status *s = &v->status;
    memset(v, 0, sizeof(*v));
    v->list = draw_number(r);
    s->role = (enum replica_role)rand_below(r, REPLICA_OUTSIDE + 1);
    s->id = draw_number(r);
    s->term = draw_number(r);
    s->last_index = draw_number(r);
    s->commit_index = draw_number(r);
    s->applied_index = draw_number(r);
    s->snapshot_index = draw_number(r);
    s->member_count = rand_below(r, REPLICA_MEMBERS_MAX + 1);
    for (size_t i = 0; i < s->member_count; i++) {
        s->members[i].id = draw_number(r) + 1;
        s->members[i].voting = rand_one_in(r, 2);
        s->members[i].match_index = draw_number(r);
        s->members[i].reachable = rand_one_in(r, 2);
        draw_address(r, s->members[i].address);
    }
    if (s->member_count && rand_one_in(r, 2)) {
        size_t i = rand_below(r, s->member_count);
        s->leader_id = s->members[i].id;
        memcpy(s->leader_address, s->members[i].address,
               sizeof(s->leader_address));
    }
}

START_TEST(test_views_come_back)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int i = 0; i < 500; i++) {
        struct cell_view v, w;
        struct buf b = BUF_INIT;
        struct err err = ERR_INIT;
        draw_view(&r, &v);
        cell_view_put(&v, &b);
        ck_assert_msg(cell_view_get(buf_slice(&b), &w, &err) == 0, "%s",
                      err.text);
        ck_assert_mem_eq(&v, &w, sizeof(v));
        for (size_t len = 0; len < b.len; len++)
            ck_assert_int_eq(cell_view_get(slice_make(b.data, len), &w, NULL),
                             ERR_CORRUPT);
        buf_close(&b);
    }
}

END_TEST

START_TEST(test_requests_come_back)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int i = 0; i < 500; i++) {
        struct cell_request q = {.cell = draw_number(&r),
                                 .id = draw_number(&r)};
        struct cell_request p;
        struct buf b = BUF_INIT;
        struct err err = ERR_INIT;
        q.verb = (enum cell_verb)(1 + rand_below(&r, CELL_LEAD));
        draw_address(&r, q.address);
        cell_request_put(&q, &b);
        ck_assert_msg(cell_request_get(buf_slice(&b), &p, &err) == 0, "%s",
                      err.text);
        ck_assert_uint_eq(p.cell, q.cell);
        ck_assert_uint_eq(p.id, q.id);
        ck_assert_int_eq(p.verb, q.verb);
        ck_assert_str_eq(p.address, q.address);
        for (size_t len = 0; len < b.len; len++)
            ck_assert_int_eq(
                cell_request_get(slice_make(b.data, len), &p, NULL),
                ERR_CORRUPT);
        buf_close(&b);
    }
}

END_TEST

/* Bytes of a true answer, some of them others. */
START_TEST(test_hostile_bytes_are_refused_or_sane)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int i = 0; i < 20000; i++) {
        struct cell_view v;
        struct cell_request q;
        struct buf b = BUF_INIT;
        draw_view(&r, &v);
        cell_view_put(&v, &b);
        for (uint64_t n = 1 + rand_below(&r, 4); n > 0; n--)
            b.data[rand_below(&r, MIN_OF(b.len, 60))] = (char)rand_u64(&r);
        if (cell_view_get(buf_slice(&b), &v, NULL) == 0) {
            ck_assert_uint_le(v.status.member_count, REPLICA_MEMBERS_MAX);
            for (size_t j = 0; j < v.status.member_count; j++)
                ck_assert_ptr_nonnull(
                    memchr(v.status.members[j].address, '\0', 256));
        }
        if (cell_request_get(buf_slice(&b), &q, NULL) == 0)
            ck_assert_ptr_nonnull(memchr(q.address, '\0', 256));
        buf_close(&b);
    }
}

END_TEST

TEST_MAIN("cell_call",
          test_views_come_back,
          test_requests_come_back,
          test_hostile_bytes_are_refused_or_sane)
