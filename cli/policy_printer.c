/* Rights, quotas and rates as sheets: a row for each family and right with all
 * its principals, for each quota, and for each principal with a rate. Rights
 * and quotas also as JSON, for `quarry table describe`.
 */
#include "cli/policy_printer.h"

#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/text.h"
#include "bigtable/quarry_access.h"
#include "cli/table_printer.h"

#define EVERYBODY "open to all who are let into the cluster"

/* The next word of @line, cut off. */
static struct slice next_word(struct slice *line)
{
    struct slice rest = slice_trim(*line);
    size_t end = slice_find_byte(rest, ' ');
    *line = slice_sub(rest, end, rest.len);
    return slice_sub(rest, 0, end);
}

/* The next line of @list as its three words; false at the end. */
static bool next_line(struct slice *list, struct slice words[3])
{
    while (list->len > 0) {
        size_t end = slice_find_byte(*list, '\n');
        struct slice line = slice_sub(*list, 0, end);
        *list = slice_sub(*list, end + 1, list->len);
        line = slice_trim(slice_sub(line, 0, slice_find_byte(line, '#')));
        for (int i = 0; i < 3; i++)
            words[i] = next_word(&line);
        if (words[2].len > 0)
            return true;
    }
    return false;
}

int policy_print_rights(struct quarry *q,
                        const char *table,
                        enum cli_format format,
                        struct err *err)
{
    static const struct sheet_column columns[] = {{"family", SHEET_TEXT},
                                                  {"right", SHEET_TEXT},
                                                  {"principals", SHEET_TEXT}};
    struct buf list = BUF_INIT;
    struct slice rest, words[3];
    struct sheet s;
    bool any;
    int rc = quarry_acl_get(q, table, &list, &any, err);
    if (rc)
        return rc;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    rest = buf_slice(&list);
    while (next_line(&rest, words))
        for (int i = 0; i < 3; i++)
            sheet_add(&s, words[i]);
    if (!any && format == FORMAT_TEXT)
        puts(*table ? EVERYBODY : "no list: all may create tables");
    else
        sheet_print(&s, format);
    sheet_close(&s);
    buf_close(&list);
    return ERR_OK;
}

static uint64_t use_of(const struct quarry_use *u, size_t i)
{
    return i == 0 ? u->stored_bytes : i == 1 ? u->memory_bytes : 0;
}

static void add_quota(struct sheet *s, size_t i, uint64_t limit)
{
    struct buf text = BUF_INIT;
    quota_put_value(i, limit, &text);
    sheet_add_str(s, buf_cstr(&text));
    buf_close(&text);
}

int policy_print_quotas(struct quarry *q,
                        const char *table,
                        enum cli_format format,
                        struct err *err)
{
    static const struct sheet_column columns[] = {
        {"quota", SHEET_TEXT}, {"limit", SHEET_TEXT}, {"used", SHEET_BYTES}};
    struct quarry_quota quota;
    struct quarry_use use;
    struct sheet s;
    int rc = quarry_quota_get(q, table, &quota, &use, err);
    if (rc)
        return rc;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < QUOTA_COUNT; i++) {
        sheet_add_str(&s, quota_name(i));
        add_quota(&s, i, *quota_field(&quota, i));
        if (i < 2)
            sheet_add_u64(&s, use_of(&use, i));
        else
            sheet_add_str(&s, "");
    }
    sheet_print(&s, format);
    sheet_close(&s);
    return ERR_OK;
}

static void add_rate(struct sheet *s, size_t quota, uint64_t limit)
{
    if (limit)
        add_quota(s, quota, limit);
    else
        sheet_add_str(s, "none");
}

static void
add_principal(void *ctx, struct slice principal, uint64_t ops, uint64_t bytes)
{
    struct sheet *s = ctx;
    sheet_add(s, principal);
    add_rate(s, 2, ops);
    add_rate(s, 4, bytes);
}

int policy_print_rates(struct quarry *q,
                       const char *principal,
                       enum cli_format format,
                       struct err *err)
{
    static const struct sheet_column columns[] = {
        {"principal", SHEET_TEXT}, {"ops", SHEET_TEXT}, {"bytes", SHEET_TEXT}};
    struct sheet s;
    int rc;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    rc = quarry_rates_get(q, principal, add_principal, &s, err);
    if (!rc)
        sheet_print(&s, format);
    sheet_close(&s);
    return rc;
}

static void put_rights_json(struct slice list, struct buf *out)
{
    static const char *const names[] = {"family", "right", "principals"};
    struct slice words[3];
    bool first = true;
    buf_append_str(out, "[");
    while (next_line(&list, words)) {
        buf_append_str(out, first ? "{" : ", {");
        first = false;
        for (int i = 0; i < 3; i++) {
            buf_printf(out, "%s\"%s\": ", i ? ", " : "", names[i]);
            text_put_json(out, words[i]);
        }
        buf_append_byte(out, '}');
    }
    buf_append_str(out, "]");
}

int policy_put_json(struct quarry *q,
                    const char *table,
                    struct buf *out,
                    struct err *err)
{
    struct quarry_quota quota;
    struct buf list = BUF_INIT;
    bool any;
    int rc = quarry_acl_get(q, table, &list, &any, err);
    if (rc == ERR_UNSUPPORTED)
        return ERR_OK;
    if (!rc)
        rc = quarry_quota_get(q, table, &quota, NULL, err);
    if (!rc) {
        buf_append_str(out, ", \"rights\": ");
        if (any)
            put_rights_json(buf_slice(&list), out);
        else
            buf_append_str(out, "null");
        buf_append_str(out, ", \"quotas\": {");
        for (size_t i = 0; i < QUOTA_COUNT; i++)
            buf_printf(out, "%s\"%s\": %llu", i ? ", " : "", quota_name(i),
                       (unsigned long long)*quota_field(&quota, i));
        buf_append_byte(out, '}');
    }
    buf_close(&list);
    return rc;
}
