"""A credential provider (sbx-helper(7)) for an S3 that somebody runs himself: sessions of the scope's `role`, by STS of the server and with the keys that
providers.sts names. They cannot be ended early. sbx-cred-sts mint --secret-fd N, revoke; boto3 from PyPI. For the test each secret is added to the file `seen`."""
import json
import os
import sys

verb = sys.argv[1]
if verb == "mint":
    import boto3

request = json.load(sys.stdin)
if verb == "revoke":
    json.dump({"state": "expires", "proof": "a session of STS lives to its end"}, sys.stdout)
    sys.exit()

with open(request["config"]["keys"]) as file:
    key, secret = file.read().split(":")
sts = boto3.client("sts", region_name="us-east-1", endpoint_url=request["config"]["address"], aws_access_key_id=key, aws_secret_access_key=secret)
name = "sbx-" + request["lease"]
session = sts.assume_role(RoleArn=request["settings"]["role"], RoleSessionName=name, DurationSeconds=max(900, request["lifetime_s"]))["Credentials"]
fields = {"access_key_id": "AccessKeyId", "secret_access_key": "SecretAccessKey", "session_token": "SessionToken"}
with os.fdopen(int(sys.argv[sys.argv.index("--secret-fd") + 1]), "wb") as out:
    for field, member in fields.items():
        value = session[member].encode()
        out.write(b"%s\0%d\0%s" % (field.encode(), len(value), value))
with open(request["config"]["seen"], "a") as seen:
    print(session["SecretAccessKey"], session["SessionToken"], sep="\n", file=seen)
json.dump({"provider": "sts", "lease": request["lease"], "jti": name, "expires_at": session["Expiration"].strftime("%Y-%m-%dT%H:%M:%SZ"),
           "fields": list(fields)}, sys.stdout)
