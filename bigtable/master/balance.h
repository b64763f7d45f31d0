/* Which tablets move to even out the servers' loads: a pure decision.
 *
 * A move interrupts the rows of its tablet, so there is hysteresis: nothing
 * moves while every server is within the outer band around the mean; once one
 * is outside, tablets go from the most to the least loaded server until all are
 * within the inner band, and each move must make the two more equal: so the sum
 * of the squares of all loads falls, and with loads that do not change the
 * moves come to an end. Servers that no move would help are left out, also of
 * the mean. Rounds are bounded; the next round looks at the loads of then.
 * METADATA's tablets and tablets that moved lately stay. */
#ifndef BIGTABLE_MASTER_BALANCE_H
#define BIGTABLE_MASTER_BALANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Around the mean, in percent of it. */
#define BALANCE_OUTER_PERCENT 15
#define BALANCE_INNER_PERCENT 8

struct balance_server {
    double load; /* Sum of its tablets' weights. */
    bool usable; /* May be given tablets. */
};

struct balance_tablet {
    uint32_t server; /* Index. */
    double weight;
    bool movable;
};

struct balance_move {
    uint32_t tablet;
    uint32_t to;
};

/* Put at most @max moves into @out; returns their number. The servers of
 * @tablets and the loads of @servers are changed as if the moves were made. */
size_t balance_choose(struct balance_server *servers,
                      size_t server_count,
                      struct balance_tablet *tablets,
                      size_t tablet_count,
                      struct balance_move *out,
                      size_t max);

/* Moves in a round: one tablet in a hundred, and two at least. */
size_t balance_round(size_t tablet_count);

#endif /* BIGTABLE_MASTER_BALANCE_H */
