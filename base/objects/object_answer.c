/* A walk over the elements of an answer: expat calls back at the beginning and
 * the end of each, and the text between is kept for those that are known.
 */
#define _GNU_SOURCE

#include "base/objects/object_answer.h"

#include <string.h>

#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/objects/object_name.h"

#ifdef QUARRY_HAVE_S3

#include <expat.h>

#define DEPTH_MAX 16
/* Of one text; a key of 1,024 bytes may be encoded three times as long. */
#define TEXT_BYTES_MAX ((size_t)4096)

struct xml_walk;
typedef void (*xml_end_fn)(struct xml_walk *w, const char *name);

struct xml_walk {
    XML_Parser parser;
    unsigned depth;
    bool bad;
    const char *why;
    struct buf text; /* Of the innermost element. */
    xml_end_fn begin;
    xml_end_fn end;
    /* Of pages. */
    struct object_page *page;
    struct object_entry entry; /* The one that is being read. */
    bool in_entry;
    bool in_prefixes;
    bool encoded; /* Keys are encoded as parts of URLs. */
    bool truncated;
    /* Of others. */
    struct object_words *words;
};

static void xml_stop(struct xml_walk *w, const char *why)
{
    w->bad = true;
    w->why = why;
    (void)XML_StopParser(w->parser, XML_FALSE);
}

/* Without the name space, which servers write or not. */
static const char *local_name(const char *name)
{
    const char *colon = strrchr(name, ':');
    return colon ? colon + 1 : name;
}

static void on_begin(void *ctx, const char *name, const char **attributes)
{
    struct xml_walk *w = ctx;
    (void)attributes;
    if (++w->depth > DEPTH_MAX) {
        xml_stop(w, "elements are nested too deeply");
        return;
    }
    buf_clear(&w->text);
    w->begin(w, local_name(name));
}

static void on_end(void *ctx, const char *name)
{
    struct xml_walk *w = ctx;
    INVARIANT(w->depth > 0);
    w->end(w, local_name(name));
    buf_clear(&w->text);
    w->depth--;
}

static void on_text(void *ctx, const char *text, int len)
{
    struct xml_walk *w = ctx;
    if (w->text.len + (size_t)len > TEXT_BYTES_MAX)
        xml_stop(w, "a text is too long");
    else
        buf_append(&w->text, text, (size_t)len);
}

static void on_doctype(void *ctx,
                       const char *name,
                       const char *system,
                       const char *public,
                       int has_internal)
{
    (void)name;
    (void)system;
    (void)public;
    (void)has_internal;
    xml_stop(ctx, "it declares types");
}

static int xml_walk(struct xml_walk *w, struct slice xml, struct err *err)
{
    int rc = 0;
    enum XML_Status status;
    PRE(xml.len <= OBJECT_ANSWER_BYTES_MAX);
    w->parser = XML_ParserCreate(NULL);
    if (!w->parser)
        return err_set(err, ERR_NOMEM, "a parser of XML");
    XML_SetUserData(w->parser, w);
    XML_SetElementHandler(w->parser, on_begin, on_end);
    XML_SetCharacterDataHandler(w->parser, on_text);
    XML_SetStartDoctypeDeclHandler(w->parser, on_doctype);
    status = XML_Parse(w->parser, xml.data ? xml.data : "", (int)xml.len, 1);
    if (w->bad)
        rc = err_set(err, ERR_CORRUPT, "the server's answer: %s", w->why);
    else if (status != XML_STATUS_OK)
        rc = err_set(err, ERR_CORRUPT, "the server's answer: line %lu: %s",
                     (unsigned long)XML_GetCurrentLineNumber(w->parser),
                     XML_ErrorString(XML_GetErrorCode(w->parser)));
    XML_ParserFree(w->parser);
    buf_close(&w->text);
    return rc;
}

/* --- pages --------------------------------------------------------------- */

static char *take_key(struct xml_walk *w)
{
    struct buf key = BUF_INIT;
    if (w->encoded)
        object_put_decoded(&key, buf_slice(&w->text));
    else
        buf_append_slice(&key, buf_slice(&w->text));
    return buf_take(&key);
}

static void page_begin(struct xml_walk *w, const char *name)
{
    if (w->depth != 2)
        return;
    w->in_entry = strcmp(name, "Contents") == 0;
    w->in_prefixes = strcmp(name, "CommonPrefixes") == 0;
    if (w->in_entry || w->in_prefixes) {
        mem_free(w->entry.key);
        w->entry = (struct object_entry){.is_prefix = w->in_prefixes};
    }
}

static void page_add(struct xml_walk *w)
{
    struct object_page *p = w->page;
    if (!w->entry.key || w->entry.key[0] == '\0') {
        xml_stop(w, "an entry has no key");
        return;
    }
    if (p->count == OBJECT_PAGE_ENTRIES_MAX) {
        xml_stop(w, "a page has too many entries");
        return;
    }
    if (p->count == p->cap) {
        p->cap = p->cap ? 2 * p->cap : 64;
        p->entries = mem_realloc(p->entries, p->cap * sizeof(*p->entries));
    }
    INVARIANT(p->count < p->cap);
    p->entries[p->count++] = w->entry;
    w->entry.key = NULL;
}

static void entry_end(struct xml_walk *w, const char *name)
{
    struct slice text = slice_trim(buf_slice(&w->text));
    int64_t us;
    if (strcmp(name, "Key") == 0 || strcmp(name, "Prefix") == 0) {
        mem_free(w->entry.key);
        w->entry.key = take_key(w);
    } else if (strcmp(name, "Size") == 0) {
        if (text_parse_u64(text, &w->entry.size_bytes, NULL))
            xml_stop(w, "a size is no number");
    } else if (strcmp(name, "LastModified") == 0) {
        if (text_parse_time(text, &us, NULL) == 0 && us > 0)
            w->entry.modified_us = (uint64_t)us;
    }
}

static void page_end(struct xml_walk *w, const char *name)
{
    struct slice text = slice_trim(buf_slice(&w->text));
    if (w->depth == 3 && (w->in_entry || w->in_prefixes)) {
        entry_end(w, name);
    } else if (w->depth == 2 && (w->in_entry || w->in_prefixes)) {
        page_add(w);
        w->in_entry = w->in_prefixes = false;
    } else if (w->depth == 2 && strcmp(name, "IsTruncated") == 0) {
        w->truncated = slice_eq_str(text, "true");
    } else if (w->depth == 2 && strcmp(name, "NextContinuationToken") == 0) {
        buf_clear(&w->page->next);
        buf_append_slice(&w->page->next, text);
    } else if (w->depth == 1 && strcmp(name, "ListBucketResult") != 0) {
        xml_stop(w, "it is no list");
    }
}

/* Servers say that keys are encoded before or after them: the answer is asked
 * for first. */
static bool says_encoded(struct slice xml)
{
    return memmem(xml.data, xml.len, "<EncodingType>url<", 18) != NULL;
}

int object_page_parse(struct slice xml,
                      struct object_page *out,
                      struct err *err)
{
    struct xml_walk w = {.begin = page_begin, .end = page_end, .page = out};
    int rc;
    *out = (struct object_page){.next = BUF_INIT};
    w.encoded = says_encoded(xml);
    rc = xml_walk(&w, xml, err);
    mem_free(w.entry.key);
    if (rc == 0 && !w.truncated)
        buf_clear(&out->next);
    if (rc == 0 && w.truncated && out->next.len == 0)
        rc = err_set(err, ERR_CORRUPT,
                     "the server's answer: more follows, but not from where");
    return rc;
}

/* --- words --------------------------------------------------------------- */

static void words_begin(struct xml_walk *w, const char *name)
{
    size_t len = strlen(name);
    if (w->depth != 1)
        return;
    len = MIN_OF(len, sizeof(w->words->root) - 1);
    memcpy(w->words->root, name, len);
    w->words->root[len] = '\0';
}

static void words_end(struct xml_walk *w, const char *name)
{
    struct object_words *o = w->words;

    const struct {
        const char *name;
        char *to;
        size_t room;
    } known[] = {
        {"Code", o->code, sizeof(o->code)},
        {"Message", o->message, sizeof(o->message)},
        {"RequestId", o->request_id, sizeof(o->request_id)},
        {"Region", o->region, sizeof(o->region)},
        {"Endpoint", o->endpoint, sizeof(o->endpoint)},
        {"UploadId", o->upload_id, sizeof(o->upload_id)},
        {"ETag", o->etag, sizeof(o->etag)},
    };
    struct slice text = slice_trim(buf_slice(&w->text));
    if (strcmp(name, "Message") == 0)
        text = slice_sub(text, 0, sizeof(o->message) - 1);
    for (size_t i = 0; i < ARRAY_LEN(known) && w->depth == 2; i++)
        if (strcmp(name, known[i].name) == 0 && text.len < known[i].room) {
            memcpy(known[i].to, text.data, text.len);
            known[i].to[text.len] = '\0';
        }
}

int object_words_parse(struct slice xml, struct object_words *out)
{
    struct xml_walk w = {.begin = words_begin, .end = words_end, .words = out};
    int rc;
    *out = (struct object_words){.root = ""};
    rc = xml_walk(&w, xml, NULL);
    if (rc)
        *out = (struct object_words){.root = ""};
    return rc;
}

#else

int object_page_parse(struct slice xml,
                      struct object_page *out,
                      struct err *err)
{
    (void)xml;
    *out = (struct object_page){.next = BUF_INIT};
    return err_set(err, ERR_UNSUPPORTED, "built without expat");
}

int object_words_parse(struct slice xml, struct object_words *out)
{
    (void)xml;
    *out = (struct object_words){.root = ""};
    return ERR_UNSUPPORTED;
}

#endif

void object_page_close(struct object_page *p)
{
    for (size_t i = 0; i < p->count; i++)
        mem_free(p->entries[i].key);
    mem_free(p->entries);
    buf_close(&p->next);
    *p = (struct object_page){.next = BUF_INIT};
}
