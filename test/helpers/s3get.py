"""s3get.py ADDRESS KEYFILE get|put|keys [KEY]: an object of the bucket "state", as the owner of it; put reads stdin."""
import sys

import boto3

address, keys, verb = sys.argv[1:4]
with open(keys) as file:
    key, secret = file.read().strip().split(":")
s3 = boto3.client("s3", region_name="us-east-1", endpoint_url=address, aws_access_key_id=key, aws_secret_access_key=secret)
if verb == "get":
    sys.stdout.buffer.write(s3.get_object(Bucket="state", Key=sys.argv[4])["Body"].read())
elif verb == "put":
    s3.put_object(Bucket="state", Key=sys.argv[4], Body=sys.stdin.buffer.read())
else:
    print(*(it["Key"] for it in s3.list_objects_v2(Bucket="state").get("Contents", [])))
