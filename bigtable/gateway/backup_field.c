/* The table of fields. Texts compare by their letters in any case, as the
 * filter of the API says; times are Timestamp messages.
 */
#include "bigtable/gateway/backup_field.h"

#include "base/core/macros.h"
#include "base/core/panic.h"
#include "base/core/pb.h"
#include "bigtable/gateway/api_fields.h"

#define US_PER_S INT64_C(1000000)

static const struct backup_field fields[] = {
    {"name", PB_Backup_name, BACKUP_FIELD_TEXT},
    {"source_table", PB_Backup_source_table, BACKUP_FIELD_TEXT},
    {"expire_time", PB_Backup_expire_time, BACKUP_FIELD_TIME},
    {"start_time", PB_Backup_start_time, BACKUP_FIELD_TIME},
    {"end_time", PB_Backup_end_time, BACKUP_FIELD_TIME},
    {"size_bytes", PB_Backup_size_bytes, BACKUP_FIELD_SIZE},
    {"state", PB_Backup_state, BACKUP_FIELD_STATE},
};

const struct backup_field *backup_field_find(struct slice name)
{
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        if (backup_text_equal(name, slice_str(fields[i].name)))
            return &fields[i];
    return NULL;
}

static int64_t time_us(struct slice timestamp)
{
    return (int64_t)pb_find_integer(timestamp, PB_Timestamp_seconds) *
               US_PER_S +
           (int64_t)pb_find_integer(timestamp, PB_Timestamp_nanos) / 1000;
}

int64_t backup_field_number(const struct backup_field *f, struct slice backup)
{
    PRE(f->kind != BACKUP_FIELD_TEXT);
    if (f->kind == BACKUP_FIELD_TIME)
        return time_us(pb_find(backup, f->number));
    return (int64_t)pb_find_integer(backup, f->number);
}

int backup_field_compare(const struct backup_field *f,
                         struct slice a,
                         struct slice b)
{
    int64_t x;
    int64_t y;
    if (f->kind == BACKUP_FIELD_TEXT)
        return backup_text_compare(pb_find(a, f->number),
                                   pb_find(b, f->number));
    x = backup_field_number(f, a);
    y = backup_field_number(f, b);
    return (x > y) - (x < y);
}

static char lower_case(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool backup_text_equal(struct slice a, struct slice b)
{
    return a.len == b.len && backup_text_compare(a, b) == 0;
}

int backup_text_compare(struct slice a, struct slice b)
{
    for (size_t i = 0; i < a.len && i < b.len; i++) {
        char x = lower_case(a.data[i]);
        char y = lower_case(b.data[i]);
        if (x != y)
            return (unsigned char)x < (unsigned char)y ? -1 : 1;
    }
    return (a.len > b.len) - (a.len < b.len);
}
