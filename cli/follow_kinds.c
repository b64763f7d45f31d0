/* The kinds of followers, a line each in the list. The component that runs
 * followers does not know them: a kind is code of a component above it. */
#include "cli/follow_kinds.h"

#include "base/core/panic.h"
#include "bigtable/follow/follow.h"
#include "bigtable/replication/replication_follower.h"
#include "bigtable/view/view_follow.h"
#include "cli/search_follower.h"
#include "jobs/jobs.h"

static const struct observer_engine *const observer_engines[] = {
    &observe_command, &observe_python, &observer_saw, &observe_job, NULL,
};

void follow_kinds_init(struct follow_kinds *k,
                       const struct observe_host *allowed)
{
    *k = (struct follow_kinds){.allowed = *allowed};
    k->allowed.find_job = jobs_find_by_row;
    k->observer = observer_kind_make(observer_engines, &k->allowed);
    k->list[k->count++] = &view_kind;
    k->list[k->count++] = &replication_follower;
    k->list[k->count++] = &k->observer.kind;
    k->list[k->count++] = &search_follower;
    POST(k->count <= ARRAY_LEN(k->list));
}

const struct follower_kind *follow_kinds_view(void)
{
    return &view_kind;
}
