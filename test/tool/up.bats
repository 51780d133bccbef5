# scripts/up against a cluster that does not say what it needs to know. What it makes of a real one is in test/cluster.

load ../helpers

# kubectl ANSWER STATUS: the one in PATH answers this to "get endpoints", nothing to the rest, and notes what it was asked.
kubectl() {
	mkdir -p "$BATS_TEST_TMPDIR/bin"
	cat >"$BATS_TEST_TMPDIR/bin/kubectl" <<-KUBECTL
		#!/bin/sh
		echo "\$*" >>'$BATS_TEST_TMPDIR/asked'
		case "\$*" in
		*' get endpoints '*) printf %s '$1'; exit $2 ;;
		*' apply '*) exit 9 ;;
		esac
	KUBECTL
	chmod +x "$BATS_TEST_TMPDIR/bin/kubectl"
	UP=(env -u SBX_EGRESS PATH="$BATS_TEST_TMPDIR/bin:$PATH" SBX_CONTEXT=fake SBX_IMAGE=localhost/x:1 "SBX_OUT=$BATS_TEST_TMPDIR/out")
}

@test "a cluster that does not say where its API server is: a sentence, and nothing is made" {
	local row
	for row in :1 :0 ::0; do
		rm -f "$BATS_TEST_TMPDIR/asked"
		kubectl "${row%:*}" "${row##*:}"
		run_sbx 1 "${UP[@]}" "$ROOT/scripts/up"
		assert_contains "$stderr" SBX_EGRESS
		run -1 grep -q ' apply ' "$BATS_TEST_TMPDIR/asked"
	done
	# One that does, or whose administrator does, gets further.
	kubectl 192.0.2.1:6443 0
	run_sbx 9 "${UP[@]}" "$ROOT/scripts/up"
	kubectl '' 1
	run_sbx 9 "${UP[@]}" SBX_EGRESS=192.0.2.1:6443 "$ROOT/scripts/up"
}
