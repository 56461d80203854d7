-- Properties of the codecs; each call returns the number of cases checked.
CREATE EXTENSION test_snii_codec;
SELECT test_codec_varint(1, 20000);
SELECT test_codec_pfor(2, 20000);
SELECT test_codec_column(3, 2000);
SELECT test_codec_garbage(4, 50000);
SELECT bits, test_codec_bloom(5, bits)
FROM unnest(ARRAY[4, 6, 8, 10, 12, 16]::float8[]) AS bits;
SELECT test_codec_length(6, 100000);
SELECT test_codec_impact(7, 300);
DROP EXTENSION test_snii_codec;
