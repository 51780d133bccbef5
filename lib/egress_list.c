/* Strict: what is given here was written by sbx-run. */
#include "egress_list.h"

#include <arpa/inet.h>
#include <string.h>

#include "io.h"

enum { HOSTS_MAX = 16 << 10, NAME_MAX_LEN = 64, HOST_MAX_LEN = 253 };

void egress_list_init(struct egress_list *list)
{
	struct sbx_error ignored = SBX_ERROR_INIT;

	*list = (struct egress_list){.hosts = BUF_INIT(HOSTS_MAX)};
	buf_add_str(&list->hosts, "127.0.0.1 localhost\n", &ignored);
}

void egress_list_clear(struct egress_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free((void *)list->list[i].name);
	list->count = 0;
	buf_clear(&list->hosts);
}

/* TEXT to its '=', at most MAX bytes, as a copy (owned by the caller); *REST is what follows. */
static char *before_equals(const char *text, size_t max, const char **rest)
{
	size_t len = strcspn(text, "=");

	if (len == 0 || len > max || text[len] == '\0')
		return NULL;
	*rest = text + len + 1;
	return strndup(text, len);
}

static int read_address(const char *text, struct sockaddr_in *address)
{
	char host[INET_ADDRSTRLEN];
	const char *colon = strchr(text, ':');
	uint64_t port;

	*address = (struct sockaddr_in){.sin_family = AF_INET};
	if (colon == NULL || (size_t)(colon - text) >= sizeof host)
		return -1;
	memcpy(host, text, (size_t)(colon - text));
	host[colon - text] = '\0';
	if (inet_pton(AF_INET, host, &address->sin_addr) != 1 || io_parse_u64(colon + 1, 1, UINT16_MAX, &port) < 0)
		return -1;
	address->sin_port = htons((uint16_t)port);
	return 0;
}

int egress_list_add(struct egress_list *list, const char *text)
{
	const char *rest;
	auto_free char *name = before_equals(text, NAME_MAX_LEN, &rest);
	struct sockaddr_in address;

	if (name == NULL || list->count == LIMIT_EGRESS || read_address(rest, &address) < 0)
		return -1;
	for (size_t i = 0; i < list->count; i++)
		if (list->list[i].address.sin_addr.s_addr == address.sin_addr.s_addr &&
		    list->list[i].address.sin_port == address.sin_port)
			return -1;
	list->list[list->count++] = (struct egress_destination){.name = take_ptr(&name), .address = address};
	return 0;
}

int egress_list_add_host(struct egress_list *list, const char *text)
{
	struct sbx_error ignored = SBX_ERROR_INIT;
	const char *rest;
	auto_free char *host = before_equals(text, HOST_MAX_LEN, &rest);
	struct in_addr address;

	if (host == NULL || inet_pton(AF_INET, rest, &address) != 1 ||
	    host[strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")] != '\0')
		return -1;
	return buf_addf(&list->hosts, &ignored, "%s %s\n", rest, host);
}
