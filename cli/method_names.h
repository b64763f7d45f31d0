/* Names of the methods that processes of a cluster call, by number: servers
 * know their own, and spans of calls to others have names as well. */
#ifndef CLI_METHOD_NAMES_H
#define CLI_METHOD_NAMES_H

#include <stdint.h>

/* "tablet.read"; NULL: it is not known. Static. */
const char *method_name(uint32_t number);

#endif /* CLI_METHOD_NAMES_H */
