/* The renderers of pages, for console_pages.def. Each writes what is inside
 * <main> from the document of the page's subject; page_frame.c does the rest. A
 * document may lack any field: what is not there is shown as "–".
 *
 * Threads: one. None parks.
 */
#ifndef CLI_CONSOLE_PAGE_RENDERERS_H
#define CLI_CONSOLE_PAGE_RENDERERS_H

#include "cli/console/html.h"

void render_overview(struct html *h, const json_t *doc);
void render_findings(struct html *h, const json_t *doc);
void render_history(struct html *h, const json_t *doc);
void render_nodes(struct html *h, const json_t *doc);
void render_node(struct html *h, const json_t *doc);
void render_tables(struct html *h, const json_t *doc);
void render_table(struct html *h, const json_t *doc);
void render_tablet(struct html *h, const json_t *doc);
void render_heat(struct html *h, const json_t *doc);
void render_jobs(struct html *h, const json_t *doc);
void render_job(struct html *h, const json_t *doc);
void render_job_log(struct html *h, const json_t *doc);
void render_files(struct html *h, const json_t *doc);
void render_file(struct html *h, const json_t *doc);
void render_locks(struct html *h, const json_t *doc);
void render_calls(struct html *h, const json_t *doc);
void render_trace(struct html *h, const json_t *doc);
void render_config(struct html *h, const json_t *doc);

#endif /* CLI_CONSOLE_PAGE_RENDERERS_H */
