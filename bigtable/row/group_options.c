/* Options of a locality group: defaults, their text form and its reader. A text
 * changes only what it names, and changes nothing when any part of it is wrong.
 */
#include "base/core/buf.h"
#include "base/core/panic.h"
#include "bigtable/row/option_text.h"
#include "bigtable/row/schema.h"

#define KIB UINT64_C(1024)
#define MIB (KIB * 1024)

#define COMPRESSION_NAME(suffix, name) name,
static const char *const compression_names[] = {
    COMPRESSION_LIST(COMPRESSION_NAME) NULL};
static const char *const bloom_names[] = {"none", "row", "rowcol", NULL};
static const char *const cache_names[] = {"auto", "off", "on", NULL};
static const char *const switch_names[] = {"off", "on", NULL};

void group_options_default(struct group_options *o)
{
    *o = (struct group_options){
        .compression = COMPRESSION_ZSTD,
        .level = 3,
        .dictionary = true,
        .block_bytes = (uint32_t)(64 * KIB),
        .bloom = BLOOM_ROW_COLUMN,
        .bloom_bits = 10,
        .in_memory = false,
        .memtable_bytes = 64 * MIB,
        .cache = CACHE_AUTO,
    };
}

static int parse_switch(const struct option_pair *p, bool *out, struct err *err)
{
    size_t i = 0;
    int rc = option_choice(p, switch_names, &i, err);
    if (rc == 0)
        *out = i == 1;
    return rc;
}

static int parse_choices(struct group_options *o,
                         const struct option_pair *p,
                         bool *known,
                         struct err *err)
{
    size_t i = 0;
    int rc;
    if (slice_eq_str(p->key, "compression")) {
        rc = option_choice(p, compression_names, &i, err);
        o->compression = (enum compression)i;
    } else if (slice_eq_str(p->key, "bloom")) {
        rc = option_choice(p, bloom_names, &i, err);
        o->bloom = (enum bloom_kind)i;
    } else if (slice_eq_str(p->key, "cache")) {
        rc = option_choice(p, cache_names, &i, err);
        o->cache = (enum cache_option)i;
    } else if (slice_eq_str(p->key, "memory")) {
        rc = parse_switch(p, &o->in_memory, err);
    } else if (slice_eq_str(p->key, "dictionary")) {
        rc = parse_switch(p, &o->dictionary, err);
    } else if (slice_eq_str(p->key, "references")) {
        rc = parse_switch(p, &o->references, err);
    } else {
        *known = false;
        return 0;
    }
    *known = true;
    return rc;
}

static int parse_numbers(struct group_options *o,
                         const struct option_pair *p,
                         struct err *err)
{
    int64_t n = 0;
    uint64_t bytes = 0;
    int rc;
    if (slice_eq_str(p->key, "level")) {
        rc = option_integer(p, -5, 19, &n, err);
        o->level = (int)n;
    } else if (slice_eq_str(p->key, "replication")) {
        rc = option_integer(p, 0, REPLICATION_MAX, &n, err);
        o->replication = (uint32_t)n;
    } else if (slice_eq_str(p->key, "bits")) {
        rc = option_integer(p, 1, 40, &n, err);
        o->bloom_bits = (uint32_t)n;
    } else if (slice_eq_str(p->key, "block")) {
        rc = option_bytes(p, KIB, 16 * MIB, &bytes, err);
        o->block_bytes = (uint32_t)bytes;
    } else if (slice_eq_str(p->key, "memtable")) {
        rc = option_bytes(p, 64 * KIB, 1024 * MIB, &bytes, err);
        o->memtable_bytes = bytes;
    } else {
        return err_set(
            err, ERR_INVALID,
            "unknown group option %.*s: the options are compression, "
            "level, dictionary, references, block, bloom, bits, memory, "
            "cache, memtable, replication",
            SLICE_ARG(p->key));
    }
    return rc;
}

int group_options_parse(struct group_options *o,
                        const char *text,
                        struct err *err)
{
    struct option_text t = option_text_make(text);
    struct group_options changed = *o;
    struct option_pair p;
    bool more;
    bool known = false;
    int rc;
    for (;;) {
        rc = option_text_next(&t, &p, &more, err);
        if (rc || !more)
            break;
        rc = parse_choices(&changed, &p, &known, err);
        if (rc == 0 && !known)
            rc = parse_numbers(&changed, &p, err);
        if (rc)
            break;
    }
    if (rc == 0)
        *o = changed;
    return rc;
}

static void format_bytes(struct buf *out, const char *key, uint64_t bytes)
{
    if (bytes % MIB == 0)
        buf_printf(out, "%s=%lluMiB,", key, (unsigned long long)(bytes / MIB));
    else if (bytes % KIB == 0)
        buf_printf(out, "%s=%lluKiB,", key, (unsigned long long)(bytes / KIB));
    else
        buf_printf(out, "%s=%llu,", key, (unsigned long long)bytes);
}

void group_options_format(const struct group_options *o, struct buf *out)
{
    buf_printf(out, "compression=%s,level=%d,dictionary=%s,",
               compression_names[o->compression], o->level,
               switch_names[o->dictionary]);
    format_bytes(out, "block", o->block_bytes);
    buf_printf(out, "bloom=%s,bits=%u,memory=%s,", bloom_names[o->bloom],
               o->bloom_bits, switch_names[o->in_memory]);
    format_bytes(out, "memtable", o->memtable_bytes);
    if (o->references)
        buf_printf(out, "references=on,");
    if (o->cache != CACHE_AUTO)
        buf_printf(out, "cache=%s,", cache_names[o->cache]);
    if (o->replication)
        buf_printf(out, "replication=%u,", o->replication);
    buf_truncate(out, out->len - 1);
}
