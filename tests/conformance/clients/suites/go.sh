# Go, integration tests as against the service
. "$here/service.sh"
suite_version=1.58.0
go_home=$cache/go-$suite_version
# Not run: fake servers of their own for sessions, and what Cloud Monitoring has.
go_skipped='SessionVRpc|BuiltInMetrics'

suite_prepare() {
    command -v go >/dev/null || skip "there is no go"
    exec 9>"$cache/go.lock"
    flock 9
    if [ ! -x "$go_home/suite" ]; then
        mkdir -p "$go_home/empty"
        (cd "$go_home/empty" && echo "module empty" >go.mod && GOFLAGS=-mod=mod \
            go mod download "cloud.google.com/go/bigtable@v$suite_version") &&
            cp -r "$(go env GOMODCACHE)/cloud.google.com/go/bigtable@v$suite_version/." \
                "$go_home" && chmod -R u+w "$go_home" &&
            (cd "$go_home" && go test -c -o suite .) ||
            skip "go cannot fetch or build the client"
    fi
    exec 9>&-
    service_certificate
    service_account p
    service_tokens
    service_names
}

# As against the service: its names lead to the server for these processes alone.
go_service() {
    # Without a cloud there is no server of metadata to wait for.
    GCE_METADATA_HOST=127.0.0.1:9 SSL_CERT_FILE=$clients_work/tls.crt \
        GOOGLE_APPLICATION_CREDENTIALS=$clients_work/account.json \
        unshare --mount sh -c 'mount --bind "$0" /etc/hosts && exec "$@"' \
        "$clients_work/hosts" "$@"
}

suite_run() {
    suite_instance p it it-cluster || return
    (cd "$go_home" && go_service timeout 1800 ./suite \
        -test.run TestIntegration -test.v -test.skip "$go_skipped" \
        -it.use-prod -it.project p -it.instance it -it.cluster it-cluster \
        -it.table mytable) | tee "$clients_work/go.out"
    python3 "$here/results.py" go "$clients_work/go.out" "$clients_work/go.xml"
}

# suite_instance PROJECT INSTANCE CLUSTER
suite_instance() {
    (cd "$go_home" && mkdir -p instance && cat >instance/main.go <<'GO' &&
// An instance of one cluster: instance PROJECT INSTANCE CLUSTER.
package main

import (
	"context"
	"log"
	"os"

	"cloud.google.com/go/bigtable"
)

func main() {
	ctx := context.Background()
	c, err := bigtable.NewInstanceAdminClient(ctx, os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	if err := c.CreateInstance(ctx, &bigtable.InstanceConf{
		InstanceId: os.Args[2], DisplayName: os.Args[2],
		ClusterId: os.Args[3], Zone: "us-central1-b", NumNodes: 3,
		InstanceType: bigtable.PRODUCTION}); err != nil {
		log.Fatal(err)
	}
}
GO
        go build -o make_instance ./instance && go_service ./make_instance "$@")
}
