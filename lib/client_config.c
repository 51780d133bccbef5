/* Snippets for MCP clients. */
#include "client_config.h"

#include <string.h>

#include "json_out.h"

static const struct client {
	const char *name;
	const char *place;
	const char *root; /* the member that holds the servers */
	const char *type; /* NULL: the client knows no such member */
} clients[] = {
	{"claude-desktop", "claude_desktop_config.json (Settings, Developer, Edit Config)", "mcpServers", NULL},
	{"cursor", "~/.cursor/mcp.json, or .cursor/mcp.json of a project", "mcpServers", NULL},
	{"claude-code", ".mcp.json of a project", "mcpServers", "stdio"},
	{"vscode", ".vscode/mcp.json of a workspace", "servers", "stdio"},
};

static const size_t snippet_max = 64 * 1024;

static const struct client *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(clients); i++)
		if (strcmp(clients[i].name, name) == 0)
			return &clients[i];
	return NULL;
}

const char *client_config_place(const char *name)
{
	const struct client *client = find(name);

	return client ? client->place : NULL;
}

/* [user@]host or an alias: nothing that ssh reads as an option. */
static int is_host(const char *host)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-@:%[]";

	return host[0] != '\0' && host[0] != '-' && strlen(host) < 256 && host[strspn(host, allowed)] == '\0';
}

/* One word for the shell on the other side, which ssh hands its arguments to. */
static int quote_word(struct buf *b, const char *word, struct sbx_error *err)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/=:@%+,";

	if (word[0] != '\0' && word[strspn(word, plain)] == '\0')
		return buf_add_str(b, word, err);
	if (buf_add_str(b, "'", err) < 0)
		return -1;
	for (const char *p = word; *p != '\0'; p++)
		if ((*p == '\'' ? buf_add_str(b, "'\\''", err) : buf_add(b, p, 1, err)) < 0)
			return -1;
	return buf_add_str(b, "'", err);
}

static int remote_command(struct buf *b, const char *const *argv, struct sbx_error *err)
{
	for (size_t i = 0; argv[i] != NULL; i++)
		if ((i > 0 && buf_add_str(b, " ", err) < 0) || quote_word(b, argv[i], err) < 0)
			return -1;
	return 0;
}

static int write_command(const char *const *argv, struct buf *out, struct sbx_error *err)
{
	if (buf_add_str(out, "\"command\": ", err) < 0 || json_out_string(out, argv[0], strlen(argv[0]), err) < 0 ||
	    buf_add_str(out, ",\n      \"args\": [", err) < 0)
		return -1;
	for (size_t i = 1; argv[i] != NULL; i++)
		if ((i > 1 && buf_add_str(out, ", ", err) < 0) ||
		    json_out_string(out, argv[i], strlen(argv[i]), err) < 0)
			return -1;
	return buf_add_str(out, "]", err);
}

int client_config_write(const char *name, const char *host, const char *const *argv, struct buf *out,
			struct sbx_error *err)
{
	const struct client *client = find(name);
	auto_buf remote = BUF_INIT(snippet_max);

	if (client == NULL) {
		sbx_fail(err, SBX_USAGE, "usage", "this client is not known");
		return sbx_hint(err, "one of " CLIENT_CONFIG_NAMES);
	}
	if (host != NULL && !is_host(host)) {
		sbx_fail(err, SBX_USAGE, "usage", "this is no host name for ssh");
		return sbx_hint(err, "HOST, USER@HOST or an alias of ~/.ssh/config");
	}
	if (host != NULL && remote_command(&remote, argv, err) < 0)
		return -1;
	/* No terminal, so that nothing changes a byte; no prompt, which nobody would see. */
	const char *const through_ssh[] = {"ssh", "-T", "-o", "BatchMode=yes", host, buf_str(&remote), NULL};
	if (buf_addf(out, err, "{\n  \"%s\": {\n    \"sbx\": {\n      ", client->root) < 0)
		return -1;
	if (client->type != NULL && buf_addf(out, err, "\"type\": \"%s\",\n      ", client->type) < 0)
		return -1;
	if (write_command(host != NULL ? through_ssh : argv, out, err) < 0)
		return -1;
	return buf_add_str(out, "\n    }\n  }\n}\n", err);
}
