# Eight processes race for one approval, 300 times: each time exactly one has it.

load ../helpers
load ../race

setup() {
	race_setup
}

@test "8 real filters race for one approval, 300 rounds: one wins each" {
	race_rounds 300
	run_sbx 0 sbx-audit verify
}
