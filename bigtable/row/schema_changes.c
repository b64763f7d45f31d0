/* How long a table keeps its changes, as users write it: "7d,max=10GiB".
 * Written back, it is the shortest text that means the same. */
#include <string.h>

#include "base/core/buf.h"
#include "base/core/macros.h"
#include "bigtable/row/gc_rule.h"
#include "bigtable/row/option_text.h"
#include "bigtable/row/schema.h"

/* "TIME[,max=BYTES]" */
static int
parse_changes(const char *text, uint64_t *us, uint64_t *bytes, struct err *err)
{
    const char *comma = strchr(text, ',');
    size_t n = comma ? (size_t)(comma - text) : strlen(text);
    struct option_text rest = option_text_make(comma ? comma + 1 : "");
    struct option_pair pair;
    bool more;
    int rc = gc_duration_parse(slice_make(text, n), us, err);
    if (rc == 0 && (*us == 0 || *us > CHANGES_US_MAX))
        rc = err_set(err, ERR_INVALID, "it must be a time above 0");
    if (rc == 0)
        rc = option_text_next(&rest, &pair, &more, err);
    while (rc == 0 && more) {
        if (!slice_eq_str(pair.key, "max"))
            rc = err_set(err, ERR_INVALID, "there is no option %.*s, only max=",
                         (int)pair.key.len, pair.key.data);
        if (rc == 0)
            rc = option_bytes(&pair, 1, INT64_MAX, bytes, err);
        if (rc == 0)
            rc = option_text_next(&rest, &pair, &more, err);
    }
    return rc;
}

int schema_set_changes(struct schema *s, const char *text, struct err *err)
{
    uint64_t us = 0;
    uint64_t bytes = 0;
    int rc =
        strcmp(text, "off") == 0 ? 0 : parse_changes(text, &us, &bytes, err);
    if (rc) {
        err_wrap(err, "changes=%s", text);
        err_hint(err, "examples: 7d; 7d,max=10GiB; off");
        return rc;
    }
    s->changes_us = us;
    s->changes_bytes = bytes;
    return 0;
}

/* In the largest unit that divides it. */
static void format_bound(uint64_t bytes, struct buf *out)
{
    static const char *const units[] = {"", "KiB", "MiB", "GiB", "TiB"};
    size_t i = 0;
    while (i + 1 < ARRAY_LEN(units) && bytes % 1024 == 0) {
        bytes /= 1024;
        i++;
    }
    buf_printf(out, ",max=%llu%s", (unsigned long long)bytes, units[i]);
}

void schema_format_changes(const struct schema *s, struct buf *out)
{
    if (s->changes_us == 0) {
        buf_append_str(out, "off");
        return;
    }
    gc_duration_format(s->changes_us, out);
    if (s->changes_bytes)
        format_bound(s->changes_bytes, out);
}
