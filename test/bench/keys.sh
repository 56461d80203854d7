#!/bin/bash
# keys.sh
#	  WAL and size of a key index beside a btree, on random and sequential keys.
#
#	  usage: test/bench/keys.sh [KEYS] [ROWS]    (default: 5000000 1000000)
#
# Works in database "snii_keys" of the server that PGHOST and so on name, which
# it makes anew, as a superuser; the server should be otherwise idle, since WAL is
# counted by position. All counts are of the index alone: the load's WAL less
# that of the same load without an index, flushes and merges included, until none is
# due.
set -eu
shopt -s inherit_errexit
KEYS=${1:-5000000}
ROWS=${2:-1000000}
DB=snii_keys

q()
{
	psql -XAtq -v ON_ERROR_STOP=1 -d "$DB" "$@"
}

# wal COMMAND...: bytes of WAL that it takes
wal()
{
	local before after
	before=$(q -c 'SELECT pg_current_wal_insert_lsn()')
	"$@" >/dev/null
	after=$(q -c 'SELECT pg_current_wal_insert_lsn()')
	q -c "SELECT pg_wal_lsn_diff('$after', '$before')::bigint"
}

# settle: let VACUUM, which flushes and does the merges that are due, end them
settle()
{
	local i
	for i in 1 2 3 4 5; do
		q -c 'VACUUM k'
		[ "$1" = snii ] || return 0
		[ "$(q -c "SELECT merge_debt FROM snii_stats('k_i')")" != 0 ] || return 0
		sleep 1
	done
	echo 'the merges do not end' >&2
	exit 1
}

# load ARM SPACING: ROWS new keys, a checkpoint every SPACING
load()
{
	local done=0
	while [ $done -lt "$ROWS" ]; do
		q -c CHECKPOINT
		q -c "DO \$\$ BEGIN FOR i IN 1 .. $2 / 1000 LOOP
			INSERT INTO k SELECT gen_random_uuid() FROM generate_series(1, 1000); COMMIT;
			END LOOP; END \$\$"
		done=$((done + $2))
	done
	settle "$1"
}

make_index()
{
	case $1 in
		btree) q -c 'CREATE UNIQUE INDEX k_i ON k (id)' ;;
		snii) q -c 'CREATE UNIQUE INDEX k_i ON k USING snii (id)' ;;
	esac
}

psql -XAtq -d postgres -c "DROP DATABASE IF EXISTS $DB" -c "CREATE DATABASE $DB"
q -c 'CREATE EXTENSION snii' -c 'CREATE TABLE base (id uuid)' \
	-c "INSERT INTO base SELECT gen_random_uuid() FROM generate_series(1, $KEYS)"

echo "$KEYS random uuids, $ROWS more; bytes of WAL a row that the index adds"
echo
echo '| a checkpoint every | btree | snii | snii / btree | passes W | runs at the end |'
echo '| --: | --: | --: | --: | --: | --: |'
for spacing in ${SPACINGS:-20000 100000 500000 1000000}; do
	[ $((ROWS % spacing)) = 0 ] || continue
	for arm in none btree snii; do
		q -c 'DROP TABLE IF EXISTS k' -c 'CREATE TABLE k AS TABLE base'
		make_index $arm
		bytes=$(wal load $arm "$spacing")
		case $arm in
			none) wal_none=$bytes ;;
			btree) wal_btree=$bytes ;;
			snii) wal_snii=$bytes ;;
		esac
	done
	q -F ' | ' -c "SELECT '| $spacing', round(($wal_btree - $wal_none)::numeric / $ROWS), round(($wal_snii - $wal_none)::numeric / $ROWS),
		round(($wal_snii - $wal_none)::numeric / ($wal_btree - $wal_none), 2),
		round((bytes_flushed + bytes_merged)::numeric / nullif(bytes_flushed, 0), 2), segments || ' |' FROM snii_stats('k_i')"
done

echo
echo "size after $KEYS random inserts and a full merge (snii), 8-kB pages"
echo
echo '| | pages in use | file |'
echo '| --- | --: | --: |'
for arm in btree snii; do
	q -c 'DROP TABLE IF EXISTS k' -c 'CREATE TABLE k (id uuid)'
	make_index $arm
	largest=0
	for _ in 1 2 3 4 5; do
		q -c "INSERT INTO k SELECT gen_random_uuid() FROM generate_series(1, $KEYS / 5)"
		size=$(q -c "SELECT pg_relation_size('k_i') / 8192")
		[ "$size" -gt $largest ] && largest=$size
	done
	if [ $arm = snii ]; then
		q -c "SELECT snii_flush('k_i')" -c "SELECT snii_merge('k_i')" >/dev/null
		size=$(q -c "SELECT pg_relation_size('k_i') / 8192")
		[ "$size" -gt $largest ] && largest=$size
		q -c 'VACUUM k'
		q -F ' | ' -c "SELECT '| snii', file_pages - free_pages - parked_pages, '$largest at most |' FROM snii_stats('k_i')"
	else
		q -F ' | ' -c "SELECT '| btree', pg_relation_size('k_i') / 8192, '$largest |'"
	fi
done

echo
echo "$((2 * KEYS)) sequential bigints"
echo
echo '| | pages | bytes merged |'
echo '| --- | --: | --: |'
for arm in btree snii; do
	q -c 'DROP TABLE IF EXISTS k' -c 'CREATE TABLE k (id bigint)'
	make_index $arm
	q -c "INSERT INTO k SELECT g FROM generate_series(1, 2 * $KEYS) g"
	if [ $arm = snii ]; then
		settle snii
		q -F ' | ' -c "SELECT '| snii', file_pages - free_pages - parked_pages, bytes_merged || ' |' FROM snii_stats('k_i')"
	else
		q -F ' | ' -c "SELECT '| btree', pg_relation_size('k_i') / 8192, '- |'"
	fi
done
psql -XAtq -d postgres -c "DROP DATABASE $DB"
