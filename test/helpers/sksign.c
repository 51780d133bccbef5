/* A security key in software, for tests: signs stdin as a FIDO2 key would (OpenSSH PROTOCOL.u2f,
 * PROTOCOL.sshsig) and prints the armor.
 *
 *     sksign ed25519|ecdsa KEY FLAGS NAMESPACE [COUNTER [HASH [APPLICATION]]] <text >signature
 *
 * KEY is made when it is missing (PEM), and KEY.pub beside it. FLAGS: 0 not touched, 1 touched, 5
 * touched and verified; any other byte is signed too. COUNTER is 7, HASH sha512 and APPLICATION
 * ssh:sbx-approve when they are not given.
 */
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bytes {
	unsigned char data[16384];
	size_t len;
};

struct request {
	int ecdsa;
	const char *type; /* of the key */
	unsigned char flags;
	const char *name_space;
	unsigned counter;
	const char *hash; /* sha256, sha512 */
	const char *application;
};

static void die(const char *what)
{
	fprintf(stderr, "sksign: %s\n", what);
	exit(1);
}

static void add(struct bytes *b, const void *data, size_t len)
{
	if (len > sizeof b->data - b->len)
		die("too long");
	memcpy(b->data + b->len, data, len);
	b->len += len;
}

static void add_u32(struct bytes *b, unsigned value)
{
	unsigned char wire[4] = {(unsigned char)(value >> 24), (unsigned char)(value >> 16),
				 (unsigned char)(value >> 8), (unsigned char)value};

	add(b, wire, 4);
}

static void add_string(struct bytes *b, const void *data, size_t len)
{
	add_u32(b, (unsigned)len);
	add(b, data, len);
}

static void add_text(struct bytes *b, const char *text)
{
	add_string(b, text, strlen(text));
}

/* A positive big number: a zero byte in front when its first bit is set. */
static void add_number(struct bytes *b, const BIGNUM *number)
{
	unsigned char wire[80] = {0};
	size_t len = (size_t)BN_bn2bin(number, wire + 1);

	add_string(b, wire[1] & 0x80 ? wire : wire + 1, wire[1] & 0x80 ? len + 1 : len);
}

static void hash(const char *algorithm, const void *data, size_t len, unsigned char *out,
		 size_t *out_len)
{
	if (EVP_Q_digest(NULL, algorithm, NULL, data, len, out, out_len) != 1)
		die("cannot hash");
}

static EVP_PKEY *load_key(int ecdsa, const char *path)
{
	FILE *file = fopen(path, "r");
	EVP_PKEY *key;

	if (file != NULL) {
		key = PEM_read_PrivateKey(file, NULL, NULL, NULL);
	} else {
		key = ecdsa ? EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256")
			    : EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
		file = fopen(path, "w");
		if (key == NULL || file == NULL ||
		    PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL) != 1)
			die("cannot make the key");
	}
	fclose(file);
	if (key == NULL)
		die("cannot read the key");
	return key;
}

static void add_public_key(struct bytes *b, EVP_PKEY *key, const struct request *r)
{
	unsigned char point[256];
	size_t len = sizeof point;
	int got = r->ecdsa ? EVP_PKEY_get_octet_string_param(key, "pub", point, sizeof point, &len)
			   : EVP_PKEY_get_raw_public_key(key, point, &len);

	if (got != 1)
		die("cannot read the public key");
	add_text(b, r->type);
	if (r->ecdsa)
		add_text(b, "nistp256");
	add_string(b, point, len);
	add_text(b, r->application);
}

static char *base64(const struct bytes *b)
{
	unsigned char *text = calloc(1, b->len * 2 + 8);

	if (text == NULL)
		die("out of memory");
	EVP_EncodeBlock(text, b->data, (int)b->len);
	return (char *)text;
}

static void write_public_key(const char *path, const struct bytes *blob, const char *type)
{
	char name[4096];

	snprintf(name, sizeof name, "%s.pub", path);
	FILE *file = fopen(name, "w");
	if (file == NULL)
		die("cannot write the public key");
	fprintf(file, "%s %s software\n", type, base64(blob));
	fclose(file);
}

/* What a security key signs: application, flags and counter, and the digest of what ssh signs. */
static void sign(EVP_PKEY *key, const struct request *r, const struct bytes *signed_data,
		 struct bytes *out)
{
	static struct bytes message;
	unsigned char digest[64], raw[256];
	size_t len, raw_len = sizeof raw;
	EVP_MD_CTX *context = EVP_MD_CTX_new();

	hash("SHA256", r->application, strlen(r->application), digest, &len);
	add(&message, digest, len);
	add(&message, &r->flags, 1);
	add_u32(&message, r->counter);
	hash("SHA256", signed_data->data, signed_data->len, digest, &len);
	add(&message, digest, len);
	if (EVP_DigestSignInit_ex(context, NULL, r->ecdsa ? "SHA256" : NULL, NULL, NULL, key,
				  NULL) != 1 ||
	    EVP_DigestSign(context, raw, &raw_len, message.data, message.len) != 1)
		die("cannot sign");
	EVP_MD_CTX_free(context);
	if (!r->ecdsa) {
		add(out, raw, raw_len);
		return;
	}
	const unsigned char *p = raw;
	ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &p, (long)raw_len);
	if (pair == NULL)
		die("cannot read the signature");
	add_number(out, ECDSA_SIG_get0_r(pair));
	add_number(out, ECDSA_SIG_get0_s(pair));
}

static struct request read_request(int argc, char **argv)
{
	struct request r = {.counter = 7, .hash = "sha512", .application = "ssh:sbx-approve"};

	if (argc < 5 || argc > 8)
		die("usage: sksign ed25519|ecdsa KEY FLAGS NAMESPACE [COUNTER [HASH "
		    "[APPLICATION]]]");
	r.ecdsa = strcmp(argv[1], "ecdsa") == 0;
	r.type = r.ecdsa ? "sk-ecdsa-sha2-nistp256@openssh.com" : "sk-ssh-ed25519@openssh.com";
	r.flags = (unsigned char)strtoul(argv[3], NULL, 10);
	r.name_space = argv[4];
	if (argc > 5)
		r.counter = (unsigned)strtoul(argv[5], NULL, 10);
	if (argc > 6)
		r.hash = argv[6];
	if (argc > 7)
		r.application = argv[7];
	return r;
}

static void print_armor(const struct bytes *whole)
{
	char *armor = base64(whole);

	puts("-----BEGIN SSH SIGNATURE-----");
	for (size_t i = 0, n = strlen(armor); i < n; i += 70)
		printf("%.70s\n", armor + i);
	puts("-----END SSH SIGNATURE-----");
}

int main(int argc, char **argv)
{
	static struct bytes public_key, signed_data, inner, signature, whole;
	static unsigned char text[1 << 20];
	const struct request r = read_request(argc, argv);
	unsigned char digest[64];
	size_t len;

	EVP_PKEY *key = load_key(r.ecdsa, argv[2]);
	size_t text_len = fread(text, 1, sizeof text, stdin);
	add_public_key(&public_key, key, &r);
	write_public_key(argv[2], &public_key, r.type);
	hash(strcmp(r.hash, "sha256") == 0 ? "SHA256" : "SHA512", text, text_len, digest, &len);
	add(&signed_data, "SSHSIG", 6);
	add_text(&signed_data, r.name_space);
	add_text(&signed_data, "");
	add_text(&signed_data, r.hash);
	add_string(&signed_data, digest, len);
	sign(key, &r, &signed_data, &inner);
	add_text(&signature, r.type);
	add_string(&signature, inner.data, inner.len);
	add(&signature, &r.flags, 1);
	add_u32(&signature, r.counter);
	add(&whole, "SSHSIG", 6);
	add_u32(&whole, 1);
	add_string(&whole, public_key.data, public_key.len);
	add_text(&whole, r.name_space);
	add_text(&whole, "");
	add_text(&whole, r.hash);
	add_string(&whole, signature.data, signature.len);
	print_armor(&whole);
	return 0;
}
