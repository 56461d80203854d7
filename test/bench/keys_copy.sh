#!/bin/bash
# keys_copy.sh
#	  What a COPY of keys costs an empty table: WAL of the index and time, beside
#	  those of an index that is made afterwards.
#
#	  usage: test/bench/keys_copy.sh [ROWS]    (default: 1000000)
#
# Works in database "snii_keys_copy" of the server that PGHOST and so on name,
# which it makes anew, as a superuser.  The server should be otherwise idle,
# since WAL is counted by position, and read the files that this writes.
set -eu
shopt -s inherit_errexit
ROWS=${1:-1000000}
DB=snii_keys_copy
DIR=$(mktemp -d)
trap 'rm -rf "$DIR"' EXIT
chmod 755 "$DIR"

q()
{
	psql -XAtq -v ON_ERROR_STOP=1 -d "$DB" "$@"
}

# measure COMMAND...: sets ms and bytes of WAL
measure()
{
	local before after begin
	q -c CHECKPOINT
	before=$(q -c 'SELECT pg_current_wal_insert_lsn()')
	begin=$(date +%s%N)
	"$@" >/dev/null
	ms=$((($(date +%s%N) - begin) / 1000000))
	after=$(q -c 'SELECT pg_current_wal_insert_lsn()')
	bytes=$(q -c "SELECT pg_wal_lsn_diff('$after', '$before')::bigint")
}

# settle: VACUUM flushes and does the merges that are due
settle()
{
	local i
	for i in 1 2 3 4 5; do
		q -c 'VACUUM c'
		[ "$1" != btree ] || return 0
		[ "$(q -c "SELECT merge_debt FROM snii_stats('c_i')")" != 0 ] || return 0
		sleep 1
	done
	echo 'the merges do not end' >&2
	exit 1
}

make_index()
{
	case $1 in
		btree) q -c 'CREATE UNIQUE INDEX c_i ON c (id)' ;;
		snii) q -c 'CREATE UNIQUE INDEX c_i ON c USING snii (id)' ;;
		plain) q -c 'CREATE INDEX c_i ON c USING snii (id)' ;;
	esac
}

copy()
{
	psql -XAtq -v ON_ERROR_STOP=1 -d "$DB" -c '\copy c FROM '"'$DIR/$1'"
}

psql -XAtq -d postgres -c "DROP DATABASE IF EXISTS $DB" -c "CREATE DATABASE $DB"
q -c 'CREATE EXTENSION snii'
q -c "SELECT gen_random_uuid() FROM generate_series(1, $ROWS)" >"$DIR/uuid"
q -c "SELECT g FROM generate_series(1, $ROWS) g" >"$DIR/bigint"

echo "COPY of $ROWS rows; bytes of WAL a row that the index adds"
echo
echo '| keys | index | COPY: ms | WAL | WAL, merges included | index made afterwards: ms | WAL |'
echo '| --- | --- | --: | --: | --: | --: | --: |'
for type in uuid bigint; do
	for arm in none btree snii plain; do
		q -c 'DROP TABLE IF EXISTS c' -c "CREATE TABLE c (id $type)"
		make_index $arm
		measure copy $type
		copy_ms=$ms
		copy_bytes=$bytes
		if [ $arm = none ]; then
			none=$bytes
			echo "| $type | none | $ms | | | | |"
			continue
		fi
		measure settle $arm
		all=$((copy_bytes + bytes))
		[ $arm != btree ] || all=$copy_bytes
		q -c 'DROP INDEX c_i'
		measure make_index $arm
		echo "| $type | $arm | $copy_ms | $(((copy_bytes - none) / ROWS)) | $(((all - none) / ROWS)) | $ms | $((bytes / ROWS)) |"
	done
done
psql -XAtq -d postgres -c "DROP DATABASE $DB"
