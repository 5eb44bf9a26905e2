#!/bin/sh
# What is tried in a guest, by init.sh: steps of a name each, as root and as an
# ordinary user, in cgroups as systemd makes them. Lines that begin with "=="
# are the account; the rest is what the steps print.
cd /tests || exit 1
nobody=65534
top=/sys/fs/cgroup
release=$(uname -r)
arch=$(uname -m)
steps=$(sed -n 's/.*ptc.steps=\([^ ]*\).*/\1/p' /proc/cmdline | tr , ' ')
tests=$(sed -n 's/.*ptc.tests=\([^ ]*\).*/\1/p' /proc/cmdline)
failed=''
# An emulator is too slow for what has to be done within seconds.
skip='^TestAllHoldsForAnOrdinaryUserToo$'
if grep -q ptc.emulated /proc/cmdline; then skip="$skip|/^50_starts_in_parallel\$"; fi

# The cgroups of a machine with systemd: a session of root's; one of an ordinary
# user's, where nothing is theirs; their service manager's part, handed to them,
# with a scope; a service of theirs with Delegate=yes.
manager=$top/user.slice/user-$nobody.slice/user@$nobody.service
mkdir -p $top/init.scope $top/user.slice/user-0.slice/session-1.scope $top/user.slice/user-$nobody.slice/session-2.scope \
  "$manager/init.scope" "$manager/app.slice/run-1.scope" $top/system.slice/delegated.service
echo 1 >$top/init.scope/cgroup.procs
echo $$ >$top/init.scope/cgroup.procs
for controller in cpu memory pids; do
  for folder in $top $top/user.slice $top/user.slice/user-0.slice $top/user.slice/user-$nobody.slice $top/system.slice "$manager"; do
    echo +$controller >"$folder/cgroup.subtree_control"
  done
done
# give hands a folder to the ordinary user, as Delegate=yes does.
give() { chown $nobody:$nobody "$1" "$1/cgroup.procs" "$1/cgroup.subtree_control" "$1/cgroup.threads"; }
give "$manager"
give $top/system.slice/delegated.service
for folder in init.scope app.slice app.slice/run-1.scope; do chown -R $nobody:$nobody "$manager/$folder"; done
find "$manager"/* \( -name 'memory.*' -o -name 'pids.*' -o -name 'cpu.*' \) -exec chown 0:0 {} +

session=user.slice/user-$nobody.slice/session-2.scope
scope=user.slice/user-$nobody.slice/user@$nobody.service/app.slice/run-1.scope

# in_group CGROUP COMMAND... runs a command in a cgroup; in a subshell, for that
in_group() {
  echo 0 >"$top/$1/cgroup.procs" || exit 1
  shift
  "$@"
}
# in_fresh does so in a service that has just been started, if it is one: one
# that handed its controllers down takes no process in.
in_fresh() {
  case $1 in
  *.service)
    find "$top/$1" -depth -mindepth 1 -type d -exec rmdir {} \; 2>/dev/null
    rmdir "$top/$1"
    mkdir "$top/$1"
    give "$top/$1"
    ;;
  esac
  in_group "$@"
}
as_root() { exec env -i PATH="$PATH" HOME=/root TMPDIR=/tmp PTC_MCP_CONFIG=/tests/guest.yaml "$@"; }
as_user() { exec setpriv --reuid $nobody --regid $nobody --clear-groups env -i PATH="$PATH" HOME=/nonexistent TMPDIR=/tmp PTC_MCP_CONFIG=/tests/guest.yaml "$@"; }

# step NAME CHECK... does one step, unless others were asked for.
step() {
  name=$1
  shift
  case " ${steps:-$name} " in *" $name "*) ;; *) return ;; esac
  echo "-- $name"
  begin=$(date +%s)
  if ("$@") 2>&1; then verdict=passed; else
    verdict=FAILED
    failed="$failed $name"
  fi
  echo "== $verdict: $name, $(($(date +%s) - begin)) s"
}

# says WORDS COMMAND... holds that a command's output has some words.
says() {
  words=$1
  shift
  ("$@") >/run/said 2>&1
  cat /run/said
  grep -qF -- "$words" /run/said || {
    echo "it does not say: $words"
    return 1
  }
}

# limits GROUP WHO BY holds what bounds a sandbox there, v2 of cgroups or rlimit,
# against greedy programs.
limits() {
  group=$1 who=$2
  case $3 in
  v2)
    says 'memory="cgroup v2" processes="cgroup v2" cpu="cgroup v2"' in_fresh "$group" "$who" ./ptc-mcp run --log-level debug memory.py || return 1
    grep -qE '^[0-3] of 4 children live|of memory' /run/said || return 1
    written "$group" "$who"
    ;;
  rlimit)
    says 'memory="" processes="" cpu=""' in_fresh "$group" "$who" ./ptc-mcp run --log-level debug memory.py || return 1
    grep '4 of 4 children live' /run/said
    ;;
  esac
}

# written GROUP WHO looks at the cgroup of a program that runs, then kills
# ptc-mcp: the next one has to sweep what that left.
written() {
  (in_fresh "$1" "$2" ./ptc-mcp run busy.py) >/run/busy 2>&1 &
  host=$!
  tries=0
  until grep -q '^nr_throttled [1-9]' /run/limits 2>/dev/null || [ $tries -gt 300 ]; do
    tries=$((tries + 1))
    sleep 0.2
    find $top -type d -name 'ptc-mcp.[0-9]*' | while read -r folder; do
      grep -q '^67108864$' "$folder/memory.max" 2>/dev/null || continue # the zygote's
      echo "${folder#"$top"/}: $(wc -l <"$folder/cgroup.procs") processes"
      (cd "$folder" && grep . memory.max memory.swap.max pids.max cpu.max && grep nr_throttled cpu.stat)
    done >/run/limits
  done
  cat /run/limits
  kill -9 $host
  wait $host 2>/dev/null
  for expected in memory.max:67108864 pids.max:28 'cpu.max:50000 100000' 'nr_throttled [1-9]'; do
    grep -q "^$expected" /run/limits || {
      cat /run/busy
      echo "no sandbox has $expected"
      return 1
    }
  done
  next=$1
  [ ! -d "$top/$1/ptc-mcp.host" ] || next=$1/ptc-mcp.host
  says 'children live' in_group "$next" "$2" ./ptc-mcp run memory.py || return 1
  left=$(find $top -type d -name 'ptc-mcp.[0-9]*')
  [ -z "$left" ] || {
    echo "left behind: $left"
    return 1
  }
}

# closed SETTING VALUE WORDS WHO holds that doctor names a setting that forbids
# sandboxes, and puts it back.
closed() {
  file=/proc/sys/$(echo "$1" | tr . /)
  [ -e "$file" ] || {
    echo "this kernel has no $1"
    return 0
  }
  before=$(cat "$file")
  echo "$2" >"$file"
  says "$3" "$4" ./ptc-mcp doctor
  verdict=$?
  echo "$before" >"$file"
  return $verdict
}

# suites NAME GROUP WHO runs the tests that the project has.
suites() {
  step "native-$1" in_fresh "$2" "$3" ./native.test -test.timeout 60m -test.v -test.run "${tests:-.}" -test.skip "$skip"
  step "escape-$1" in_fresh "$2" "$3" ./escape.test -test.timeout 60m -test.v \
    -test.run "${tests:-^TestEveryAttackWorksWithoutASandbox\$|^TestNoAttackEscapes\$/^native\$|^TestARunForetells|^TestNothingIsLeftAfterSuddenDeaths\$/^native\$}"
  step "attack-$1" in_fresh "$2" "$3" ./ptc-mcp doctor --attack
}

cat >guest.yaml <<'EOF'
execution:
  sandbox: native
  max_memory_bytes: 64MiB
  max_cpus: 0.5
  max_processes: 12
EOF

echo "== $release $arch, $(python3 -V), Landlock and others: $(cat /sys/kernel/security/lsm 2>/dev/null)"
(as_root ./ptc-mcp run memory.py) >/dev/null 2>&1 # what is read from the disk once does not count below
case $release in
5.10.*)
  step refused says 'this is Linux 5.10' as_root ./ptc-mcp doctor
  ;;
*)
  step seccomp ./seccomp.test
  step limits-root limits user.slice/user-0.slice/session-1.scope as_root v2
  step limits-scope limits $scope as_user v2
  step limits-service limits system.slice/delegated.service as_user v2
  step limits-session limits $session as_user rlimit
  step doctor-root says 'memory by cgroup v2, processes by cgroup v2, CPU by cgroup v2' in_fresh user.slice/user-0.slice/session-1.scope as_root ./ptc-mcp doctor
  step doctor-session says 'memory by rlimit, processes by rlimit, CPU by processor affinity' in_fresh $session as_user ./ptc-mcp doctor
  suites root user.slice/user-0.slice/session-1.scope as_root
  suites scope $scope as_user
  suites service system.slice/delegated.service as_user
  suites session $session as_user
  step userns-clone closed kernel.unprivileged_userns_clone 0 'kernel.unprivileged_userns_clone = 0' as_user
  step apparmor closed kernel.apparmor_restrict_unprivileged_userns 1 'kernel.apparmor_restrict_unprivileged_userns = 1' as_user
  step no-userns closed user.max_user_namespaces 0 'user.max_user_namespaces = 0' as_user
  step no-userns-root closed user.max_user_namespaces 0 'user.max_user_namespaces = 0' as_root
  ;;
esac
[ -z "$failed" ] && echo '== all passed' || echo "== failed:$failed"
