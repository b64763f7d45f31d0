/* TABLET_READ_EACH: single rows and cells, many in one call. The context is the
 * struct tablet_server. Threads: any that serves calls. */
#ifndef BIGTABLE_TABLET_SERVER_SERVE_EACH_H
#define BIGTABLE_TABLET_SERVER_SERVE_EACH_H

struct err;
struct rpc_call;

int handle_read_each(void *ctx, struct rpc_call *call, struct err *err);

#endif /* BIGTABLE_TABLET_SERVER_SERVE_EACH_H */
