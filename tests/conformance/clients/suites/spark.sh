# Apache Spark's connector for Bigtable in local mode, a program of 8 checks
suite_version=0.6.0
spark_core=3.5.9
spark_home=$cache/spark-$suite_version

suite_prepare() {
    command -v mvn >/dev/null && command -v javac >/dev/null ||
        skip "there is no mvn or no javac"
    exec 9>"$cache/spark.lock"
    flock 9
    maven_classpath "$spark_home" \
        com.google.cloud.spark.bigtable:spark-bigtable_2.12:$suite_version \
        org.apache.spark:spark-sql_2.12:$spark_core
    javac -nowarn -cp "$(cat "$spark_home/classpath")" -d "$spark_home" \
        "$here/spark/SparkChecks.java" 2>"$clients_work/javac" || {
        tail -5 "$clients_work/javac"
        skip "javac cannot build the program"
    }
    exec 9>&-
}

# What Spark itself opens where Java has closed its modules.
spark_opens() {
    local name
    for name in java.lang java.lang.invoke java.lang.reflect java.io java.net \
        java.nio java.util java.util.concurrent java.util.concurrent.atomic \
        sun.nio.ch sun.nio.cs sun.security.action sun.util.calendar; do
        echo "--add-opens=java.base/$name=ALL-UNNAMED"
    done
}

suite_run() {
    timeout 600 java -Xmx1g $(spark_opens) \
        -cp "$spark_home:$(cat "$spark_home/classpath")" SparkChecks \
        "${clients_address##*:}" "$clients_work/spark.xml"
}
