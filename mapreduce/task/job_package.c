/* A job's setup as bytes, closed by a CRC32C. The package crosses the network
 * once per job and worker; reader and writer are the same version, so its
 * fields have no tags. */
#include "mapreduce/task/job_package.h"

#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/panic.h"
#include "mapreduce/task/spec.h"

static void
put_specs(const struct mr_spec *specs, size_t count, struct buf *out)
{
    buf_put_varint(out, count);
    for (size_t i = 0; i < count; i++)
        spec_encode(&specs[i], out);
}

static struct mr_spec *get_specs(struct cursor *in, size_t want)
{
    size_t count = cursor_count(in, 8);
    struct mr_spec *specs = mem_zalloc(want + 1, sizeof(*specs));
    in->bad |= count != want;
    for (size_t i = 0; i < want && !in->bad; i++)
        spec_decode(&specs[i], in);
    return specs;
}

/* --- keys ---------------------------------------------------------------- */

static void put_keys(const struct job_setup *s, struct buf *out)
{
    buf_append(out, s->spill_key, AEAD_KEY_BYTES);
    buf_append(out, s->scratch_key, AEAD_KEY_BYTES);
}

static void get_key(unsigned char *to, struct cursor *in)
{
    struct slice key = cursor_bytes(in, AEAD_KEY_BYTES);
    if (!in->bad)
        memcpy(to, key.data, AEAD_KEY_BYTES);
}

/* --- the whole ----------------------------------------------------------- */

void job_package_encode(const struct job_setup *s, struct buf *out)
{
    PRE(s->job_id != NULL);
    size_t from = out->len;
    struct buf options = BUF_INIT;
    saved_job_encode(s->opts, s->job_id, s->job_time_us, &options);
    buf_put_lslice(out, buf_slice(&options));
    buf_close(&options);
    buf_put_text(out, s->target);
    buf_put_text(out, s->work_dir);
    put_specs(s->inputs, s->opts->input_count, out);
    put_specs(s->outputs, s->output_count, out);
    for (size_t i = 0; i < s->output_count; i++)
        buf_put_text(out, s->staging[i]);
    buf_put_varint(out, s->slot_bytes);
    buf_put_varint(out, s->heap_bytes);
    buf_put_varint(out, s->split_bytes);
    buf_put_varint(out, s->worker_count);
    buf_put_le64(out, s->opts->trace.high);
    buf_put_le64(out, s->opts->trace.low);
    buf_put_u8(out, s->opts->trace.sampled);
    buf_put_u8(out, s->reads_tables);
    buf_put_u8(out, s->remote);
    buf_put_u8(out, s->cell_files || s->files.fs != NULL);
    if (s->encrypts)
        put_keys(s, out);
    buf_put_le32(out, crc32c(out->data + from, out->len - from));
}

static void job_package_decode_options(struct job_package *p, struct cursor *in)
{
    struct job_setup *s = &p->setup;
    s->opts = &p->options.options;
    s->job_id = p->options.job_id;
    s->job_time_us = p->options.job_time_us;
    s->target = cursor_text(in);
    s->work_dir = cursor_text(in);
    s->inputs = get_specs(in, s->opts->input_count);
    s->outputs = get_specs(in, s->opts->output_count);
    s->output_count = s->opts->output_count;
    s->staging = mem_zalloc(s->output_count + 1, sizeof(char *));
    for (size_t i = 0; i < s->output_count; i++) {
        s->staging[i] = cursor_text(in);
        in->bad |= s->staging[i] == NULL;
    }
    s->slot_bytes = cursor_varint(in);
    s->heap_bytes = cursor_varint(in);
    s->split_bytes = cursor_varint(in);
    s->worker_count = (unsigned)cursor_varint(in);
    p->options.options.trace.high = cursor_le64(in);
    p->options.options.trace.low = cursor_le64(in);
    p->options.options.trace.sampled = cursor_u8(in) != 0;
    s->reads_tables = cursor_u8(in) != 0;
    s->remote = cursor_u8(in) != 0;
    s->cell_files = cursor_u8(in) != 0;
    s->encrypts = cursor_left(in) > 0;
    if (s->encrypts) {
        get_key(s->spill_key, in);
        get_key(s->scratch_key, in);
    }
}

int job_package_decode(struct job_package *p,
                       struct slice bytes,
                       struct world *w,
                       struct err *err)
{
    struct cursor in;
    int rc;
    *p = (struct job_package){.job_name = NULL};
    if (bytes.len < 4 || crc32c(bytes.data, bytes.len - 4) !=
                             get_le32(bytes.data + bytes.len - 4))
        return err_set(err, ERR_CORRUPT, "package with a wrong checksum");
    in = cursor_make(slice_sub(bytes, 0, bytes.len - 4));
    rc = saved_job_decode(&p->options, cursor_lslice(&in), err);
    if (rc)
        return rc;
    p->job_name = p->options.job_name;
    job_package_decode_options(p, &in);
    p->setup.world = w;
    p->setup.files.world = w;
    if (in.bad || cursor_left(&in) > 0)
        return err_set(err, ERR_CORRUPT, "malformed package");
    return 0;
}

void job_package_close(struct job_package *p)
{
    struct job_setup *s = &p->setup;
    for (size_t i = 0; i < s->output_count && s->staging; i++)
        mem_free(s->staging[i]);
    for (size_t i = 0; s->inputs && i < s->opts->input_count; i++)
        mr_spec_close(&s->inputs[i]);
    for (size_t i = 0; s->outputs && i < s->output_count; i++)
        mr_spec_close(&s->outputs[i]);
    mem_free((void *)(uintptr_t)s->target);
    mem_free(s->inputs);
    mem_free(s->outputs);
    mem_free(s->staging);
    mem_free(s->work_dir);
    saved_job_close(&p->options);
    *p = (struct job_package){.job_name = NULL};
}
