/* Between the message ChangeStreamConfig and the store's text. A setting that
 * was not made through the API is shown as it is, also outside of the limits
 * that the API has for its own.
 */
#include "bigtable/gateway/change_config.h"

#include <string.h>

#include "base/core/panic.h"
#include "base/core/pb.h"
#include "bigtable/gateway/api_fields.h"
#include "bigtable/gateway/api_service.h"
#include "bigtable/row/gc_rule.h"

#define US_PER_S    INT64_C(1000000)
#define DAY_US      (24 * 3600 * US_PER_S)
#define KEEP_US_MIN DAY_US
#define KEEP_US_MAX (7 * DAY_US)

static const struct message_rule change_config_rules[] = {
    [PB_ChangeStreamConfig_retention_period] = {.rule = FIELD_KEPT},
};

const struct message_type change_config_type =
    MESSAGE_TYPE(ChangeStreamConfig, change_config_rules);

/* The part of @changes that is the time. */
static struct slice keep_time(const char *changes)
{
    struct slice text = slice_str(changes);
    return slice_sub(text, 0, slice_find_byte(text, ','));
}

void change_config_put(struct buf *out, const char *changes)
{
    uint64_t us;
    size_t config;
    size_t period;
    if (strcmp(changes, "off") == 0 ||
        gc_duration_parse(keep_time(changes), &us, NULL))
        return;
    config = pb_open(out, PB_Table_change_stream_config);
    period = pb_open(out, PB_ChangeStreamConfig_retention_period);
    pb_put_integer(out, PB_Duration_seconds, (int64_t)us / US_PER_S);
    pb_put_integer(out, PB_Duration_nanos, (int64_t)us % US_PER_S * 1000);
    pb_close(out, period);
    pb_close(out, config);
}

static int check_period(int64_t us, struct err *err)
{
    if (us >= KEEP_US_MIN && us <= KEEP_US_MAX)
        return 0;
    return err_set(err, ERR_INVALID,
                   "change_stream_config.retention_period must be from 1 day "
                   "to 7 days");
}

int change_config_get(struct slice table,
                      const char *changes,
                      struct buf *out,
                      struct err *err)
{
    struct slice config = pb_find(table, PB_Table_change_stream_config);
    const char *bound = strchr(changes, ',');
    int64_t us = 0;
    int rc;
    if (!pb_has_field(config, PB_ChangeStreamConfig_retention_period)) {
        buf_append_str(out, "off");
        return 0;
    }
    rc =
        service_time_us(pb_find(config, PB_ChangeStreamConfig_retention_period),
                        "change_stream_config.retention_period", &us, err);
    if (rc == 0)
        rc = check_period(us, err);
    if (rc)
        return rc;
    gc_duration_format((uint64_t)us, out);
    if (bound)
        buf_append_str(out, bound);
    return 0;
}

int change_config_apply(struct gateway *g,
                        const char *store_name,
                        const char *changes,
                        struct slice table,
                        struct err *err)
{
    struct buf text = BUF_INIT;
    int rc = change_config_get(table, changes, &text, err);
    if (rc == 0 && strcmp(buf_cstr(&text), changes) != 0) {
        struct slice time = keep_time(buf_cstr(&text));
        char *name = mem_strndup(time.data, time.len);
        const char *bound = strchr(buf_cstr(&text), ',');
        const struct quarry_alter alter = {QUARRY_SET_CHANGES, name,
                                           bound ? bound + 1 : ""};
        rc = quarry_table_alter(g->quarry, store_name, &alter, 1, err);
        mem_free(name);
    }
    buf_close(&text);
    return rc;
}

int change_config_is_on(struct gateway *g,
                        const char *store_name,
                        bool *is_on,
                        struct err *err)
{
    struct quarry_table_info *info;
    int rc = service_describe(g, store_name, &info, err);
    if (rc)
        return rc;
    *is_on = strcmp(info->changes, "off") != 0;
    quarry_table_info_free(info);
    return 0;
}

int change_config_check_off(struct gateway *g,
                            struct grpc_call *call,
                            const char *store_name,
                            struct err *err)
{
    bool is_on;
    int rc = change_config_is_on(g, store_name, &is_on, err);
    if (rc || !is_on)
        return rc;
    grpc_set_code(call, GRPC_FAILED_PRECONDITION);
    return err_set(err, ERR_DENIED,
                   "table %s keeps its changes for change streams (clear its "
                   "change_stream_config first)",
                   store_name);
}
