/* Commands that talk to a cluster: the target `host:port,…`, or `cluster:DIR`
 * for one on this machine (quarry cluster), proof that we may, and a loop to
 * call from.
 *
 * Threads: one; what runs on the loop is waited for.
 */
#ifndef CLI_REMOTE_CALL_H
#define CLI_REMOTE_CALL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "cli/command.h"

struct cli;
struct quarry;
struct quarry_options;
struct rpc_security;
struct world;

#define REMOTE_ADDRESSES_MAX 32

/* How a command proves itself to a cluster. Every command takes these options,
 * unless it has others of the same names; its page lists them if its table
 * names them. */
extern const struct option remote_options[];

/* Take defaults from the environment. */
void remote_defaults(struct cli *cli);
/* The environment's variable @name; NULL where it is not set, or empty. */
const char *remote_variable(const char *name);
/* Take options from @args. */
void remote_take(struct cli *cli, const struct args *args);

/* A cluster, as seen from a fiber. All is borrowed. */
struct remote {
    struct cli *cli;
    const struct args *args;
    struct world *world;
    const char *addresses[REMOTE_ADDRESSES_MAX];
    size_t address_count;
    const struct rpc_security *security;
    void *ctx; /* The command's own. */
};

/* Run @fn on a fiber of a loop of its own, and wait for it; the loop's thread
 * continues while @fn offloads. Errors: ERR_USAGE (the target names no
 * cluster), ERR_NOTFOUND, ERR_DENIED (the key), those of @fn. */
MUST_CHECK int remote_run(struct cli *cli,
                          const struct args *args,
                          int (*fn)(struct remote *r, struct err *err),
                          void *ctx,
                          struct err *err);

/* Add to @err, the failure of a call of @r's cluster, which cluster it was and
 * what to look at, if nobody answered or who did is no server of Quarry. */
void remote_unreached(const struct remote *r, struct err *err);

/* Does @target name a cluster? */
bool remote_is_cluster(const char *target);
/* How long a call of a cluster may take, tries included: what $QUARRY_TIMEOUT
 * says, else @otherwise. ERR_USAGE: it is no time. */
MUST_CHECK int
remote_timeout(uint64_t otherwise, uint64_t *us, struct err *err);

/* The arguments of quarry_open() for the cluster that is the target: *@target,
 * its addresses, and in *@opts the credentials. Both strings are owned, also
 * after an error, and @opts borrows them and memory of @cli. Errors: of reading
 * the cluster's directory; ERR_USAGE: a certificate without its key. */
MUST_CHECK int remote_resolve(struct cli *cli,
                              struct quarry_options *opts,
                              char **target,
                              char **key_file,
                              struct err *err);
/* Open the tables of the cluster that is the target, by the same proof. PRE:
 * remote_is_cluster(). Errors: those of quarry_open() and of reading the
 * cluster's directory. */
MUST_CHECK int remote_open(struct cli *cli,
                           const struct quarry_options *opts,
                           struct quarry **out,
                           struct err *err);

#endif /* CLI_REMOTE_CALL_H */
