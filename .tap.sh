#!/bin/bash
# TESTS="..." .tap.sh BINDIR [VAR=..]
B=$1; shift
rm -rf /tmp/lead-tap; mkdir -p /tmp/lead-tap; cp -r /work/h/lead/test /work/h/lead/src /tmp/lead-tap/; chown -R postgres /tmp/lead-tap; cd /tmp/lead-tap
PX=$($B/pg_config --pgxs); PX=${PX%/src/makefiles/pgxs.mk}
PERLPG=$PX/src/test/perl; [ -d $PERLPG ] || PERLPG=/usr/lib/postgresql/15/lib/pgxs/src/test/perl
exec timeout 540 runuser -u postgres -- env TESTDIR=/tmp/lead-tap TESTDATADIR=/tmp/lead-tap/d TESTLOGDIR=/tmp/lead-tap/log PG_TEST_PORT_DIR=/tmp/lead-tap PATH=$B:$PATH PGPORT=65431 PG_REGRESS=$PX/src/test/regress/pg_regress "$@" prove -v -I test/perl -I $PERLPG $TESTS
