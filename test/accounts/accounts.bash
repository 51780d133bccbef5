# Shared by the bats files that need accounts: a machine in namespaces of its own (machine) with agent, other, alice, bob and sbx, in which the
# README's "Two accounts" was followed to the letter.

# accounts_missing: what this machine lacks for it; nothing when it can be made.
accounts_missing() {
	[ "$(id -u)" -eq 0 ] || {
		echo root
		return
	}
	for program in sudo /usr/sbin/sshd ssh useradd visudo nsenter setpriv ip; do
		command -v "$program" >/dev/null || echo "$program"
	done
	unshare --mount --pid --net --ipc --uts --fork mount -t tmpfs none /mnt 2>/dev/null || echo 'the right to make namespaces'
}

# The README's section "Two accounts", as one script.
accounts_readme() {
	awk '/^## / {inside = /^## Two accounts$/} inside' "$ROOT/README.md" | awk '/^ *```sh$/ {inside = 1; next} /^ *```$/ {inside = 0} inside' | sed 's/^   //'
}

# What the README's own steps come to before that section, and the tools of the tests.
accounts_settings() {
	install -d /etc/sbx
	cp -r /usr/local/share/sbx/policy /etc/sbx/policy
	awk '/^ *```yaml$/ {inside = 1; next} /^ *```$/ && inside {exit} inside' "$ROOT/README.md" | sed 's/^   //' >/etc/sbx/sbx.yaml
	echo 'approval_pause: 0s' >>/etc/sbx/sbx.yaml
	sed -i -e 's|path: /usr/bin/terraform|path: /usr/local/bin/terraform|' -e 's|^programs:|&\n  "true": {path: /usr/local/bin/true}\n  stepper: {path: /usr/local/bin/stepper, env_allowed: [SBX_TOKEN]}|' \
		-e 's|^scopes:|&\n  test-read: {audience: https://api.test, permissions: ["things:read"], reads_secrets: false}|' /etc/sbx/policy/policy.yaml
	# What terraform itself makes counts as holding data here, and one person may sign for its loss.
	printf 'holds_data:\n  - terraform_data\n' >/etc/sbx/policy/signals/tests.yaml
	sed -i 's|^  critical: .*|  critical: {threshold: 1, user_verification: false}|' /etc/sbx/policy/policy.yaml
	cp "$ROOT/test/fixtures/basic/tools/"{true,apply_true,sleep}.yaml /etc/sbx/policy/tools/
	echo 'credentials: [{scope: test-read, as: token, env: SBX_TOKEN}]' >>/etc/sbx/policy/tools/sleep.yaml
	cat >/etc/sbx/policy/tools/apply_slowly.yaml <<-'END'
		name: apply_slowly
		title: Take a moment, with an approval
		description: Takes a moment once a person has approved it.
		tier: high
		params:
		  note: {type: string, max_length: 20, default: none, description: Any word}
		steps:
		  - [stepper, pause, "1500", then, out, "{note}"]
		tests:
		  - {expect: approve}
	END
	# Another agent, which does not wait for people; and a line that forgot to say who asks.
	cat >/etc/sudoers.d/tests <<-'END'
		other ALL=(sbx) NOPASSWD: /usr/local/bin/sbx-call --principal other --wait 0s
		other ALL=(sbx) NOPASSWD: /usr/local/bin/sbx-call ""
		alice ALL=(sbx) NOPASSWD: /usr/local/bin/sbx-call --principal alice --wait 0s
	END
	chmod 440 /etc/sudoers.d/tests
	install -d -o agent -g agent /srv/infrastructure/envs/staging
	install -o agent -g agent -m 644 "$ROOT/terraform/local-demo/main.tf" /srv/infrastructure/envs/staging/
}

# People's and agents' keys, and what the README leaves to them.
accounts_keys() {
	cd "$DIR"
	local key
	for key in alice bob bob-login agent-login host; do
		ssh-keygen -q -t ed25519 -N '' -C "$key" -f "$DIR/$key"
	done
	install -d -m 700 -o alice -g alice /home/alice/.ssh
	install -m 600 -o alice -g alice alice /home/alice/.ssh/id_sbx
	local who
	for who in bob agent; do
		install -d -m 700 -o "$who" -g "$who" "/home/$who/.ssh"
		install -m 600 -o "$who" -g "$who" "$who-login" "/home/$who/.ssh/id_ed25519"
		echo "bastion.example $(cut -d' ' -f1,2 host.pub)" >"/home/$who/.ssh/known_hosts"
	done
	install -m 600 -o bob -g bob bob /home/bob/.ssh/id_sbx
	echo 'desk: [/usr/bin/ssh, -T, sbx@bastion.example]' >/home/bob/.sbx.yaml
	install -m 600 host /etc/ssh/host_key
	printf 'Include /etc/ssh/sshd_config.d/*.conf\nListenAddress 127.0.0.1\nHostKey /etc/ssh/host_key\nUsePAM no\nAuthorizedKeysFile none\n' >/etc/ssh/sshd_config
}

# accounts_setup: DIR holds the machine, SEEN is its root directory as it is seen from here. Two commands are in PATH from here on: `inside COMMAND...` as
# root there, and `account NAME COMMAND...` as NAME, in a clean environment, at home.
accounts_setup() {
	export DIR=$BATS_FILE_TMPDIR/accounts
	install -d -m 755 "$DIR" "$DIR/bin"
	unshare --mount --pid --net --ipc --uts --fork --kill-child --mount-proc bash "$ROOT/test/accounts/machine" "$DIR" "$SBX_BUILD" >"$DIR/log" 2>&1 3>&- &
	export MACHINE=$!
	disown "$MACHINE"
	wait_until 10 test -e "$DIR/ready" || {
		cat "$DIR/log"
		return 1
	}
	local first
	first=$(pgrep -P "$MACHINE")
	export SEEN=/proc/$first/root
	cat >"$DIR/bin/inside" <<-END
		#!/bin/sh
		exec nsenter -t $first -m -p -n -i -u --wd=/ -- "\$@"
	END
	cat >"$DIR/bin/account" <<-END
		#!/bin/bash
		home=/home/\$1
		[ "\$1" != sbx ] || home=/var/lib/sbx
		exec nsenter -t $first -m -p -n -i -u -- setpriv --reuid="\$1" --regid="\$1" --init-groups \
			env -i -C "\$home" HOME="\$home" PATH=/usr/local/bin:/usr/bin:/bin TERM=xterm "\${@:2}"
	END
	chmod 755 "$DIR/bin"/*
	export PATH=$DIR/bin:$PATH
	{
		declare -f accounts_settings accounts_keys
		printf 'ROOT=%q DIR=%q\nset -eu\naccounts_settings\naccounts_keys\n' "$ROOT" "$DIR"
		accounts_readme
		echo /usr/sbin/sshd
	} >"$DIR/set-up"
	inside bash -e "$DIR/set-up" >"$DIR/log" 2>&1 3>&- || {
		cat "$DIR/log"
		return 1
	}
}

# The first process takes every other one and every mount with it; unshare itself does not end on anything less.
accounts_teardown() {
	[ -z "${MACHINE:-}" ] || kill -KILL "$MACHINE"
}
