"$INQ" help anlyze
