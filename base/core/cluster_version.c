/* Versions of a cluster: their texts, and the two decisions about them: may
 * this program serve, and how far may the cluster be raised. They are pure, so
 * that a rolling upgrade can be tested without one.
 */
#include "base/core/cluster_version.h"

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"

/* Far above any: numbers in files and answers are bounded. */
#define VERSIONS_MAX 1000000

/* The release that brought each version, from 1 on. */
static const char *const releases[] = {"0.1", "0.2"};
STATIC_ASSERT(sizeof(releases) / sizeof(*releases) == CLUSTER_VERSION_MAX,
              "a release for each version");

const char *cluster_version_release(uint32_t version)
{
    if (version == 0 || version > CLUSTER_VERSION_MAX)
        return "a newer release";
    return releases[version - 1];
}

struct version_range cluster_version_range(uint32_t limit)
{
    PRE(limit >= CLUSTER_VERSION_MIN && limit <= CLUSTER_VERSION_MAX);
    return (struct version_range){CLUSTER_VERSION_MIN, limit};
}

void version_range_put(struct version_range r, struct buf *out)
{
    PRE(r.min >= 1 && r.min <= r.max);
    buf_printf(out, "%u-%u", (unsigned)r.min, (unsigned)r.max);
}

/* A number of a version; false: @text is none. */
static bool parse_version(struct slice text, uint32_t *out)
{
    uint64_t value;
    if (text_parse_u64(text, &value, NULL) || value == 0 ||
        value > VERSIONS_MAX)
        return false;
    *out = (uint32_t)value;
    return true;
}

int version_range_get(struct slice text,
                      struct version_range *out,
                      struct err *err)
{
    size_t dash = slice_find_byte(text, '-');
    if (!parse_version(slice_sub(text, 0, dash), &out->min) ||
        !parse_version(slice_sub(text, MIN_OF(dash + 1, text.len), text.len),
                       &out->max) ||
        out->min > out->max)
        return err_set(err, ERR_INVALID, "\"%.*s\": no range of versions",
                       SLICE_ARG(text));
    return 0;
}

void cluster_version_put(uint32_t version, struct buf *out)
{
    PRE(version >= 1);
    buf_printf(out, "%u\n", (unsigned)version);
}

int cluster_version_get(struct slice contents,
                        uint32_t *version,
                        struct err *err)
{
    if (!parse_version(slice_trim(contents), version))
        return err_set(err, ERR_CORRUPT, "no version of a cluster");
    return 0;
}

int cluster_version_check(struct version_range r,
                          uint32_t version,
                          struct err *err)
{
    PRE(r.min >= 1 && r.min <= r.max);
    if (version > r.max) {
        err_set(err, ERR_UNSUPPORTED,
                "the cluster is at version %u (quarry %s), and this program "
                "speaks %u to %u",
                (unsigned)version, cluster_version_release(version),
                (unsigned)r.min, (unsigned)r.max);
        if (version <= CLUSTER_VERSION_MAX)
            err_hint(err, "set cluster-version-max to %u, or leave it out",
                     (unsigned)version);
        else
            err_hint(err, "install the release that the other nodes run: "
                          "quarry cluster status says which");
        return ERR_UNSUPPORTED;
    }
    if (version < r.min) {
        err_set(err, ERR_UNSUPPORTED,
                "the cluster is at version %u (quarry %s), which is older than "
                "this program speaks: %u to %u",
                (unsigned)version, cluster_version_release(version),
                (unsigned)r.min, (unsigned)r.max);
        err_hint(err,
                 "first upgrade to a release between them, on all nodes, and "
                 "raise the cluster: quarry cluster upgrade");
        return ERR_UNSUPPORTED;
    }
    return 0;
}

int cluster_version_choose(const struct version_node *nodes,
                           size_t count,
                           uint32_t present,
                           uint32_t wanted,
                           uint32_t *version,
                           size_t *held,
                           struct err *err)
{
    PRE(present >= 1 && wanted >= 1);
    *version = MAX_OF(present, wanted);
    *held = count;
    for (size_t i = 0; i < count; i++) {
        const struct version_node *n = &nodes[i];
        if (n->why)
            return err_set(err, ERR_UNAVAILABLE,
                           "node %s does not say what it speaks: %s", n->name,
                           n->why);
        if (present < n->range.min || present > n->range.max)
            return err_set(err, ERR_UNSUPPORTED,
                           "node %s speaks versions %u to %u, and the cluster "
                           "is at %u",
                           n->name, (unsigned)n->range.min,
                           (unsigned)n->range.max, (unsigned)present);
        if (n->range.max < *version) {
            *version = n->range.max;
            *held = i;
        }
    }
    POST(*version >= present);
    return 0;
}
