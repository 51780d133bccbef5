#include "ip_class.h"

#include <arpa/inet.h>

#include "base.h"
#include "unit.h"

int main(void)
{
	static const struct {
		const char *address;
		enum ip_class class;
	} cases[] = {
		{"0.0.0.0", IP_NEVER},		   {"0.255.255.255", IP_NEVER},	     {"1.0.0.0", IP_PUBLIC},
		{"9.255.255.255", IP_PUBLIC},	   {"10.0.0.0", IP_PRIVATE},	     {"10.255.255.255", IP_PRIVATE},
		{"11.0.0.0", IP_PUBLIC},	   {"100.63.255.255", IP_PUBLIC},    {"100.64.0.0", IP_PRIVATE},
		{"100.127.255.255", IP_PRIVATE},   {"100.128.0.0", IP_PUBLIC},	     {"126.255.255.255", IP_PUBLIC},
		{"127.0.0.1", IP_LOOPBACK},	   {"127.255.255.255", IP_LOOPBACK}, {"128.0.0.0", IP_PUBLIC},
		{"169.253.255.255", IP_PUBLIC},	   {"169.254.169.254", IP_METADATA}, {"169.255.0.0", IP_PUBLIC},
		{"172.15.255.255", IP_PUBLIC},	   {"172.16.0.0", IP_PRIVATE},	     {"172.31.255.255", IP_PRIVATE},
		{"172.32.0.0", IP_PUBLIC},	   {"192.0.0.255", IP_NEVER},	     {"192.0.1.0", IP_PUBLIC},
		{"192.167.255.255", IP_PUBLIC},	   {"192.168.255.255", IP_PRIVATE},  {"192.169.0.0", IP_PUBLIC},
		{"198.17.255.255", IP_PUBLIC},	   {"198.19.255.255", IP_PRIVATE},   {"198.20.0.0", IP_PUBLIC},
		{"100.100.100.199", IP_PRIVATE},   {"100.100.100.200", IP_METADATA}, {"168.63.129.15", IP_PUBLIC},
		{"168.63.129.16", IP_METADATA},	   {"192.0.0.192", IP_METADATA},
		{"223.255.255.255", IP_PUBLIC},	   {"224.0.0.251", IP_NEVER},	     {"255.255.255.255", IP_NEVER},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct in_addr address;
		CHECK(inet_pton(AF_INET, cases[i].address, &address) == 1);
		CHECK(ip_class(address) == cases[i].class);
		CHECK_STR(ip_class_name(ip_class(address)), ip_class_name(cases[i].class));
	}
	return unit_done();
}
