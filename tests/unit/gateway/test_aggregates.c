/* Families of an aggregate through the public API: made, described, added to
 * and merged into; what the service refuses is refused. */
#include "tests/unit/gateway/fixture.h"

/* Type: Aggregate with the input Int64 and aggregator @function. */
static void put_type(struct buf *b, unsigned number, unsigned function)
{
    size_t type = pb_open(b, number);
    size_t aggregate = pb_open(b, 6);
    size_t input = pb_open(b, 1);
    pb_put_bytes(b, 5, SLICE_EMPTY);
    pb_close(b, input);
    pb_put_bytes(b, function, SLICE_EMPTY);
    pb_close(b, aggregate);
    pb_close(b, type);
}

static void
put_aggregate_family(struct buf *b, const char *name, unsigned function)
{
    size_t entry = pb_open(b, 3);
    size_t family;
    pb_put_bytes(b, 1, slice_str(name));
    family = pb_open(b, 2);
    put_type(b, 3, function);
    pb_close(b, family);
    pb_close(b, entry);
}

static void create(void)
{
    struct buf b = BUF_INIT;
    size_t table;
    pb_put_bytes(&b, 1, SLICE_LIT(INSTANCE));
    pb_put_bytes(&b, 2, SLICE_LIT("t"));
    table = pb_open(&b, 3);
    put_family(&b, "f", 0);
    put_aggregate_family(&b, "sum", 4);
    put_aggregate_family(&b, "hll", 5);
    pb_close(&b, table);
    ck_assert_int_eq(call(TABLES "CreateTable", &b), GRPC_OK);
}

/* AddToCell (5) or MergeToCell (6) with @input, a Value, of column "q". */
static int
write_operand(unsigned kind, const char *family, int64_t us, struct slice input)
{
    struct buf b = BUF_INIT;
    size_t mutation;
    size_t operand;
    size_t value;
    pb_put_bytes(&b, 1, SLICE_LIT(TABLE));
    pb_put_bytes(&b, 2, SLICE_LIT("r"));
    mutation = pb_open(&b, 3);
    operand = pb_open(&b, kind);
    pb_put_bytes(&b, 1, slice_str(family));
    value = pb_open(&b, 2);
    pb_put_bytes(&b, 8, SLICE_LIT("q"));
    pb_close(&b, value);
    value = pb_open(&b, 3);
    pb_put_integer(&b, 9, us);
    pb_close(&b, value);
    pb_put_bytes(&b, 4, input);
    pb_close(&b, operand);
    pb_close(&b, mutation);
    return call(DATA "MutateRow", &b);
}

static int add(const char *family, int64_t us, int64_t n)
{
    struct buf value = BUF_INIT;
    int code;
    pb_put_integer(&value, 6, n);
    code = write_operand(5, family, us, buf_slice(&value));
    buf_close(&value);
    return code;
}

/* The Aggregate of family @name of @table. */
static struct slice aggregate_of(struct slice table, const char *name)
{
    struct cursor c = cursor_make(table);
    struct pb_field f;
    while (pb_next(&c, &f))
        if (pb_is_bytes(&f, 3) && slice_eq_str(pb_find(f.bytes, 1), name))
            return pb_find(pb_find(pb_find(f.bytes, 2), 3), 6);
    return SLICE_EMPTY;
}

static void run_aggregates(void *arg)
{
    struct slice message;
    struct slice type;
    size_t at = 0;
    (void)arg;
    open_all();
    create();
    ck_assert_int_eq(add("sum", 1000, 0x4142434445464740), GRPC_OK);
    ck_assert_int_eq(add("sum", 1000, 8), GRPC_OK);
    ck_assert_int_eq(add("sum", 2000, 0x6162636465666768), GRPC_OK);
    ck_assert_int_eq(
        write_operand(6, "sum", 2000, SLICE_LIT("\x42\x08\0\0\0\0\0\0\0\1")),
        GRPC_OK);
    read_all();
    expect_rows("r{sum:q@2000=abcdefgi sum:q@1000=ABCDEFGH}\n");
    /* Merging NULL has no effect. */
    ck_assert_int_eq(write_operand(6, "sum", 1000, SLICE_EMPTY), GRPC_OK);
    read_all();
    expect_rows("r{sum:q@2000=abcdefgi sum:q@1000=ABCDEFGH}\n");
    /* Refused. */
    ck_assert_int_eq(write_cell("r", "sum", "q", 1000, SLICE_LIT("12345678")),
                     GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(add("f", 1000, 1), GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(add("none", 1000, 1), GRPC_NOT_FOUND);
    ck_assert_int_eq(add("sum", 1, 1), GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(write_operand(5, "sum", 0, SLICE_EMPTY),
                     GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(write_operand(5, "sum", 0, SLICE_LIT("\x42\x01x")),
                     GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(
        write_operand(6, "hll", 0, SLICE_LIT("\x42\x08\0\0\0\0\0\0\0\1")),
        GRPC_INVALID_ARGUMENT);
    /* The type comes back with its state's. */
    ck_assert_int_eq(call_named(TABLES "GetTable", TABLE), GRPC_OK);
    ck_assert(grpc_reply_next(&reply, &at, &message));
    type = aggregate_of(message, "sum");
    ck_assert(pb_has_field(type, 4));
    ck_assert(pb_has_field(pb_find(type, 1), 5)); /* The input is Int64, */
    ck_assert(pb_has_field(pb_find(type, 2), 5)); /* and so is the state. */
    type = aggregate_of(message, "hll");
    ck_assert(pb_has_field(type, 5));
    ck_assert(pb_has_field(pb_find(type, 2), 1)); /* Bytes. */
    close_all();
}

/* Inputs and states that were written are read as the state of their cell. */
START_TEST(test_added_cells)
{
    run(run_aggregates);
}

END_TEST

static int modify(const char *id, unsigned kind, unsigned function)
{
    struct buf b = BUF_INIT;
    size_t modification;
    size_t family;
    pb_put_bytes(&b, 1, SLICE_LIT(TABLE));
    modification = pb_open(&b, 2);
    pb_put_bytes(&b, 1, slice_str(id));
    family = pb_open(&b, kind);
    if (function)
        put_type(&b, 3, function);
    pb_close(&b, family);
    if (kind == 3) {
        size_t mask = pb_open(&b, 6);
        pb_put_bytes(&b, 1, SLICE_LIT("value_type"));
        pb_close(&b, mask);
    }
    pb_close(&b, modification);
    return call(TABLES "ModifyColumnFamilies", &b);
}

static void run_types(void *arg)
{
    (void)arg;
    open_all();
    create();
    ck_assert_int_eq(modify("max", 2, 6), GRPC_OK);
    ck_assert_int_eq(modify("odd", 2, 9), GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(modify("sum", 3, 4), GRPC_OK);
    ck_assert_int_eq(modify("sum", 3, 7), GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(modify("sum", 3, 0), GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(modify("f", 3, 4), GRPC_INVALID_ARGUMENT);
    close_all();
}

/* An aggregate cannot be changed, nor can a family become one. */
START_TEST(test_types_stay)
{
    run(run_types);
}

END_TEST

TEST_MAIN("gateway_aggregates", test_added_cells, test_types_stay)
