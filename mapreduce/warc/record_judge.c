/* Evidence whether a block is the one that its record was written with: its
 * block digest, or, without one that can be checked, the length that the HTTP
 * head of a response declares, or the payload digest. The last two can confirm
 * a block and never refute it. */
#include "base/core/macros.h"
#include "mapreduce/warc/digest.h"
#include "mapreduce/warc/reader_internal.h"

/* Hashing to find a length may read this many bytes, and this many times the
 * input: the work stays linear however many lengths are wrong. */
#define JUDGE_BYTES_FREE  ((uint64_t)64 << 20)
#define JUDGE_INPUT_TIMES 8

bool reader__has_digest(const struct warc_reader *r)
{
    struct digest d;
    return digest_parse(r->head.record.block_digest, &d) ||
           digest_parse(r->head.record.payload_digest, &d);
}

/* The body's length as the HTTP head declares it. */
static bool declared_body(const struct http_message *m, uint64_t *n)
{
    struct slice v;
    *n = 0;
    if (!http_header(m, "content-length", &v) || v.len == 0 || v.len > 18)
        return false;
    for (size_t i = 0; i < v.len; i++) {
        if (v.data[i] < '0' || v.data[i] > '9')
            return false;
        *n = *n * 10 + (uint64_t)(v.data[i] - '0');
    }
    return true;
}

enum digest_answer reader__judge(struct warc_reader *r, struct slice block)
{
    const struct warc_record *rec = &r->head.record;
    enum digest_answer answer;
    struct slice body = block;
    uint64_t n;
    if (r->judged_bytes + block.len >
        JUDGE_BYTES_FREE + JUDGE_INPUT_TIMES * decompress_pos(&r->u))
        return DIGEST_UNKNOWN;
    r->judged_bytes += block.len;
    answer = digest_check(rec->block_digest, block);
    if (answer != DIGEST_UNKNOWN || rec->type == WARC_REVISIT)
        return answer;
    if (rec->type == WARC_RESPONSE && http_parse(block, &r->message)) {
        body = r->message.raw_body;
        if (declared_body(&r->message, &n) && n == body.len && n > 0)
            return DIGEST_SAME;
    }
    /* Writers differ in the part of a body they hash: no proof against it. */
    answer = digest_check(rec->payload_digest, body);
    return answer == DIGEST_SAME ? DIGEST_SAME : DIGEST_UNKNOWN;
}
