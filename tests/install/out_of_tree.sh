#!/usr/bin/env bash
# Installs into a temporary prefix, builds a program against it with nothing but
# pkg-config, and runs that: out_of_tree.sh BUILD CC [FLAG...].
set -euo pipefail

build=$1
cc=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/usr" >"$work/install.log" ||
    { cat "$work/install.log"; exit 1; }
pc=$(find "$work/usr" -name quarry.pc)
export PKG_CONFIG_PATH=${pc%/*}
sed -i "s|^prefix=.*|prefix=$work/usr|" "$pc"
cp "$here/program.c" "$work/"
# shellcheck disable=SC2046
"$cc" "$@" -std=c11 -Wall -Wextra -Werror "$work/program.c" -o "$work/program" \
    $(pkg-config --cflags --libs quarry)
libdir=$(pkg-config --variable=libdir quarry)
LD_LIBRARY_PATH=$libdir "$work/program" "file:$work/data" >"$work/out"
diff - "$work/out" <<'EXPECTED'
com.cnn.www anchor:com.c-span.www = CNN
com.cnn.www anchor:ca.my.www = CNN.com
EXPECTED
echo "1 passed, 0 failed"
