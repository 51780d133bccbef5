/* People, their keys and their accounts. */
#include "approvers.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "io.h"
#include "sshsig.h"
#include "yaml_jv.h"

static const size_t trust_file_max = (size_t)1 << 20; /* as of sshsig */

static int invalid(struct sbx_error *err, const char *person, const char *what)
{
	sbx_fail(err, SBX_CONFIG, "approvers_invalid", "approvers.yaml: %s%s%s",
		 person != NULL ? person : "", person != NULL ? ": " : "", what);
	return sbx_hint(err, "an entry below people: is NAME: {signers: [NAME], accounts: [NAME]}");
}

static int is_name(const char *text)
{
	return text != NULL && signers_is_name(text, strlen(text));
}

static int list_has(jv list, const char *name)
{
	for (int i = 0, n = json_length(list); i < n; i++) {
		auto_jv word = json_at(list, i);
		const char *text = json_text(word);
		if (text != NULL && strcmp(text, name) == 0)
			return 1;
	}
	return 0;
}

static int check_names(const char *person, jv entry, const char *key, struct sbx_error *err)
{
	auto_jv list = json_array(entry, key);

	if (!jv_is_valid(list))
		return invalid(err, person, "signers and accounts are lists of names");
	for (int i = 0, n = json_length(list); i < n; i++) {
		auto_jv word = json_at(list, i);
		if (!is_name(json_text(word)))
			return invalid(err, person, "signers and accounts are lists of names");
	}
	return 0;
}

/* SEEN collects the signers of everybody before: a key that is two people's would sign for both. */
static int check_signers(const char *person, jv entry, jv *seen, struct sbx_error *err)
{
	auto_jv signers = json_array(entry, "signers");

	if (json_length(signers) == 0)
		return invalid(err, person, "signers names no principal of the trust file");
	for (int i = 0, n = json_length(signers); i < n; i++) {
		auto_jv word = json_at(signers, i);
		if (json_has(*seen, json_text(word)))
			return invalid(err, person, "a signer stands twice in the file");
		*seen = json_set_bool(take_jv(seen), json_text(word), 1);
	}
	return 0;
}

static int check_person(const char *person, jv entry, jv *seen, struct sbx_error *err)
{
	static const char *const keys[] = {"signers", "accounts", NULL};
	auto_free char *unknown = json_unknown_key(entry, keys);

	if (!is_name(person))
		return invalid(err, NULL, "a person's name has 1 to 64 letters, digits and @._+-");
	if (jv_get_kind(entry) != JV_KIND_OBJECT)
		return invalid(err, person, "must be a mapping");
	if (unknown != NULL)
		return invalid(err, person, "signers and accounts are the only keys");
	if (check_names(person, entry, "signers", err) < 0 ||
	    (json_has(entry, "accounts") && check_names(person, entry, "accounts", err) < 0))
		return -1;
	return check_signers(person, entry, seen, err);
}

static int check_file(jv root, struct sbx_error *err)
{
	static const char *const keys[] = {"people", NULL};
	auto_free char *unknown = json_unknown_key(root, keys);
	auto_jv people = json_object(root, "people"), seen = jv_object();

	if (unknown != NULL || !jv_is_valid(people))
		return invalid(err, NULL, "people: is the only key, and a mapping");
	for (int i = jv_object_iter(people); jv_object_iter_valid(people, i);
	     i = jv_object_iter_next(people, i)) {
		auto_jv name = jv_object_iter_key(people, i);
		auto_jv entry = jv_object_iter_value(people, i);
		if (check_person(json_text(name), entry, &seen, err) < 0)
			return -1;
	}
	return 0;
}

int approvers_load(const struct config *config, struct approvers *approvers, struct sbx_error *err)
{
	struct sbx_error inner = SBX_ERROR_INIT;
	auto_jv root = jv_invalid();

	*approvers = (struct approvers)APPROVERS_INIT;
	if (config->approvers == NULL)
		return 0;
	if (yaml_jv_file(AT_FDCWD, config->approvers, &root, NULL, NULL, &inner) < 0) {
		if (strcmp(inner.code, "missing_file") == 0 && !config->approvers_named)
			return 0;
		inner.class = SBX_CONFIG;
		*err = inner;
		return -1;
	}
	if (check_file(root, err) < 0)
		return -1;
	approvers->people = json_object(root, "people");
	return 0;
}

void approvers_clear(struct approvers *approvers)
{
	jv_free(approvers->people);
	*approvers = (struct approvers)APPROVERS_INIT;
}

int approvers_person(const struct approvers *approvers, const char *signer,
		     char person[SIGNER_SIZE], struct sbx_error *err)
{
	if (!jv_is_valid(approvers->people)) {
		snprintf(person, SIGNER_SIZE, "%s", signer);
		return 0;
	}
	for (int i = jv_object_iter(approvers->people); jv_object_iter_valid(approvers->people, i);
	     i = jv_object_iter_next(approvers->people, i)) {
		auto_jv name = jv_object_iter_key(approvers->people, i);
		auto_jv entry = jv_object_iter_value(approvers->people, i);
		auto_jv signers = json_array(entry, "signers");
		if (!list_has(signers, signer))
			continue;
		snprintf(person, SIGNER_SIZE, "%s", json_text(name));
		return 0;
	}
	sbx_fail(err, SBX_DENIED, "signer_nobody",
		 "approvers.yaml says of nobody that %s is theirs", signer);
	return sbx_hint(err, "write the signer into the list of its person in approvers.yaml");
}

int approvers_has_account(const struct approvers *approvers, const char *person,
			  const char *account)
{
	auto_jv entry = json_object(approvers->people, person);
	auto_jv accounts = json_array(entry, "accounts");

	return jv_is_valid(accounts) ? list_has(accounts, account) : strcmp(person, account) == 0;
}

/* What reading the trust file needs for each line. */
struct counting {
	const struct approvers *approvers;
	char *revoked; /* owned; NULL: there is no such file */
	size_t revoked_len;
	jv people; /* owned: an object with their names as keys */
};

static int count_signer(void *context, const char *name, const unsigned char *key, size_t key_len,
			struct sbx_error *err)
{
	struct counting *counting = context;
	struct sbx_error refused = SBX_ERROR_INIT;
	char person[SIGNER_SIZE];

	if (counting->revoked != NULL &&
	    signers_check_revoked(counting->revoked, counting->revoked_len, key, key_len, &refused) < 0) {
		if (refused.class == SBX_DENIED)
			return 0;
		*err = refused;
		return -1;
	}
	if (approvers_person(counting->approvers, name, person, &refused) == 0)
		counting->people = json_set(take_jv(&counting->people), person, jv_true());
	return 0;
}

static int read_trusted(const char *path, char **text, size_t *len, struct sbx_error *err)
{
	if (io_read_file(AT_FDCWD, path, trust_file_max, IO_TRUSTED, text, len, err) == 0)
		return 0;
	err->class = SBX_CONFIG;
	return -1;
}

static int read_revoked(const char *signers, struct counting *counting, struct sbx_error *err)
{
	struct sbx_error unread = SBX_ERROR_INIT;
	auto_free char *path = NULL;

	if (asprintf(&path, "%s" SIGNERS_REVOKED_SUFFIX, signers) < 0)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	if (read_trusted(path, &counting->revoked, &counting->revoked_len, &unread) == 0 ||
	    strcmp(unread.code, "missing_file") == 0)
		return 0;
	*err = unread;
	return -1;
}

static int count_people(const struct config *config, struct counting *counting, struct sbx_error *err)
{
	auto_free char *text = NULL;
	size_t len;

	if (read_trusted(config->allowed_signers, &text, &len, err) < 0)
		return -1;
	if (text[strspn(text, " \t\n")] == '\0') {
		sbx_fail(err, SBX_CONFIG, "signers_invalid", "allowed_signers is empty (%s)", config->allowed_signers);
		return sbx_hint(err, "add a line for each person: sbx-approve enrol NAME prints it");
	}
	return read_revoked(config->allowed_signers, counting, err) < 0
		       ? -1
		       : signers_each(text, len, SSHSIG_NAMESPACE, clock_seconds(), count_signer, counting, err);
}

int approvers_now(const struct config *config, const struct approvers *approvers, jv *people, struct sbx_error *err)
{
	struct counting counting = {.approvers = approvers, .people = jv_object()};
	int done = count_people(config, &counting, err);

	if (done == 0)
		*people = jv_keys(jv_copy(counting.people));
	free(counting.revoked);
	jv_free(counting.people);
	return done;
}
