"""Components include each other only in the directions that
docs/architecture.md draws, and third-party headers only in their homes."""

import re

import tree

# The engine of tablets, lowest first. The log knows no tablet; a tablet knows
# its memtables and files; reading and writing see tablets and the environment
# that these share (tablet_env.h), and nothing of store/, which puts all of them
# together.
ENGINE = ["bigtable/log/", "bigtable/recovery/", "bigtable/tablet/",
          "bigtable/read/", "bigtable/write/", "bigtable/changes/",
          "bigtable/store/"]
DUMP = ENGINE + ["base/", "gfs-lite/fs.h", "cli/", "bigtable/row/cell_key.h",
                 "bigtable/sstable/", "mapreduce/input/", "mapreduce/records/",
                 "gfs-lite/chunk_format.h", "gfs-lite/namenode/catalog.h"]

LOG_MAY = ["base/", "gfs-lite/fs.h", "bigtable/row/", "bigtable/log/"]
LSM_MAY = ["base/", "gfs-lite/fs.h", "bigtable/row/", "bigtable/sstable/",
           "bigtable/lsm/"]

SAW_BASE = ["base/core/", "sawzall-lite/sawzall.h", "sawzall-lite/values/"]

# The rooms of mapreduce, from the leaves up.
RECORDS = ["base/", "gfs-lite/fs.h", "gfs-lite/gfs.h", "gfs-lite/objects.h",
           "mapreduce/mapreduce.h",
           "mapreduce/job.h", "mapreduce/records/"]
TASK = RECORDS + ["mapreduce/task/"]
SHUFFLE = TASK + ["mapreduce/shuffle/"]
SANDBOX = TASK + ["mapreduce/sandbox/"]
INPUT = TASK + ["bigtable/client/", "bigtable/quarry", "mapreduce/warc/",
                "mapreduce/input/"]
OUTPUT = TASK + ["bigtable/client/", "bigtable/quarry", "mapreduce/output/"]
ENGINES = SANDBOX + ["sawzall-lite/sawzall.h", "bigtable/quarry",
                     "mapreduce/engines/"]
ATTEMPT = SHUFFLE + INPUT + OUTPUT + ENGINES + [
    "gfs-lite/fs_proxy.h", "gfs-lite/routed.h", "mapreduce/attempt/"]
MASTER = ATTEMPT + ["mapreduce/job_history.h", "mapreduce/master/"]

# Directory of the file (longest prefix counts) -> what it may include.
ALLOWED = {
    "base/core": ["base/core/"],
    "base/regex": ["base/core/", "base/regex/"],
    "base/runtime": ["base/core/", "base/runtime/"],
    "base/metrics": ["base/core/", "base/runtime/", "base/metrics/"],
    "base/sim": ["base/core/", "base/runtime/", "base/sim/"],
    "base/crypt": ["base/core/", "base/runtime/", "base/crypt/"],
    "base/trace": ["base/core/", "base/runtime/", "base/metrics/",
                   "base/trace/"],
    "base/otlp": ["base/core/", "base/runtime/", "base/metrics/", "base/trace/",
                  "base/otlp/"],
    "base/objects": ["base/core/", "base/runtime/", "base/objects/",
                     "base/crypt/master_command.h"],
    "base/rpc": ["base/core/", "base/runtime/", "base/metrics/", "base/trace/",
                 "base/rpc/"],
    "base/http": ["base/core/", "base/runtime/", "base/http/"],
    "base/replica": ["base/core/", "base/runtime/", "base/metrics/", "base/rpc/",
                     "base/trace/",
                     "base/crypt/", "base/replica/"],
    "base/session": ["base/core/", "base/runtime/", "base/rpc/",
                     "base/replica/replica.h", "base/session/"],
    "chubby-lite": ["base/", "chubby-lite/"],
    "gfs-lite": ["base/", "gfs-lite/"],
    # The language, from below: sawzall.h is the public header, and the types
    # of the caller's options and sinks for every room.
    "sawzall-lite/sawzall": ["base/core/"],
    "sawzall-lite/explain": ["base/core/", "sawzall-lite/sawzall.h",
                             "sawzall-lite/values/builtin.h"],
    "sawzall-lite/values": ["base/core/", "sawzall-lite/values/"],
    "sawzall-lite/tables": SAW_BASE + ["sawzall-lite/tables/"],
    "sawzall-lite/builtins": SAW_BASE + ["base/regex/regex.h",
                                         "sawzall-lite/builtins/"],
    "sawzall-lite/front": SAW_BASE + ["sawzall-lite/front/"],
    "sawzall-lite/formatter": SAW_BASE + ["sawzall-lite/front/",
                                          "sawzall-lite/formatter/"],
    "sawzall-lite/checker": SAW_BASE + ["sawzall-lite/tables/saw_table.h",
                                        "sawzall-lite/front/",
                                        "sawzall-lite/checker/"],
    "sawzall-lite/generator": SAW_BASE + ["sawzall-lite/front/",
                                          "sawzall-lite/checker/check_program.h",
                                          "sawzall-lite/checker/reads.h",
                                          "sawzall-lite/generator/"],
    "sawzall-lite/program": SAW_BASE + ["sawzall-lite/front/",
                                        "sawzall-lite/checker/check_program.h",
                                        "sawzall-lite/checker/dump_tree.h",
                                        "sawzall-lite/generator/compile.h",
                                        "sawzall-lite/generator/opcodes.h",
                                        "sawzall-lite/program.h"],
    "sawzall-lite/machine": SAW_BASE + ["sawzall-lite/tables/saw_table.h",
                                        "sawzall-lite/front/ast.h",
                                        "sawzall-lite/front/diag.h",
                                        "sawzall-lite/generator/opcodes.h",
                                        "sawzall-lite/program.h",
                                        "sawzall-lite/machine/"],
    "bigtable/row": ["base/core/", "base/regex/regex.h", "bigtable/row/"],
    "bigtable/sstable": ["base/", "gfs-lite/fs.h", "bigtable/row/",
                         "bigtable/sstable/"],
    "bigtable/lsm": LSM_MAY,
    "bigtable/log": LOG_MAY,
    "bigtable/recovery": LOG_MAY + ["bigtable/sstable/",
                                    "bigtable/recovery/"],
    "bigtable/tablet": LSM_MAY + ["bigtable/tablet/"],
    "bigtable/read": LSM_MAY + ["bigtable/tablet/", "sawzall-lite/sawzall.h",
                                "bigtable/changes/change_as_of.h",
                                "bigtable/read/"],
    "bigtable/write": LSM_MAY + [
        "bigtable/tablet/", "bigtable/log/write_log.h", "bigtable/read/",
        "bigtable/write/"],
    "bigtable/changes": LSM_MAY + [
        "bigtable/tablet/", "bigtable/log/write_log.h",
        "bigtable/read/", "bigtable/write/write_queue.h", "bigtable/changes/"],
    "bigtable/store": LSM_MAY + [
        "bigtable/log/", "bigtable/tablet/", "bigtable/read/",
        "bigtable/write/", "bigtable/wire/load_calls.h", "bigtable/wire/snapshot_calls.h",
        "bigtable/wire/snapshot_record.h",
        "bigtable/wire/tablet_files.h", "bigtable/store/"],
    "bigtable/quarry": ["base/core/", "bigtable/row/", "bigtable/quarry.h"],
    # Followers stand on the public library; its host is a process's.
    "bigtable/follow": ["base/", "bigtable/quarry", "bigtable/follow/"],
    "bigtable/quarry_observer": ["bigtable/quarry.h", "bigtable/quarry_txn.h"],
    "bigtable/observer": ["base/", "bigtable/quarry", "bigtable/row/mutation.h",
                          "bigtable/follow/follow.h", "sawzall-lite/sawzall.h",
                          "bigtable/observer/"],
    "bigtable/wire": ["base/", "bigtable/row/", "bigtable/wire/"],
    "bigtable/txn": ["base/", "bigtable/row/", "bigtable/quarry.h",
                     "bigtable/client/parallel_for.h",
                     "bigtable/client/client.h",
                     "bigtable/quarry_txn.h", "bigtable/txn/"],
    # Table files as they lie, and the calls that bring them into a store.
    "bigtable/backup": ["base/", "gfs-lite/fs.h", "gfs-lite/fs_location.h",
                        "bigtable/row/schema.h", "bigtable/sstable/",
                        "bigtable/store/add_files.h", "bigtable/wire/",
                        "bigtable/client/bulk_load.h",
                        "bigtable/client/table_import.h", "bigtable/quarry",
                        "bigtable/backup/"],
    "bigtable/replication": ["base/", "bigtable/row/", "bigtable/quarry",
                             "bigtable/read/row_digest.h",
                             "bigtable/follow/follow.h",
                             "sawzall-lite/sawzall.h",
                             "bigtable/replication/"],
    # Between quarry.c and the targets.
    "bigtable/index": ["base/", "bigtable/row/", "bigtable/quarry.h",
                       "bigtable/quarry_index.h", "bigtable/client/client.h",
                       "bigtable/index/"],
    # Processes meet on the wire: none of these includes another.
    "bigtable/client": ENGINE + [
        "base/", "chubby-lite/chubby.h", "gfs-lite/fs.h", "gfs-lite/gfs.h",
        "sawzall-lite/sawzall.h", "bigtable/row/", "bigtable/sstable/",
        "bigtable/lsm/", "bigtable/wire/", "bigtable/quarry.h",
        "bigtable/quarry_access.h", "bigtable/quarry_changes.h",
        "bigtable/index/index_write.h", "bigtable/txn/txn_settle.h",
        "bigtable/client/"],
    "bigtable/tablet_server": ENGINE + [
        "base/", "chubby-lite/chubby.h", "gfs-lite/fs.h", "gfs-lite/gfs.h",
        "sawzall-lite/sawzall.h", "bigtable/row/", "bigtable/sstable/",
        "bigtable/lsm/", "bigtable/wire/", "bigtable/quarry.h",
        "bigtable/tablet_server/"],
    "bigtable/master": ["base/", "chubby-lite/chubby.h", "gfs-lite/fs.h",
                        "gfs-lite/gfs.h", "bigtable/row/", "bigtable/wire/",
                        "bigtable/quarry.h", "bigtable/master/"],
    "bigtable/gateway": ["base/", "bigtable/quarry.h",
                         "bigtable/quarry_access.h",
                         "bigtable/quarry_changes.h",
                         "bigtable/row/filter.h", "bigtable/row/filter_run.h",
                         "bigtable/row/gc_rule.h", "bigtable/row/mutation.h",
                         # Queries; what executes them is given to it.
                         "bigtable/googlesql/gsql_engine.h",
                         "bigtable/googlesql/gsql_literal.h",
                         "bigtable/googlesql/gsql_translate.h",
                         "bigtable/googlesql/gsql_type.h",
                         "bigtable/gateway/"],
    # Views stand on it, too, and on the rules of expiry, which they foresee.
    "bigtable/view": ["base/core/", "base/runtime/world.h",
                      "bigtable/quarry", "bigtable/row/cells.h",
                      "bigtable/row/gc_rule.h", "bigtable/row/hidden.h",
                      "bigtable/follow/follow.h", "sawzall-lite/sawzall.h",
                      "bigtable/view/"],
    "cli/follow_kinds": ["base/core/", "bigtable/follow/follow.h",
                         "bigtable/observer/observer_code.h",
                         "mapreduce/observe/observe_command.h",
                         "bigtable/view/view_follow.h",
                         "bigtable/replication/replication_follower.h",
                         "jobs/jobs.h", "cli/"],
    # SQL stands on the public library, as any program may.
    "bigtable/googlesql": ["base/core/", "bigtable/googlesql/"],
    "bigtable/sql": ["base/core/", "base/runtime/sync.h", "bigtable/quarry.h",
                     "bigtable/googlesql/gsql_engine.h",
                     "bigtable/googlesql/gsql_literal.h",
                     "bigtable/googlesql/gsql_translate.h",
                     "bigtable/googlesql/gsql_type.h",
                     "bigtable/sql/"],
    "mapreduce/warc": ["base/core/", "mapreduce/warc/"],
    # The rooms of mapreduce: each may include those above it in this list.
    "mapreduce/job": ["base/core/", "mapreduce/job.h"],
    "mapreduce/mapreduce": ["base/core/"],
    "mapreduce/records": RECORDS,
    "mapreduce/task": TASK,
    "mapreduce/shuffle": SHUFFLE,
    "mapreduce/sandbox": SANDBOX,
    "mapreduce/input": INPUT,
    "mapreduce/output": OUTPUT,
    "mapreduce/engines": ENGINES,
    "mapreduce/attempt": ATTEMPT,
    "mapreduce/master": MASTER,
    "mapreduce/cluster": MASTER + [
        "chubby-lite/chubby.h", "gfs-lite/fs_proxy.h", "gfs-lite/routed.h",
        "mapreduce/cluster/"],
    # Programs of observers: processes in the cages of jobs, and jobs.
    "mapreduce/observe": SANDBOX + [
        "mapreduce/attempt/row_job.h",
        "bigtable/quarry", "bigtable/follow/follow.h",
        "bigtable/observer/observer_code.h", "mapreduce/observe/"],
    "mapreduce/lines": ["base/core/", "base/runtime/sync.h",
                        "base/runtime/world.h", "base/runtime/world_mount.h", "sawzall-lite/sawzall.h",
                        "mapreduce/lines/"],
    "mapreduce/ingest": ["base/", "gfs-lite/fs.h", "bigtable/client/",
                         "bigtable/quarry", "mapreduce/warc/",
                         "mapreduce/ingest/"],
    "jobs": ["base/core/", "base/runtime/world.h", "bigtable/quarry.h",
             "sawzall-lite/sawzall.h", "mapreduce/mapreduce.h",
             "mapreduce/job.h", "mapreduce/warc/", "jobs/"],
    # Decisions about captures, for all that show them.
    "web/policy": ["base/core/", "mapreduce/warc/", "web/policy/"],
    # Pages over other components' data, written by the console's writer of HTML.
    "web/replay": ["base/core/", "base/runtime/", "base/http/", "bigtable/quarry",
                   "base/regex/regex.h",
                   "mapreduce/warc/", "cli/console/html.h",
                   "cli/console/assets.h", "web/policy/", "web/replay/"],
    # Search, from below: words, files of an index, building, queries, pages.
    "web/search/search": ["base/core/"],
    "web/search/text": ["base/core/", "mapreduce/warc/html_text.h",
                        "mapreduce/warc/html_token.h", "web/search/text/"],
    "web/search/segment": ["base/core/", "base/crypt/", "base/runtime/sync.h",
                           "gfs-lite/fs.h", "web/search/segment/"],
    "web/search/build": ["base/core/", "base/runtime/world.h", "gfs-lite/fs.h",
                         "bigtable/quarry.h", "mapreduce/warc/",
                         "web/search/search.h", "web/search/text/",
                         "web/search/segment/", "web/search/build/"],
    "web/search/query": ["base/core/", "base/runtime/", "bigtable/quarry.h",
                         "mapreduce/warc/url.h", "mapreduce/warc/surt.h",
                         "web/policy/", "web/search/search.h",
                         "web/search/text/", "web/search/segment/",
                         "web/search/build/page_document.h",
                         "web/search/query/"],
    "web/search/pages": ["base/core/", "base/http/", "mapreduce/warc/date.h",
                         "cli/console/html.h", "web/replay/crawl_links.h",
                         "web/replay/replay_server.h", "web/search/search.h",
                         "web/search/pages/"],
    "cli/search_files": ["base/", "bigtable/client/bulk_load.h",
                         "bigtable/quarry.h", "gfs-lite/fs.h",
                         "gfs-lite/gfs.h", "web/search/search.h", "cli/"],
    "cli/search_follower": ["base/", "bigtable/client/bulk_load.h",
                            "bigtable/follow/follow.h", "bigtable/quarry.h",
                            "gfs-lite/fs.h", "web/search/search.h", "cli/"],
    "cli/cmd_search": ["base/", "bigtable/client/bulk_load.h",
                       "bigtable/follow/follow.h", "bigtable/quarry.h", "gfs-lite/fs.h",
                       "web/policy/", "web/search/search.h",
                       "web/search/pages/search_pages.h", "cli/"],
    "cli/dump_search": ["base/", "gfs-lite/fs.h", "web/search/segment/",
                        "cli/"],
    "cli/cmd_replay": ["base/", "bigtable/quarry", "web/replay/replay_server.h",
                       "web/replay/robots_scan.h",
                       "web/policy/", "cli/"],
    "cli": ["base/", "gfs-lite/fs.h", "gfs-lite/objects.h",
            "gfs-lite/remote_world.h", "sawzall-lite/sawzall.h",
            "bigtable/client/", "bigtable/quarry", "bigtable/follow/follow.h",
            "bigtable/replication/replication_follower.h",
            "bigtable/replication/replication_settings.h",
            "mapreduce/mapreduce.h", "mapreduce/job.h",
            "mapreduce/job_history.h", "mapreduce/records/files.h",
            "mapreduce/ingest/ingest.h",
            "mapreduce/ingest/cell_parser.h",
            "mapreduce/ingest/detect.h",
            "mapreduce/ingest/table_schema.h",
            "mapreduce/ingest/export.h",
            "mapreduce/ingest/cc_fetch.h",
            "mapreduce/lines/line_scan.h",
            "mapreduce/dump.h", "jobs/jobs.h", "bigtable/gateway/protection.h",
            "cli/"],
    # Documents about the cluster ask all services, as their clients.
    "cli/monitor": ["base/", "chubby-lite/chubby.h", "gfs-lite/fs.h",
                    "gfs-lite/gfs.h", "bigtable/quarry",
                    "bigtable/client/", "bigtable/row/schema.h",
                    "bigtable/wire/",
                    "mapreduce/job_history.h", "mapreduce/job.h",
                    "mapreduce/mapreduce.h", "mapreduce/cluster/job_calls.h",
                    "mapreduce/cluster/job_client.h",
                    "mapreduce/task/attempt_digest.h",
                    "mapreduce/task/job_trace.h",
                    "mapreduce/task/attempt_record.h", "cli/"],
    "cli/sql_parquet": ["base/", "bigtable/quarry.h",
                        "bigtable/sql/sql_batch.h", "bigtable/sql/sql_lexer.h",
                        "bigtable/sql/sql_session.h", "bigtable/client/",
                        "mapreduce/ingest/ingest.h", "cli/"],
    "cli/sql": ["base/", "bigtable/quarry.h", "bigtable/sql/sql_batch.h",
                "bigtable/sql/sql_lexer.h", "bigtable/sql/sql_session.h",
                "cli/"],
    "cli/sql_service": ["base/core/", "bigtable/sql/sql_engine.h", "cli/"],
    "cli/cmd_sql": ["base/", "bigtable/quarry.h", "cli/"],
    # The tables of all methods, for their names.
    "cli/method_names": ["base/", "bigtable/wire/methods.h",
                         "chubby-lite/lock_wire.h", "gfs-lite/gfs_wire.h",
                         "mapreduce/cluster/job_calls.h",
                         "mapreduce/cluster/job_wire.h", "cli/"],
    "cli/lock": ["base/", "chubby-lite/chubby.h", "cli/"],
    "cli/member": ["base/", "chubby-lite/server.h", "cli/"],
    "cli/node_version": ["base/", "bigtable/wire/metadata.h",
                         "chubby-lite/chubby.h", "cli/"],
    "cli/cluster_upgrade": ["base/", "bigtable/wire/metadata.h",
                            "chubby-lite/chubby.h", "cli/"],
    "cli/stale_sessions": ["base/", "chubby-lite/chubby.h", "cli/"],
    "cli/server_settings": ["base/", "chubby-lite/lock_service.h", "cli/"],
    "cli/server_host": ["base/", "chubby-lite/lock_elsewhere.h",
                        "chubby-lite/lock_service.h", "cli/"],
    "cli/token": ["base/", "bigtable/gateway/api_auth.h", "cli/"],
    # Roles open the services that a server process hosts.
    "cli/fs": ["base/", "gfs-lite/fs.h", "gfs-lite/gfs.h", "cli/"],
    "cli/cmd_import_cc": ["base/", "bigtable/quarry.h", "gfs-lite/fs.h",
                          "gfs-lite/objects.h", "mapreduce/ingest/cc_fetch.h",
                          "mapreduce/ingest/ingest.h", "mapreduce/warc/date.h",
                          "cli/"],
    "cli/cmd_fs": ["base/", "gfs-lite/fs.h", "gfs-lite/gfs.h",
                   "gfs-lite/objects.h", "cli/"],
    "cli/remote_fs": ["base/", "gfs-lite/fs.h", "gfs-lite/objects.h",
                      "cli/"],
    "cli/cluster": ["base/", "gfs-lite/fs.h", "gfs-lite/gfs.h", "cli/"],
    "cli/cluster_adopt": ["base/", "bigtable/quarry.h",
                          "bigtable/quarry_backup.h", "cli/"],
    "cli/cluster_orders": ["base/", "bigtable/quarry.h",
                           "mapreduce/cluster/job_client.h", "cli/"],
    "cli/console": ["base/", "bigtable/quarry.h",
                    "bigtable/gateway/api_auth.h",
                    "mapreduce/cluster/job_client.h", "cli/"],
    "cli/cmd_cluster": ["base/", "gfs-lite/fs.h", "gfs-lite/gfs.h", "cli/"],
    "cli/role": ["base/", "chubby-lite/server.h", "gfs-lite/namenode/namenode.h",
                 "gfs-lite/chunkserver/chunkserver.h", "gfs-lite/gfs.h",
                 "gfs-lite/fs.h", "bigtable/wire/metadata.h",
                 "bigtable/tablet_server/tablet_server.h",
                 "bigtable/master/master.h", "bigtable/gateway/gateway.h",
                 "bigtable/quarry.h", "bigtable/follow/follow.h", "cli/"],
    "cli/job_cell": ["base/", "gfs-lite/fs.h", "gfs-lite/gfs.h",
                     "bigtable/client/", "bigtable/quarry", "jobs/jobs.h",
                     "mapreduce/job.h",
                     "mapreduce/mapreduce.h", "mapreduce/job_history.h",
                     "mapreduce/records/files.h",
                     "mapreduce/cluster/job_calls.h",
                     "mapreduce/cluster/job_client.h", "cli/"],
    "cli/cmd_job_attempts": ["base/", "mapreduce/job_history.h",
                             "mapreduce/records/files.h",
                             "mapreduce/cluster/job_calls.h", "cli/"],
    "cli/role_caps": ["base/", "mapreduce/task/caps.h", "cli/"],
    "cli/role_jobs": ["base/", "bigtable/quarry.h",
                      "bigtable/quarry_access.h", "gfs-lite/gfs.h",
                      "jobs/jobs.h", "mapreduce/cluster/job_master.h",
                      "cli/"],
    "cli/role_worker": ["base/", "gfs-lite/gfs.h", "jobs/jobs.h",
                        "mapreduce/cluster/worker.h", "cli/"],
    "cli/attempts": ["base/", "bigtable/quarry.h", "gfs-lite/gfs.h",
                     "jobs/jobs.h", "mapreduce/attempt/exec.h", "cli/",
                     "gfs-lite/routed.h", "mapreduce/cluster/job_paths.h",
                     "mapreduce/sandbox/caged_command.h"],
    # `load --records` reads what jobs wrote.
    "cli/packed_file": ["base/core/", "mapreduce/warc/packer.h", "cli/"],
    "cli/export": ["base/", "bigtable/quarry", "mapreduce/warc/packer.h",
                    "mapreduce/ingest/cell_record.h",
                    "mapreduce/records/files.h",
                    "mapreduce/records/record_writer.h", "cli/"],
    "cli/import_records": ["base/", "bigtable/client/", "bigtable/quarry",
                           "mapreduce/ingest/",
                           "mapreduce/records/files.h",
                           "mapreduce/records/record_reader.h", "cli/"],
    "cli/cmd_load": ["base/", "bigtable/client/", "bigtable/quarry",
                 "mapreduce/records/files.h",
                 "mapreduce/records/record_reader.h", "cli/"],
    # `dump` and `check` read the files of the engine as they lie on the disk.
    "cli/dump": DUMP,
    "cli/cmd_encryption": ["base/", "gfs-lite/fs.h", "gfs-lite/gfs.h",
                       "bigtable/store/store_encryption.h", "cli/"],
    "cli/cmd_check": DUMP + ["bigtable/wire/snapshot_record.h"],
    "bindings": ["base/core/", "bigtable/quarry", "bigtable/row/cells.h",
                 "sawzall-lite/sawzall.h", "bindings/"],
    "tests": [""],
    "examples": ["base/core/", "bigtable/quarry.h",
                 "mapreduce/mapreduce.h", "quarry/"],
}

# Third-party header -> where it may be included (prefixes of paths).
HOMES = [
    (r"uv\.h", ["base/runtime/"]),
    (r"boost/.*", ["base/runtime/"]),
    (r"pthread\.h", ["base/runtime/", "base/core/crc32c.c",
                      "base/crypt/aead.c"]),
    (r"msgpack.*", ["base/rpc/codec"]),
    (r"zstd.*|zdict\.h", ["bigtable/sstable/", "mapreduce/shuffle/",
                          "mapreduce/warc/", "mapreduce/input/",
                          "mapreduce/output/",
                          "mapreduce/records/"]),
    (r"lz4.*", ["mapreduce/warc/"]),
    (r"iconv\.h|uchardet/.*", ["mapreduce/warc/charset.c"]),
    (r"cld2/.*", ["mapreduce/warc/language_guess.cc"]),
    (r"libpsl\.h", ["mapreduce/warc/public_suffix.c"]),
    (r"zip\.h", ["mapreduce/ingest/wacz_"]),
    (r"libdeflate\.h|brotli/.*", ["mapreduce/warc/", "mapreduce/input/"]),
    (r"zlib\.h", ["mapreduce/warc/", "mapreduce/input/",
                  "mapreduce/records/",
                  "bigtable/gateway/gzip.c", "base/otlp/otlp_exporter.c", "cli/bundle/archive.c",
                  "sawzall-lite/builtins/"]),
    (r"openssl/.*", ["mapreduce/warc/", "sawzall-lite/", "base/runtime/tls",
                       "base/rpc/security", "base/crypt/", "base/objects/",
                       "bigtable/gateway/api_auth.c"]),
    (r"jwt\.h", ["bigtable/gateway/api_jwt.c"]),
    (r"libxml/.*", ["mapreduce/warc/"]),
    (r"re2/.*", ["base/regex/"]),
    (r"jansson\.h", ["cli/", "base/objects/object_settings.c",
                    "base/objects/webhdfs_answer.c", "web/", "mapreduce/ingest/", "mapreduce/",
                     "bigtable/view/", "bigtable/observer/",
                     "bigtable/sql/", "bigtable/replication/"]),
    (r"duckdb.*", ["bigtable/sql/duckdb_api.h"]),
    (r"ncurses\.h", ["cli/top/"]),
    (r"histedit\.h|editline/.*", ["cli/line_editor.c"]),
    (r"seccomp\.h", ["mapreduce/sandbox/sandbox.c",
                       "tests/unit/mapreduce/test_escapes.c"]),
    (r"curl/.*", ["base/otlp/otlp_post.c", "base/objects/curl_calls.h"]),
    (r"zookeeper/.*", ["chubby-lite/zookeeper/zookeeper_calls.h"]),
    (r"expat\.h", ["base/objects/object_answer.c"]),
    (r"unicode/.*", ["web/search/text/word_breaks.c"]),
    (r"xxhash\.h", ["base/core/"]),
    (r"(rocksdb|leveldb)/.*", ["tests/bench/"]),
    (r"check\.h", ["tests/"]),
    (r"microhttpd\.h", ["base/http/"]),
    (r"nghttp2/.*", ["bigtable/gateway/grpc_connection.h",
                     "bigtable/gateway/session_memory.h"]),
]


def allowed_for(path):
    best = max((d for d in ALLOWED
                if path.startswith((d + "/", d + "_", d + "."))),
               key=len, default=None)
    return ALLOWED[best] if best else []


def main():
    found = tree.Findings()
    for path in tree.sources(".c", ".h", ".cc"):
        allowed = allowed_for(path)
        for number, line in enumerate(tree.read(path).splitlines(), 1):
            ours = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
            theirs = re.match(r"\s*#\s*include\s*<([^>]+)>", line)
            if ours and not any(ours.group(1).startswith(p) for p in allowed):
                found.add(path, number, "may not include " + ours.group(1))
            for pattern, homes in HOMES if theirs else []:
                if path.startswith("tests/"):
                    continue
                if re.fullmatch(pattern, theirs.group(1)) and not any(
                        path.startswith(home) for home in homes):
                    found.add(path, number, "%s belongs into %s" %
                              (theirs.group(1), ", ".join(homes)))
    found.finish()


main()
