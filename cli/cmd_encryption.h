/* Showing which files are encrypted: see cmd_encryption.c. */
#ifndef CLI_CMD_ENCRYPTION_H
#define CLI_CMD_ENCRYPTION_H

struct cli;
struct encryption_status;
struct keyring_status;

/* Print both as sheets. @keys is NULL where there are none. */
void encryption_print(struct cli *cli,
                      const struct keyring_status *keys,
                      const struct encryption_status *tables,
                      const struct encryption_status *logs);

#endif /* CLI_CMD_ENCRYPTION_H */
