#!/bin/bash
# tools/install-dependencies after an installation that was interrupted, with stand-ins for dpkg and apt-get that note
# how they were called. $1: the sources
set -u
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failures=0
expect() { if eval "$2"; then echo "ok: $1"; else echo "FAILED: $1"; failures=1; fi; }
stand_in() { { echo '#!/bin/sh'; cat; } > "$folder/$1"; chmod +x "$folder/$1"; }
stand_in id << 'END'
echo 0
END
stand_in dpkg << 'END'
echo "dpkg $*" >> calls
END
# Asked for one package, or for all of them with their states: one is half installed.
stand_in dpkg-query << 'END'
case "$*" in
  *wanted-package*) exit 1 ;;
  *) printf 'ii  fine\niHR torn:amd64\niU  unpacked\n' ;;
esac
END
stand_in apt-get << 'END'
echo "apt-get $*" >> calls
case "$*" in *--reinstall*) [ ! -e refuse ] || { echo "E: refused" >&2; exit 100; } ;; esac
END
echo wanted-package > list
export PATH="$folder:$PATH"

"$1/tools/install-dependencies" list > output 2>&1
expect "it succeeds" '[ $? = 0 ]'
expect "what was unpacked is configured" 'grep -q "^dpkg --configure -a$" calls'
expect "what was half installed is installed again" 'grep -q "^apt-get install .*--reinstall .*torn:amd64$" calls'
expect "nothing else is" '! grep -q "reinstall.* \(fine\|unpacked\)" calls'
expect "then comes what is missing" 'tail -n 1 calls | grep -q "wanted-package$"'

touch refuse
"$1/tools/install-dependencies" list > output 2>&1
expect "it ends with 3 where that fails" '[ $? = 3 ]'
expect "it names the command to run" 'grep -q "^hint: as root: apt-get install --reinstall .*torn:amd64" output'
exit $failures
