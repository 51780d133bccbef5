# kill -9 of sbx-policy and sbx-approve, alone and with the whole line, at each of their steps.

load ../helpers
load ../kill

setup() {
	kill_setup
}

teardown() {
	kill_teardown
}

@test "kill -9 of sbx-policy right behind each of its steps" {
	strike_each policy after
	record_is_whole
}

@test "kill -9 of sbx-approve right behind each of its steps" {
	strike_each approve after
	record_is_whole
}

@test "kill -9 of the whole line right behind each step of sbx-approve" {
	strike_each approve group-after
	record_is_whole
}
