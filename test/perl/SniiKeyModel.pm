# SniiKeyModel.pm
#	  A model of a table with a key index, for test/t/066_key_model.pl: draws
#	  steps, and knows what the server is to answer.
#
#	  my $m = SniiKeyModel->new(shape => {...}, domain => { a => [...], b => [...] }, keep => 800, load => 0);
#	  $m->segment;                    begin a script
#	  $m->load(10000);                many rows, in a few steps
#	  $m->step while ...;             draw steps
#	  $m->close_transaction;
#	  $m->script; $m->expected;       text of the script; lines, [step, line]
#	  $m->back_to($n);                crash: the last answer was that of step $n
#	  $m->ahead;                      ... and its successor had been committed, too
#
# The table is t (id int, a, b, c int). Values of a and b are drawn from lists of
# literals that stand in the order of their type, so the model knows a value
# as its place in the list, and NULL as the place behind the last. Each
# statement is followed by "= SQLSTATE ROW_COUNT"; what a query returns stands
# before that. No SQL is evaluated here: that rows are found by their
# keys is all that the model is about.

package SniiKeyModel;

use strict;
use warnings;

# new(shape, domain, keep, load): shape has
#	columns   => [ { name => 'a', desc => 0, first => 0 }, ...]  in the order of the index; "first": NULLS FIRST
#	unique    => 0, 1 or 2 (NULLS NOT DISTINCT)
# keep is the number of rows that there are to be, about; load, of those that
# the caller is going to load: then few steps look at a great part of them.
sub new
{
	my ($class, %opt) = @_;
	my $self = bless {
		%opt,
		rows => {},		# id => [a, b, c]
		by_a => [],		# place => { id => 1 }
		keys => {},		# key of the index => { id => 1 }
		next_id => 1,
		step => 0,
		undo => undef,	# of an open transaction: frames, each a list of [id, row before]
		changes => {},	# of an open transaction: id => 1
		cursor => undef,
	}, $class;
	my $n = @{ $self->{domain}{a} };
	$self->{null}{a} = $n;
	$self->{null}{b} = @{ $self->{domain}{b} };
	$self->{by_a} = [ map { {} } 0 .. $n ];
	$self->{single} = @{ $self->{shape}{columns} } == 1;
	return $self;
}

# ----- rows -----

sub key_of
{
	my ($self, $row) = @_;
	return $self->{single} ? $row->[0] : "$row->[0] $row->[1]";
}

# A key that no two rows may have.
sub is_exclusive
{
	my ($self, $row) = @_;
	my $unique = $self->{shape}{unique};
	return 0 if !$unique;
	return 1 if $unique == 2;
	return $row->[0] != $self->{null}{a} && ($self->{single} || $row->[1] != $self->{null}{b});
}

# Rows other than $but that have the key of $row, if that may not be.
sub rivals
{
	my ($self, $row, $but) = @_;
	return () if !$self->is_exclusive($row);
	return grep { !defined $but || $_ != $but } keys %{ $self->{keys}{ $self->key_of($row) } || {} };
}

sub place
{
	my ($self, $id, $row) = @_;
	my $old = $self->{rows}{$id};
	if (defined $old)
	{
		my $key = $self->key_of($old);
		delete $self->{by_a}[ $old->[0] ]{$id};
		delete $self->{keys}{$key}{$id};
		delete $self->{keys}{$key} if !%{ $self->{keys}{$key} };
		delete $self->{rows}{$id};
	}
	if (defined $row)
	{
		$self->{rows}{$id} = $row;
		$self->{by_a}[ $row->[0] ]{$id} = 1;
		$self->{keys}{ $self->key_of($row) }{$id} = 1;
	}
	return;
}

# A row is written by the step at hand; undef: deleted.
sub put
{
	my ($self, $id, $row) = @_;
	push @{ $self->{undo}[-1] }, [ $id, $self->{rows}{$id} ] if defined $self->{undo};
	$self->place($id, $row);
	$self->{changes}{$id} = 1;
	return;
}

sub undo_frame
{
	my ($self, $frame) = @_;
	$self->place(@$_) for reverse @$frame;
	@$frame = ();
	return;
}

# What the step at hand changed, or the transaction that it ends, is there to stay.
sub committed
{
	my ($self) = @_;
	push @{ $self->{commits} }, [ $self->{step}, { map { $_ => $self->{rows}{$_} } keys %{ $self->{changes} } } ];
	$self->{changes} = {};
	return;
}

# ----- script -----

sub segment
{
	my ($self) = @_;
	$self->{sql} = [];
	$self->{lines} = [];
	$self->{commits} = [];
	$self->{base} = { %{ $self->{rows} } };
	return;
}

sub script { my ($self) = @_; return join '', @{ $self->{sql} }; }
sub expected { my ($self) = @_; return @{ $self->{lines} }; }

# One statement, what it returns, and how it ends.
sub say_sql
{
	my ($self, $sql, $state, $count, @lines) = @_;
	$self->{step}++;
	push @{ $self->{sql} }, "$sql;\n\\echo = :SQLSTATE :ROW_COUNT\n";
	push @{ $self->{lines} }, map { [ $self->{step}, $_ ] } @lines, "= $state $count";
	return;
}

# A statement that changes rows, given as [id, row], or fails.
sub change
{
	my ($self, $sql, $state, $count, @changes) = @_;
	if ($state eq '00000')
	{
		$self->say_sql($sql, $state, $count);
		$self->put(@$_) for @changes;
		$self->committed if !defined $self->{undo};
		return;
	}
	$self->say_sql($sql, $state, 0);
	$self->roll_back if defined $self->{undo};
	return;
}

# ----- transactions -----

sub roll_back
{
	my ($self) = @_;
	my $savepoints = @{ $self->{undo} } - 1;
	if ($savepoints > 0 && rand() < 0.7)
	{
		my $to = 1 + int rand $savepoints;
		$self->say_sql("ROLLBACK TO s$to", '00000', 0);
		while (@{ $self->{undo} } > $to + 1)
		{
			$self->undo_frame(pop @{ $self->{undo} });
		}
		$self->undo_frame($self->{undo}[$to]);
		# a cursor that was declared in what is gone is gone; others stay
		$self->{cursor} = undef if defined $self->{cursor} && $self->{cursor}{level} >= $to;
		return;
	}
	$self->say_sql('ROLLBACK', '00000', 0);
	$self->undo_frame($_) for reverse @{ $self->{undo} };
	$self->{undo} = $self->{cursor} = undef;
	$self->{changes} = {};
	return;
}

sub commit
{
	my ($self) = @_;
	$self->say_sql('COMMIT', '00000', 0);
	$self->{undo} = $self->{cursor} = undef;
	$self->committed;
	return;
}

sub transaction
{
	my ($self) = @_;
	if (!defined $self->{undo})
	{
		$self->say_sql('BEGIN', '00000', 0);
		$self->{undo} = [ [] ];
		return;
	}
	my $what = rand();
	my $n = @{ $self->{undo} };
	if ($what < 0.45 && $n < 6)
	{
		$self->say_sql("SAVEPOINT s$n", '00000', 0);
		push @{ $self->{undo} }, [];
	}
	elsif ($what < 0.55 && $n > 1)
	{
		$n--;
		$self->say_sql("RELEASE s$n", '00000', 0);
		my $frame = pop @{ $self->{undo} };
		push @{ $self->{undo}[-1] }, @$frame;
		$self->{cursor}{level} = $n - 1 if defined $self->{cursor} && $self->{cursor}{level} >= $n;
	}
	elsif ($what < 0.75) { $self->roll_back; }
	else { $self->commit; }
	return;
}

sub close_transaction
{
	my ($self) = @_;
	return if !defined $self->{undo};
	if (rand() < 0.5) { $self->commit; }
	else
	{
		$self->roll_back while defined $self->{undo};
	}
	return;
}

# ----- what is drawn -----

sub literal
{
	my ($self, $column, $place) = @_;
	return 'NULL' if $place == $self->{null}{$column};
	return $self->{quoted}{$column}[$place] ||= "'" . ($self->{domain}{$column}[$place] =~ s/'/''/gr) . "'";
}

sub shown
{
	my ($self, $column, $place) = @_;
	return $place == $self->{null}{$column} ? '-' : $self->{domain}{$column}[$place];
}

# A value for a column; few keys are drawn often.
sub draw
{
	my ($self, $column) = @_;
	my $n = $self->{null}{$column};
	my $what = rand();
	return $n if $what < 0.04;
	return int rand(1 + $n / 20) if $what < 0.3;
	if ($what < 0.5 && $self->{shape}{ascending} && $column eq 'a')
	{
		return $self->{top} = (($self->{top} || 0) + 1) % $n;
	}
	return int rand $n;
}

sub draw_row { my ($self) = @_; return [ $self->draw('a'), $self->draw('b'), int rand 1000 ]; }

sub draw_id
{
	my ($self) = @_;
	# a place whose rows are not too hard to find
	for my $try (1 .. 20)
	{
		my @ids = sort { $a <=> $b } keys %{ $self->{by_a}[ $self->draw('a') ] };
		return $ids[ int rand @ids ] if @ids;
	}
	return undef;
}

sub values_of
{
	my ($self, $id, $row) = @_;
	return "($id, " . $self->literal('a', $row->[0]) . ', ' . $self->literal('b', $row->[1]) . ", $row->[2])";
}

sub equals
{
	my ($self, $column, $place) = @_;
	return $place == $self->{null}{$column} ? "$column IS NULL" : "$column = " . $self->literal($column, $place);
}

# A condition on keys, and the rows that satisfy it. "narrow": few of them.
sub draw_where
{
	my ($self, $narrow) = @_;
	my $n = $self->{null}{a};
	my $what = rand();
	my @places;
	my $where;
	if ($what < 0.4)
	{
		@places = ($self->draw('a'));
		$where = $self->equals('a', $places[0]);
	}
	elsif ($what < 0.6)
	{
		my %places = map { $self->draw('a') => 1 } 1 .. 1 + int rand($narrow ? 3 : 40);
		delete $places{$n};
		@places = sort { $a <=> $b } keys %places;
		@places = (0) if !@places;
		# in any order, twice, and with a NULL, which equals nothing
		my @list = sort { rand() <=> 0.5 } @places, $places[0];
		$where = 'a = ANY (ARRAY[' . join(', ', map({ $self->literal('a', $_) } @list), rand() < 0.2 ? 'NULL' : ()) . "]::$self->{shape}{type_a}\[])";
	}
	else
	{
		my ($low, $high) = sort { $a <=> $b } int rand $n, int rand $n;
		$high = $low + int rand 4 if $narrow || rand() < 0.5;
		$high = $n - 1 if $high >= $n;
		my ($above, $below) = (rand() < 0.5 ? '>' : '>=', rand() < 0.5 ? '<' : '<=');
		my $open = $narrow ? 1 : rand();	# below 0.4: one side is
		my @parts;
		push @parts, "a $above " . $self->literal('a', $low) if $open >= 0.2;
		push @parts, "a $below " . $self->literal('a', $high) if $open < 0.2 || $open >= 0.4;
		$where = join ' AND ', @parts;
		my $first = $open < 0.2 ? 0 : $above eq '>' ? $low + 1 : $low;
		my $last = $open >= 0.2 && $open < 0.4 ? $n - 1 : $below eq '<' ? $high - 1 : $high;
		@places = $first .. $last;
	}
	my @ids = map { keys %{ $self->{by_a}[$_] } } @places;
	if (!$self->{single} && rand() < 0.4)
	{
		my $place = $self->draw('b');
		if ($place == $self->{null}{b} || rand() < 0.5)
		{
			$where .= ' AND ' . $self->equals('b', $place);
			@ids = grep { $self->{rows}{$_}[1] == $place } @ids;
		}
		elsif (rand() < 0.5)
		{
			$where .= ' AND b > ' . $self->literal('b', $place);
			@ids = grep { $self->{rows}{$_}[1] > $place && $self->{rows}{$_}[1] < $self->{null}{b} } @ids;
		}
		else
		{
			$where .= ' AND b <= ' . $self->literal('b', $place);
			@ids = grep { $self->{rows}{$_}[1] <= $place } @ids;
		}
	}
	return ($where, @ids);
}

# ----- steps that write -----

sub insert
{
	my ($self, $n) = @_;
	my @new = map { [ $self->{next_id}++, $self->draw_row ] } 1 .. $n;
	# most of many rows have keys of their own, so that the statement may succeed
	if ($n > 1 && $self->{shape}{unique})
	{
		my %seen;
		@new = grep { my $key = $self->key_of($_->[1]); !$self->rivals($_->[1]) && !$seen{$key}++ } @new if rand() < 0.9;
		@new = ([ $self->{next_id}++, $self->draw_row ]) if !@new;
	}
	my $sql = 'INSERT INTO t VALUES ' . join(', ', map { $self->values_of(@$_) } @new);
	my (%seen, $fails);
	for my $row (map { $_->[1] } @new)
	{
		$fails = 1 if $self->rivals($row) || ($self->is_exclusive($row) && $seen{ $self->key_of($row) }++);
	}
	$self->change($sql, $fails ? '23505' : '00000', scalar @new, @new);
	return;
}

sub insert_or_not
{
	my ($self) = @_;
	my (@new, @kept, %seen);
	for (1 .. 1 + int rand 5)
	{
		my $row = $self->draw_row;
		push @new, [ $self->{next_id}++, $row ];
		push @kept, $new[-1] if !$self->rivals($row) && !($self->is_exclusive($row) && $seen{ $self->key_of($row) }++);
	}
	my $sql = 'INSERT INTO t VALUES ' . join(', ', map { $self->values_of(@$_) } @new) . ' ON CONFLICT DO NOTHING';
	$self->change($sql, '00000', scalar @kept, @kept);
	return;
}

sub insert_or_update
{
	my ($self) = @_;
	return $self->insert_or_not if !$self->{shape}{unique};
	my $row = $self->draw_row;
	my ($rival) = $self->rivals($row);
	my $id = $self->{next_id}++;
	my $target = join ', ', map { $_->{name} } @{ $self->{shape}{columns} };
	my $sql = 'INSERT INTO t VALUES ' . $self->values_of($id, $row) . " ON CONFLICT ($target) DO UPDATE SET c = excluded.c + 1";
	my @change = defined $rival ?
	  ($rival, [ @{ $self->{rows}{$rival} }[ 0, 1 ], $row->[2] + 1 ]) : ($id, $row);
	$self->change($sql, '00000', 1, [@change]);
	return;
}

# Another key for a row that is found by its old one.
sub update_key
{
	my ($self) = @_;
	my $id = $self->draw_id;
	return if !defined $id;
	my $old = $self->{rows}{$id};
	my $new = [ $self->draw('a'), rand() < 0.5 ? $old->[1] : $self->draw('b'), $old->[2] ];
	my $sql = 'UPDATE t SET a = ' . $self->literal('a', $new->[0]) . ', b = ' . $self->literal('b', $new->[1])
	  . ' WHERE ' . $self->equals('a', $old->[0]) . " AND id = $id";
	$self->change($sql, $self->rivals($new, $id) ? '23505' : '00000', 1, [ $id, $new ]);
	return;
}

# The same key, another version.
sub update_rest
{
	my ($self) = @_;
	my ($where, @ids) = $self->draw_where(1);
	$self->change("UPDATE t SET c = c + 1 WHERE $where", '00000', scalar @ids,
		map { my $r = $self->{rows}{$_}; [ $_, [ $r->[0], $r->[1], $r->[2] + 1 ] ] } @ids);
	return;
}

sub delete_some
{
	my ($self, $much) = @_;
	my ($where, @ids) = $self->draw_where(!$much);
	if ($much && rand() < 0.7)
	{
		$where .= ' AND id % 3 <> 0';
		@ids = grep { $_ % 3 != 0 } @ids;
	}
	$self->change("DELETE FROM t WHERE $where", '00000', scalar @ids, map { [ $_, undef ] } @ids);
	return;
}

# ----- steps that read -----

sub look
{
	my ($self) = @_;
	my ($where, @ids) = $self->draw_where(rand() < ($self->{load} ? 0.9 : 0.5));
	my $what = rand();
	if (@ids <= 40 && $what < 0.5)
	{
		$self->say_sql("SELECT id FROM t WHERE $where ORDER BY id", '00000', scalar @ids, sort { $a <=> $b } @ids);
	}
	elsif ($what < 0.8)
	{
		my ($sum, $c) = (0, 0);
		for (@ids) { $sum += $_; $c += $self->{rows}{$_}[2]; }
		$self->say_sql("SELECT count(*), coalesce(sum(id), 0), coalesce(sum(c), 0) FROM t WHERE $where", '00000', 1, scalar(@ids) . "|$sum|$c");
	}
	else
	{
		$self->say_sql("SELECT count(*) FROM t WHERE $where", '00000', 1, scalar @ids);
	}
	return;
}

# Keys alone in the order of the index, or the other way, from some key on.
sub look_in_order
{
	my ($self) = @_;
	my $backward = rand() < 0.5;
	my @columns = @{ $self->{shape}{columns} };
	my $limit = 1 + int rand 30;
	my $n = $self->{null}{a};
	my @order = map { my $desc = $_->{desc} != $backward; my $first = $_->{first} != $backward;
		"$_->{name} " . ($desc ? 'DESC' : 'ASC') . ' NULLS ' . ($first ? 'FIRST' : 'LAST') } @columns;
	# places of the first column in that order
	my $down = $columns[0]{desc} != $backward;
	my @places = $down ? reverse 0 .. $n - 1 : 0 .. $n - 1;
	my $where = '';
	if (rand() < 0.7)
	{
		my $from = int rand $n;
		$where = 'WHERE a ' . ($down ? '<= ' : '>= ') . $self->literal('a', $from);
		@places = $down ? reverse 0 .. $from : $from .. $n - 1;
	}
	elsif ($columns[0]{first} != $backward) { unshift @places, $n; }
	else { push @places, $n; }
	my @lines;
	for my $place (@places)
	{
		my @b = map { $self->{rows}{$_}[1] } keys %{ $self->{by_a}[$place] };
		next if !@b;
		if ($self->{single})
		{
			push @lines, ($self->shown('a', $place)) x @b;
		}
		else
		{
			my $null = $self->{null}{b};
			my $b_down = $columns[1]{desc} != $backward;
			my $b_first = $columns[1]{first} != $backward;
			my @nulls = grep { $_ == $null } @b;
			@b = sort { $b_down ? $b <=> $a : $a <=> $b } grep { $_ != $null } @b;
			@b = $b_first ? (@nulls, @b) : (@b, @nulls);
			push @lines, map { $self->shown('a', $place) . '|' . $self->shown('b', $_) } @b;
		}
		last if @lines >= $limit;
	}
	$#lines = $limit - 1 if @lines > $limit;
	$self->say_sql('SELECT ' . join(', ', map { $_->{name} } @columns) . " FROM t $where ORDER BY " . join(', ', @order) . " LIMIT $limit",
		'00000', scalar @lines, @lines);
	return;
}

# A cursor sees the rows that there were when it was declared.
sub cursor
{
	my ($self) = @_;
	return $self->look if !defined $self->{undo};
	my $c = $self->{cursor};
	if (!defined $c)
	{
		my ($where, @ids) = $self->draw_where(rand() < 0.3);
		$self->say_sql("DECLARE q CURSOR FOR SELECT id FROM t WHERE $where", '00000', 0);
		$self->{cursor} = { left => scalar @ids, level => @{ $self->{undo} } - 1 };
		return;
	}
	my $n = rand() < 0.7 ? 1 + int rand 20 : 100000;
	my $got = $n < $c->{left} ? $n : $c->{left};
	$self->say_sql("MOVE $n FROM q", '00000', $got);
	$c->{left} -= $got;
	if ($n == 100000)
	{
		$self->say_sql('CLOSE q', '00000', 0);
		$self->{cursor} = undef;
	}
	return;
}

# ----- upkeep -----

sub upkeep
{
	my ($self) = @_;
	my $what = rand();
	if ($what < 0.4) { $self->say_sql("SELECT snii_flush('t_i') >= 0", '00000', 1, 't'); }
	elsif ($what < 0.6) { $self->say_sql("SELECT snii_merge('t_i') >= 0", '00000', 1, 't'); }
	elsif ($what < 0.63) { $self->say_sql("SELECT snii_check('t_i')", '00000', 1, ''); }
	elsif (defined $self->{undo}) { $self->look; }
	elsif ($what < 0.96) { $self->say_sql('VACUUM (INDEX_CLEANUP on) t', '00000', 0); }
	elsif ($what < 0.98) { $self->say_sql('REINDEX INDEX t_i', '00000', 0); }
	else { $self->say_sql('CHECKPOINT', '00000', 0); }
	return;
}

sub step
{
	my ($self) = @_;
	my $rows = keys %{ $self->{rows} };
	my $what = rand();
	my $full = $rows > $self->{keep};
	if ($what < 0.15) { $self->insert(1); }
	elsif ($what < 0.19) { $full ? $self->delete_some(1) : $self->insert(1 + int rand 60); }
	elsif ($what < 0.24) { $self->insert_or_not; }
	elsif ($what < 0.28) { $self->insert_or_update; }
	elsif ($what < 0.38) { $self->update_key; }
	elsif ($what < 0.43) { $self->update_rest; }
	elsif ($what < 0.50) { $self->delete_some($full && rand() < 0.5); }
	elsif ($what < 0.72) { $self->look; }
	elsif ($what < 0.80) { $self->look_in_order; }
	elsif ($what < 0.85) { $self->cursor; }
	elsif ($what < 0.98) { $self->transaction; }
	else { $self->upkeep; }
	return;
}

# Rows to begin with.
sub load
{
	my ($self, $rows) = @_;
	for (my $n = $rows; $n > 0; $n -= 300) { $self->insert(300); }
	return;
}

# ----- crashes -----

sub restore
{
	my ($self, $rows) = @_;
	$self->{rows} = {};
	$self->{keys} = {};
	$self->{by_a} = [ map { {} } 0 .. $self->{null}{a} ];
	$self->place($_, $rows->{$_}) for keys %$rows;
	$self->{undo} = $self->{cursor} = undef;
	$self->{changes} = {};
	return;
}

# The server was killed when step $n was the last that had been answered.
sub back_to
{
	my ($self, $n) = @_;
	my %rows = %{ $self->{base} };
	$self->{doubtful} = undef;
	for my $commit (@{ $self->{commits} })
	{
		my ($step, $changes) = @$commit;
		if ($step > $n)
		{
			$self->{doubtful} = $changes if $step == $n + 1;
			last;
		}
		$self->apply(\%rows, $changes);
	}
	$self->restore(\%rows);
	return;
}

sub apply
{
	my ($self, $rows, $changes) = @_;
	for my $id (keys %$changes)
	{
		if (defined $changes->{$id}) { $rows->{$id} = $changes->{$id}; }
		else { delete $rows->{$id}; }
	}
	return;
}

# The step that was not answered took effect.
sub ahead
{
	my ($self) = @_;
	return 0 if !defined $self->{doubtful};
	my %rows = %{ $self->{rows} };
	$self->apply(\%rows, $self->{doubtful});
	$self->restore(\%rows);
	$self->{doubtful} = undef;
	return 1;
}

# All rows, as "SELECT id, a, b, c FROM t ORDER BY id" shows them.
sub table
{
	my ($self) = @_;
	return map { my $r = $self->{rows}{$_}; "$_|" . $self->shown('a', $r->[0]) . '|' . $self->shown('b', $r->[1]) . "|$r->[2]" }
	  sort { $a <=> $b } keys %{ $self->{rows} };
}

1;
