/* Nodes as bytes, and the arithmetic of a round, in integers: sums do not
 * depend on the order of their terms. */
#include "jobs/page_rank_node.h"

#include "base/core/coding.h"
#include "base/core/panic.h"

void page_rank_node_encode(const struct page_rank_node *n, struct buf *out)
{
    buf_put_le64(out, n->rank);
    buf_put_le64(out, n->sum);
    buf_put_u8(out, n->has_targets);
    buf_append_slice(out, n->targets);
}

bool page_rank_node_decode(struct slice bytes, struct page_rank_node *n)
{
    struct cursor in = cursor_make(bytes);
    n->rank = cursor_le64(&in);
    n->sum = cursor_le64(&in);
    n->has_targets = cursor_u8(&in) != 0;
    n->targets = cursor_bytes(&in, cursor_left(&in));
    return !in.bad;
}

/* @x times @ppm millionths, rounded down. */
static uint64_t page_rank_node_scale(uint64_t x, uint32_t ppm)
{
    PRE(ppm <= 1000000);
    return x / 1000000 * ppm + x % 1000000 * ppm / 1000000;
}

uint64_t page_rank_next(const struct page_rank_round *r, uint64_t sum)
{
    PRE(r->nodes > 0);
    uint64_t jump =
        page_rank_node_scale(PAGE_RANK_TOTAL, 1000000 - r->damping_ppm) /
        r->nodes;
    return jump +
           page_rank_node_scale(sum + r->dangling / r->nodes, r->damping_ppm);
}
