/* quarry member ls, rm, lead, rescue: the members of the cells of a cluster,
 * those of its lock servers and of its namenodes.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/replica/cell_call.h"
#include "base/runtime/world.h"
#include "chubby-lite/server.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/remote_call.h"
#include "cli/table_printer.h"

#define ASK_US     UINT64_C(2000000)
#define CHANGE_US  UINT64_C(10000000)
#define TIMEOUT_US UINT64_C(20000000)
#define PAUSE_US   UINT64_C(200000)

static const struct service {
    const char *name; /* Of the role. */
    uint32_t method;
} services[] = {{"lock", CHUBBY_REPLICA_METHOD}, {"namenode", REPLICA_METHOD}};

/* --- which cells --------------------------------------------------------- */

static int check_service(const struct args *args, struct err *err)
{
    const char *wanted = args_value(args, "service");
    for (size_t i = 0; i < ARRAY_LEN(services); i++)
        if (!wanted || strcmp(wanted, services[i].name) == 0)
            return 0;
    return usage_error(args, err, "--service %s: it is lock or namenode",
                       wanted);
}

static bool is_meant(const struct remote *r, const struct service *s)
{
    const char *wanted = args_value(r->args, "service");
    return !wanted || strcmp(wanted, s->name) == 0;
}

/* --- ls ------------------------------------------------------------------ */

static int member_command_ask(struct remote *r,
                              const struct service *s,
                              const char *address,
                              struct cell_view *view,
                              struct err *err)
{
    const struct cell_request q = {.verb = CELL_ASK};
    return cell_call(address, r->security, s->method, ASK_US, &q, view, err);
}

/* The leader's answer, or else that of another member. Errors: that of the last
 * one, if none answers. */
static int member_command_look(struct remote *r,
                               const struct service *s,
                               struct cell_view *out,
                               struct err *err)
{
    struct cell_view *view = mem_zalloc(1, sizeof(*view));
    bool any = false;
    int rc = 0;
    for (size_t i = 0; i < r->address_count; i++) {
        rc = member_command_ask(r, s, r->addresses[i], view, err);
        if (rc == 0 && view->status.role != REPLICA_LEADER &&
            view->status.leader_address[0]) {
            struct cell_view said = *view;
            if (member_command_ask(r, s, said.status.leader_address, view,
                                   NULL))
                *view = said;
        }
        if (rc == 0 && (!any || view->status.role == REPLICA_LEADER))
            *out = *view;
        any |= rc == 0;
        if (any && out->status.role == REPLICA_LEADER)
            break;
    }
    mem_free(view);
    if (!any)
        remote_unreached(r, err);
    return any ? 0 : rc;
}

static void add_member(struct sheet *sheet,
                       const struct service *s,
                       const struct replica_status *known,
                       size_t i)
{
    bool leads = known->role == REPLICA_LEADER;
    uint64_t match = known->members[i].match_index;
    sheet_add_str(sheet, s->name);
    sheet_add_u64(sheet, known->members[i].id);
    sheet_add_str(sheet, known->members[i].address);
    sheet_add_str(sheet, known->members[i].id == known->leader_id ? "leader"
                         : known->members[i].voting               ? "voter"
                                                                  : "learner");
    if (!leads) {
        sheet_add_str(sheet, "");
        sheet_add_str(sheet, "");
        return;
    }
    sheet_add_str(sheet, known->members[i].reachable ? "yes" : "no");
    sheet_add_u64(sheet,
                  known->last_index > match ? known->last_index - match : 0);
}

static int member_command_list(struct remote *r, struct err *err)
{
    static const struct sheet_column columns[] = {
        {"service", SHEET_TEXT}, {"member", SHEET_NUMBER},
        {"address", SHEET_TEXT}, {"role", SHEET_TEXT},
        {"answers", SHEET_TEXT}, {"behind", SHEET_NUMBER}};
    struct cell_view *view = mem_zalloc(1, sizeof(*view));
    struct sheet sheet;
    int rc = check_service(r->args, err);
    sheet_init(&sheet, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < ARRAY_LEN(services) && rc == 0; i++) {
        if (!is_meant(r, &services[i]))
            continue;
        rc = member_command_look(r, &services[i], view, err);
        if (rc == ERR_UNSUPPORTED && !args_value(r->args, "service")) {
            rc = 0; /* Others run the lock service. */
            continue;
        }
        for (size_t j = 0; rc == 0 && j < view->status.member_count; j++)
            add_member(&sheet, &services[i], &view->status, j);
        if (rc == 0 && view->status.role != REPLICA_LEADER)
            cli_remark(r->cli, "%s: no leader is known", services[i].name);
        if (rc)
            err_wrap(err, "%s", services[i].name);
    }
    if (rc == 0)
        sheet_print(&sheet, r->cli->format);
    sheet_close(&sheet);
    mem_free(view);
    return rc;
}

static int run_ls(struct cli *cli, const struct args *args, struct err *err)
{
    return remote_run(cli, args, member_command_list, NULL, err);
}

/* --- rm, lead ------------------------------------------------------------ */

struct change {
    enum cell_verb verb;
    const char *done; /* The remark about it. */
};

/* The word is the number of a member, or its address. */
static int
read_word(const struct remote *r, struct cell_request *q, struct err *err)
{
    const char *word = r->args->words[0];
    if (word[strspn(word, "0123456789")] == '\0') {
        q->id = strtoull(word, NULL, 10);
        return 0;
    }
    if (strlen(word) >= sizeof(q->address))
        return usage_error(r->args, err, "%.40s…: too long for an address",
                           word);
    memcpy(q->address, word, strlen(word));
    return 0;
}

static bool may_try_again(int rc)
{
    return rc == ERR_UNAVAILABLE || rc == ERR_DEADLINE || rc == ERR_BUSY;
}

/* One after the other, and whom they say to lead, until one of them does it. */
static int ask_leader(struct remote *r,
                      const struct service *s,
                      const struct cell_request *q,
                      uint64_t until_ns,
                      struct err *err)
{
    char to[256] = "";
    int rc;
    for (size_t turn = 0;; turn++) {
        struct err why = ERR_INIT;
        rc = cell_call(to[0] ? to : r->addresses[turn % r->address_count],
                       r->security, s->method, CHANGE_US, q, NULL, &why);
        if (rc == 0 || !may_try_again(rc) ||
            world_mono_ns(r->world) >= until_ns) {
            err_copy(err, &why);
            return rc;
        }
        if (!replica_leader_hint(&why, to, sizeof(to))) {
            to[0] = '\0';
            world_sleep_us(r->world, PAUSE_US);
        }
    }
}

static int member_command_change(struct remote *r, struct err *err)
{
    const struct change *c = r->ctx;
    struct cell_request q = {.verb = c->verb};
    uint64_t us = 0;
    bool any = false;
    int rc = check_service(r->args, err);
    if (rc == 0)
        rc = read_word(r, &q, err);
    if (rc == 0)
        rc = remote_timeout(TIMEOUT_US, &us, err);
    for (size_t i = 0; i < ARRAY_LEN(services) && rc == 0; i++) {
        if (!is_meant(r, &services[i]))
            continue;
        rc = ask_leader(r, &services[i], &q,
                        world_mono_ns(r->world) + us * 1000, err);
        if (rc == 0)
            cli_remark(r->cli, "%s: %s %s", services[i].name, r->args->words[0],
                       c->done);
        any |= rc == 0;
        if (rc && rc != ERR_NOTFOUND &&
            (rc != ERR_UNSUPPORTED || args_value(r->args, "service")))
            err_wrap(err, "%s", services[i].name);
        else
            rc = 0;
    }
    if (rc == 0 && !any) {
        rc = err_set(err, ERR_NOTFOUND, "no member is %s", r->args->words[0]);
        err_hint(err, "quarry member ls shows them");
    }
    return rc;
}

static int run_rm(struct cli *cli, const struct args *args, struct err *err)
{
    struct change c = {CELL_REMOVE, "is a member no more"};
    return remote_run(cli, args, member_command_change, &c, err);
}

static int run_lead(struct cli *cli, const struct args *args, struct err *err)
{
    struct change c = {CELL_LEAD, "leads"};
    return remote_run(cli, args, member_command_change, &c, err);
}

/* --- rescue -------------------------------------------------------------- */

static int rescue_one(struct cli *cli,
                      const struct args *args,
                      const struct service *s,
                      struct err *err)
{
    const char *cluster = args_value(args, "cluster");
    struct buf name = BUF_INIT;
    struct buf directory = BUF_INIT;
    struct master_keys *masters;
    size_t others = 0;
    int rc;
    buf_printf(&name, "%s/%s", cluster ? cluster : "quarry", s->name);
    buf_printf(&directory, "%s/%s", args->words[0], s->name);
    rc = cli_master_keys(cli, &masters, err);
    if (rc == 0)
        rc = replica_rescue(cli->world, buf_cstr(&name), buf_cstr(&directory),
                            masters, &others, err);
    if (rc == 0 && others)
        cli_remark(cli, "%s: continues without %zu others", s->name, others);
    else if (rc == 0)
        cli_remark(cli, "%s: has no others", s->name);
    buf_close(&name);
    buf_close(&directory);
    return rc;
}

static int run_rescue(struct cli *cli, const struct args *args, struct err *err)
{
    const char *wanted = args_value(args, "service");
    int rc = check_service(args, err);
    for (size_t i = 0; i < ARRAY_LEN(services) && rc == 0; i++)
        if (!wanted || strcmp(wanted, services[i].name) == 0)
            rc = rescue_one(cli, args, &services[i], err);
    return rc;
}

/* --- the commands -------------------------------------------------------- */

static const struct option member_options[] = {
    {"service", 0, "NAME", "of one service alone: lock or namenode (both)"},
    {NULL, 0, NULL, NULL},
};

static const struct option rescue_options[] = {
    {"cluster", 0, "NAME", "of the cluster (quarry)"},
    {NULL, 0, NULL, NULL},
};

const struct command member_commands[] = {
    {.name = "member ls",
     .arguments = "",
     .summary = "Show who keeps the locks and the names of files",
     .details = "The members of the two cells of a cluster: those of its lock "
                "servers and of its\nnamenodes. BEHIND: entries of the log "
                "that the leader does not know it to have.",
     .examples = "quarry member ls -t cluster:./quarry-cluster",
     .options = {member_options, remote_options},
     .run = run_ls},
    {.name = "member rm",
     .arguments = "MEMBER",
     .summary = "Remove a member that is gone for good",
     .details =
         "MEMBER: its number or address. Refused while those that answer "
         "would be no majority\nwithout it. A new node joins by itself: start "
         "it with an empty directory and a\n--cell that names it.",
     .examples = "quarry member rm b:7400 -t a:7400,c:7400 --key key",
     .words_min = 1,
     .words_max = 1,
     .options = {member_options, remote_options},
     .run = run_rm},
    {.name = "member rescue",
     .arguments = "DATA",
     .summary = "Let the last member of a cell continue alone",
     .details = "DATA: the directory of a node that does not run. For a cell "
                "that has lost its majority\nfor good: what only the others "
                "had is lost, and they must not come back with their\nold "
                "directories; nodes with empty ones join.",
     .examples = "quarry member rescue /var/lib/quarry",
     .words_min = 1,
     .words_max = 1,
     .options = {member_options, rescue_options},
     .run = run_rescue},
    {.name = "member lead",
     .arguments = "MEMBER",
     .summary = "Let a member lead, before another is stopped",
     .examples = "quarry member lead a:7400 -t a:7400,b:7400,c:7400 --key key",
     .words_min = 1,
     .words_max = 1,
     .options = {member_options, remote_options},
     .run = run_lead},
    {.name = NULL},
};
