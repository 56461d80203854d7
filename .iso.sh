#!/bin/bash
cd /work/h/lead; rm -rf /tmp/lead-iso; mkdir -p /tmp/lead-iso; cp -r test expected /tmp/lead-iso/; chown -R postgres /tmp/lead-iso; cd /tmp/lead-iso
IB=$(ls -d /opt/pg-lead/lib/postgresql/15/lib/pgxs/src/test/isolation 2>/dev/null)
timeout 200 runuser -u postgres -- env PGUSER=postgres PATH=$IB:$PATH $IB/pg_isolation_regress --bindir=/opt/pg-lead/lib/postgresql/15/bin --host=/tmp/lead-1 --port=5601 --inputdir=test --outputdir=. --load-extension=snii --dbname=isolation_regression "$@"
