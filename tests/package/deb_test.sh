#!/bin/bash
# The .deb in a root of its own laid over this one: installed with its dependencies checked, used, removed without a
# trace. Nothing of it reaches the machine's own files.
. "$(dirname "$0")/package.sh" "$1"
need_program dpkg-shlibdeps
need_program unshare
[ "$(id -u)" = 0 ] || skip "mounting needs root"

deb=$("$sources/tools/package/deb" "$build" .) || fail "tools/package/deb"
dpkg-deb --contents "$deb" > contents
simulator=
[ ! -x "$build/bin/lockstep-sim" ] || simulator=bin/lockstep-sim
for file in bin/lockstep bin/lockstep-worker $simulator share/man/man1/lockstep-train.1.gz \
  share/bash-completion/completions/lockstep share/zsh/vendor-completions/_lockstep \
  share/fish/vendor_completions.d/lockstep.fish share/doc/lockstep/LICENSE; do
  expect "it has $file" grep -q " ./usr/$file\$" contents
done
expect "everything belongs to root" bash -c "! grep -v ' root/root ' contents"

cat > inside.sh << 'END'
set -eu
mount -t tmpfs none over
mkdir over/changes over/work over/root
mount -t overlay none -o "lowerdir=/,upperdir=$PWD/over/changes,workdir=$PWD/over/work" over/root || exit 77
mount --rbind /proc over/root/proc
mount --rbind /dev over/root/dev
mkdir -p over/root/package && cp "$1" over/root/package/
# Triggers of other packages, such as rebuilding the index of all manual pages, are not what is tested.
chroot over/root sh -c 'dpkg --no-triggers --install /package/*.deb' || exit 1
(cd over/changes && find usr -type f | sort) > installed
chroot over/root sh -c 'cd /tmp && lockstep --version && lockstep demo /tmp/demo && rm -rf /tmp/demo' || exit 2
chroot over/root sh -c 'cd /tmp && lockstep train fashion --data synthetic -n 2 --oversubscribe --threads 1 \
  --batch 16 --steps 3 --store /tmp/runs.db && rm -f /tmp/runs.db*' || exit 3
[ ! -x over/root/usr/bin/lockstep-sim ] || chroot over/root lockstep simulate --compute 120ms --gradients 100MB \
  --workers 16 --per-host 8 --inside 300GB/s,2us --link 200Gbit,2us --topology fat-tree:2 || exit 5
chroot over/root sh -c 'dpkg --no-triggers --purge lockstep' || exit 4
# Files of the package in the layer of changes: what is left of them. Deleted ones are device nodes there.
(cd over/changes && find usr etc -type f 2> /dev/null | grep -i lockstep) > left || true
END
mkdir over
unshare --mount bash inside.sh "$deb" > inside.out 2>&1
code=$?
[ $code != 77 ] || skip "no overlay of the root: $(tail -n 1 inside.out)"
expect "installed, used and removed" test $code = 0 || tail -n 5 inside.out
[ $code = 0 ] || tail -n 8 inside.out
expect "it was installed" grep -q "usr/bin/lockstep-worker" installed
expect "nothing is left" test ! -s left
