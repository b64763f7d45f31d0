# For suites that run as against the service, with nothing of the client
# replaced: TLS by a certificate that they are told to trust, and the key of a
# service account, whose tokens the client signs itself. To be sourced.

# service_certificate: into $clients_work, as PEM and as Java's trust store.
service_certificate() {
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost \
        -addext "subjectAltName=DNS:localhost,DNS:*.googleapis.com" \
        -keyout "$clients_work/tls.key" -out "$clients_work/tls.crt" \
        2>"$clients_work/openssl" &&
        keytool -importcert -noprompt -alias quarry -storepass quarry \
            -file "$clients_work/tls.crt" -keystore "$clients_work/trusted" \
            2>"$clients_work/keytool" ||
        skip "openssl or keytool cannot make a certificate"
    clients_options=(--api-certificate "$clients_work/tls.crt"
        --api-certificate-key "$clients_work/tls.key")
}

# service_account PROJECT: $clients_work/account.json.
service_account() {
    openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 \
        -out "$clients_work/account.key" 2>"$clients_work/openssl" &&
        python3 - "$1" "$clients_work/account.key" \
            >"$clients_work/account.json" <<'PY'
import json
import sys

with open(sys.argv[2], encoding="utf-8") as f:
    key = f.read()
print(json.dumps({
    "type": "service_account", "project_id": sys.argv[1],
    "private_key_id": "1", "private_key": key, "client_id": "1",
    "client_email": "suite@%s.iam.gserviceaccount.com" % sys.argv[1],
    "token_uri": "https://127.0.0.1:9/token"}))
PY
}

# service_names: $clients_work/hosts, for Java's jdk.net.hosts.file, by which the
# service's own names lead to the server, at their port on an address of this
# machine that nothing else uses.
service_names() {
    local host=127.$((RANDOM % 250 + 1)).$((RANDOM % 250 + 1)).2 name
    python3 -c 'import socket, sys; socket.socket().bind((sys.argv[1], 443))' \
        "$host" 2>/dev/null || skip "port 443 of $host cannot be listened on"
    {
        echo "127.0.0.1 localhost"
        for name in bigtable bigtableadmin; do
            echo "$host $name.googleapis.com"
        done
    } >"$clients_work/hosts"
    clients_at=$host:443
}

# service_tokens: what the account's token_uri names; for clients that do not sign
# their tokens themselves. Ends with the suite.
service_tokens() {
    python3 "$here/tokens.py" "$clients_work/tokens.port" &
    clients_helpers+=($!)
    for _ in $(seq 100); do
        [ -s "$clients_work/tokens.port" ] && break
        sleep 0.1
    done
    sed -i "s|https://127.0.0.1:9/token|http://127.0.0.1:$(
        cat "$clients_work/tokens.port")/token|" "$clients_work/account.json"
}
