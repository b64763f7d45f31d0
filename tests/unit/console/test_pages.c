/* The console's pages are whole, well-formed HTML whatever a document lacks or
 * holds: nothing of it is markup, and no figure that is missing breaks a page.
 */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/rand.h"
#include "cli/console/html.h"
#include "cli/console/page_frame.h"
#include "cli/console/page_renderers.h"
#include "cli/console/page_table.h"
#include "cli/console/pages/page_rows.h"
#include "tests/lib/check_main.h"

/* --- rendering ----------------------------------------------------------- */

static struct html_view view_of(const char *path, const char *query)
{
    return (struct html_view){.cluster = "c",
                              .node = "n1",
                              .path = path,
                              .query = query,
                              .title = "A page",
                              .viewer = "",
                              .may_operate = true,
                              .form_token = "token"};
}

static void render(html_fn page,
                   const char *path,
                   const char *query,
                   const json_t *doc,
                   struct buf *out)
{
    struct html_view view = view_of(path, query);
    struct html h = {out, &view};
    buf_clear(out);
    page(&h, doc);
}

static json_t *parse(const char *text)
{
    json_error_t error;
    json_t *doc = json_loads(text, 0, &error);
    ck_assert_msg(doc != NULL, "%s at %d", error.text, error.position);
    return doc;
}

static void ck_assert_has(struct buf *page, const char *text)
{
    ck_assert_msg(strstr(buf_cstr(page), text) != NULL, "no %s in\n%s", text,
                  buf_cstr(page));
}

static void ck_assert_lacks(struct buf *page, const char *text)
{
    ck_assert_msg(strstr(buf_cstr(page), text) == NULL, "%s in\n%s", text,
                  buf_cstr(page));
}

/* --- a reader of what the pages may write -------------------------------- */

#define DEPTH_MAX 64

static bool is_void(const char *name)
{
    return strcmp(name, "br") == 0 || strcmp(name, "input") == 0 ||
           strcmp(name, "link") == 0 || strcmp(name, "meta") == 0;
}

/* Past the attributes of a tag: quoted values alone, without '<'. Returns the
 * character that ends the tag. */
static const char *skip_attributes(const char *p)
{
    for (; *p && *p != '>'; p++) {
        ck_assert_int_ne(*p, '<');
        if (*p != '"')
            continue;
        for (p++; *p != '"'; p++) {
            ck_assert_int_ne(*p, 0);
            ck_assert_int_ne(*p, '<');
            ck_assert_int_ne(*p, '>');
        }
    }
    ck_assert_int_eq(*p, '>');
    return p;
}

/* Elements are balanced, attributes quoted, entities whole; no script. */
static void ck_assert_well_formed(struct buf *page)
{
    char open[DEPTH_MAX][16];
    size_t depth = 0;
    for (const char *p = buf_cstr(page); *p; p++) {
        char name[16] = "";
        const char *end;
        bool closes;
        if (*p == '&')
            ck_assert_uint_le(strcspn(p, ";"), 6);
        ck_assert_int_ne(*p, '>');
        if (*p != '<')
            continue;
        closes = p[1] == '/';
        p += 1 + closes;
        memcpy(name, p, strspn(p, "abcdefghijklmnopqrstuvwxyz123456") % 16);
        ck_assert_str_ne(name, "");
        ck_assert_str_ne(name, "script");
        end = skip_attributes(p);
        if (closes) {
            ck_assert_uint_gt(depth, 0);
            ck_assert_str_eq(open[--depth], name);
        } else if (end[-1] != '/' && !is_void(name)) {
            ck_assert_uint_lt(depth, DEPTH_MAX);
            memcpy(open[depth++], name, sizeof(name));
        }
        p = end;
    }
    ck_assert_uint_eq(depth, 0);
}

/* --- documents ----------------------------------------------------------- */

/* Each has every field of its subject. */
static const struct {
    const char *subject, *text;
} documents[] = {
    {"overview",
     "{'state':'warning','sentence':'A sentence.','findings':[{'id':'a',"
     "'severity':'failure','subject':'n3','sentence':'n3 is down.','remedy':"
     "'Start it.','since_at_us':1700000000000000,'link':'/nodes/n3'}],'nodes':"
     "{'up':2,'total':3},'leaders':{'lock':'n1','namenode':'n2','master':'n1',"
     "'jobs':''},'tables':7,'tablets':148,'reads_per_s':48213.2,"
     "'writes_per_s':9120,'bytes_per_s':92274689,'errors_per_s':0.2,"
     "'latency':{'read':{'p50_us':310,'p99_us':4100}},'disk':{'used_bytes':"
     "12345678,'size_bytes':99999999},'jobs':{'running':2,'waiting':1}}"},
    {"findings",
     "{'findings':[{'severity':'note','sentence':'s','link':'x'}]}"},
    {"nodes",
     "{'nodes':[{'name':'n1','address':'10.0.0.1:7400','rack':'r1','state':"
     "'up','why':'','roles':[{'name':'lock','health':'well','leads':true,"
     "'figures':{'term':12,'log_bytes':4096}}],'up_us':12345678,'pid':7,"
     "'version':'1','security':'TLS','clock_offset_us':-120,'rtt_us':220,"
     "'cpu_cores':1.25,'rss_bytes':123456,'fds':12,'fds_max':1024,"
     "'connections':3,'disk_used_bytes':90,'disk_size_bytes':100,'tablets':74,"
     "'reads_per_s':24102.1,'p50_us':420,'p99_us':7100},{'name':'n2','state':"
     "'down','why':'refused'}]}"},
    {"node",
     "{'name':'n1','address':'10.0.0.1:7400','state':'silent','why':'no "
     "answer','roles':[{'name':'lock','health':'well','leads':true,'figures':"
     "{'term':12,'log_bytes':4096}}],'up_us':12345678,'disk_used_bytes':90,"
     "'disk_size_bytes':100,'metrics':[{'name':'quarry_x_total','labels':"
     "{'method':'read'},'value':1.5}]}"},
    {"tables",
     "{'tables':[{'name':'webtable','families':['a','b'],'tablets':96,'bytes':"
     "123456,'reads_per_s':310.5,'hottest_tablet':'com.example/','state':"
     "'serving'},{'name':'other','families':[{'name':'f'}],'hottest_tablet':"
     "{'start':''}}]}"},
    {"table",
     "{'name':'webtable','schema':{'groups':[{'name':'default','compression':"
     "'zstd','in_memory':false}],'families':[{'name':'contents','group':"
     "'default','gc':'3 versions'}]},'quotas':{'bytes':1099511627776},"
     "'tablets':[{'id':1,'start':'','end':'m','server':'10.0.0.1:7400','node':"
     "'n1','state':'serving','bytes':4096,'files':3,'reads_per_s':1,"
     "'loaded_at_us':1699999000000000}]}"},
    {"tablet",
     "{'table':'webtable','start':'a','end':'','server':'10.0.0.1:7400',"
     "'node':'n1','state':'serving','bytes':1,'files':[{'name':'000001.sst',"
     "'level':0,'bytes':4096,'smallest':'a','largest':'b','generation':8}],"
     "'memtables':[{'bytes':12}],'compaction':{'running':true,'debt_bytes':9},"
     "'events':[{'at_us':1699999000000000,'text':'loaded'}]}"},
    {"heat", "{'table':'webtable','what':'writes','keys':[''],'times':[],"
             "'values':[]}"},
    {"jobs",
     "{'running':[{'id':'j1','label':'links','principal':'p','state':"
     "'running','phase':'map','tasks_total':9,'tasks_done':3,'tasks_running':"
     "2,'attempts_failed':1,'begun_at_us':1699999000000000}],'past':[{'id':"
     "'j0','label':'','state':'failed','begun_at_us':1699999000000000,"
     "'ended_at_us':1699999900000000}]}"},
    {"job",
     "{'id':'j1','label':'links','state':'running','phase':'map',"
     "'tasks_total':9,'tasks_done':3,'begun_at_us':1699999000000000,"
     "'counters':{'bad_lines':3},'phases':[{'name':'map','state':'running'}],"
     "'attempts':[{'task':1,'kind':'map','attempt':1,'worker':'w1','state':"
     "'failed','begun_at_us':1699999000000000,'ended_at_us':1699999100000000,"
     "'records':7,'bytes':9,'error':'exit status 3'},{'task':2,'kind':"
     "'reduce','attempt':1,'worker':'w1','state':'running','begun_at_us':"
     "1699999050000000}],'stragglers':[2,{'task':1,'attempt':1,'kind':'map'}],"
     "'partitions':[{'index':0,'records':5,'bytes':50},{'index':1,'records':"
     "500,'bytes':5000}],'waits_for':'workers','notes':['a note']}"},
    {"job_log", "{'id':'j1','kind':'map','task':1,'attempt':1,'text':'lines'}"},
    {"files",
     "{'path':'/a/b','entries':[{'name':'d','kind':'directory'},{'name':'f',"
     "'kind':'file','bytes':9,'replication':3,'chunks':1,'owner':'o','mode':"
     "'rw-','modified_at_us':1699999000000000}],'health':{'chunks':9,"
     "'under_replicated':1},'servers':[{'address':'a','rack':'r','state':'up',"
     "'used_bytes':9,'size_bytes':10,'chunks':3}],'next_after':'f'}"},
    {"file", "{'path':'/a/b/f','bytes':9,'replication':3,'chunks':[{'index':0,"
             "'id':'12','version':3,'bytes':9,'servers':['a','b']}]}"},
    {"locks",
     "{'path':'/','entries':[{'name':'d','kind':'directory'},{'name':'l',"
     "'kind':'file','mode':'exclusive','holders':[{'session':7,'client':'c'}],"
     "'generation':3,'bytes':4}],'sessions':[{'id':'7','client':'c',"
     "'principal':'p','lease_left_us':9000000,'handles':2,'locks':['/l']}]}"},
    {"calls", "{'slow':[{'trace_id':'abc','request_id':'1','node':'n1',"
              "'method':'read','peer':'p','begun_at_us':1699999000000000,"
              "'duration_us':90000,'outcome':'deadline'}]}"},
    {"trace",
     "{'id':'abc','spans':[{'id':'1','parent':'','kind':'client','name':"
     "'scan','node':'n1','begun_at_us':1699999000000000,'duration_us':900,"
     "'outcome':'ok','attributes':{'rows':7,'table':'t'}},{'id':'2','parent':"
     "'1','name':'read','begun_at_us':1699999000000100,'duration_us':300,"
     "'outcome':'unavailable'},{'id':'3','parent':'4'},{'id':'4','parent':"
     "'3'},{'id':'5','parent':'5'}]}"},
    {"config", "{'nodes':[{'name':'n1','settings':[{'name':'listen','value':"
               "'x','origin':'default'}]}]}"},
    {"history", "{'step_us':5000000,'series':[{'name':'reads_per_s','unit':"
                "'per_s','node':'all','points':[[1,2]]}]}"},
};

static json_t *document(size_t i)
{
    char *text = strdup(documents[i].text);
    json_t *doc;
    for (char *p = text; *p; p++)
        if (*p == '\'')
            *p = '"';
    doc = parse(text);
    free(text);
    json_object_set_new(doc, "at_us", json_integer(1700000000000000));
    json_object_set_new(doc, "cluster", json_string("c"));
    json_object_set_new(doc, "warnings", parse("[\"n3 does not answer\"]"));
    return doc;
}

/* --- mutations ----------------------------------------------------------- */

static const char *const hostile[] = {
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "</title></svg></main><b>",
    "&lt;&amp;",
    "javascript:alert(1)",
    "//example.org/",
    "../../%2e%2e/\n\t",
    "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",
    "",
};

/* A value that no renderer expects. */
static json_t *odd_value(struct rand_gen *r)
{
    switch (rand_below(r, 8)) {
    case 0: return json_null();
    case 1: return json_integer((json_int_t)rand_u64(r));
    case 2: return json_real(1e300);
    case 3: return json_real(-0.5);
    case 4: return json_array();
    case 5: return json_object();
    case 6: return parse("[[1,null,\"<i>\"],{\"<b>\":\"<u>\"}]");
    default:
        return json_string(
            hostile[rand_below(r, sizeof(hostile) / sizeof(*hostile))]);
    }
}

/* A copy of @value in which fields are missing, hostile or of another type. */
static json_t *mutate(const json_t *value, struct rand_gen *r, unsigned one_in)
{
    json_t *out;
    if (rand_below(r, one_in) == 0)
        return odd_value(r);
    if (json_is_string(value) && rand_below(r, 3) == 0)
        return json_string(
            hostile[rand_below(r, sizeof(hostile) / sizeof(*hostile))]);
    if (json_is_array(value)) {
        out = json_array();
        for (size_t i = 0; i < json_array_size(value); i++)
            if (rand_below(r, one_in))
                json_array_append_new(
                    out, mutate(json_array_get(value, i), r, one_in));
        return out;
    }
    if (json_is_object(value)) {
        const char *key;
        json_t *field;
        out = json_object();
        json_object_foreach((json_t *)(uintptr_t)value, key, field)
            if (rand_below(r, one_in))
                json_object_set_new(out, key, mutate(field, r, one_in));
        return out;
    }
    return json_deep_copy(value);
}

/* --- tests --------------------------------------------------------------- */

/* Each subject has an example here, so that no page is left out. */
START_TEST(test_all_pages)
{
    struct buf page = BUF_INIT;
    for (const struct console_page *p = console_pages; p->path; p++) {
        size_t i = 0;
        json_t *doc;
        while (i < sizeof(documents) / sizeof(*documents) &&
               strcmp(documents[i].subject, p->subject) != 0)
            i++;
        ck_assert_msg(i < sizeof(documents) / sizeof(*documents), "%s",
                      p->subject);
        doc = document(i);
        render(p->render, p->path, "", doc, &page);
        ck_assert_well_formed(&page);
        ck_assert_has(&page, "<h1>");
        ck_assert_ptr_null(strstr(strstr(buf_cstr(&page), "<h1>") + 1, "<h1>"));
        ck_assert_has(&page, ">JSON<");
        ck_assert_has(&page, "n3 does not answer");
        json_decref(doc);
    }
    buf_close(&page);
}

END_TEST

/* @text is in @page once. */
static void ck_assert_once(struct buf *page, const char *text)
{
    ck_assert_has(page, text);
    ck_assert_ptr_null(strstr(strstr(buf_cstr(page), text) + 1, text));
}

/* In its frame, a page has one heading, also that of a job that failed, and
 * listens to its document by the parameters of its path. */
START_TEST(test_framed)
{
    json_t *doc = parse("{\"at_us\":1,\"id\":\"j1\",\"error\":\"no\"}");
    json_t *failure = parse("{\"error\":\"no such job\"}");
    struct buf page = BUF_INIT;
    struct html_view view = view_of("/jobs/j%261", "sort=task");
    struct html h = {&page, &view};
    page_frame(&h, "Jobs", "job", render_job, doc);
    ck_assert_once(&page, "<h1>");
    ck_assert_has(&page, "data-events=\"/events?subject=job&amp;id=j%261&amp;"
                         "sort=task\"");
    ck_assert_once(&page, "aria-current=\"page\"");
    ck_assert_has(&page, "href=\"/jobs/j%261.json\"");
    buf_clear(&page);
    view.query = "sort=task&limit=3&after=%26";
    page_frame(&h, "Jobs", "job", render_job, doc);
    ck_assert_has(&page, "href=\"/jobs/j%261.json?limit=3&amp;after=%26\"");
    buf_clear(&page);
    page_frame(&h, "Jobs", "job", NULL, failure);
    ck_assert_once(&page, "<h1>");
    buf_close(&page);
    json_decref(doc);
    json_decref(failure);
}

END_TEST

/* Without any field, or with none that is expected, a page is whole. */
START_TEST(test_any_document)
{
    struct rand_gen r;
    struct buf page = BUF_INIT;
    rand_init(&r, test_seed());
    for (size_t i = 0; i < sizeof(documents) / sizeof(*documents); i++) {
        const struct console_page *p = page_of_subject(documents[i].subject);
        json_t *whole = document(i);
        for (unsigned round = 0; round < 200; round++) {
            json_t *doc = mutate(whole, &r, 1 + round % 40);
            render(p->render, "/x%22%3E",
                   round % 2 ? "sort=-bytes&q=%3Cb%3E" : "sort=name&%", doc,
                   &page);
            ck_assert_well_formed(&page);
            ck_assert_lacks(&page, "<script");
            ck_assert_lacks(&page, "<img");
            ck_assert_lacks(&page, "href=\"javascript:");
            ck_assert_lacks(&page, "href=\"//");
            ck_assert_lacks(&page, "nan");
            json_decref(doc);
        }
        json_decref(whole);
    }
    buf_close(&page);
}

END_TEST

/* @first stands before @second. */
static void
ck_assert_order(struct buf *page, const char *first, const char *second)
{
    ck_assert_has(page, first);
    ck_assert_has(page, second);
    ck_assert(strstr(buf_cstr(page), first) < strstr(buf_cstr(page), second));
}

/* The address says how a table is sorted; what is missing comes last. */
START_TEST(test_sorted)
{
    json_t *doc = parse("{\"tables\":[{\"name\":\"alpha\",\"bytes\":5},"
                        "{\"name\":\"beta\"},{\"name\":\"gamma\","
                        "\"bytes\":7}]}");
    struct buf page = BUF_INIT;
    render(render_tables, "/tables", "", doc, &page);
    ck_assert_order(&page, ">alpha<", ">beta<");
    ck_assert_order(&page, ">beta<", ">gamma<");
    ck_assert_lacks(&page, "aria-sort");
    render(render_tables, "/tables", "sort=-bytes", doc, &page);
    ck_assert_order(&page, ">gamma<", ">alpha<");
    ck_assert_order(&page, ">alpha<", ">beta<");
    ck_assert_has(&page, "aria-sort=\"descending\"");
    render(render_tables, "/tables", "a=1&sort=bytes", doc, &page);
    ck_assert_order(&page, ">alpha<", ">gamma<");
    ck_assert_order(&page, ">gamma<", ">beta<");
    ck_assert_has(&page, "href=\"?a=1&amp;sort=-bytes\"");
    buf_close(&page);
    json_decref(doc);
}

END_TEST

/* A long table is cut after it was sorted, and says so. */
START_TEST(test_cut)
{
    json_t *doc = json_object(), *rows = json_array();
    struct buf page = BUF_INIT;
    for (int i = 0; i < PAGE_ROWS_MAX + 5; i++)
        json_array_append_new(
            rows, json_pack("{s:s,s:i}", "name",
                            i == PAGE_ROWS_MAX + 4 ? "the-greatest" : "other",
                            "bytes", i));
    json_object_set_new(doc, "tables", rows);
    render(render_tables, "/tables", "", doc, &page);
    ck_assert_lacks(&page, "the-greatest");
    ck_assert_has(&page, "1,000 of 1,005 rows");
    render(render_tables, "/tables", "sort=-bytes", doc, &page);
    ck_assert_has(&page, "the-greatest");
    ck_assert_well_formed(&page);
    buf_close(&page);
    json_decref(doc);
}

END_TEST

/* Spans stand below their parents; those in a circle are shown too. */
START_TEST(test_waterfall)
{
    size_t i = 0;
    json_t *doc;
    struct buf page = BUF_INIT;
    while (strcmp(documents[i].subject, "trace") != 0)
        i++;
    doc = document(i);
    render(render_trace, "/traces/abc", "", doc, &page);
    ck_assert_order(&page, "class=\"d0\">scan", "class=\"d1\">read");
    for (const char *p = buf_cstr(&page); (p = strstr(p, "<tr>")); p++)
        i++;
    json_decref(doc);
    ck_assert_has(&page, "<dt>Spans</dt><dd><span title=\"5\">5</span>");
    buf_close(&page);
}

END_TEST

/* A long chain of spans, each below the one before, needs no deep stack. */
START_TEST(test_deep_trace)
{
    json_t *doc = json_object(), *spans = json_array();
    struct buf page = BUF_INIT;
    for (int i = 0; i < 3000; i++) {
        char id[16], parent[16];
        snprintf(id, sizeof(id), "%d", i);
        snprintf(parent, sizeof(parent), "%d", i - 1);
        json_array_append_new(spans, json_pack("{s:s,s:s,s:i,s:i}", "id", id,
                                               "parent", parent, "begun_at_us",
                                               1000 + i, "duration_us", 5));
    }
    json_object_set_new(doc, "spans", spans);
    render(render_trace, "/traces/abc", "", doc, &page);
    ck_assert_well_formed(&page);
    buf_close(&page);
    json_decref(doc);
}

END_TEST

/* Actions are for viewers who may; a page itself changes nothing. */
START_TEST(test_actions)
{
    json_t *doc = parse("{\"id\":\"j&1\",\"state\":\"running\"}");
    struct buf page = BUF_INIT;
    struct html_view view = view_of("/jobs/j1", "");
    struct html h = {&page, &view};
    render_job(&h, doc);
    ck_assert_has(&page, "href=\"/actions/kill?job=j%261\"");
    ck_assert_lacks(&page, "method=\"post\"");
    buf_clear(&page);
    view.may_operate = false;
    render_job(&h, doc);
    ck_assert_lacks(&page, "/actions/");
    buf_close(&page);
    json_decref(doc);
}

END_TEST

TEST_MAIN("pages",
          test_all_pages,
          test_any_document,
          test_framed,
          test_sorted,
          test_cut,
          test_waterfall,
          test_deep_trace,
          test_actions)
