# kill -9 of sbx-cred and sbx-audit, alone and with the whole line, at each of their steps.

load ../helpers
load ../kill

setup() {
	kill_setup
}

teardown() {
	kill_teardown
}

@test "kill -9 of sbx-cred right behind each of its steps" {
	strike_each cred after
	record_is_whole
}

@test "kill -9 of the whole line right behind each step of sbx-cred" {
	strike_each cred group-after
	record_is_whole
}

@test "kill -9 of sbx-audit right behind each of its steps" {
	strike_each audit after
	record_is_whole
}

@test "kill -9 of the whole line right behind each step of sbx-audit" {
	strike_each audit group-after
	record_is_whole
}
