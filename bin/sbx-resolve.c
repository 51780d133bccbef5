/* sbx-resolve: the IPv4 address of one name, asked of this machine as any program would. Apart from everything else, because
 * getaddrinfo(3) has no deadline and runs what nsswitch.conf names; whoever starts us kills us. */
#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "error.h"
#include "log.h"
#include "process.h"

static const char usage[] = "usage: sbx-resolve HOST\n"
			    "Print the IPv4 address of HOST.\n";

int main(int argc, char **argv)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found = NULL;
	char text[INET_ADDRSTRLEN];

	log_set_name("sbx-resolve");
	if (argc != 2 || argv[1][0] == '-') {
		fputs(usage, stderr);
		return SBX_USAGE;
	}
	if (process_clean("sbx-resolve", NULL, 0, &err) < 0) {
		log_error(&err);
		return (int)err.class;
	}
	int failed = getaddrinfo(argv[1], NULL, &hints, &found);
	if (failed != 0 || found == NULL) {
		sbx_fail(&err, SBX_UNAVAILABLE, "egress_unresolved", "%s", failed != 0 ? gai_strerror(failed) : "no address");
		log_error(&err);
		return (int)err.class;
	}
	const struct sockaddr_in *address = (const struct sockaddr_in *)found->ai_addr;
	int printed = inet_ntop(AF_INET, &address->sin_addr, text, sizeof text) != NULL && fputs(text, stdout) >= 0 &&
		      fflush(stdout) == 0;
	freeaddrinfo(found);
	return printed ? 0 : SBX_IO;
}
