-- The exact bytes of some encodings: a change here is a change of the format.
CREATE EXTENSION test_snii_codec;

-- varints
SELECT v, codec_varint_put(v)
FROM unnest(ARRAY[0, 1, 127, 128, 300, 16383, 16384, 4294967295,
                  9223372036854775807, -1]) AS v;

-- patched blocks: zeroes, packed, exceptions, varints, full width
SELECT codec_pfor_encode(array_fill(0::bigint, ARRAY[128]));
SELECT codec_pfor_encode(ARRAY[0, 1, 2, 3, 4, 5, 6, 7]);
SELECT codec_pfor_encode(array_agg(i % 16)) FROM generate_series(0, 19) AS i;
SELECT codec_pfor_encode(array_agg(CASE i WHEN 3 THEN 1000 WHEN 30 THEN 70000
                                   ELSE i % 4 END))
FROM generate_series(0, 39) AS i;
SELECT codec_pfor_encode(ARRAY[1, 100000, 0, 2]);
SELECT codec_pfor_encode(ARRAY[300]);
-- as short with an exception as without: without
SELECT codec_pfor_encode(ARRAY[8, 9, 10, 11, 12, 13, 14, 255]);
SELECT codec_pfor_encode(array_agg(4294967295 - i))
FROM generate_series(0, 8) AS i;
-- palettes: of one value, of three, of 17
SELECT codec_pfor_encode(array_fill(300::bigint, ARRAY[128]));
SELECT codec_pfor_encode(array_agg((i % 3) * 1000 + 5))
FROM generate_series(0, 19) AS i;
SELECT codec_pfor_encode(array_agg((i % 17) * 9999))
FROM generate_series(0, 39) AS i;
SELECT codec_pfor_decode('\xc9012c01', 8) AS one,
       codec_pfor_decode('\xc40321092424', 8) AS three;
SELECT codec_pfor_decode('\xc9012c01', 7) AS few,
       codec_pfor_decode('\xc90100', 8) AS too_short,
       codec_pfor_decode('\xc003210900e4', 8) AS no_width,
       codec_pfor_decode('\xe1010000000000', 8) AS too_wide,
       codec_pfor_decode('\xc400', 8) AS empty,
       codec_pfor_decode('\xc4032109e400', 8) AS outside,
       codec_pfor_decode('\xc121ffffffffffffffffffffffff', 8) AS too_many;
SELECT codec_pfor_decode('\x0388c6fa', 8) AS packed,
       codec_pfor_decode('\x0388c6faffff', 8) AS more_behind,
       codec_pfor_decode('\x400203020437', 5) AS patched,
       codec_pfor_decode('\x8001a08d06', 2) AS varints;
SELECT codec_pfor_decode('\x0388c6', 8) AS too_short,
       codec_pfor_decode('\x2100000000ff', 1) AS too_wide,
       codec_pfor_decode('\x400203040237', 5) AS descending,
       codec_pfor_decode('\x400203020537', 5) AS outside,
       codec_pfor_decode('\x40060301020304053737', 5) AS too_many,
       codec_pfor_decode('\x800101010101010101', 8) AS varints,
       codec_pfor_decode('\x00', 0) AS none,
       codec_pfor_decode('\x00', 129) AS too_many_values;

-- columns
SELECT codec_column_encode(ARRAY[7, 7, 7]);
SELECT codec_column_encode(ARRAY[0, 1, 2, 3]);
SELECT codec_column_encode(ARRAY[1000, 1001, 1003, 1015]);
SELECT codec_column_encode(ARRAY[100000, 100256]);
SELECT codec_column_encode(ARRAY[4294967295, 0]);
SELECT codec_column_decode('\x84e803107f', 4) AS good,
       codec_column_decode('\xc1ffffffff01', 1) AS overflow,
       codec_column_decode('\x21', 1) AS width;

-- one Bloom filter block
SELECT codec_bloom_block(ARRAY[1]);
SELECT codec_bloom_block(ARRAY[1, 1234567890123456789, -1]);

-- length codes: all of them, and where they begin
SELECT min(c) AS first,
       string_agg(codec_length_decode(c)::text, ' ' ORDER BY c) AS lengths
FROM generate_series(0, 255) AS c GROUP BY c / 8 ORDER BY c / 8;
SELECT l, codec_length_code(l)
FROM unnest(ARRAY[0, 39, 40, 43, 44, 63, 64, 1000, 1000000, 4294967295]) AS l;

-- impacts: one posting, a Pareto list, one that was reduced, escapes
SELECT codec_impact_put('{1}', '{50}');
SELECT codec_impact_put('{5,3,1,4}', '{60,50,40,70}');
SELECT codec_impact_put('{1,2,3,4,5,6,7,8,9}',
                        '{10,20,30,40,50,60,70,80,90}');
SELECT codec_impact_put('{30,31,4294967295}', '{0,100,255}');
SELECT codec_impact_put('{31,5000}', '{0,100}');
SELECT codec_impact_get('\x0e0a00090009000900090309') AS reduced,
       codec_impact_get('\x00') AS none,
       codec_impact_get('\xf9e0ffffff0f00') AS greatest;
SELECT codec_impact_get('\xf9e1ffffff0f00') AS first_overflows,
       codec_impact_get('\xfae0ffffff0f000000') AS next_overflows,
       codec_impact_get('\x0aff0000') AS length_overflows,
       codec_impact_get('\x0f0000000000000000000000000000') AS seven,
       codec_impact_get('\x08') AS zero_with_more;

DROP EXTENSION test_snii_codec;
