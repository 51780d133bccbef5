/* Reading public keys. */
#include "sshsig_key.h"

#include <string.h>

#include "base.h"

enum {
	FIELD_MAX = 8 << 10,	    /* a field of a key: an RSA modulus of 16384 bits has 2 KiB */
	RSA_BITS_MIN = 3072,	    /* 128 bits of security, as the curves have (NIST SP 800-57) */
	RSA_BYTES_MAX = 16384 / 8,  /* the most that ssh-keygen makes or reads */
	RSA_EXPONENT_BYTES_MAX = 8, /* what libcrypto takes for a large modulus */
};

static const struct form {
	const char *type;
	enum sshsig_key_kind kind;
	const char *curve; /* NULL: there is no field for it */
	size_t point_len;  /* 0: an RSA key */
	int hardware;
} forms[] = {
	{"ssh-ed25519", SSHSIG_ED25519, NULL, 32, 0},
	{"ecdsa-sha2-nistp256", SSHSIG_P256, "nistp256", 1 + 2 * 32, 0},
	{"sk-ssh-ed25519@openssh.com", SSHSIG_SK_ED25519, NULL, 32, 1},
	{"sk-ecdsa-sha2-nistp256@openssh.com", SSHSIG_SK_P256, "nistp256", 1 + 2 * 32, 1},
	{"ecdsa-sha2-nistp384", SSHSIG_P384, "nistp384", 1 + 2 * 48, 0},
	{"ecdsa-sha2-nistp521", SSHSIG_P521, "nistp521", 1 + 2 * 66, 0},
	{"ssh-rsa", SSHSIG_RSA, NULL, 0, 0},
};

const char *sshsig_key_fault_text(enum sshsig_key_fault fault)
{
	switch (fault) {
	case SSHSIG_KEY_GOOD:
		break;
	case SSHSIG_KEY_MALFORMED:
		return "is malformed, or not in its shortest form";
	case SSHSIG_KEY_TYPE:
		return "is of a type that does not count here";
	case SSHSIG_KEY_CERTIFICATE:
		return "is a certificate, and no authority counts here";
	case SSHSIG_KEY_SHORT:
		return "is an RSA key of less than 3072 bits";
	case SSHSIG_KEY_APPLICATION:
		return "has an application that does not begin with ssh:";
	}
	return "is good";
}

int sshsig_is_text(const void *bytes, size_t len, const char *text)
{
	return len == strlen(text) && memcmp(bytes, text, len) == 0;
}

static const struct form *find_form(const void *type, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(forms); i++)
		if (sshsig_is_text(type, len, forms[i].type))
			return &forms[i];
	return NULL;
}

enum sshsig_key_fault sshsig_key_type(const char *type, size_t len)
{
	static const char certificate[] = "-cert-v01@openssh.com";
	const size_t end = sizeof certificate - 1;

	if (find_form(type, len) != NULL)
		return SSHSIG_KEY_GOOD;
	return len > end && memcmp(type + len - end, certificate, end) == 0 ? SSHSIG_KEY_CERTIFICATE
									    : SSHSIG_KEY_TYPE;
}

int sshsig_key_is_hardware(enum sshsig_key_kind kind)
{
	return kind == SSHSIG_SK_ED25519 || kind == SSHSIG_SK_P256;
}

int sshsig_key_is_native(enum sshsig_key_kind kind)
{
	return kind == SSHSIG_ED25519 || kind == SSHSIG_P256 || sshsig_key_is_hardware(kind);
}

static int get_bytes(struct wire *w, const unsigned char **bytes, size_t *len)
{
	struct sbx_error ignored = SBX_ERROR_INIT;

	return wire_get_bytes(w, FIELD_MAX, bytes, len, &ignored);
}

int sshsig_get_number(struct wire *w, size_t max, const unsigned char **bytes, size_t *len)
{
	if (get_bytes(w, bytes, len) < 0 || *len == 0 || *len > max)
		return -1;
	const unsigned char *n = *bytes;
	/* A first bit that is set makes it negative; a zero byte stands in front of such a bit
	 * alone. */
	if ((n[0] & 0x80) || (n[0] == 0 && (*len < 2 || !(n[1] & 0x80))))
		return -1;
	return 0;
}

static int read_rsa(struct wire *w, struct sshsig_key *key)
{
	const unsigned char *exponent;
	size_t len;

	if (sshsig_get_number(w, RSA_EXPONENT_BYTES_MAX, &exponent, &len) < 0)
		return -1;
	/* With the exponent 1 every text signs itself; an even one is no RSA. */
	if (!(exponent[len - 1] & 1) || (len == 1 && exponent[0] == 1))
		return -1;
	if (sshsig_get_number(w, RSA_BYTES_MAX + 1, &key->point, &key->point_len) < 0)
		return -1;
	if (key->point[0] == 0) {
		key->point++;
		key->point_len--;
	}
	return 0;
}

static int read_point(struct wire *w, const struct form *form, struct sshsig_key *key)
{
	const unsigned char *curve;
	size_t len;

	if (form->curve != NULL &&
	    (get_bytes(w, &curve, &len) < 0 || !sshsig_is_text(curve, len, form->curve)))
		return -1;
	if (get_bytes(w, &key->point, &key->point_len) < 0 || key->point_len != form->point_len)
		return -1;
	/* Uncompressed (SEC 1 section 2.3.3), as OpenSSH writes and reads them. */
	return form->curve == NULL || key->point[0] == 4 ? 0 : -1;
}

enum sshsig_key_fault sshsig_key_read(const unsigned char *blob, size_t len, struct sshsig_key *key)
{
	struct wire w = {blob, len};
	const unsigned char *type;
	size_t type_len;

	if (get_bytes(&w, &type, &type_len) < 0)
		return SSHSIG_KEY_MALFORMED;
	const struct form *form = find_form(type, type_len);
	if (form == NULL)
		return sshsig_key_type((const char *)type, type_len);
	*key = (struct sshsig_key){.kind = form->kind, .type = form->type};
	if ((form->point_len > 0 ? read_point(&w, form, key) : read_rsa(&w, key)) < 0)
		return SSHSIG_KEY_MALFORMED;
	if (form->hardware && get_bytes(&w, &key->application, &key->application_len) < 0)
		return SSHSIG_KEY_MALFORMED;
	return w.left == 0 ? SSHSIG_KEY_GOOD : SSHSIG_KEY_MALFORMED;
}

static size_t bits_of(const unsigned char *number, size_t len)
{
	size_t bits = 8 * len;

	for (unsigned char mask = 0x80; len > 0 && mask != 0 && !(number[0] & mask); mask >>= 1)
		bits--;
	return bits;
}

enum sshsig_key_fault sshsig_key_counts(const struct sshsig_key *key)
{
	static const char prefix[] = "ssh:";
	const size_t prefix_len = sizeof prefix - 1;

	if (key->kind == SSHSIG_RSA && bits_of(key->point, key->point_len) < RSA_BITS_MIN)
		return SSHSIG_KEY_SHORT;
	/* No web site can ask a security key to sign for an application that is no domain name. */
	if (key->application != NULL && (key->application_len < prefix_len ||
					 memcmp(key->application, prefix, prefix_len) != 0))
		return SSHSIG_KEY_APPLICATION;
	return SSHSIG_KEY_GOOD;
}
