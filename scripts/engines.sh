# Servers that others run, as Maven has them: fetched once, and kept in
# $QUARRY_ENGINES_CACHE. Read by scripts/deps and scripts/test_engines.

s3proxy_version=2.6.0
hadoop_version=3.3.6
engines_cache=${QUARRY_ENGINES_CACHE:-$HOME/.cache/quarry/engines}

# fetch_jars DIRECTORY GROUP:NAME:VERSION…: the jars, with all that they need, in
# DIRECTORY/lib. Exit status 77: they cannot be had here.
fetch_jars() {
    local to=$1 jar group name version
    shift
    [ ! -e "$to" ] || return 0
    command -v mvn >/dev/null && command -v java >/dev/null || return 77
    rm -rf "$to.partial"
    mkdir -p "$to.partial"
    {
        echo '<project xmlns="http://maven.apache.org/POM/4.0.0">'
        echo '<modelVersion>4.0.0</modelVersion>'
        echo '<groupId>quarry</groupId><artifactId>engines</artifactId>'
        echo '<version>1</version><dependencies>'
        for jar in "$@"; do
            IFS=: read -r group name version <<<"$jar"
            echo "<dependency><groupId>$group</groupId>" \
                "<artifactId>$name</artifactId><version>$version</version></dependency>"
        done
        echo '</dependencies></project>'
    } >"$to.partial/pom.xml"
    mvn -q -B -f "$to.partial/pom.xml" dependency:copy-dependencies \
        -DoutputDirectory=lib >/dev/null 2>&1 || return 77
    mv "$to.partial" "$to"
}

fetch_s3proxy() {
    fetch_jars "$engines_cache/s3proxy-$s3proxy_version" \
        "org.gaul:s3proxy:$s3proxy_version"
}

# The servers lie in the jar of the minicluster; what a server of today's Java and a
# log need is not among its dependencies.
fetch_hadoop() {
    fetch_jars "$engines_cache/hadoop-$hadoop_version" \
        "org.apache.hadoop:hadoop-client-minicluster:$hadoop_version" \
        "org.apache.hadoop:hadoop-client-runtime:$hadoop_version" \
        "org.apache.hadoop:hadoop-client-api:$hadoop_version" \
        org.slf4j:slf4j-reload4j:1.7.36 \
        javax.xml.bind:jaxb-api:2.3.1 \
        com.sun.xml.bind:jaxb-impl:2.3.1 \
        com.sun.xml.bind:jaxb-core:2.3.0.1
}
