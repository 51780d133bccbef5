/* What kind of place an IPv4 address is (IANA IPv4 Special-Purpose Address Registry, RFC 6890; multicast: RFC 5771). */
#ifndef SBX_IP_CLASS_H
#define SBX_IP_CLASS_H

#include <netinet/in.h>

enum ip_class {
	IP_PUBLIC,     /* none of the following; the documentation's networks too, which lead nowhere */
	IP_PRIVATE,    /* 10/8, 172.16/12, 192.168/16, 100.64/10 (shared with a provider), 198.18/15 (benchmarks) */
	IP_LOOPBACK,   /* 127/8 */
	IP_METADATA,   /* 169.254/16 (link-local), and the few others where clouds hand out a machine's credentials */
	IP_NEVER,      /* no host: 0/8, multicast, 240/4, broadcast, 192.0.0/24 */
};

enum ip_class ip_class(struct in_addr address);
/* "public", "private", …; a constant. */
const char *ip_class_name(enum ip_class class);

#endif
