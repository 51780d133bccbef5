#include "ip_class.h"

#include <arpa/inet.h>
#include <stdint.h>

#include "base.h"

struct network {
	uint32_t address, mask;
	enum ip_class class;
};
#define HOST(a, b, c, d) ((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (uint32_t)(d))
#define NETWORK(a, b, c, bits, class) {HOST(a, b, c, 0), ~(uint32_t)0 << (32 - (bits)), class}

/* The first that has an address counts. */
static const struct network networks[] = {
	{HOST(100, 100, 100, 200), ~(uint32_t)0, IP_METADATA}, /* Alibaba Cloud's */
	{HOST(168, 63, 129, 16), ~(uint32_t)0, IP_METADATA},   /* Azure's wire server */
	{HOST(192, 0, 0, 192), ~(uint32_t)0, IP_METADATA},     /* Oracle Cloud's */
	NETWORK(0, 0, 0, 8, IP_NEVER),	       NETWORK(10, 0, 0, 8, IP_PRIVATE),
	NETWORK(100, 64, 0, 10, IP_PRIVATE),   NETWORK(127, 0, 0, 8, IP_LOOPBACK),
	NETWORK(169, 254, 0, 16, IP_METADATA), NETWORK(172, 16, 0, 12, IP_PRIVATE),
	NETWORK(192, 0, 0, 24, IP_NEVER),      NETWORK(192, 168, 0, 16, IP_PRIVATE),
	NETWORK(198, 18, 0, 15, IP_PRIVATE),   NETWORK(224, 0, 0, 3, IP_NEVER),
};

enum ip_class ip_class(struct in_addr address)
{
	uint32_t host = ntohl(address.s_addr);

	for (size_t i = 0; i < ARRAY_LEN(networks); i++)
		if ((host & networks[i].mask) == networks[i].address)
			return networks[i].class;
	return IP_PUBLIC;
}

const char *ip_class_name(enum ip_class class)
{
	switch (class) {
	case IP_PUBLIC:
		return "public";
	case IP_PRIVATE:
		return "private";
	case IP_LOOPBACK:
		return "loopback";
	case IP_METADATA:
		return "link-local or a cloud's metadata";
	case IP_NEVER:
		return "no host's";
	}
	return "no host's";
}
