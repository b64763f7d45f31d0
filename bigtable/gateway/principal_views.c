/* Views of the store for callers: a copy of the gateway for each principal,
 * made when it first calls and kept until another principal needs its place. A
 * list in the order of use, searched from the front: callers that call often
 * are found soon.
 */
#include "bigtable/gateway/principal_views.h"

#include <string.h>

#include "base/core/panic.h"
#include "bigtable/gateway/api_auth.h"
#include "bigtable/gateway/api_service.h"
#include "bigtable/quarry_access.h"

struct principal_view {
    struct gateway gateway; /* The context of handlers. */
    struct principal_view *next;
    char principal[API_PRINCIPAL_BYTES];
    unsigned users;
};

struct principal_views {
    struct gateway *gateway;
    struct principal_view *first; /* Used last. */
    size_t count;
};

struct principal_views *principal_views_new(struct gateway *g)
{
    struct principal_views *v = mem_zalloc(1, sizeof(*v));
    v->gateway = g;
    return v;
}

/* Parks. */
static void free_view(struct principal_view *view)
{
    PRE(view->users == 0);
    quarry_close(view->gateway.quarry);
    mem_free(view);
}

void principal_views_free(struct principal_views *v)
{
    if (!v)
        return;
    while (v->first) {
        struct principal_view *view = v->first;
        v->first = view->next;
        free_view(view);
    }
    mem_free(v);
}

/* Take the view of @principal off the list; NULL: there is none. */
static struct principal_view *take_view(struct principal_views *v,
                                        const char *principal)
{
    for (struct principal_view **at = &v->first; *at; at = &(*at)->next) {
        struct principal_view *view = *at;
        if (strcmp(view->principal, principal) == 0) {
            *at = view->next;
            v->count--;
            return view;
        }
    }
    return NULL;
}

static void put_first(struct principal_views *v, struct principal_view *view)
{
    view->next = v->first;
    v->first = view;
    v->count++;
}

/* The one that was used longest ago, off the list. */
static struct principal_view *take_unused(struct principal_views *v)
{
    struct principal_view **last = NULL;
    struct principal_view *view;
    for (struct principal_view **at = &v->first; *at; at = &(*at)->next)
        if ((*at)->users == 0)
            last = at;
    if (!last)
        return NULL;
    view = *last;
    *last = view->next;
    v->count--;
    return view;
}

static int make_view(struct principal_views *v,
                     const char *principal,
                     struct principal_view **out,
                     struct err *err)
{
    struct principal_view *view;
    struct quarry *as;
    int rc;
    if (v->count >= PRINCIPAL_VIEWS_MAX) {
        struct principal_view *old = take_unused(v);
        if (!old)
            return err_set(err, ERR_EXHAUSTED, "too many callers at once");
        free_view(old);
    }
    rc = quarry_as(v->gateway->quarry, principal, &as, err);
    if (rc)
        return rc;
    view = mem_zalloc(1, sizeof(*view));
    view->gateway = *v->gateway;
    view->gateway.quarry = as;
    memcpy(view->principal, principal, strlen(principal) + 1);
    *out = view;
    return 0;
}

int principal_views_hold(struct principal_views *v,
                         const char *principal,
                         struct gateway **out,
                         struct err *err)
{
    struct principal_view *view = take_view(v, principal);
    int rc = 0;
    PRE(strlen(principal) < API_PRINCIPAL_BYTES);
    if (!view)
        rc = make_view(v, principal, &view, err);
    if (rc)
        return rc;
    put_first(v, view);
    view->users++;
    *out = &view->gateway;
    return 0;
}

void principal_views_release(struct principal_views *v, struct gateway *g)
{
    struct principal_view *view =
        CONTAINER_OF(g, struct principal_view, gateway);
    PRE(view->users > 0);
    (void)v;
    view->users--;
}
