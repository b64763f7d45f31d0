/* Loans for outputs (job_loans.h): one per table output, taken before the first
 * attempt starts and copied into each task spec. */
#include "mapreduce/master/job_loans.h"

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/crypt/keyring.h"
#include "mapreduce/master/job_run.h"
#include "mapreduce/output/bulk_output.h"
#include "mapreduce/task/task_spec.h"

/* No two outputs have the same text. */
static void name_changes(const struct job_run *r,
                         unsigned index,
                         unsigned char lent[KEYRING_SALT_BYTES])
{
    struct buf text = BUF_INIT;
    buf_append_str(&text, "changes");
    buf_put_le32(&text, index);
    buf_append_str(&text, r->setup.job_id);
    key_loan_name(buf_slice(&text), lent);
    buf_close(&text);
}

static int take_loan(struct job_run *r, unsigned index, struct err *err)
{
    const struct mr_spec *s = &r->setup.outputs[index];
    struct key_loan *loan = &r->loans[index];
    unsigned char lent[KEYRING_SALT_BYTES];
    if (s->kind != MR_SPEC_TABLE)
        return 0;
    if (s->bulk)
        return bulk_output_lend(r->store, s->path, r->setup.job_id, index, loan,
                                err);
    if (!r->setup.files.keyring)
        return 0;
    name_changes(r, index, lent);
    return keyring_lend(r->setup.files.keyring, lent, loan, err);
}

int job_loans_take(struct job_run *r, struct err *err)
{
    int rc = 0;
    r->loans = mem_zalloc(r->setup.output_count + 1, sizeof(*r->loans));
    for (unsigned i = 0; i < r->setup.output_count && rc == 0; i++)
        rc = take_loan(r, i, err);
    return rc;
}

void job_loans_close(struct job_run *r)
{
    for (size_t i = 0; r->loans && i < r->setup.output_count; i++)
        key_loan_close(&r->loans[i]);
    mem_free(r->loans);
    r->loans = NULL;
}

void job_loans_copy(const struct job_run *r, struct task_spec *s)
{
    PRE(s->loans == NULL);
    size_t count = r->loans ? r->setup.output_count : 0;
    s->loans = mem_zalloc(count + 1, sizeof(*s->loans));
    for (s->loan_count = 0; s->loan_count < count; s->loan_count++)
        s->loans[s->loan_count] = r->loans[s->loan_count];
}

struct keyring *job_loans_view(const struct job_run *r, unsigned index)
{
    unsigned char lent[KEYRING_SALT_BYTES];
    if (!r->setup.files.keyring)
        return NULL;
    name_changes(r, index, lent);
    return keyring_view_loan(r->setup.files.keyring, lent);
}
