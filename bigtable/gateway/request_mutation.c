/* The message Mutation as changes of a quarry_mutation. The commonest one, a
 * single SetCell, is rewritten over its own bytes as the store's operation, so
 * that a value travels from the socket to the log without being copied here.
 */
#include "bigtable/gateway/request_mutation.h"

#include <string.h>

#include "base/core/pb.h"
#include "bigtable/gateway/api_fields.h"
#include "bigtable/row/mutation.h"

/* Timestamps are in µs, but only whole milliseconds are allowed. */
#define GRANULARITY_US 1000
/* The timestamp that stands for the server's clock. */
#define SERVER_TIME (-1)
/* A time that no cell of the API has. */
#define NO_TIME_US (INT64_MIN + 2)

struct fields {
    struct slice family;
    struct slice qualifier;
    int64_t timestamp;
    struct slice value;
    struct slice times;
};

/* Every kind of mutation has a subset of the fields of SetCell and
 * DeleteFromColumn, under the same numbers, so one loop reads all of them; 3 is
 * a timestamp in the one and a range in the other, and the wire type tells
 * which.
 */
STATIC_ASSERT((int)PB_SetCell_family_name ==
                      (int)PB_DeleteFromColumn_family_name &&
                  (int)PB_SetCell_family_name ==
                      (int)PB_DeleteFromFamily_family_name &&
                  (int)PB_SetCell_column_qualifier ==
                      (int)PB_DeleteFromColumn_column_qualifier,
              "one loop reads all kinds of mutations");

static int
request_mutation_parse(struct slice bytes, struct fields *out, struct err *err)
{
    struct fields is = {.family = SLICE_EMPTY,
                        .qualifier = SLICE_EMPTY,
                        .value = SLICE_EMPTY,
                        .times = SLICE_EMPTY};
    struct cursor c = cursor_make(bytes);
    struct pb_field f;
    while (pb_next(&c, &f)) {
        if (pb_is_bytes(&f, PB_SetCell_family_name))
            is.family = f.bytes;
        else if (pb_is_bytes(&f, PB_SetCell_column_qualifier))
            is.qualifier = f.bytes;
        else if (pb_is_integer(&f, PB_SetCell_timestamp_micros))
            is.timestamp = (int64_t)f.integer;
        else if (pb_is_bytes(&f, PB_DeleteFromColumn_time_range))
            is.times = f.bytes;
        else if (pb_is_bytes(&f, PB_SetCell_value))
            is.value = f.bytes;
    }
    *out = is;
    return c.bad ? err_set(err, ERR_INVALID, "not a Mutation") : 0;
}

int request_family(struct slice name,
                   char out[REQUEST_FAMILY_BYTES_MAX + 1],
                   struct err *err)
{
    if (name.len == 0)
        return err_set(err, ERR_INVALID, "the column family has no name");
    if (name.len > REQUEST_FAMILY_BYTES_MAX ||
        slice_find_byte(name, '\0') < name.len)
        return err_set(err, ERR_NOTFOUND, "there is no column family \"%.*s\"",
                       SLICE_ARG(slice_sub(name, 0, 80)));
    memcpy(out, name.data, name.len);
    out[name.len] = '\0';
    return 0;
}

static int check_time(int64_t us, struct err *err)
{
    if (us >= 0 && us % GRANULARITY_US == 0)
        return 0;
    return err_set(err, ERR_INVALID,
                   "timestamp granularity mismatch: expected a multiple of "
                   "1000 (millisecond granularity), but got %lld",
                   (long long)us);
}

static int set_cell(struct quarry_mutation *m,
                    const struct fields *f,
                    const char *family,
                    int64_t now_us,
                    struct err *err)
{
    int64_t us = f->timestamp == SERVER_TIME ? now_us : f->timestamp;
    int rc = check_time(us, err);
    if (rc == 0)
        quarry_mutation_set(m, family, f->qualifier, us, f->value);
    return rc;
}

/* [start, end) of a TimestampRange, in any microseconds, as Beam's tests
 * delete; an end of 0 is none. */
static int parse_times(struct slice bytes, int64_t ends[2], struct err *err)
{
    struct cursor c = cursor_make(bytes);
    struct pb_field f;
    ends[0] = ends[1] = 0;
    while (pb_next(&c, &f)) {
        if (pb_is_integer(&f, PB_TimestampRange_start_timestamp_micros))
            ends[0] = (int64_t)f.integer;
        else if (pb_is_integer(&f, PB_TimestampRange_end_timestamp_micros))
            ends[1] = (int64_t)f.integer;
    }
    if (c.bad)
        return err_set(err, ERR_INVALID, "not a TimestampRange");
    if (ends[0] < 0 || ends[1] < 0)
        return err_set(err, ERR_INVALID, "a time range that is negative");
    if (ends[1] && ends[0] >= ends[1])
        return err_set(err, ERR_INVALID, "a time range that is empty");
    return 0;
}

static int delete_cells(struct quarry_mutation *m,
                        const struct fields *f,
                        const char *family,
                        struct err *err)
{
    int64_t ends[2];
    int rc = parse_times(f->times, ends, err);
    if (rc)
        return rc;
    if (ends[0] && !ends[1])
        ends[1] = INT64_MAX;
    quarry_mutation_delete_cells(m, family, f->qualifier, ends[0], ends[1]);
    return 0;
}

/* The fields of AddToCell and MergeToCell have the numbers of SetCell's, and
 * are messages Value. */
STATIC_ASSERT(
    (int)PB_AddToCell_column_qualifier == (int)PB_SetCell_column_qualifier &&
        (int)PB_AddToCell_timestamp == (int)PB_DeleteFromColumn_time_range &&
        (int)PB_AddToCell_input == (int)PB_SetCell_value &&
        (int)PB_MergeToCell_column_qualifier ==
            (int)PB_AddToCell_column_qualifier &&
        (int)PB_MergeToCell_timestamp == (int)PB_AddToCell_timestamp &&
        (int)PB_MergeToCell_input == (int)PB_AddToCell_input,
    "one loop reads all kinds of mutations");

/* The input in @value, a Value: bytes as they are, an integer as 8 bytes in
 * @room. *@any is false for NULL. */
static int operand_input(struct slice value,
                         char room[8],
                         struct slice *out,
                         bool *any,
                         struct err *err)
{
    struct cursor c = cursor_make(value);
    struct pb_field f;
    *any = false;
    *out = SLICE_EMPTY;
    while (pb_next(&c, &f)) {
        if (f.number == PB_Value_type)
            continue;
        *any = true;
        if (pb_is_bytes(&f, PB_Value_raw_value) ||
            pb_is_bytes(&f, PB_Value_bytes_value) ||
            pb_is_bytes(&f, PB_Value_string_value)) {
            *out = f.bytes;
        } else if (pb_is_integer(&f, PB_Value_int_value)) {
            put_be64(room, f.integer);
            *out = slice_make(room, 8);
        } else {
            return err_set(err, ERR_INVALID,
                           "input: an aggregate takes int_value, bytes_value, "
                           "string_value or raw_value");
        }
    }
    return c.bad ? err_set(err, ERR_INVALID, "input: not a Value") : 0;
}

/* AddToCell and MergeToCell. */
static int add_operand(struct quarry_mutation *m,
                       enum mutation_kind kind,
                       const struct fields *f,
                       const char *family,
                       struct err *err)
{
    int64_t us =
        (int64_t)pb_find_integer(f->times, PB_Value_raw_timestamp_micros);
    struct slice input;
    char room[8];
    bool any;
    int rc = operand_input(f->value, room, &input, &any, err);
    if (rc)
        return rc;
    if (!pb_has_field(f->qualifier, PB_Value_raw_value))
        return err_set(err, ERR_INVALID,
                       "column_qualifier: a raw_value is wanted");
    if (!pb_has_field(f->times, PB_Value_raw_timestamp_micros))
        return err_set(err, ERR_INVALID,
                       "timestamp: raw_timestamp_micros is wanted");
    rc = check_time(us, err);
    if (rc)
        return rc;
    if (!any && kind == MUTATION_ADD)
        return err_set(err, ERR_INVALID, "input: there is none to add");
    if (any)
        mutation_operand(m, kind, slice_str(family),
                         pb_find(f->qualifier, PB_Value_raw_value), us, input);
    else /* Merging NULL has no effect: nor has this, but it has a family. */
        mutation_delete_cells(m, slice_str(family), SLICE_EMPTY, NO_TIME_US,
                              NO_TIME_US + 1);
    return 0;
}

static int request_mutation_add_kind(struct quarry_mutation *m,
                                     const struct pb_field *kind,
                                     int64_t now_us,
                                     struct err *err)
{
    char family[REQUEST_FAMILY_BYTES_MAX + 1];
    struct fields f;
    int rc = request_mutation_parse(kind->bytes, &f, err);
    if (rc)
        return rc;
    if (kind->number == PB_Mutation_delete_from_row) {
        quarry_mutation_delete_row(m);
        return 0;
    }
    rc = request_family(f.family, family, err);
    if (rc)
        return rc;
    switch (kind->number) {
    case PB_Mutation_set_cell: return set_cell(m, &f, family, now_us, err);
    case PB_Mutation_delete_from_column:
        return delete_cells(m, &f, family, err);
    case PB_Mutation_delete_from_family:
        quarry_mutation_delete_family(m, family);
        return 0;
    case PB_Mutation_add_to_cell:
        return add_operand(m, MUTATION_ADD, &f, family, err);
    default: return add_operand(m, MUTATION_MERGE, &f, family, err);
    }
}

static int find_kind(struct slice bytes, struct pb_field *kind, struct err *err)
{
    struct cursor c = cursor_make(bytes);
    struct pb_field f;
    kind->number = 0;
    while (pb_next(&c, &f)) /* The last field of a oneof counts. */
        if (f.wire == PB_BYTES && f.number >= PB_Mutation_set_cell &&
            f.number <= PB_Mutation_merge_to_cell)
            *kind = f;
    if (c.bad)
        return err_set(err, ERR_INVALID, "not a Mutation");
    if (kind->number == 0)
        return err_set(err, ERR_INVALID,
                       "a mutation without a kind (set_cell, delete_from_…)");
    return 0;
}

int request_mutation_add(struct quarry_mutation *m,
                         struct slice bytes,
                         int64_t now_us,
                         struct err *err)
{
    struct pb_field kind;
    int rc = find_kind(bytes, &kind, err);
    return rc ? rc : request_mutation_add_kind(m, &kind, now_us, err);
}

/* Make @m the SetCell in @bytes, in place. False: use
 * request_mutation_add_kind(), which also says what is wrong with it. */
static bool
set_in_place(struct quarry_mutation *m, struct slice bytes, int64_t now_us)
{
    struct fields f;
    int64_t us;
    if (request_mutation_parse(bytes, &f, NULL) || f.family.len == 0 ||
        slice_find_byte(f.family, '\0') < f.family.len)
        return false;
    us = f.timestamp == SERVER_TIME ? now_us : f.timestamp;
    return check_time(us, NULL) == 0 &&
           mutation_set_in_place(m, f.family, f.qualifier, us,
                                 (char *)(uintptr_t)bytes.data, f.value);
}

int request_mutation_take(struct quarry_mutation *m,
                          struct slice bytes,
                          int64_t now_us,
                          struct err *err)
{
    struct pb_field kind;
    int rc = find_kind(bytes, &kind, err);
    if (rc)
        return rc;
    if (kind.number == PB_Mutation_set_cell &&
        set_in_place(m, kind.bytes, now_us))
        return 0;
    return request_mutation_add_kind(m, &kind, now_us, err);
}

int request_mutation_add_all(struct quarry_mutation *m,
                             struct slice message,
                             unsigned number,
                             int64_t now_us,
                             struct err *err)
{
    struct cursor c = cursor_make(message);
    struct pb_field f;
    int rc = 0;
    while (rc == 0 && pb_next(&c, &f))
        if (pb_is_bytes(&f, number))
            rc = request_mutation_add(m, f.bytes, now_us, err);
    return rc;
}
