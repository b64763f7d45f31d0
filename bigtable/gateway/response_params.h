/* Where replies of the data API say that they come from: the header
 * x-goog-ext-425905942-bin, a ResponseParams with the zone and the name of the
 * instance's first cluster, by which clients label their metrics.
 *
 * Threads: the cache, any; the rest on the call's fiber.
 */
#ifndef BIGTABLE_GATEWAY_RESPONSE_PARAMS_H
#define BIGTABLE_GATEWAY_RESPONSE_PARAMS_H

struct grpc_call;
struct response_params_cache;

struct response_params_cache *response_params_cache_new(void);
/* NULL is allowed. */
void response_params_cache_free(struct response_params_cache *c);

/* Give @call's reply its header, if it is of the data API and its request names
 * an instance; @ctx is the gateway. A change of a cluster counts within ten
 * seconds. Parks. */
void response_params_describe(void *ctx, struct grpc_call *call);

#endif /* BIGTABLE_GATEWAY_RESPONSE_PARAMS_H */
