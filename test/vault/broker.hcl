# What sbx-cred-vault's own token may do (sbx-cred-vault(8)); MOUNT is that of the Kubernetes secrets engine.
path "auth/token/create/sbx-child" { capabilities = ["update"] }
path "MOUNT/roles/*" { capabilities = ["read"] }
path "sys/leases/revoke" { capabilities = ["update"] }
path "sys/leases/lookup" { capabilities = ["update"] }
path "auth/token/revoke-accessor" { capabilities = ["update"] }
# To find a child token whose answer was lost.
path "auth/token/accessors" { capabilities = ["list", "sudo"] }
path "auth/token/lookup-accessor" { capabilities = ["update"] }
# In the policy default, too.
path "auth/token/lookup-self" { capabilities = ["read"] }
path "auth/token/revoke-self" { capabilities = ["update"] }
