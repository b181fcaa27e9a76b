"$INQ" frobnicate
