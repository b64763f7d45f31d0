/* Instances, clusters and app profiles: messages kept under their names. */
#ifndef BIGTABLE_GATEWAY_ADMIN_RESOURCE_H
#define BIGTABLE_GATEWAY_ADMIN_RESOURCE_H

#include "bigtable/gateway/admin.h"
#include "bigtable/gateway/message_fields.h"

/* The app profile that every instance has. */
#define APP_PROFILE_DEFAULT "default"

/* A kind of resource. Its message has its name as field 1. */
struct resource_kind {
    const char *type;            /* "Cluster". */
    const char *word;            /* "clusters"; "": the instance itself. */
    const char *update_metadata; /* "UpdateClusterMetadata". */
    const struct message_type *fields;
    /* Append the message of a resource that exists without having been created;
     * false: there is none of this name. */
    bool (*implied)(struct gateway *g,
                    const struct resource_name *name,
                    struct buf *out);
    /* Append @given, a client's message, in the form that is kept. NULL: both
     * are the same. */
    void (*translate)(struct slice given, struct buf *out);
    /* Append @message, which has the fields a client may set, with what the
     * service adds; @is_new: it is being made. ERR_INVALID: it cannot be so. */
    int (*complete)(struct gateway *g,
                    struct slice message,
                    bool is_new,
                    struct buf *out,
                    struct err *err);
};

extern const struct resource_kind instance_kind;
extern const struct resource_kind cluster_kind;
extern const struct resource_kind app_profile_kind;

/* Append @message with @name in front. */
void resource_put(struct buf *out,
                  const struct resource_kind *k,
                  const struct resource_name *name,
                  struct slice message);
/* Append what is kept of @name, or implied. Parks. ERR_NOTFOUND. */
MUST_CHECK int resource_get(struct gateway *g,
                            const struct resource_kind *k,
                            const struct resource_name *name,
                            struct buf *out,
                            struct err *err);
/* Append the message that would be kept for @given, a client's message. Errors:
 * ERR_INVALID, ERR_UNSUPPORTED. */
MUST_CHECK int resource_settle(struct gateway *g,
                               const struct resource_kind *k,
                               struct slice given,
                               struct buf *out,
                               struct err *err);
/* Create @name from @given. Parks. Errors: ERR_EXISTS, and those of
 * resource_settle(). */
MUST_CHECK int resource_create(struct gateway *g,
                               const struct resource_kind *k,
                               const struct resource_name *name,
                               struct slice given,
                               struct err *err);
/* Handlers. GetX: name 1. */
int resource_handle_get(struct gateway *g,
                        const struct resource_kind *k,
                        struct grpc_call *call,
                        struct err *err);
/* PartialUpdateX: resource 1, update_mask 2. */
int resource_handle_update(struct gateway *g,
                           const struct resource_kind *k,
                           struct grpc_call *call,
                           struct err *err);
/* UpdateX: the resource itself, all of it. @out gets the new message. */
MUST_CHECK int resource_replace(struct gateway *g,
                                const struct resource_kind *k,
                                struct slice resource,
                                struct buf *out,
                                struct err *err);
/* DeleteX: name 1. */
int resource_handle_delete(struct gateway *g,
                           const struct resource_kind *k,
                           struct grpc_call *call,
                           struct err *err);

#endif /* BIGTABLE_GATEWAY_ADMIN_RESOURCE_H */
