/* Unauthenticated peers take nothing from peers, addresses nothing from each
 * other, and members and this machine's clients find the places that are kept
 * for them. */
#include <stdio.h>
#include <stdlib.h>

#include "base/core/rand.h"
#include "base/rpc/admission.h"
#include "tests/lib/check_main.h"

#define GUESTS_MAX 64

static struct admission admission;
static struct admission_guest guests[GUESTS_MAX];

static void start(size_t unauthenticated,
                  size_t unauthenticated_per_address,
                  size_t peers,
                  size_t peers_per_address,
                  size_t reserved)
{
    const struct admission_limits l = {
        .unauthenticated_max = unauthenticated,
        .unauthenticated_per_address_max = unauthenticated_per_address,
        .peers_max = peers,
        .peers_per_address_max = peers_per_address,
        .peers_reserved = reserved};
    admission_init(&admission, &l);
}

static enum admission_verdict
enter(size_t i, const char *peer, bool nearby, struct admission_guest **evicted)
{
    admission_guest_init(&guests[i], peer, nearby);
    return admission_enter(&admission, &guests[i], evicted);
}

static void must_enter(size_t i, const char *peer)
{
    struct admission_guest *evicted;
    ck_assert_int_eq(enter(i, peer, false, &evicted), ADMISSION_GRANTED);
}

static enum admission_verdict prove(size_t i, bool member)
{
    return admission_prove(&admission, &guests[i], member);
}

/* Of unauthenticated peers an address may have its part; ports do not tell
 * addresses apart, networks of IPv6 do. */
START_TEST(test_unauthenticated_of_an_address)
{
    struct admission_guest *evicted;
    start(10, 2, 10, 10, 0);
    must_enter(0, "10.0.0.1:1");
    must_enter(1, "10.0.0.1:2");
    ck_assert_int_eq(enter(2, "10.0.0.1:3", false, &evicted),
                     ADMISSION_ADDRESS_FULL);
    must_enter(2, "10.0.0.2:3");
    must_enter(3, "[2001:db8:0:1::1]:9");
    must_enter(4, "[2001:db8:0:1:ffff::2]:9");
    ck_assert_int_eq(enter(5, "[2001:db8:0:1:aaaa::3]:9", false, &evicted),
                     ADMISSION_ADDRESS_FULL);
    must_enter(5, "[2001:db8:0:2::1]:9");
    admission_leave(&admission, &guests[0]);
    must_enter(6, "10.0.0.1:4");
}

END_TEST

/* Where all places are taken the oldest unauthenticated peer goes, and one of
 * this machine only for another one. */
START_TEST(test_oldest_unauthenticated_goes)
{
    struct admission_guest *evicted;
    start(3, 3, 10, 10, 0);
    ck_assert_int_eq(enter(0, "unix:", true, &evicted), ADMISSION_GRANTED);
    must_enter(1, "10.0.0.1:1");
    must_enter(2, "10.0.0.2:1");
    ck_assert_int_eq(enter(3, "10.0.0.3:1", false, &evicted),
                     ADMISSION_GRANTED);
    ck_assert_ptr_eq(evicted, &guests[1]);
    ck_assert_int_eq(guests[1].state, ADMISSION_OUTSIDE);
    admission_leave(&admission, &guests[1]); /* It notices: nothing happens. */
    ck_assert_uint_eq(admission.unauthenticated_count, 3);
    ck_assert_int_eq(enter(4, "unix:", true, &evicted), ADMISSION_GRANTED);
    ck_assert_ptr_eq(evicted, &guests[0]);
}

END_TEST

/* Peers are bounded in all and by address; what is kept is for members and for
 * this machine. */
START_TEST(test_places_are_kept)
{
    struct admission_guest *evicted;
    start(10, 10, 5, 2, 2);
    for (size_t i = 0; i < 3; i++)
        must_enter(i, "10.0.0.1:1");
    ck_assert_int_eq(prove(0, false), ADMISSION_GRANTED);
    ck_assert_int_eq(prove(1, false), ADMISSION_GRANTED);
    ck_assert_int_eq(prove(2, false), ADMISSION_ADDRESS_FULL);
    ck_assert_int_eq(guests[2].state, ADMISSION_OUTSIDE);
    must_enter(3, "10.0.0.2:1");
    must_enter(4, "10.0.0.3:1");
    ck_assert_int_eq(prove(3, false), ADMISSION_GRANTED);
    ck_assert_int_eq(prove(4, false), ADMISSION_FULL);
    must_enter(5, "10.0.0.1:2");
    ck_assert_int_eq(prove(5, true), ADMISSION_GRANTED);
    ck_assert_int_eq(enter(6, "unix:", true, &evicted), ADMISSION_GRANTED);
    ck_assert_int_eq(prove(6, false), ADMISSION_GRANTED);
    must_enter(7, "10.0.0.9:2");
    ck_assert_int_eq(prove(7, true), ADMISSION_FULL);
    admission_leave(&admission, &guests[0]);
    must_enter(8, "10.0.0.9:2");
    ck_assert_int_eq(prove(8, true), ADMISSION_GRANTED);
}

END_TEST

/* Unauthenticated peers by the thousand never keep a peer out: each that comes
 * proves itself before a flood has come round. */
START_TEST(test_flood)
{
    struct admission_guest *evicted;
    struct rand_gen r;
    char peer[32];
    rand_init(&r, 7);
    start(16, 4, 8, 8, 1);
    for (int i = 0; i < 10000; i++) {
        size_t at = rand_below(&r, GUESTS_MAX - 1) + 1;
        if (guests[at].state != ADMISSION_OUTSIDE)
            continue;
        snprintf(peer, sizeof(peer), "10.0.%d.%d:1", i >> 8 & 255, i & 255);
        (void)enter(at, peer, false, &evicted);
        if (evicted)
            ck_assert_int_eq(evicted->state, ADMISSION_OUTSIDE);
        if (i % 100 == 0) {
            must_enter(0, "192.168.0.1:1");
            ck_assert_int_eq(prove(0, false), ADMISSION_GRANTED);
            admission_leave(&admission, &guests[0]);
        }
        ck_assert_uint_le(admission.unauthenticated_count, 16);
    }
}

END_TEST

/* The defaults stay within the descriptors that connections may have. */
START_TEST(test_defaults)
{
    const struct admission_limits none = {.peers_max = 0};
    struct admission_limits l = admission_limits_default(&none, 512);
    ck_assert_uint_eq(l.peers_max, 512);
    ck_assert_uint_eq(l.unauthenticated_max, 128);
    ck_assert_uint_eq(l.unauthenticated_per_address_max, 64);
    ck_assert_uint_eq(l.peers_per_address_max, 128);
    ck_assert_uint_eq(l.peers_reserved, 64);
    l = admission_limits_default(&none, 100000);
    ck_assert_uint_eq(l.peers_max, 4096);
    ck_assert_uint_eq(l.unauthenticated_max, 512);
    ck_assert_uint_eq(l.peers_per_address_max, 1024);
    l = admission_limits_default(&none, 1);
    ck_assert_uint_ge(l.unauthenticated_max, 1);
    admission_init(&admission, &l);
}

END_TEST

/* Holders take places that are kept when there are no others, a half of them at
 * most, and members still find theirs. */
START_TEST(test_holders)
{
    start(64, 64, 20, 20, 10);
    for (size_t i = 0; i < 10; i++) {
        must_enter(i, "10.0.0.1:1");
        ck_assert_int_eq(prove(i, false), ADMISSION_GRANTED);
    }
    for (size_t i = 10; i < 16; i++) {
        must_enter(i, "10.0.0.2:1");
        ck_assert_int_eq(prove(i, false), ADMISSION_FULL);
        ck_assert_int_eq(admission_readmit(&admission, &guests[i]),
                         i < 15 ? ADMISSION_GRANTED : ADMISSION_FULL);
    }
    for (size_t i = 16; i < 21; i++) {
        must_enter(i, "10.0.0.3:1");
        ck_assert_int_eq(prove(i, true), ADMISSION_GRANTED);
    }
    must_enter(21, "10.0.0.3:1");
    ck_assert_int_eq(prove(21, true), ADMISSION_FULL);
    /* One that goes makes room for the next, and for nobody else. */
    admission_leave(&admission, &guests[10]);
    must_enter(22, "10.0.0.4:1");
    ck_assert_int_eq(prove(22, false), ADMISSION_FULL);
    ck_assert_int_eq(admission_readmit(&admission, &guests[22]),
                     ADMISSION_GRANTED);
}

END_TEST

/* The holders of one address are few: what it holds is no pass for a flood. */
START_TEST(test_holders_of_an_address)
{
    start(64, 64, 200, 200, 100);
    admission.plain_count = 100; /* All others are taken. */
    for (size_t i = 0; i < 40; i++) {
        must_enter(i, "10.0.0.2:1");
        ck_assert_int_eq(prove(i, false), ADMISSION_FULL);
        ck_assert_int_eq(admission_readmit(&admission, &guests[i]),
                         i < 32 ? ADMISSION_GRANTED : ADMISSION_ADDRESS_FULL);
    }
}

END_TEST

TEST_MAIN("admission",
          test_holders,
          test_holders_of_an_address,
          test_unauthenticated_of_an_address,
          test_oldest_unauthenticated_goes,
          test_places_are_kept,
          test_flood,
          test_defaults)
