# kill -9 of sbx-run, alone and with what it started, at each of its steps.

load ../helpers
load ../kill

setup() {
	kill_setup
}

teardown() {
	kill_teardown
}

@test "kill -9 of sbx-run right behind each of its steps" {
	strike_each run after
	record_is_whole
}

@test "kill -9 of sbx-run's process group right behind each of its steps" {
	strike_each run group-after
	record_is_whole
}
