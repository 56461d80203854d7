\echo Use "CREATE EXTENSION snii" to load this file. \quit
