/* The settings of a server as JSON, for SERVER_CONFIG: an array of objects with
 * name ("tablet.log"), value, origin ("option", "file" or "default") and, of a
 * file, where ("/etc/quarry.conf:7").
 *
 * Contents of key files are not among them, and neither are commands, which may
 * have secrets in them: of these only that they are set.
 *
 * Threads: one.
 */
#ifndef CLI_SETTINGS_TEXT_H
#define CLI_SETTINGS_TEXT_H

struct buf;
struct server_settings;

/* Append the settings. */
void settings_text_put(const struct server_settings *s, struct buf *out);

#endif /* CLI_SETTINGS_TEXT_H */
