/* The types of objects that mkplan writes, as templates of JSON: ' is a double quote, ` a double quote
 * within a string, | a line end within a string, @ the number of the object, # an identifier of it,
 * and ~ what an update changes. */
#ifndef SBX_MKPLAN_KINDS_H
#define SBX_MKPLAN_KINDS_H

struct kind {
	const char *type, *provider;
	const char *given;	 /* arguments */
	const char *computed;	 /* what the provider adds, with a comma at its end */
	const char *unknown;	 /* the same as the mask of a new object */
	const char *sensitive;	 /* mask */
	const char *expressions; /* of the configuration */
};

static const struct kind kinds[] = {
	{"aws_instance", "hashicorp/aws",
	 "'ami':'ami-0abcdef1234567890','associate_public_ip_address':false,"
	 "'availability_zone':'eu-central-1a','credit_specification':[{'cpu_credits':'standard'}],"
	 "'disable_api_termination':false,'ebs_block_device':[],'ebs_optimized':true,"
	 "'get_password_data':false,'hibernation':null,'iam_instance_profile':'web-@',"
	 "'instance_type':'m6i.large','key_name':'deploy','launch_template':[],"
	 "'maintenance_options':[{'auto_recovery':'default'}],"
	 "'metadata_options':[{'http_endpoint':'enabled','http_protocol_ipv6':'disabled',"
	 "'http_put_response_hop_limit':2,'http_tokens':'required',"
	 "'instance_metadata_tags':'disabled'}],'monitoring':true,"
	 "'root_block_device':[{'delete_on_termination':true,'encrypted':true,'iops':3000,"
	 "'kms_key_id':'arn:aws:kms:eu-central-1:123456789012:key/#','tags':{},'throughput':125,"
	 "'volume_size':80,'volume_type':'gp3'}],'source_dest_check':true,'tags':{'Name':'web-@',"
	 "'Release':'2026.~','Team':'payments','CostCentre':'4711'},'tags_all':{'Name':'web-@',"
	 "'Release':'2026.~','Team':'payments','CostCentre':'4711','ManagedBy':'terraform'},"
	 "'tenancy':'default','timeouts':null,'user_data':'#cloud-config|package_update: true|"
	 "runcmd:|  - [ systemctl, enable, --now, web.service ]|',"
	 "'user_data_replace_on_change':false,'volume_tags':null",
	 "'arn':'arn:aws:ec2:eu-central-1:123456789012:instance/i-#','cpu_core_count':1,"
	 "'id':'i-#','instance_state':'running','primary_network_interface_id':'eni-#',"
	 "'private_dns':'ip-10-0-1-17.eu-central-1.compute.internal','private_ip':'10.0.1.17',"
	 "'public_dns':'','public_ip':'','security_groups':[],'subnet_id':'subnet-#',"
	 "'vpc_security_group_ids':['sg-#','sg-0#'],",
	 "'arn':true,'cpu_core_count':true,'id':true,'instance_state':true,"
	 "'primary_network_interface_id':true,'private_dns':true,'private_ip':true,"
	 "'public_dns':true,'public_ip':true,'security_groups':true,'subnet_id':true,"
	 "'vpc_security_group_ids':true,'root_block_device':[{'tags':{}}],'tags':{},'tags_all':{}",
	 "'credit_specification':[{}],'ebs_block_device':[],'launch_template':[],"
	 "'metadata_options':[{}],'root_block_device':[{'tags':{}}],'security_groups':[],"
	 "'tags':{},'tags_all':{}",
	 "'ami':{'references':['data.aws_ami.base.id','data.aws_ami.base']},"
	 "'instance_type':{'constant_value':'m6i.large'},'subnet_id':{'references':['var.subnets',"
	 "'each.key']},'vpc_security_group_ids':{'references':['aws_security_group.web.id',"
	 "'aws_security_group.web']},'root_block_device':[{'encrypted':{'constant_value':true},"
	 "'kms_key_id':{'references':['var.kms_key']},'volume_size':{'constant_value':80}}],"
	 "'tags':{'references':['local.tags']}"},
	{"aws_security_group", "hashicorp/aws",
	 "'description':'web servers of stack @','egress':[{'cidr_blocks':['0.0.0.0/0'],"
	 "'description':'','from_port':0,'ipv6_cidr_blocks':['::/0'],'prefix_list_ids':[],"
	 "'protocol':'-1','security_groups':[],'self':false,'to_port':0}],"
	 "'ingress':[{'cidr_blocks':['10.~.0.0/16','10.8.0.0/16'],'description':'from the load "
	 "balancer','from_port':443,'ipv6_cidr_blocks':[],'prefix_list_ids':[],'protocol':'tcp',"
	 "'security_groups':['sg-#'],'self':false,'to_port':443},{'cidr_blocks':['10.20.0.0/16'],"
	 "'description':'metrics','from_port':9100,'ipv6_cidr_blocks':[],'prefix_list_ids':[],"
	 "'protocol':'tcp','security_groups':[],'self':false,'to_port':9100}],'name':'web-@',"
	 "'name_prefix':'','revoke_rules_on_delete':false,'tags':{'Name':'web-@',"
	 "'Team':'payments'},'tags_all':{'Name':'web-@','Team':'payments',"
	 "'ManagedBy':'terraform'},'timeouts':null",
	 "'arn':'arn:aws:ec2:eu-central-1:123456789012:security-group/sg-#','id':'sg-#',"
	 "'owner_id':'123456789012','vpc_id':'vpc-#',",
	 "'arn':true,'id':true,'owner_id':true,'vpc_id':true,'egress':[{'cidr_blocks':[false],"
	 "'ipv6_cidr_blocks':[false],'prefix_list_ids':[],'security_groups':[]}],'tags':{},"
	 "'tags_all':{}",
	 "'egress':[{'cidr_blocks':[false],'ipv6_cidr_blocks':[false],'prefix_list_ids':[],"
	 "'security_groups':[]}],'ingress':[{'cidr_blocks':[false,false],'ipv6_cidr_blocks':[],"
	 "'prefix_list_ids':[],'security_groups':[false]}],'tags':{},'tags_all':{}",
	 "'name':{'references':['local.name']},'ingress':{'references':['var.ingress']},"
	 "'vpc_id':{'references':['var.vpc_id']},'tags':{'references':['local.tags']}"},
	{"aws_iam_policy", "hashicorp/aws",
	 "'description':'','name':'reader-@','name_prefix':'','path':'/',"
	 "'policy':'{`Statement`:[{`Action`:[`s3:GetObject`,`s3:ListBucket`],`Effect`:`Allow`,"
	 "`Resource`:[`arn:aws:s3:::data-@`,`arn:aws:s3:::data-@/*`],`Sid`:`Read~`},"
	 "{`Action`:`kms:Decrypt`,`Condition`:{`StringEquals`:{`kms:ViaService`:`s3.eu-central-1.a"
	 "mazonaws.com`}},`Effect`:`Allow`,"
	 "`Resource`:`arn:aws:kms:eu-central-1:123456789012:key/#`,`Sid`:`Decrypt`}],"
	 "`Version`:`2012-10-17`}','tags':{},'tags_all':{'ManagedBy':'terraform'}",
	 "'arn':'arn:aws:iam::123456789012:policy/reader-@','attachment_count':1,"
	 "'id':'arn:aws:iam::123456789012:policy/reader-@','policy_id':'ANPA#',",
	 "'arn':true,'attachment_count':true,'id':true,'policy_id':true,'tags':{},'tags_all':{}",
	 "'tags':{},'tags_all':{}",
	 "'name':{'references':['local.name']},"
	 "'policy':{'references':['data.aws_iam_policy_document.reader.json',"
	 "'data.aws_iam_policy_document.reader']}"},
	{"aws_db_instance", "hashicorp/aws",
	 "'allocated_storage':200,'allow_major_version_upgrade':null,'apply_immediately':false,"
	 "'auto_minor_version_upgrade':true,'availability_zone':'eu-central-1b',"
	 "'backup_retention_period':14,'backup_window':'02:00-03:00',"
	 "'ca_cert_identifier':'rds-ca-rsa2048-g1','copy_tags_to_snapshot':true,"
	 "'db_name':'orders','deletion_protection':true,"
	 "'enabled_cloudwatch_logs_exports':['postgresql','upgrade'],'engine':'postgres',"
	 "'engine_version':'16.~','iam_database_authentication_enabled':true,"
	 "'identifier':'orders-@','instance_class':'db.r6g.xlarge','iops':12000,"
	 "'kms_key_id':'arn:aws:kms:eu-central-1:123456789012:key/#',"
	 "'maintenance_window':'sun:03:30-sun:04:30','max_allocated_storage':1000,"
	 "'monitoring_interval':60,'multi_az':true,'password':'correct-horse-#',"
	 "'performance_insights_enabled':true,'port':5432,'publicly_accessible':false,"
	 "'skip_final_snapshot':false,'storage_encrypted':true,'storage_type':'gp3',"
	 "'tags':{'Name':'orders-@'},'tags_all':{'Name':'orders-@','ManagedBy':'terraform'},"
	 "'timeouts':null,'username':'orders'",
	 "'address':'orders-@.cx#.eu-central-1.rds.amazonaws.com',"
	 "'arn':'arn:aws:rds:eu-central-1:123456789012:db:orders-@',"
	 "'endpoint':'orders-@.cx#.eu-central-1.rds.amazonaws.com:5432',"
	 "'hosted_zone_id':'Z1RLNUO7B9Q6NB','id':'db-#',"
	 "'latest_restorable_time':'2026-11-29T22:15:00Z','resource_id':'db-#',"
	 "'status':'available','vpc_security_group_ids':['sg-#'],",
	 "'address':true,'arn':true,'endpoint':true,'hosted_zone_id':true,'id':true,"
	 "'latest_restorable_time':true,'resource_id':true,'status':true,"
	 "'vpc_security_group_ids':true,'tags':{},'tags_all':{}",
	 "'enabled_cloudwatch_logs_exports':[false,false],'password':true,'tags':{},'tags_all':{}",
	 "'identifier':{'references':['local.name']},"
	 "'password':{'references':['random_password.db.result','random_password.db']},"
	 "'engine':{'constant_value':'postgres'},'kms_key_id':{'references':['var.kms_key']},"
	 "'multi_az':{'constant_value':true}"},
	{"kubernetes_deployment", "hashicorp/kubernetes",
	 "'metadata':[{'annotations':{'deployment.kubernetes.io/revision':'~'},"
	 "'generate_name':null,'labels':{'app':'api-@','app.kubernetes.io/part-of':'shop'},"
	 "'name':'api-@','namespace':'shop'}],'spec':[{'min_ready_seconds':10,'paused':false,"
	 "'progress_deadline_seconds':600,'replicas':'3','revision_history_limit':10,"
	 "'selector':[{'match_expressions':[],'match_labels':{'app':'api-@'}}],"
	 "'strategy':[{'rolling_update':[{'max_surge':'25%','max_unavailable':'0'}],"
	 "'type':'RollingUpdate'}],'template':[{'metadata':[{'annotations':{'checksum/config':'##'"
	 "},'generate_name':'','labels':{'app':'api-@'},'name':'','namespace':''}],"
	 "'spec':[{'automount_service_account_token':false,'container':[{'args':['--listen',"
	 "'0.0.0.0:8080','--config','/etc/api/config.yaml'],'command':[],"
	 "'env':[{'name':'LOG_LEVEL','value':'info','value_from':[]},{'name':'DATABASE_URL',"
	 "'value':'','value_from':[{'config_map_key_ref':[],'field_ref':[],"
	 "'resource_field_ref':[],'secret_key_ref':[{'key':'url','name':'api-@-db',"
	 "'optional':false}]}]}],'image':'registry.example.com/shop/api:1.42.~',"
	 "'image_pull_policy':'IfNotPresent','liveness_probe':[{'failure_threshold':3,"
	 "'http_get':[{'host':'','http_header':[],'path':'/healthz','port':'8080',"
	 "'scheme':'HTTP'}],'initial_delay_seconds':15,'period_seconds':10,'success_threshold':1,"
	 "'timeout_seconds':1}],'name':'api','port':[{'container_port':8080,'host_ip':'',"
	 "'host_port':0,'name':'http','protocol':'TCP'}],'resources':[{'limits':{'cpu':'500m',"
	 "'memory':'512Mi'},'requests':{'cpu':'100m','memory':'256Mi'}}],"
	 "'security_context':[{'allow_privilege_escalation':false,'privileged':false,"
	 "'read_only_root_filesystem':true,'run_as_non_root':true}],"
	 "'volume_mount':[{'mount_path':'/etc/api','mount_propagation':'None','name':'config',"
	 "'read_only':true,'sub_path':''}]}],'dns_policy':'ClusterFirst','host_network':false,"
	 "'restart_policy':'Always','service_account_name':'api',"
	 "'termination_grace_period_seconds':30,'volume':[{'config_map':[{'default_mode':'0644',"
	 "'items':[],'name':'api-@','optional':false}],'name':'config'}]}]}]}],'timeouts':null,"
	 "'wait_for_rollout':true",
	 "'id':'shop/api-@',",
	 "'id':true,'metadata':[{'labels':{}}],'spec':[{'template':[{'spec':[{}]}]}]",
	 "'metadata':[{'annotations':{},'labels':{}}],'spec':[{'selector':[{}],"
	 "'template':[{'metadata':[{}],'spec':[{}]}]}]",
	 "'metadata':[{'labels':{'references':['local.labels']},"
	 "'name':{'references':['local.name']},'namespace':{'references':['var.namespace']}}],"
	 "'spec':[{'replicas':{'references':['var.replicas']},"
	 "'template':[{'spec':[{'container':[{'image':{'references':['var.image','var.tag']},"
	 "'name':{'constant_value':'api'}}]}]}]}]"},
	{"helm_release", "hashicorp/helm",
	 "'atomic':true,'chart':'ingress-nginx','cleanup_on_fail':true,'create_namespace':false,"
	 "'dependency_update':false,'description':null,'disable_webhooks':false,"
	 "'force_update':false,'lint':false,'max_history':10,'name':'ingress-@',"
	 "'namespace':'ingress','recreate_pods':false,'repository':'https://charts.example.com',"
	 "'set':[{'name':'controller.replicaCount','type':'','value':'2'}],'set_sensitive':[],"
	 "'skip_crds':false,'timeout':300,'values':['controller:|  ingressClassResource:|    "
	 "name: public|    default: true|  service:|    annotations:|      "
	 "service.beta.kubernetes.io/aws-load-balancer-type: nlb|      external-dns: "
	 "`ingress-@.example.com`|    externalTrafficPolicy: Local|  # gr\xc3\xb6\xc3\x9f"
	 "er als n\xc3\xb6tig|  resources:|    requests:|      cpu: 200m|      memory: 256Mi|  "
	 "metrics:|    enabled: true|    serviceMonitor:|      enabled: true|  config:|    "
	 "use-forwarded-headers: `true`|    proxy-body-size: 16m|    log-format-upstream: "
	 "`$remote_addr - $request_id`|'],'verify':false,'version':'4.11.~','wait':true,"
	 "'wait_for_jobs':false",
	 "'id':'ingress-@','manifest':null,'metadata':[{'app_version':'1.11.2',"
	 "'chart':'ingress-nginx','name':'ingress-@','namespace':'ingress','revision':7,"
	 "'values':'{`controller`:{`replicaCount`:2}}','version':'4.11.2'}],'status':'deployed',",
	 "'id':true,'manifest':true,'metadata':true,'status':true,'set':[{}],'values':[false]",
	 "'metadata':[{}],'set':[{}],'set_sensitive':[],'values':[false]",
	 "'chart':{'constant_value':'ingress-nginx'},'name':{'references':['local.name']},"
	 "'namespace':{'references':['kubernetes_namespace.ingress.metadata[0].name',"
	 "'kubernetes_namespace.ingress.metadata[0]','kubernetes_namespace.ingress.metadata',"
	 "'kubernetes_namespace.ingress']},'values':{'references':['local.values']}"},
	{"aws_s3_bucket", "hashicorp/aws",
	 "'bucket':'data-@','bucket_prefix':'','force_destroy':false,'tags':{'Name':'data-@',"
	 "'Class':'internal'},'tags_all':{'Name':'data-@','Class':'internal',"
	 "'ManagedBy':'terraform','Release':'2026.~'},'timeouts':null",
	 "'acceleration_status':'','arn':'arn:aws:s3:::data-@',"
	 "'bucket_domain_name':'data-@.s3.amazonaws.com',"
	 "'bucket_regional_domain_name':'data-@.s3.eu-central-1.amazonaws.com','cors_rule':[],"
	 "'grant':[{'id':'##','permissions':['FULL_CONTROL'],'type':'CanonicalUser','uri':''}],"
	 "'hosted_zone_id':'Z21DNDUVLTQW6Q','id':'data-@','lifecycle_rule':[],'logging':[],"
	 "'object_lock_enabled':false,'policy':'','region':'eu-central-1',"
	 "'replication_configuration':[],'request_payer':'BucketOwner',"
	 "'server_side_encryption_configuration':[{'rule':[{'apply_server_side_encryption_by_defau"
	 "lt':[{'kms_master_key_id':'','sse_algorithm':'AES256'}],'bucket_key_enabled':false}]}],"
	 "'versioning':[{'enabled':true,'mfa_delete':false}],'website':[],",
	 "'acceleration_status':true,'arn':true,'bucket_domain_name':true,"
	 "'bucket_regional_domain_name':true,'cors_rule':true,'grant':true,'hosted_zone_id':true,"
	 "'id':true,'lifecycle_rule':true,'logging':true,'object_lock_enabled':true,'policy':true,"
	 "'region':true,'replication_configuration':true,'request_payer':true,"
	 "'server_side_encryption_configuration':true,'versioning':true,'website':true,'tags':{},"
	 "'tags_all':{}",
	 "'cors_rule':[],'grant':[{'permissions':[false]}],'lifecycle_rule':[],'logging':[],"
	 "'tags':{},'tags_all':{}",
	 "'bucket':{'references':['local.name']},'tags':{'references':['local.tags']}"},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const char *const names[KINDS] = {"web", "web",	   "reader", "orders",
					 "api", "ingress", "data"};

#endif
