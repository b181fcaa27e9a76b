# Nsight exports are read only where sqlite was built in
"$INQ" list | grep -v '^  nsys '
