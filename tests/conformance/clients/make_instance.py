"""An instance of one cluster for suites that want one: `make_instance.py
PROJECT INSTANCE CLUSTER`, at $BIGTABLE_EMULATOR_HOST.
"""

import sys

import grpc
from google.cloud import bigtable_admin_v2 as admin
from google.cloud.bigtable_admin_v2.services.bigtable_instance_admin import (
    transports)

import os


def main():
    project, instance, cluster = sys.argv[1:]
    channel = grpc.insecure_channel(os.environ["BIGTABLE_EMULATOR_HOST"])
    client = admin.BigtableInstanceAdminClient(
        transport=transports.BigtableInstanceAdminGrpcTransport(
            channel=channel))
    parent = f"projects/{project}"
    client.create_instance(
        parent=parent, instance_id=instance,
        instance=admin.Instance(display_name=instance),
        clusters={cluster: admin.Cluster(
            location=f"{parent}/locations/us-central1-b", serve_nodes=3,
            default_storage_type=admin.StorageType.SSD)}).result()


main()
