# What each program links is short and written down; whatever else it links is a door that nobody looked at.

load ../helpers

# needed PROGRAM: the libraries of its dynamic section, without libc's own and the sanitizers'.
needed() {
	readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(lib[^.]*\)\..*\]/\1/p' |
		grep -vE '^(libc|libm|ld-linux.*|libgcc_s|libasan|libubsan|liblsan|libpthread)$' | sort | tr '\n' ' '
}

setup_file() {
	# Without readelf, or with another output of it, every list below would be empty.
	[[ $(needed "$SBX_BIN/sbx-policy") == *libjq* ]]
}

allowed() { # PROGRAM LIBRARIES...: at most these
	local program=$1 library
	shift
	[ -x "$program" ]
	for library in $(needed "$program"); do
		case " $* " in
		*" $library "*) ;;
		*)
			echo "$program links $library"
			return 1
			;;
		esac
	done
}

@test "the stages link what their row names" {
	allowed "$SBX_BIN/sbx-policy" libjq libyaml-0 libcrypto
	allowed "$SBX_BIN/sbx-approve" libsqlite3 libm libjq libyaml-0 libcrypto
	allowed "$SBX_BIN/sbx-cred" libjq libyaml-0 libcrypto
	allowed "$SBX_BIN/sbx-run" libjq libyaml-0 libcrypto
	allowed "$SBX_BIN/sbx-audit" libjq libyaml-0 libcrypto
}

# has_sqlite PROGRAM: shared, or in it; every database begins with these words.
has_sqlite() {
	[[ $(needed "$1") == *libsqlite3* ]] || grep -qF 'SQLite format 3' "$1"
}

@test "only sbx-approve links SQLite" {
	for program in "$SBX_BIN"/* "$SBX_LIBEXEC"/*; do
		case $program in
		*/sbx-approve) has_sqlite "$program" ;;
		*) ! has_sqlite "$program" || return 1 ;;
		esac
	done
}

# verifies PROGRAM: it has libcrypto's providers, shared or in it.
verifies() {
	[[ $(needed "$1") == *libcrypto* ]] || grep -qF 'provider=default' "$1"
}

@test "what decides by signatures has them verified by sbx-signed, and nothing else has the arithmetic but what signs tokens" {
	for program in "$SBX_BIN"/* "$SBX_LIBEXEC"/*; do
		case $program in
		*/sbx-signed | */sbx-cred-jwt) verifies "$program" ;;
		*) ! verifies "$program" || return 1 ;;
		esac
	done
}

@test "only what talks HTTP links libcurl" {
	for program in "$SBX_BIN"/* "$SBX_LIBEXEC"/*; do
		case $program in
		*/sbx-change-kubernetes | */sbx-run-kubernetes | */sbx-cred-vault | */sbx-cred-kubernetes | */sbx-witness) [[ $(needed "$program") == *libcurl* ]] ;;
		*) [[ $(needed "$program") != *libcurl* ]] ;;
		esac
	done
}

@test "what reads a hostile plan links no JSON library" {
	allowed "$SBX_BIN/sbx-plan" libcrypto
}

@test "the door links nothing" {
	allowed "$SBX_BIN/sbx-call"
}

@test "the dispatcher in the agent's account links libjq alone" {
	allowed "$SBX_BIN/sbx-mcp" libjq
}

@test "drivers and providers" {
	allowed "$SBX_LIBEXEC/sbx-run-local"
	allowed "$SBX_LIBEXEC/sbx-cred-jwt" libjq libcrypto libyaml-0
	allowed "$SBX_LIBEXEC/sbx-cred-vault" libjq libyaml-0 libcurl
	allowed "$SBX_LIBEXEC/sbx-cred-kubernetes" libjq libyaml-0 libcurl
	allowed "$SBX_LIBEXEC/sbx-witness" libjq libcurl
	allowed "$SBX_LIBEXEC/sbx-resolve"
	allowed "$SBX_LIBEXEC/sbx-run-kubernetes" libjq libyaml-0 libcurl
	allowed "$SBX_LIBEXEC/sbx-change-kubernetes" libjq libyaml-0 libcurl
}

@test "the first process of a sandbox is static, and what it starts in an image with a trust file" {
	local program
	for program in sbx-entry sbx-signed; do
		[ -z "$(needed "$SBX_LIBEXEC/$program")" ]
		run readelf -l "$SBX_LIBEXEC/$program"
		refute_contains "$output" INTERP
	done
}

@test "every program is position-independent, with read-only relocations and no executable stack" {
	for program in "$SBX_BIN"/* "$SBX_LIBEXEC"/*; do
		readelf -h "$program" | grep -q 'Type:.*DYN'
		readelf -lW "$program" | grep -q GNU_RELRO
		readelf -lW "$program" | grep GNU_STACK | grep -qv 'RWE'
	done
}
