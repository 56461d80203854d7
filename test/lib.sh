# lib.sh
#	  What the test and demo scripts share: packages, user, private server.
#
# To be sourced by bash. The promise to the caller: nothing outside of the
# project's folder .build is written, but for packages that apt-get installs
# and, where the project's path is too long for a Unix socket, one short
# folder under /tmp that is removed again. The installed PostgreSQL is never
# touched: the extension is installed into a copy of it inside .build, which
# works because PostgreSQL finds its files relative to its own programs.
#
# Everything that does not need root runs as an unprivileged user: "postgres"
# when the caller is root, else the caller.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
BUILD=$ROOT/.build

# The longest path that fits into sockaddr_un, less the name of the socket
# and the folder that a TAP test makes for it.
SNII_MAX_SOCKET_DIR=70

say() { printf '%s\n' "$*"; }
note() { printf '# %s\n' "$*"; }
die()
{
	printf 'snii: %s\n' "$*" >&2
	exit 2
}

# --- packages ------------------------------------------------------------

# sudo_run COMMAND...: run it as root, or fail.
sudo_run()
{
	if [ "$(id -u)" = 0 ]; then
		"$@"
	else
		sudo "$@"
	fi
}

# missing_packages NAME...: print those that dpkg does not know as installed.
missing_packages()
{
	local p
	for p in "$@"; do
		[ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] ||
			printf '%s ' "$p"
	done
}

# need_packages NAME...: install what is missing, or say what it is and stop.
need_packages()
{
	local missing
	command -v dpkg-query >/dev/null ||
		die "this script installs Debian packages; elsewhere set PG_CONFIG, SNII_NO_APT=1 and install: $*"
	missing=$(missing_packages "$@")
	[ -n "$missing" ] || return 0
	if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
		die "packages are missing and neither root nor sudo is at hand: $missing"
	fi
	note "installing: $missing"
	export DEBIAN_FRONTEND=noninteractive
	mkdir -p "$BUILD"
	{
		# shellcheck disable=SC2086
		sudo_run apt-get install -y --no-install-recommends $missing ||
			{
				sudo_run apt-get update &&
					sudo_run apt-get install -y --no-install-recommends $missing
			}
	} </dev/null >"$BUILD/apt.log" 2>&1 ||
		{
			tail -20 "$BUILD/apt.log" >&2
			die "apt-get could not install: $missing(log: $BUILD/apt.log)"
		}
}

# --- the server to build against -----------------------------------------

# find_pg_config: print the pg_config to use: the caller's PG_CONFIG, else the
# newest installed server that has its headers.
find_pg_config()
{
	local c best=
	if [ -n "${PG_CONFIG:-}" ]; then
		command -v "$PG_CONFIG" || die "PG_CONFIG=$PG_CONFIG is no program"
		return
	fi
	for c in /usr/lib/postgresql/*/bin/pg_config; do
		[ -x "$(dirname "$c")/postgres" ] || continue
		[ -f "$("$c" --includedir-server)/postgres.h" ] || continue
		best=$(printf '%s\n%s\n' "$best" "$c" | sort -V | tail -1)
	done
	[ -n "$best" ] || return 1
	printf '%s\n' "$best"
}

# pick_server: set BASE_PG_CONFIG and PGMAJOR, installing Debian's server when
# there is none. SNII_NO_APT=1 forbids to install anything.
pick_server()
{
	local major=15 codename=
	if [ -z "${SNII_NO_APT:-}" ]; then
		# shellcheck disable=SC1091
		[ -r /etc/os-release ] && codename=$(. /etc/os-release; echo "${VERSION_CODENAME:-}")
		case $codename in
			trixie) major=17 ;;
			forky) major=18 ;;
		esac
		if [ -n "${PG_CONFIG:-}" ]; then
			need_packages "${SNII_TOOLS[@]}"
		else
			need_packages "${SNII_TOOLS[@]}" postgresql-$major \
				postgresql-server-dev-$major
		fi
	fi
	BASE_PG_CONFIG=$(find_pg_config) ||
		die "no PostgreSQL with server headers was found (packages postgresql-$major postgresql-server-dev-$major, or set PG_CONFIG)"
	PGMAJOR=$("$BASE_PG_CONFIG" --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')
	case $PGMAJOR in
		15 | 16 | 17 | 18) ;;
		*) die "$BASE_PG_CONFIG is of version $PGMAJOR; snii needs PostgreSQL 15 to 18" ;;
	esac
}

# --- the unprivileged user -------------------------------------------------

# pick_user: set RUNAS, the words to put before a command that must not run as
# root, and RUNUSER, the user's name.
pick_user()
{
	RUNAS=()
	RUNUSER=$(id -un)
	[ "$(id -u)" = 0 ] || return 0
	RUNUSER=postgres
	id postgres >/dev/null 2>&1 || RUNUSER=nobody
	command -v runuser >/dev/null || die "runuser is missing (package util-linux)"
	RUNAS=(runuser -u "$RUNUSER" --)
}

# as_user COMMAND...: run it as the unprivileged user.
as_user() { "${RUNAS[@]}" "$@"; }

# reachable_or_reexec SCRIPT ARGS...: PostgreSQL does not run as root, so its
# user must be able to enter the project's folder. Where a parent folder is
# closed to it (a clone under /root), start the script again in a private mount
# namespace, in which the project is seen at /mnt as well.
reachable_or_reexec()
{
	as_user test -x "$ROOT" -a -r "$ROOT" && return 0
	if [ -z "${SNII_REEXEC:-}" ] && unshare -m true 2>/dev/null; then
		note "$ROOT is closed to user $RUNUSER: working through a private mount"
		export SNII_REEXEC=1
		# shellcheck disable=SC2016
		exec unshare -m bash -c 'mount --bind "$0" /mnt && cd /mnt && s=$1 && shift && exec bash "/mnt/$s" "$@"' \
			"$ROOT" "${1#"$ROOT"/}" "${@:2}"
	fi
	die "user $RUNUSER cannot enter $ROOT: move the clone, or open its parent folders (chmod o+x)"
}

# --- the private copy -------------------------------------------------------

# prepare NAME: make .build/NAME with the folders pg (copy of the server), src
# (copy of the project), out (logs and results) and tmp, all owned by the
# unprivileged user, and take the lock that keeps a second run away. Sets WORK,
# PGBIN and PG_CONFIG.
prepare()
{
	WORK=$BUILD/$1
	mkdir -p "$WORK" || die "cannot write to $BUILD"
	[ "$(id -u)" = 0 ] && chmod 755 "$BUILD" && chown "$RUNUSER" "$WORK"
	exec 9>"$WORK/lock"
	flock -n 9 || die "another run is using $WORK"
	as_user mkdir -p "$WORK/tmp" "$WORK/out"
	copy_server
	copy_project
	export TMPDIR=$WORK/tmp
	if [ ${#TMPDIR} -gt $SNII_MAX_SOCKET_DIR ]; then
		TMPDIR=/tmp
	fi
	SOCKDIR=$(as_user mktemp -d "$TMPDIR/snii.XXXXXX")
	PG_CONFIG=$PGBIN/pg_config
	export PG_CONFIG
}

# copy_server: copy the installed PostgreSQL to WORK/pg, once per version of
# its package.
copy_server()
{
	local bindir prefix stamp pg=$WORK/pg d
	bindir=$("$BASE_PG_CONFIG" --bindir)
	stamp="$bindir $("$bindir/postgres" --version) $(stat -c %Y "$bindir/postgres")"
	case $bindir in
		*/lib/postgresql/*/bin) PGBIN=$pg/lib/postgresql/$PGMAJOR/bin ;;
		*) PGBIN=$pg/bin ;;
	esac
	[ "$(cat "$WORK/pg.stamp" 2>/dev/null)" = "$stamp" ] && return 0
	note "copying PostgreSQL $PGMAJOR into .build"
	rm -rf "$pg" "$WORK/pg.stamp"
	case $bindir in
		*/lib/postgresql/*/bin)
			prefix=${bindir%/lib/postgresql/*}
			for d in lib share include; do
				mkdir -p "$pg/$d/postgresql"
				cp -a "$prefix/$d/postgresql/$PGMAJOR" "$pg/$d/postgresql/"
			done
			;;
		*)
			cp -a "$(dirname "$bindir")" "$pg"
			;;
	esac
	[ "$(id -u)" = 0 ] && chown -R "$RUNUSER" "$pg"
	printf '%s\n' "$stamp" >"$WORK/pg.stamp"
}

# copy_project: bring WORK/src up to date with the project's files. Objects of
# an earlier run stay, so that only what changed is compiled.
copy_project()
{
	local src=$WORK/src
	as_user mkdir -p "$src"
	tar -C "$ROOT" --exclude=./.build --exclude=./.git --exclude='*.o' \
		--exclude='*.so' --exclude='*.bc' --exclude=results \
		--exclude=./tmp_check --exclude=./log --exclude=./output_iso \
		--exclude='regression.*' -cf "$WORK/project.tar" .
	tar -tf "$WORK/project.tar" | grep -v '/$' | sort >"$WORK/project.list"
	(cd "$src" && find . -type f ! -name '*.o' ! -name '*.so' ! -name '*.bc' |
		sort | comm -23 - "$WORK/project.list" | tr '\n' '\0' | xargs -0r rm -f)
	(cd "$src" && find . -name '*.o' | while read -r o; do
		[ -f "${o%.o}.c" ] || rm -f "$o"
	done)
	tar -C "$src" --no-same-owner -xf "$WORK/project.tar"
	rm -f "$WORK/project.tar"
	[ "$(id -u)" = 0 ] && chown -R "$RUNUSER" "$src"
	return 0
}

# build_and_install [MAKE ARGS...]: compile WORK/src and install it into the
# private copy; the output goes to WORK/out/build.log. Returns make's status.
build_and_install()
{
	local flags="$PG_CONFIG $*"
	if [ "$(cat "$WORK/flags" 2>/dev/null)" != "$flags" ]; then
		as_user make -s -C "$WORK/src" PG_CONFIG="$PG_CONFIG" clean >/dev/null 2>&1
		as_user find "$WORK/src" -name '*.o' -delete
	fi
	printf '%s\n' "$flags" >"$WORK/flags"
	as_user make -s -j"$(nproc)" -C "$WORK/src" PG_CONFIG="$PG_CONFIG" with_llvm=no \
		"$@" all >"$WORK/out/build.log" 2>&1 &&
		as_user make -s -C "$WORK/src" PG_CONFIG="$PG_CONFIG" with_llvm=no "$@" \
			install >>"$WORK/out/build.log" 2>&1
}

# --- the throw-away cluster --------------------------------------------------

# start_cluster LINE...: make and start a cluster in WORK/data whose
# postgresql.conf ends with the given lines. Exports PGHOST, PGPORT, PGUSER,
# PGDATABASE; the caller has set a trap that calls stop_cluster.
start_cluster()
{
	local data=$WORK/data
	stop_cluster
	rm -rf "$data"
	as_user "$PGBIN/initdb" -D "$data" -U postgres -A trust -E UTF8 \
		--locale=C.UTF-8 -N >"$WORK/out/initdb.log" 2>&1 ||
		{
			tail -20 "$WORK/out/initdb.log"
			return 1
		}
	as_user tee -a "$data/postgresql.conf" >/dev/null <<-CONF
		listen_addresses = ''
		unix_socket_directories = '$SOCKDIR'
		port = 5432
		fsync = off
		log_line_prefix = '%m [%p] %q%a '
	CONF
	printf '%s\n' "$@" | as_user tee -a "$data/postgresql.conf" >/dev/null
	rm -f "$WORK/out/server.log"
	as_user "$PGBIN/pg_ctl" -c -w -t 60 -D "$data" -l "$WORK/out/server.log" start \
		>"$WORK/out/pg_ctl.log" 2>&1 9>&- ||
		{
			tail -n 20 "$WORK/out/pg_ctl.log" "$WORK/out/server.log"
			return 1
		}
	export PGHOST=$SOCKDIR PGPORT=5432 PGUSER=postgres PGDATABASE=postgres
}

# stop_cluster: stop the cluster of start_cluster if it runs.
stop_cluster()
{
	[ -f "${WORK:-/nonexistent}/data/postmaster.pid" ] || return 0
	as_user "$PGBIN/pg_ctl" -w -t 60 -D "$WORK/data" -m fast stop >/dev/null 2>&1 ||
		as_user "$PGBIN/pg_ctl" -w -t 60 -D "$WORK/data" -m immediate stop >/dev/null 2>&1
	return 0
}

# clean_up: what the EXIT trap of a script calls.
clean_up()
{
	stop_cluster
	[ -n "${SOCKDIR:-}" ] && rm -rf "$SOCKDIR"
	return 0
}

# Packages beside the server's that build, tests and demo need.
# shellcheck disable=SC2034
SNII_TOOLS=(build-essential pkg-config libicu-dev libzstd-dev zstd perl
	libipc-run-perl)
