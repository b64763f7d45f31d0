/* Roles: named sets of principals, kept by the master in the policy of the
 * cluster, so that a grant to a role needs no change when people come and go.
 */
#include "cli/acl_role.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "bigtable/quarry.h"
#include "bigtable/quarry_access.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/table_printer.h"

/* The next word of @line, cut off. */
static struct slice next_word(struct slice *line)
{
    struct slice rest = slice_trim(*line);
    size_t end = slice_find_byte(rest, ' ');
    *line = slice_sub(rest, end, rest.len);
    return slice_sub(rest, 0, end);
}

/* Lines of "role member principals". */
static void add_roles(struct sheet *s, struct slice list, const char *wanted)
{
    while (list.len > 0) {
        size_t end = slice_find_byte(list, '\n');
        struct slice line = slice_sub(list, 0, end);
        struct slice role = next_word(&line);
        list = slice_sub(list, end + 1, list.len);
        (void)next_word(&line);
        if (role.len == 0 || (wanted && !slice_eq_str(role, wanted)))
            continue;
        sheet_add(s, role);
        sheet_add(s, next_word(&line));
    }
}

static int show_roles(struct cli *cli, const struct args *args, struct err *err)
{
    static const struct sheet_column columns[] = {{"role", SHEET_TEXT},
                                                  {"members", SHEET_TEXT}};
    const char *wanted = args->word_count > 1 ? args->words[1] : NULL;
    struct buf list = BUF_INIT;
    struct quarry *q;
    struct sheet s;
    int rc = cli_store(cli, CLI_EXISTING, &q, err);
    if (!rc)
        rc = quarry_roles_get(q, &list, err);
    if (!rc) {
        sheet_init(&s, columns, ARRAY_LEN(columns));
        add_roles(&s, buf_slice(&list), wanted);
        if (wanted && sheet_row_count(&s) == 0)
            rc = err_set(err, ERR_NOTFOUND, "no role %.80s", wanted);
        else
            sheet_print(&s, cli->format);
        sheet_close(&s);
    }
    buf_close(&list);
    return rc;
}

/* The words that follow each verb. */
static const struct verb {
    const char *name;
    size_t words;
    bool shows;
} verbs[] = {{"create", 2, false}, {"add", 2, false}, {"remove", 2, false},
             {"drop", 1, false},   {"show", 1, true}, {"list", 0, true}};

static const struct verb *find_verb(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
        if (strcmp(verbs[i].name, name) == 0)
            return &verbs[i];
    return NULL;
}

int acl_role_run(struct cli *cli, const struct args *args, struct err *err)
{
    const struct verb *v = find_verb(args->words[0]);
    struct quarry *q;
    int rc;
    if (!v || args->word_count != v->words + 1)
        return usage_error(args, err, "expects %s", args->command->arguments);
    if (v->shows)
        return show_roles(cli, args, err);
    rc = cli_store(cli, CLI_EXISTING, &q, err);
    return rc ? rc
              : quarry_role_change(q, v->name, args->words[1],
                                   v->words > 1 ? args->words[2] : "", err);
}
