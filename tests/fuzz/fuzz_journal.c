/* Journals of jobs: as they are, and with checksums made right, so that bodies
 * are reached. The history's job.json, too. */
#include <stddef.h>
#include <stdint.h>

#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/panic.h"
#include "mapreduce/job_history.h"
#include "mapreduce/master/job_replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_journal(struct slice bytes)
{
    struct replay log = {.planned = false};
    buf_append_slice(&log.bytes, bytes);
    if (replay_read(&log, NULL) == 0) {
        struct buf again = BUF_INIT;
        saved_job_encode(&log.begin.options, log.begin.job_id,
                         log.begin.job_time_us, &again);
        buf_close(&again);
    }
    replay_close(&log);
}

/* Records of a length byte and as many bytes, the first its type. */
static void read_sealed(struct slice bytes)
{
    struct buf all = BUF_INIT;
    while (bytes.len > 1) {
        size_t n =
            MIN_OF((size_t)(unsigned char)bytes.data[0] + 1, bytes.len - 1);
        char head[8];
        put_le32(head, (uint32_t)n);
        put_le32(head + 4, crc32c(bytes.data + 1, n));
        buf_append(&all, head, sizeof(head));
        buf_append(&all, bytes.data + 1, n);
        bytes = slice_sub(bytes, n + 1, bytes.len);
    }
    read_journal(buf_slice(&all));
    buf_close(&all);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice bytes = slice_make((const char *)data, size);
    struct job_summary *job = mem_zalloc(1, sizeof(*job));
    read_journal(bytes);
    read_sealed(bytes);
    (void)!job_summary_decode(bytes, job, NULL);
    job_summaries_free(job, 1);
    return 0;
}
