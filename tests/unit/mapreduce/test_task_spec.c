/* Specifications of attempts come from another process: one whose numbers do
 * not fit together is refused when it is decoded. */
#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "mapreduce/task/input_split.h"
#include "mapreduce/task/task_spec.h"
#include "tests/lib/check_main.h"

/* Decode a specification with one segment of its one file; returns the error.
 */
static int decode_segment(uint64_t offset, uint64_t bytes)
{
    struct task_spec s;
    struct task_spec back;
    struct buf out = BUF_INIT;
    int rc;
    task_spec_init(&s);
    s.attempt = 1;
    s.partition_count = 1;
    s.resolved = true;
    s.segments = mem_zalloc(1, sizeof(*s.segments));
    s.segments[0] = (struct task_segment){0, offset, bytes, 1};
    s.segment_count = 1;
    s.files = mem_zalloc(1, sizeof(char *));
    s.files[0] = mem_strdup("spill");
    s.file_count = 1;
    task_spec_encode(&s, &out);
    rc = task_spec_decode(&back, buf_slice(&out), NULL);
    task_spec_close(&back);
    task_spec_close(&s);
    buf_close(&out);
    return rc;
}

/* A segment ends within what a file can have. */
START_TEST(test_the_end_of_a_segment_does_not_overflow)
{
    ck_assert_int_eq(decode_segment(100, 50), 0);
    ck_assert_int_eq(decode_segment(UINT64_MAX - 50, 50), 0);
    ck_assert_int_eq(decode_segment(UINT64_MAX - 49, 50), ERR_CORRUPT);
    ck_assert_int_eq(decode_segment(1, UINT64_MAX), ERR_CORRUPT);
}

END_TEST

/* Is a split of the bytes [20, end) decoded, which was encoded as [20, 30)? */
static bool is_decoded(char end)
{
    struct input_split s = {.begin = 20, .end = 30};
    struct input_split back;
    struct buf out = BUF_INIT;
    struct cursor c;
    char *at;
    s.path = mem_strdup("file");
    input_split_encode(&s, &out);
    at = memchr(out.data, 30, out.len);
    ck_assert(at != NULL && at[-1] == 20);
    *at = end;
    c = cursor_make(buf_slice(&out));
    input_split_decode(&back, &c);
    input_split_close(&back);
    input_split_close(&s);
    buf_close(&out);
    return !c.bad;
}

/* A split does not end before it begins. */
START_TEST(test_a_split_ends_behind_its_beginning)
{
    ck_assert(is_decoded(30));
    ck_assert(is_decoded(20));
    ck_assert(!is_decoded(19));
}

END_TEST

TEST_MAIN("task spec",
          test_the_end_of_a_segment_does_not_overflow,
          test_a_split_ends_behind_its_beginning)
