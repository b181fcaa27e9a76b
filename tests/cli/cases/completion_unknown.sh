"$INQ" completion tcsh
