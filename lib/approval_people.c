/* Whose signatures count, and whether they are enough. */
#include "approval.h"

#include <stdio.h>
#include <string.h>

#include "approval_row.h"
#include "call.h"
#include "digest.h"
#include "sshsig_apart.h"

int approval_fail_mismatch(const struct approval *row, struct sbx_error *err)
{
	sbx_fail(err, SBX_DENIED, "approval_mismatch",
		 "the text that was signed is not the one that this call gives");
	return sbx_hint(err,
			"sbx-approve deny %s closes it; after the pause make the call again, "
			"and read and sign the new text",
			row->id);
}

void approval_terms_of(const struct review *review, struct approval_terms *terms)
{
	auto_jv policy = json_object(review->call, "policy");
	auto_jv wanted = json_object(policy, "approval");

	/* A decision that does not say how many asks for more than there can be. */
	if (json_int(wanted, "threshold", &terms->threshold) < 0 || terms->threshold < 1)
		terms->threshold = APPROVAL_PEOPLE_MAX + 1;
	terms->user = json_bool(wanted, "user_verification") == 1 ? SSHSIG_USER_VERIFIED
								  : SSHSIG_USER_PRESENT;
}

/* Whether PERSON shares an account with whoever asks: all do where the toolkit runs in the agent's
 * account, else the requester's own. */
static int check_account(const struct approvals *approvals, const struct approval *row,
			 const struct sshsig *sig, const char *person, struct sbx_error *err)
{
	if (approvals->in_account &&
	    !approvers_has_account(&approvals->approvers, person, row->principal))
		return 0;
	switch (approvals->config->same_account) {
	case SAME_ACCOUNT_FILE:
		return 0;
	case SAME_ACCOUNT_TOUCH:
		if (sig->security_key && sig->user_present)
			return 0;
		sbx_fail(err, SBX_DENIED, "touch_required",
			 "requester and signer share an account: only a security key that was "
			 "touched counts");
		return sbx_hint(err,
				"sign with a key made by sbx-approve enrol, or run sbx in an account of its own; to try "
				"it with a key file: same_account: file in sbx.yaml, deny this request, and ask again "
				"after approval_pause");
	case SAME_ACCOUNT_REFUSE:
		break;
	}
	sbx_fail(err, SBX_DENIED, "same_account",
		 "requester and signer share an account, and the settings refuse that");
	return sbx_hint(err, "let another person sign, run sbx in an account of its own, or set "
			     "same_account in sbx.yaml");
}

int approval_verify(const struct approvals *approvals, const struct approval *row,
		    const struct approval_terms *terms, const char *armor, size_t len,
		    struct sshsig *sig, char person[SIGNER_SIZE], struct sbx_error *err)
{
	struct approval_clock now;

	if (approval_clock_read(&now, err) < 0 ||
	    sshsig_verify(approvals->config->allowed_signers, armor, len, row->text, row->text_len,
			  now.wall, terms->user, sshsig_check_apart, sig, err) < 0 ||
	    approvers_person(&approvals->approvers, sig->signer, person, err) < 0)
		return -1;
	return check_account(approvals, row, sig, person, err);
}

static int has_signed(const struct approval_people *people, const char *person)
{
	for (size_t i = 0; i < people->count; i++)
		if (strcmp(people->who[i].name, person) == 0)
			return 1;
	return 0;
}

/* A row whose columns say something else than its signature was edited. */
static int check_kept(const struct approvals *approvals, const struct approval *row,
		      const struct approval_terms *terms, const struct approval_signature *kept,
		      char person[SIGNER_SIZE], struct sbx_error *err)
{
	auto_sshsig sig = {0};

	if (kept->armor == NULL)
		return approval_fail_mismatch(row, err);
	if (approval_verify(approvals, row, terms, kept->armor, kept->armor_len, &sig, person,
			    err) < 0)
		return -1;
	return strcmp(sig.signer, kept->signer) == 0 &&
			       strcmp(sig.key_sha256, kept->key_sha256) == 0
		       ? 0
		       : approval_fail_mismatch(row, err);
}

static void add_person(struct approval_people *people, const char *person, const char *signer)
{
	if (has_signed(people, person) || people->count == ARRAY_LEN(people->who))
		return;
	snprintf(people->who[people->count].name, SIGNER_SIZE, "%s", person);
	snprintf(people->who[people->count].signer, SIGNER_SIZE, "%s", signer);
	people->count++;
}

void approval_count_under(const struct approvals *approvals, struct approval *row,
			  const struct approval_terms *terms, int counts[APPROVAL_PEOPLE_MAX],
			  struct sbx_error *failure)
{
	row->people.count = 0;
	for (size_t i = 0; i < row->signature_count; i++) {
		struct sbx_error wrong = SBX_ERROR_INIT;
		char person[SIGNER_SIZE];
		counts[i] =
			check_kept(approvals, row, terms, &row->signatures[i], person, &wrong) == 0;
		if (counts[i])
			add_person(&row->people, person, row->signatures[i].signer);
		else if (failure->class == SBX_OK)
			*failure = wrong;
	}
}

void approval_count(const struct approvals *approvals, struct approval *row)
{
	struct sbx_error ignored = SBX_ERROR_INIT;
	int counts[APPROVAL_PEOPLE_MAX];
	char person[SIGNER_SIZE];

	if (row->status == APPROVAL_WAITING || row->status == APPROVAL_APPROVED) {
		approval_count_under(approvals, row, &row->terms, counts, &ignored);
		return;
	}
	row->people.count = 0;
	for (size_t i = 0; i < row->signature_count; i++) {
		const char *signer = row->signatures[i].signer;
		int known = approvers_person(&approvals->approvers, signer, person, &ignored) == 0;
		add_person(&row->people, known ? person : signer, signer);
		sbx_error_clear(&ignored);
	}
}

jv approval_signers(const struct approval *row)
{
	jv list = jv_array();

	for (size_t i = 0; i < row->people.count; i++)
		list = json_append(list, jv_string(row->people.who[i].signer));
	return list;
}

int approval_check(struct approvals *approvals, struct approval *row, const struct review *review,
		   struct sbx_error *err)
{
	auto_buf text = BUF_INIT(LIMIT_REVIEW_TEXT);
	struct sbx_error failure = SBX_ERROR_INIT;
	char digest[DIGEST_HEX_SIZE];
	int counts[APPROVAL_PEOPLE_MAX];
	struct approval_terms terms;

	const char *principal = call_principal(review->call);

	if (approval_check_time(row, err) < 0)
		return -1;
	if (row->is_edited)
		return approval_fail_edited(row, err);
	/* Whose accounts are the requester's is asked of the row; the text has the call's. */
	if (principal == NULL || strcmp(principal, row->principal) != 0)
		return approval_fail_mismatch(row, err);
	if (approval_text(review, row, &text, err) < 0)
		return -1;
	digest_sha256_hex(buf_str(&text), text.len, digest);
	if (row->text == NULL || text.len != row->text_len ||
	    memcmp(buf_str(&text), row->text, text.len) != 0 ||
	    strcmp(digest, row->text_sha256) != 0)
		return approval_fail_mismatch(row, err);
	/* The call says how many are needed; what the row says is only for the desk. */
	approval_terms_of(review, &terms);
	approval_count_under(approvals, row, &terms, counts, &failure);
	if ((int64_t)row->people.count >= terms.threshold)
		return 0;
	if (failure.class != SBX_OK) {
		*err = failure;
		return -1;
	}
	sbx_fail(err, SBX_DENIED, "approval_incomplete",
		 "%zu of the %lld people that this call needs have signed it", row->people.count,
		 (long long)terms.threshold);
	return sbx_hint(err, "sbx-approve deny %s closes it; after the pause make the call again",
			row->id);
}
